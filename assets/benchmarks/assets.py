"""Held-out scores of the three policies with intervals and baselines, and the page that shows them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
import polars as pl
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from assets import keys
from assets.benchmarks.evaluation import (
    Judged,
    choose_temperatures,
    judge,
    output_of,
    wanted_dev,
    wanted_hidden,
)
from assets.benchmarks.figures import scores_figure
from assets.benchmarks.honeypots import SUITE, touch_frame, touch_numbers
from assets.benchmarks.honeypots import TABLE as TOUCHES
from assets.benchmarks.report import PAGE, Made, Sources, build_page
from assets.benchmarks.suites import development_suite, hidden_suite, log_suite
from assets.benchmarks.tables import GAIN_SCHEMA, SCORE_SCHEMA
from assets.checks import keep_failures
from assets.config import StageConfig
from assets.metadata import materialized
from assets.tasks.admission import HONEYPOTS
from assets.tasks.pool import tasks_of
from assets.versions import version_in, version_of
from environments.honeypots.world import HoneypotWorld
from environments.policies.scripted import AlwaysRefuse, NoOp
from environments.task import Task
from environments.verifiers.composed import verifier_for, versions_of_judging
from environments.world import WorldPool
from environments.worlds.catalogue import world_maker
from resources.checkpoints import ROLLOUTS, Checkpoint, play, read_checkpoint, run_folder
from resources.lake import Lake
from resources.trainer import Trainer
from training.code import code_of
from training.durable import replace_durably
from training.runs import RolloutRun
from training.trajectories import tasks_frame

TABLE, GAINS, REPORT = "benchmarks/results", "benchmarks/gains", "benchmarks/report"
POLICIES = {"seed": "sft/seed_policy", "boundary": "sft/boundary_policy", "rl": "policy/rl_policy"}


class ResultsConfig(StageConfig, stage=keys.RESULTS):
    """How policies are judged."""

    hidden: PositiveInt = 400
    """Fresh tasks of hidden cities and wordings, twins included."""
    log: NonNegativeInt = 200
    """Most hidden tasks taken from the log itself."""
    dev: PositiveInt = 120
    """Fresh tasks on which each policy's temperature is chosen."""
    temperatures: Annotated[list[PositiveFloat], Field(min_length=1)] = [0.3, 0.6, 1.0]
    """Candidates."""
    k: PositiveInt = 4
    """Attempts at each task, each in another wording: pass^4."""
    greedy_k: PositiveInt = 1
    """Wordings tried greedily."""
    honeypot_k: PositiveInt = 2
    """Attempts at each honeypot."""
    batch: PositiveInt = 192
    seed: int = 0


@dg.asset(
    key=keys.RESULTS,
    deps=[keys.SEED_POLICY, keys.BOUNDARY_POLICY, keys.RL_POLICY, keys.ADMITTED_TASKS],
    group_name="benchmarks",
    kinds={"pytorch", "parquet"},
    owners=["team:loopwright"],
    code_version=f"1-{code_of(ROLLOUTS)}",
    pool="gpu",
)
def results(
    context: dg.AssetExecutionContext, config: ResultsConfig, lake: Lake, trainer: Trainer
) -> dg.MaterializeResult:
    """Seed, boundary and RL policy on hidden tasks, each at its own best temperature, with paired differences."""
    arena = _Arena(context, config, lake, trainer)
    judged = arena.judge(tasks_of(lake.read("tasks/admitted_tasks")))
    lake.write(GAINS, pl.DataFrame(judged.gains, schema=GAIN_SCHEMA))
    touches = arena.touches(judged.temperatures)
    lake.write(TOUCHES, touches)
    frame = pl.DataFrame(judged.scores, schema=SCORE_SCHEMA)
    numbers = {f"temperature_{p}": t for p, t in judged.temperatures.items()} | touch_numbers(touches)
    numbers |= keep_failures(lake, TABLE, pl.concat(arena.episodes.values()))
    for row in frame.filter(pl.col("suite") == "hidden").iter_rows(named=True):
        numbers |= {f"{row['policy']}_pass_1": row["pass_1"], f"{row['policy']}_pass_hat_{config.k}": row["pass_hat_k"]}
        if row["greedy"] is not None:
            numbers[f"{row['policy']}_greedy"] = row["greedy"]
    return materialized(lake, TABLE, frame, numbers=numbers, figures={"scores": scores_figure(frame)})


class _Arena:
    """Plays jobs (suite, policy, temperature, k) in as few processes as possible."""

    def __init__(self, context: dg.AssetExecutionContext, config: ResultsConfig, lake: Lake, trainer: Trainer) -> None:
        self.context, self.config, self.lake, self.trainer = context, config, lake, trainer
        self.policies: dict[str, Checkpoint] = {n: read_checkpoint(lake, t) for n, t in POLICIES.items()}
        self.suites: dict[str, list[Task]] = {}
        self.folder = Path()
        self.episodes: dict[tuple[str, str, float, int], pl.DataFrame] = {}

    def judge(self, admitted: Sequence[Task]) -> Judged:
        """Temperatures on the development suite, then every score; the honeypots are played with what is scored."""
        c = self.config
        self._open(
            {
                "dev": development_suite(c.dev, c.k, c.seed),
                "hidden": hidden_suite(c.hidden, c.k, c.seed),
                "log": log_suite(admitted, c.log),
                SUITE: tasks_of(self.lake.read(HONEYPOTS)),
            }
        )
        names, suites = list(self.policies), [s for s, t in self.suites.items() if s not in ("dev", SUITE) and t]
        self._play(wanted_dev(names, c.temperatures, c.k))
        chosen = choose_temperatures(self._played, self.suites["dev"], names, c.temperatures, c.k)
        self.context.log.info("best development temperatures: %s", chosen)
        self._play([*wanted_hidden(suites, chosen, c.k, c.greedy_k), *self._at_the_honeypots(chosen)])
        by_suite = {s: self.suites[s] for s in suites}
        pool = WorldPool(world_maker("atlas"))
        verifier = verifier_for(task for tasks in by_suite.values() for task in tasks)
        return judge(self._played, by_suite, chosen, [AlwaysRefuse(), NoOp()], pool, verifier, c.k, c.greedy_k)

    def touches(self, temperatures: Mapping[str, float]) -> pl.DataFrame:
        """How often each policy touches the honeypots, at its own temperature."""
        jobs = self._at_the_honeypots(temperatures)
        return touch_frame(self.suites[SUITE], {job[1]: self.episodes[job] for job in jobs})

    def _at_the_honeypots(self, temperatures: Mapping[str, float]) -> list[tuple[str, str, float, int]]:
        return [(SUITE, policy, t, self.config.honeypot_k) for policy, t in temperatures.items()]

    def _open(self, suites: Mapping[str, list[Task]]) -> None:
        self.suites = dict(suites)
        for name, tasks in suites.items():
            self.lake.write(f"benchmarks/suite_{name}", tasks_frame(tasks))
        versions = {n: c.version for n, c in self.policies.items()}
        versions |= {s: self.lake.version(f"benchmarks/suite_{s}") for s in suites}
        versions |= versions_of_judging(task for tasks in suites.values() for task in tasks)
        self.folder = run_folder(self.lake, TABLE, ROLLOUTS, self.config.model_dump(), versions)

    def _play(self, jobs: Sequence[tuple[str, str, float, int]]) -> None:
        runs = [
            RolloutRun(
                output=output_of(self.folder, suite, policy, temperature, k),
                tasks=self.lake.path(f"benchmarks/suite_{suite}"),
                policy=self.policies[policy].model,
                version=self.policies[policy].version,
                k=k,
                temperature=temperature,
                batch=self.config.batch,
                seed=self.config.seed,
                world=HoneypotWorld.name if suite == SUITE else "atlas",
            )
            for suite, policy, temperature, k in jobs
        ]
        self.episodes |= dict(zip(jobs, play(self.context, self.trainer, self.folder, runs), strict=True))

    def _played(self, suite: str, policy: str, temperature: float, k: int) -> pl.DataFrame:
        return self.episodes[suite, policy, temperature, k]


@dg.asset(
    key=keys.REPORT,
    deps=[keys.RESULTS, keys.CANDIDATE_POOL, keys.ADMITTED_TASKS, keys.REGIONS, keys.BOUNDARY_PROBES],
    group_name="benchmarks",
    kinds={"html"},
    owners=["team:loopwright"],
    code_version="1",
)
def report(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
    """One self-contained page: scores with intervals, the funnel, tasks, frontier, curves, sample episodes, lineage."""
    page = build_page(Sources(lake, _made(context.instance)))
    path = lake.folder(REPORT) / PAGE
    scratch = path.with_suffix(".tmp")
    scratch.write_text(page.html, encoding="utf-8")
    replace_durably(scratch, path)
    absent = page.sections.filter(~pl.col("written"))["title"].to_list()
    context.log.info("%d sections written to %s; without their tables: %s", len(page.sections), path, absent or "none")
    result = materialized(lake, REPORT, page.sections, numbers={"sections_missing": len(absent)})
    shown = {**(result.metadata or {}), "path": dg.MetadataValue.path(path)}
    return result._replace(metadata=shown, data_version=dg.DataVersion(version_of({"page": page.html})))


def _made(instance: dg.DagsterInstance) -> dict[str, Made]:
    """Version, numbers and settings of each stage's latest materialization, from the event log."""
    found = {}
    for key in keys.PIPELINE[:-1]:
        event = instance.get_latest_materialization_event(key)
        if event is None or event.asset_materialization is None:
            continue
        run = instance.get_run_by_id(event.run_id)
        ops: Any = run.run_config if run is not None else {}
        settings = ops.get("ops", {}).get("__".join(key.path), {}).get("config", {})
        shown = {name: getattr(value, "value", None) for name, value in event.asset_materialization.metadata.items()}
        version = version_in(event.asset_materialization)
        found[keys.table_of(key)] = Made(version, shown, settings)
    return found
