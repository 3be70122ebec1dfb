"""What another verifier, judge or rubric would change: verdicts, trajectories, tasks, checkpoints.

Reads the episodes that stages left in the lake, grades them again, and follows the changed ones: to the trajectories
that were chosen among them, to the tasks whose region they decide, and to the checkpoints that consumed either.

Source: pipeline law 2 (no stale reuse after a swap).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from assets.frontier.probing import probes_frame
from assets.tasks.pool import tasks_of
from assets.trajectories.synthesis import best_of
from environments.episode import ResultKey
from environments.task import Task
from environments.verifier import Verifier
from environments.world import WorldPool
from resources.checkpoints import EPISODES, read_checkpoint
from resources.lake import Lake
from resources.registry import Registry
from training.checkpoint import MODEL
from training.journal import EPISODE_SCHEMA, FINGERPRINT, Progress, read_segments
from training.rescoring import WAYS, Rescored, rescored, ways

TRAJECTORIES: Final = ("trajectories/seed_trajectories", "trajectories/adaptive_trajectories")
PROBES: Final = ("frontier/seed_probes", "frontier/boundary_probes")
NIGHTLY: Final = "frontier/nightly_probes"
ONLINE: Final = "policy/rl_policy"
CHECKPOINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "sft/seed_policy": TRAJECTORIES[:1], "sft/boundary_policy": TRAJECTORIES, ONLINE: (ONLINE,),
}  # fmt: skip
"""Stages that leave a policy, with those whose rows it consumes."""
_TASK_TABLES: Final = (
    "tasks/admitted_tasks",
    *(f"{table}_tasks" for table in (*PROBES, NIGHTLY)),
    "policy/training_queue",
)


class Journal(NamedTuple):
    """Episodes of one stage under one key."""

    stage: str
    key: ResultKey
    episodes: pl.DataFrame


class Effects(NamedTuple):
    """What a swap changes."""

    verdicts: pl.DataFrame
    """One row per stage and way: stage, way, episodes."""
    trajectories: pl.DataFrame
    """Tasks whose kept trajectory is another one: stage, task_id, change (`dropped`, `replaced`, `added`)."""
    tasks: pl.DataFrame
    """Probed tasks that stand elsewhere: stage, task_id, region, would_be, mean, mean_would_be."""
    checkpoints: pl.DataFrame
    """Every policy: stage, version, consumed, changed, because."""


def journals(lake: Lake) -> list[Journal]:
    """The episodes behind the tables that lie in the lake, by stage and key."""
    found = [one for stage in TRAJECTORIES for one in _of_trajectories(lake, stage)]
    found += [one for stage in (*PROBES, NIGHTLY) for one in _of_probes(lake, stage)]
    return [*found, *_of_online(lake)]


def stored_tasks(lake: Lake) -> dict[str, Task]:
    """Every task that episodes may be of, by id."""
    tables = [lake.read(table, columns=["task_id", "task"]) for table in _TASK_TABLES if lake.exists(table)]
    return {task.task_id: task for table in tables for task in tasks_of(table)}


def _keys_under(folder: Path) -> Iterator[tuple[Path, ResultKey]]:
    """Every folder below that holds a journal, with the key it was played under."""
    for mark in sorted(folder.rglob(FINGERPRINT)):
        stated = json.loads(mark.read_text(encoding="utf-8"))
        yield mark.parent, ResultKey.model_validate(stated["key"])


def _of_trajectories(lake: Lake, stage: str) -> Iterator[Journal]:
    """The run that the table's trajectories were chosen from."""
    if not lake.exists(stage):
        return
    kept = set(lake.read(stage, columns=["trajectory_id"])["trajectory_id"])
    runs: dict[Path, list[Journal]] = {}
    for folder, key in _keys_under(lake.folder(stage)):
        runs.setdefault(folder.parent, []).append(Journal(stage, key, read_segments(folder)))
    for mine in runs.values():
        if any(kept & set(one.episodes["episode_id"]) for one in mine):
            yield Journal(stage, mine[0].key, pl.concat([one.episodes for one in mine]))


def _of_probes(lake: Lake, stage: str) -> Iterator[Journal]:
    """The runs that were played under the key of the table."""
    if not lake.exists(stage):
        return
    wanted = set(lake.read(stage, columns=["key"])["key"])
    runs = [(key, read_segments(folder)) for folder, key in _keys_under(lake.folder(stage)) if key.digest in wanted]
    for digest in sorted({key.digest for key, _ in runs}):
        mine = [(key, rows) for key, rows in runs if key.digest == digest]
        rows = pl.concat([rows for _, rows in mine]).unique("episode_id", keep="first", maintain_order=True)
        yield Journal(stage, mine[0][0], rows)


def _of_online(lake: Lake) -> Iterator[Journal]:
    """The episodes of the run that made the policy, step by step: each step's weights are a policy of their own."""
    if not lake.exists(ONLINE):
        return
    output = Path(lake.root, lake.read(ONLINE)["model"][0].removesuffix(f"/{MODEL}"))
    first = ResultKey.model_validate(json.loads((output / FINGERPRINT).read_text(encoding="utf-8"))["key"])
    start = first.policy.partition("+")[0]
    for part in sorted((output / EPISODES).glob("part-*.parquet")):
        key = first.model_copy(update={"policy": f"{start}+{int(part.stem.rpartition('-')[2])}"})
        yield Journal(ONLINE, key, read_segments(output / EPISODES).filter(pl.col("key") == key.digest))


def regraded(
    found: Sequence[Journal],
    tasks: Mapping[str, Task],
    pool: WorldPool,
    verifier_of: Callable[[Iterable[Task]], Verifier],
    progress: Progress,
) -> dict[str, list[Rescored]]:
    """Every journal graded again, by stage.

    Args:
        found: what lies in the lake.
        tasks: by id.
        pool: sessions of their world.
        verifier_of: the verifier for the tasks of one stage.
        progress: told done and total, in episodes.
    """
    total, done, graded = sum(len(one.episodes) for one in found), 0, dict[str, list[Rescored]]()
    for one in found:
        mine = [tasks[i] for i in sorted(set(one.episodes["task_id"])) if i in tasks]
        before = done

        def told(part: int, _: int, before: int = before) -> None:
            """Progress over all journals."""
            progress(before + part, total)

        again = rescored(one.episodes, tasks, one.key, pool, verifier_of(mine), progress=told)
        graded.setdefault(one.stage, []).append(again)
        done += len(one.episodes)
    return graded


def effects(
    lake: Lake, registry: Registry, graded: Mapping[str, Sequence[Rescored]], tasks: Mapping[str, Task]
) -> Effects:
    """What follows from verdicts that changed."""
    verdicts = pl.concat([_verdicts(stage, found) for stage, found in graded.items()] or [_NO_VERDICTS])
    chosen = [_trajectories(lake, stage, graded[stage][0], tasks) for stage in TRAJECTORIES if stage in graded]
    moved = [_tasks(lake, stage, found[0], tasks) for stage, found in graded.items() if stage in PROBES]
    trajectories = pl.concat([_NO_TRAJECTORIES, *chosen])
    regions = pl.concat([_NO_TASKS, *moved])
    return Effects(verdicts, trajectories, regions, _checkpoints(lake, registry, graded, trajectories, regions))


_NO_VERDICTS: Final = pl.DataFrame(schema={"stage": pl.String, "way": pl.String, "episodes": pl.Int64})
_NO_TRAJECTORIES: Final = pl.DataFrame(
    schema={"stage": pl.String, "task_id": pl.String, "change": pl.String, "trajectory_id": pl.String}
)
_NO_TASKS: Final = pl.DataFrame(
    schema={
        "stage": pl.String, "task_id": pl.String, "region": pl.String, "would_be": pl.String, "mean": pl.Float64,
        "mean_would_be": pl.Float64,
    }
)  # fmt: skip


def _verdicts(stage: str, found: Sequence[Rescored]) -> pl.DataFrame:
    all_ways = pl.concat([ways(one) for one in found])
    rows = [(stage, way, int((all_ways == way).sum())) for way in WAYS]
    return pl.DataFrame(rows, schema=_NO_VERDICTS.schema, orient="row")


def _trajectories(lake: Lake, stage: str, found: Rescored, tasks: Mapping[str, Task]) -> pl.DataFrame:
    """Compare the best perfect attempt of each task before and after, by its number."""
    known = found.after.filter(pl.col("task_id").is_in(list(tasks)))
    best = best_of(known, tasks, len(known)).trajectories.select(trajectory="trajectory_id")
    now = dict(
        found.after.join(best, left_on="episode_id", right_on="trajectory").select("task_id", "attempt").iter_rows()
    )
    kept = lake.read(stage, columns=["trajectory_id"])
    then = found.before.join(kept, left_on="episode_id", right_on="trajectory_id").select(
        "task_id", "attempt", "episode_id"
    )
    rows = []
    for task_id, attempt, trajectory in then.sort("task_id").iter_rows():
        if now.get(task_id) != attempt:
            rows.append((stage, task_id, "replaced" if task_id in now else "dropped", trajectory))
    rows += [(stage, task_id, "added", None) for task_id in sorted(set(now) - set(then["task_id"]))]
    return pl.DataFrame(rows, schema=_NO_TRAJECTORIES.schema, orient="row")


def _tasks(lake: Lake, stage: str, found: Rescored, tasks: Mapping[str, Task]) -> pl.DataFrame:
    """Compare the region of each probed task before and after; one without enough results has none."""
    known = found.after.filter(pl.col("task_id").is_in(list(tasks)))
    now = probes_frame(known, list(tasks.values()), 0).select("task_id", would_be="region", mean_would_be="mean")
    both = lake.read(stage, columns=["task_id", "region", "mean"]).join(now, on="task_id", how="full", coalesce=True)
    moved = both.filter(
        pl.col("region").ne_missing(pl.col("would_be")) | pl.col("mean").ne_missing(pl.col("mean_would_be"))
    )
    return moved.with_columns(stage=pl.lit(stage)).select(*_NO_TASKS.columns).sort("task_id")


def _checkpoints(
    lake: Lake,
    registry: Registry,
    graded: Mapping[str, Sequence[Rescored]],
    trajectories: pl.DataFrame,
    moved: pl.DataFrame,
) -> pl.DataFrame:
    """Every policy with the consumed rows that change, its parent's change, and the choice of its tasks."""
    changed = set(trajectories["trajectory_id"].drop_nulls())
    for one in graded.get(ONLINE, ()):
        changed |= set(one.before.filter(ways(one) != "same")["episode_id"])
    rows, touched = [], set[str]()
    for stage, sources in CHECKPOINTS.items():
        if not lake.exists(stage):
            continue
        checkpoint = read_checkpoint(lake, stage)
        consumed = {row for window in registry.consumed(checkpoint.version) for row in window.row_ids}
        because = _because(stage, sources, consumed & changed, trajectories, moved)
        because += ["its parent changes"] if checkpoint.manifest.get("parent") in touched else []
        touched |= {checkpoint.version} if because else set()
        rows.append((stage, checkpoint.version, len(consumed), len(consumed & changed), "; ".join(because)))
    names = ("stage", "version", "consumed", "changed", "because")
    kinds: dict[str, Any] = dict.fromkeys(names, pl.String) | dict.fromkeys(names[2:4], pl.Int64)
    return pl.DataFrame(rows, schema=kinds, orient="row")


_CHOSEN_BY: Final = {"sft/boundary_policy": PROBES[0], ONLINE: PROBES[1]}


def _because(
    stage: str, sources: Sequence[str], lost: set[str], trajectories: pl.DataFrame, moved: pl.DataFrame
) -> list[str]:
    found = ["rows that it consumed change"] if lost else []
    added = trajectories.filter(pl.col("stage").is_in(sources) & (pl.col("change") == "added"))
    found += ["rows that it lacks are added"] if len(added) else []
    chosen = moved.filter(pl.col("stage") == _CHOSEN_BY.get(stage, ""))
    return [*found, *(["its tasks are chosen by probes that change"] if len(chosen) else [])]


def write_rescored(lake: Lake, graded: Mapping[str, Sequence[Rescored]]) -> list[Path]:
    """Write the re-scored episodes, each key to a file of its own beside its stage: keys never share one."""
    return [
        lake.write(f"{stage}_rescored", one.after.select(*EPISODE_SCHEMA), one.key.digest)
        for stage, found in graded.items()
        for one in found
    ]
