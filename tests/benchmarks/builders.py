"""A small finished lake: real tasks, scripted policies in the place of trained ones, every table of the line."""

import json
from pathlib import Path

import polars as pl

from assets.benchmarks.evaluation import judge, output_of
from assets.benchmarks.report import Made
from assets.benchmarks.tables import GAIN_SCHEMA, SCORE_SCHEMA
from assets.frontier.probing import frontier_frame, probes_frame
from assets.tasks.compile import Dropped
from environments.policies.scripted import AlwaysRefuse, NoisyTeacher, NoOp
from environments.task import Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from resources.lake import Lake
from training.checkpoint import publish, save_history
from training.journal import run_journalled
from training.trajectories import tasks_frame

NOISE = {"seed": 0.3, "boundary": 0.2, "rl": 0.08}
"""How often each stand-in slips."""
TABLES = {"seed": "sft/seed_policy", "boundary": "sft/boundary_policy", "rl": "policy/rl_policy"}
K = 4


class Standin(NoisyTeacher):
    """A scripted policy under the version of a trained one."""

    def __init__(self, name: str) -> None:
        super().__init__(NOISE[name])
        self.version = f"{name}-version"


def finished_lake(root: Path, *, hidden: int = 40, training: int = 60) -> Lake:
    """Every table that the report reads."""
    lake = Lake(root=str(root))
    _queries(lake)
    tasks = fresh_tasks(training, "train", 0)
    _tasks(lake, tasks)
    for name in NOISE:
        _checkpoint(lake, name)
    _frontier(lake, tasks)
    _scores(lake, fresh_tasks(hidden, "hidden", 0, attempts=K))
    return lake


def made() -> dict[str, Made]:
    """What the event log would say."""
    pool = {"radius": 0.71, "random_radius": 0.98, "left_out_q50": 0.31, "left_out_q90": 0.52, "tail_kept_share": 0.9}
    admitted = {"compiled": 64, "quarantined": 4, "admission_yield": 0.94, "exploit_rate": 0.0}
    return {
        "queries/raw_queries": Made("0123456789abcdef", {}, {"lines": 100, "logs": ""}),
        "pool/candidate_pool": Made("fedcba9876543210", pool, {}),
        "tasks/admitted_tasks": Made("00ff00ff00ff00ff", admitted | {"exploit_rate_upper_95": 0.0123}, {}),
    }


def _queries(lake: Lake) -> None:
    ids = [f"q{i:03}" for i in range(60)]
    lake.write("queries/files", pl.DataFrame({"source_file": ["log.jsonl"], "rows": [102]}))
    lake.write("queries/quarantine", pl.DataFrame({"cause": ["torn line", "not UTF-8"]}))
    lake.write("queries/raw_queries", pl.DataFrame({"raw_id": [f"r{i:03}" for i in range(100)]}))
    support = [41] + [1] * 59
    said = {"query_id": ids, "text": [f"Weather in <Paris> & {i}?" for i in range(60)], "support": support}
    lake.write("queries/distinct_queries", pl.DataFrame(said))
    left = ids
    for layer, table, gone in (("lexical", "pool/lexical_survivors", 10), ("semantic", "pool/semantic_survivors", 8),
                               ("geometric", "pool/candidate_pool", 6)):  # fmt: skip
        dropped, left = left[:gone], left[gone:]
        rows = {"query_id": dropped, "layer": layer, "rule": f"{layer} rule", "survivor": left[0], "similarity": 0.9}
        lake.write("pool/dropped_by_layer", pl.DataFrame(rows), layer)
        lake.write(table, pl.DataFrame({"query_id": left, "support": 1, "primary": "discovery.poi_search"}))
        if layer == "lexical":
            lake.write("labels/query_labels", pl.DataFrame({"query_id": left, "difficulty": 1, "primary": "a.b"}))
            aside, left = left[:5], left[5:]
            lake.write("labels/irrelevance_set", pl.DataFrame({"query_id": aside, "reason": "no tool needed"}))


def _tasks(lake: Lake, tasks: list[Task]) -> None:
    ids = [f"q{29 + i % 29:03}" for i in range(len(tasks))]
    frame = tasks_frame(tasks).with_columns(origin=pl.lit("query"), query_id=pl.Series(ids))
    lake.write("tasks/compiled_tasks", frame)
    lake.write("tasks/admitted_tasks", frame)
    lake.write("tasks/quarantine", pl.DataFrame(schema={"task_id": pl.String, "check": pl.String}))
    dropped = [Dropped("q058", "unresolved", "Atlantis"), Dropped("q059", "no_family", "")]
    schema = {"query_id": pl.String, "rule": pl.String, "detail": pl.String}
    lake.write("tasks/not_compiled", pl.DataFrame(dropped, schema=schema, orient="row"))


def _checkpoint(lake: Lake, name: str) -> None:
    folder = lake.folder(TABLES[name]) / "runs" / "one"
    folder.mkdir(parents=True)
    manifest = {"version": f"{name}-version", "parent": "", "kind": "sft", "consumed": "abc"}
    value = "reward" if name == "rl" else "loss"
    history = [{"step": step, value: 3.0 / (1 + step / 20)} for step in range(0, 200, 5)]
    model = publish(folder, lambda place: save_history(place, history), manifest)
    row = {**{key: [said] for key, said in manifest.items()}, "model": [str(model.relative_to(lake.root))]}
    lake.write(TABLES[name], pl.DataFrame(row))


def _frontier(lake: Lake, tasks: list[Task]) -> None:
    for name, table in (("seed", "frontier/seed_probes"), ("boundary", "frontier/boundary_probes")):
        episodes = _played(lake, table, name, tasks, Path(lake.folder(table), "runs", "one"))
        lake.write(table, probes_frame(episodes, tasks, K))
    lake.write("frontier/regions", frontier_frame(tasks, lake.read("frontier/seed_probes")))


def _scores(lake: Lake, tasks: list[Task]) -> None:
    lake.write("benchmarks/suite_hidden", tasks_frame(tasks))
    runs = lake.folder("benchmarks/results") / "runs" / "one"

    def play(suite: str, policy: str, temperature: float, k: int) -> pl.DataFrame:
        return _played(lake, suite, policy, tasks, output_of(runs, suite, policy, temperature, k), k)

    pool, chosen = WorldPool(AtlasWorld), dict.fromkeys(NOISE, 0.6)
    judged = judge(play, {"hidden": tasks}, chosen, [AlwaysRefuse(), NoOp()], pool, OutcomeVerifier(), K, 1)
    lake.write("benchmarks/results", pl.DataFrame(judged.scores, schema=SCORE_SCHEMA))
    lake.write("benchmarks/gains", pl.DataFrame(judged.gains, schema=GAIN_SCHEMA))


def _played(lake: Lake, where: str, name: str, tasks: list[Task], folder: Path, k: int = K) -> pl.DataFrame:
    pool, verifier = WorldPool(AtlasWorld), OutcomeVerifier()
    return run_journalled(
        tasks, Standin(name), pool, verifier, folder / "episodes",
        k=k, seed=0, batch=192, progress=lambda done, total: None,
    )  # fmt: skip


def steps_of(episode: dict[str, object]) -> list[object]:
    """The calls of an episode's row."""
    steps: list[object] = json.loads(str(episode["steps"]))
    return steps
