"""What was made from labels that a plan changes: pool buckets, tasks, trajectories, probes, checkpoints.

Followed by the ids of rows, not by the graph of stages: a task is stale when its own query is touched, a checkpoint
when a row that it consumed, or its parent, is. A leaf that only has another id touches its rows too: their buckets are
called something else, though nothing about them is decided anew.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from assets.labels.rules import IRRELEVANT
from assets.taxonomy.plan import LEAF_COLUMNS, Plan, follow
from resources.lake import Lake
from resources.registry import Registry

Bucket = tuple[str, str | None]
TRAJECTORIES: Final = ("trajectories/seed_trajectories", "trajectories/adaptive_trajectories")
PROBES: Final = ("frontier/seed_probes", "frontier/boundary_probes")
CHECKPOINTS: Final = ("sft/seed_policy", "sft/boundary_policy", "policy/rl_policy")
LABELS: Final = "labels/query_labels"
QUEUE: Final = "policy/training_queue"
_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    LABELS: ("query_id", "primary", "secondary"),
    "pool/candidate_pool": ("query_id",),
    "tasks/admitted_tasks": ("task_id", "query_id"),
    **dict.fromkeys(TRAJECTORIES, ("trajectory_id", "task_id")),
    **dict.fromkeys((*PROBES, QUEUE), ("task_id",)),
    **dict.fromkeys(CHECKPOINTS, ("version", "parent")),
}


class Stale(NamedTuple):
    """What is stale once a plan is applied."""

    buckets: tuple[Bucket, ...]
    """Pool buckets <primary, secondary> that are there and lose rows or gain them, or may."""
    pool: int
    """Queries of the candidate pool whose labels change or may."""
    tasks: int
    trajectories: int
    probes: int
    """Attempts at stale tasks."""
    checkpoints: tuple[str, ...]
    """Versions of checkpoints that learned from a stale row, or from a checkpoint that did."""

    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {name: len(n) if isinstance(n, tuple) else n for name, n in self._asdict().items()}


def stale(
    plan: Plan,
    *,
    labels: pl.DataFrame,
    pool: pl.DataFrame,
    tasks: pl.DataFrame,
    trajectories: pl.DataFrame,
    probes: pl.DataFrame,
    checkpoints: Mapping[str, str | None],
    consumed: Callable[[str], Iterable[str]],
) -> Stale:
    """Follow the touched queries downstream.

    Args:
        plan: whose rows are touched.
        labels: query_id, primary, secondary; those in force.
        pool: query_id.
        tasks: task_id, query_id.
        trajectories: trajectory_id, task_id.
        probes: task_id, one row per attempt.
        checkpoints: version -> version of its parent, in the order in which they were made.
        consumed: ids of the rows that a checkpoint learned from.
    """
    touched = plan.touched.select("query_id")
    their_tasks = tasks.join(touched, on="query_id", how="semi").select("task_id")
    learned = trajectories.join(their_tasks, on="task_id", how="semi")
    rows = {*learned["trajectory_id"], *their_tasks["task_id"]}
    found: list[str] = []
    for version, parent in checkpoints.items():
        if parent in found or not rows.isdisjoint(consumed(version)):
            found.append(version)
    return Stale(
        buckets(plan, labels),
        pool=len(pool.join(touched, on="query_id", how="semi")),
        tasks=len(their_tasks),
        trajectories=len(learned),
        probes=len(probes.join(their_tasks, on="task_id", how="semi")),
        checkpoints=tuple(found),
    )


def buckets(plan: Plan, labels: pl.DataFrame) -> tuple[Bucket, ...]:
    """Every bucket of the labels in force from which a touched row comes or to which one may go; sorted.

    A bucket that no label is in has no rows of the pool either: it appears, and is not stale.
    """
    there = labels.select("primary", "secondary").unique()
    there = there.with_columns(follow(name, plan.follows).alias(f"then_{name}") for name in LEAF_COLUMNS)
    rows = plan.touched.join(plan.asked, on="query_id", how="left")
    then = rows.with_columns(follow(name, plan.follows) for name in LEAF_COLUMNS)
    first = pl.coalesce("among", pl.concat_list("primary"))
    second = pl.coalesce("among_secondary", pl.concat_list("secondary"))
    entered = then.select(first.alias("then_primary"), second.alias("seconds")).unique().explode("then_primary")
    gaining = there.join(entered.unique(), on="then_primary").filter(
        pl.col("then_secondary").is_in("seconds", nulls_equal=True)
        & (pl.col("secondary").is_null() | pl.col("then_secondary").is_not_null())
    )
    losing = there.join(rows.select("primary", "secondary").unique(), on=["primary", "secondary"], nulls_equal=True)
    both = pl.concat([part.select("primary", "secondary") for part in (losing, gaining)]).unique()
    found = ((p, s) for p, s in both.iter_rows() if p != IRRELEVANT)
    return tuple(sorted(found, key=lambda bucket: (bucket[0], bucket[1] or "")))


def stale_in(lake: Lake, registry: Registry, plan: Plan) -> Stale:
    """What is stale of what lies in the lake; a stage that was never made has nothing that is."""
    made = pl.concat([_table(lake, table) for table in CHECKPOINTS])
    drawn = _table(lake, QUEUE)["task_id"].to_list()
    trained_online = _table(lake, CHECKPOINTS[-1])["version"].to_list()

    def consumed(version: str) -> Iterator[str]:
        """What is on record; of online training, whose episodes are made as it goes, the tasks it drew from."""
        yield from (row for window in registry.consumed(version) for row in window.row_ids)
        yield from drawn if version in trained_online else ()

    return stale(
        plan,
        labels=_table(lake, LABELS),
        pool=_table(lake, "pool/candidate_pool"),
        tasks=_table(lake, "tasks/admitted_tasks"),
        trajectories=pl.concat([_table(lake, table) for table in TRAJECTORIES]),
        probes=pl.concat([_table(lake, table) for table in PROBES]),
        checkpoints=dict(made.iter_rows()),
        consumed=consumed,
    )


def _table(lake: Lake, table: str) -> pl.DataFrame:
    columns = _COLUMNS[table]
    if lake.exists(table):
        return lake.read(table, columns=columns).cast(pl.String)
    return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
