"""Tasks: the pool's queries as things that can be tried and graded, and the gate in front of them."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
import polars as pl
from pydantic import NonNegativeInt, PositiveInt

from assets import keys
from assets.config import Share, StageConfig
from assets.metadata import materialized
from assets.partitions import LEAVES, ONE_RUN
from assets.tasks.admission import (
    ADMISSION_REPORT,
    GATE_KNOWN,
    HONEYPOTS,
    QUARANTINE,
    Admission,
    admit,
    gate_numbers,
    known_frame,
    quarantine_frame,
    report_frame,
)
from assets.tasks.compile import LabelledQuery
from assets.tasks.figures import families_figure, judges_figure
from assets.tasks.judging import (
    ANSWERS,
    MISSES,
    Bar,
    grade_judges,
    labelled_episodes,
    version_of_grading,
)
from assets.tasks.judging import TABLE as JUDGES
from assets.tasks.pool import Sizes, build_pool, labelled_queries, pool_frame, tasks_of, with_judging
from assets.versions import reported_by_leaf
from environments.gate.finding import Finding
from environments.gate.labelled import known
from environments.gate.llm_attack import model_attacks
from environments.gate.run import Setting, Thoroughness, sampled
from environments.honeypots.tasks import honeypots
from environments.judge import Judge
from environments.judges.llm import LlmJudge
from environments.judges.programmatic import ProgrammaticJudge
from environments.one_by_one import OneByOne
from environments.task import Task
from environments.verifiers.composed import verifier_for
from environments.verifiers.outcome import OutcomeVerifier
from environments.verifiers.rubric import Rubrics
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from resources.worlds import WorldFolders
from training.reporting import Reporter
from training.trajectories import tasks_frame

NOT_COMPILED = "tasks/not_compiled"


class CompiledTasksConfig(StageConfig, stage=keys.COMPILED_TASKS):
    """What becomes of a labelled query."""

    languages: list[str] = ["en"]
    """Languages that the policy in training can read; the nano tokenizer has no Chinese."""
    held_out_share: Share = 0.0
    """Share of the queries that go to the hidden split whatever cities they name."""
    floor: NonNegativeInt = 700
    """Originals per family in the training split, topped up from the queries that the geometric layer left out."""
    per_family: NonNegativeInt = 1400
    """Training tasks per family that variants (a query's wording with other cities and days) fill up to."""
    copies: NonNegativeInt = 40
    """Most variants of one query."""
    refusal_share: Share = 0.05
    """Share of the solvable tasks that get a refusal twin."""
    irrelevant: NonNegativeInt = 800
    """Most queries of the irrelevance set that become refusal tasks."""


class AdmittedTasksConfig(StageConfig, stage=keys.ADMITTED_TASKS):
    """How the gate is run."""

    workers: PositiveInt = 2
    """Processes side by side; the result does not depend on it."""
    sample: NonNegativeInt = 10
    """Tasks of each family that are also attacked, changed and tried with what attacks all tasks alike; where one of
    them fails, all of its family are."""
    everything: bool = False
    """All tasks instead of a sample: about twenty times the time."""
    budget: PositiveInt = 150
    """Verdicts that the scripted attacker may spend on a task."""
    model_sample: NonNegativeInt = 0
    """Tasks of each family that the language model of the resource `teacher` attacks as well; 0 asks none."""
    model_rounds: PositiveInt = 3
    """Questions that it is asked about each."""
    honeypots: PositiveInt = 8
    """Exploitable tasks with each kind of hole, for promotion only."""


@dg.asset(
    key=keys.COMPILED_TASKS,
    deps=[keys.CANDIDATE_POOL, keys.SEMANTIC_SURVIVORS, keys.QUERY_LABELS, keys.IRRELEVANCE_SET, keys.DISTINCT_QUERIES],
    group_name="tasks",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
    partitions_def=LEAVES,
    backfill_policy=ONE_RUN,
)
def compiled_tasks(
    context: dg.AssetExecutionContext, config: CompiledTasksConfig, lake: Lake
) -> Iterator[dg.MaterializeResult]:
    """Every query whose constraints the world can check, as a task; the long tail; variants; refusals beside twins."""
    chosen, reserve = _labelled(lake, config.irrelevant)
    pool = build_pool(
        chosen,
        reserve,
        languages=tuple(config.languages),
        held_out_share=config.held_out_share,
        sizes=Sizes(config.floor, config.per_family, config.copies, config.refusal_share),
    )
    schema = {"query_id": pl.String, "rule": pl.String, "detail": pl.String}
    dropped = pl.DataFrame(pool.dropped, schema=schema, orient="row")
    lake.write(NOT_COMPILED, dropped)
    rules = dict(dropped["rule"].value_counts().iter_rows())
    context.log.info("%d queries: %d tasks, %d not compiled: %s", pool.queries, len(pool.tasks), len(dropped), rules)
    frame = pool_frame(pool)
    numbers = {"queries": pool.queries, "not_compiled": len(dropped), **{f"dropped_{k}": v for k, v in rules.items()}}
    numbers |= {f"from_{k}": v for k, v in frame["origin"].value_counts().iter_rows()}
    figures = {"families": families_figure(frame)}
    result = materialized(lake, "tasks/compiled_tasks", frame, numbers=numbers, figures=figures)
    yield from reported_by_leaf(context, lake, result, frame.with_columns(of="leaf"), "of")


def _labelled(lake: Lake, irrelevant: int) -> tuple[list[LabelledQuery], list[LabelledQuery]]:
    """Labelled queries that are compiled (candidate pool, irrelevance set), and the reserve of the long tail."""
    pool = lake.read("pool/candidate_pool").select("query_id")
    refused = lake.read("labels/irrelevance_set").sort("query_id").select("query_id").head(irrelevant)
    rest = lake.read("pool/semantic_survivors").select("query_id").join(pool, on="query_id", how="anti")
    texts = lake.read("queries/distinct_queries").select("query_id", "text", "language", "context")
    wanted = pl.concat([pool, refused, rest]).unique()
    pieces = (piece.join(wanted, on="query_id", how="semi") for piece in lake.pieces("labels/query_labels"))
    labels = pl.concat(list(pieces))
    chosen = texts.join(pl.concat([pool, refused]).unique(), on="query_id")
    return labelled_queries(chosen, labels), labelled_queries(texts.join(rest, on="query_id"), labels)


class JudgeGradesConfig(StageConfig, stage=keys.JUDGE_GRADES):
    """How judges are graded, and what is asked of one before it may gate data."""

    per_family: PositiveInt = 2
    """Gold episodes of each task family that are spoiled in every way that fits."""
    macro_f1: Share = 0.8
    """Least mean F1 of the two classes, per dimension, on the episodes marked by hand and on the spoiled ones. Ours."""
    false_pass: Share = 0.1
    """Largest share of bad work that a judge passes, likewise. Ours."""
    invalid: Share = 0.02
    """Largest share of questions to which a judge gives no grade. Ours."""
    seed: int = 0


@dg.asset(
    key=keys.JUDGE_GRADES,
    group_name="tasks",
    kinds={"python", "parquet"},
    owners=["team:loopwright"],
    code_version=f"1-{version_of_grading()}",
)
def judge_grades(
    context: dg.AssetExecutionContext, config: JudgeGradesConfig, lake: Lake, judge: ChatEndpoint
) -> dg.MaterializeResult:
    """Every judge against episodes marked by hand and spoiled on purpose: macro-F1, false passes, per dimension."""
    judges: dict[str, Judge] = {"programmatic": ProgrammaticJudge()}
    if judge.base_url:
        judges["llm"] = LlmJudge(judge.client(lake.folder(ANSWERS), purse=context.run_id))
    labelled = labelled_episodes(config.per_family, config.seed)
    bar = Bar(config.macro_f1, config.false_pass, config.invalid)
    found = grade_judges(judges, labelled, Rubrics(), bar, seed=config.seed)
    lake.write(MISSES, found.misses)
    low = found.table.filter(~pl.col("above_bar")).select("name", "part", "dimension").rows()
    context.log.info("%d episodes, %d judges; below the bar: %s", len(labelled), len(judges), low or "nowhere")
    numbers: dict[str, float | int | str] = {"episodes": len(labelled), "misses": len(found.misses)}
    for row in found.table.filter(pl.col("macro_f1").is_not_null()).iter_rows(named=True):
        numbers[f"{row['name']}_{row['part']}_{row['dimension']}_macro_f1"] = row["macro_f1"]
        numbers[f"{row['name']}_{row['part']}_{row['dimension']}_false_pass"] = row["false_pass"]
    return materialized(lake, JUDGES, found.table, numbers=numbers, figures={"judges": judges_figure(found.table)})


@dg.asset(
    key=keys.ADMITTED_TASKS,
    deps=[keys.COMPILED_TASKS, keys.JUDGE_GRADES],
    group_name="tasks",
    kinds={"python", "sqlite"},
    owners=["team:loopwright"],
    code_version="2",
    partitions_def=LEAVES,
    backfill_policy=ONE_RUN,
)
def admitted_tasks(
    context: dg.AssetExecutionContext,
    config: AdmittedTasksConfig,
    lake: Lake,
    teacher: ChatEndpoint,
    worlds: WorldFolders,
) -> Iterator[dg.MaterializeResult]:
    """Tasks that the gold solution solves and no way to cheat does, in a world that comes back to its start."""
    frame = lake.read("tasks/compiled_tasks")
    tasks = tasks_of(frame)
    result = _through_the_gate(context, config, lake, teacher, tasks, worlds)
    gate = known(OutcomeVerifier())
    lake.write(QUARANTINE, quarantine_frame(tasks, result.rejected))
    lake.write(ADMISSION_REPORT, report_frame(tasks, result.findings))
    lake.write(GATE_KNOWN, known_frame(gate))
    lake.write(HONEYPOTS, tasks_frame(honeypots(config.honeypots)))
    context.log.info("%d admitted, %d to quarantine", len(result.admitted), len(result.rejected))
    admitted = (
        tasks_frame(result.admitted).join(frame.select("task_id", "origin"), on="task_id", how="left").sort("task_id")
    )
    admitted = with_judging(admitted, result.admitted)
    numbers = {
        **gate_numbers(result, gate),
        **{f"split_{k}": v for k, v in admitted["split"].value_counts().iter_rows()},
    }
    made = materialized(lake, "tasks/admitted_tasks", admitted, numbers=numbers)
    yield from reported_by_leaf(context, lake, made, admitted.with_columns(of="leaf"), "of")


def _through_the_gate(
    context: dg.AssetExecutionContext,
    config: AdmittedTasksConfig,
    lake: Lake,
    teacher: ChatEndpoint,
    tasks: list[Task],
    worlds: WorldFolders,
) -> Admission:
    """The gate, with a language model among its attackers where the settings ask for one."""
    store = lake.folder(ADMISSION_REPORT) / "findings.db"
    setting = Setting(verifier_for(tasks), store, make_world=worlds.folders().maker)

    def attacks(passing: Sequence[Task]) -> Mapping[str, list[Finding]]:
        """What the model finds on a sample."""
        client = teacher.client(
            lake.folder(ADMISSION_REPORT) / "attacks", purse=context.run.root_run_id or context.run_id
        )
        with OneByOne(client) as ask:
            chosen = sampled(passing, config.model_sample)
            return model_attacks(chosen, setting.make_world, setting.verifier, ask, rounds=config.model_rounds)

    return admit(
        tasks,
        setting,
        Thoroughness(config.sample, config.everything, config.budget),
        workers=config.workers,
        progress=Reporter(context).progress,
        attacks=attacks if config.model_sample else None,
    )
