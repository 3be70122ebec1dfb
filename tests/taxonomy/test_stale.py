"""What a plan leaves stale, followed by the ids of rows down to the checkpoints."""

from pathlib import Path

import polars as pl

from assets.taxonomy.diff import diff
from assets.taxonomy.migration import Entry, Said
from assets.taxonomy.plan import Plan, make_plan
from assets.taxonomy.stale import buckets, stale_in
from dagster_project.tree_changes import leaves_of
from resources.lake import Lake
from resources.registry import Consumed, Registry
from tests.taxonomy.builders import taxonomy
from tests.taxonomy.test_plan import TREE, label_frame, without

SPLIT = Entry(Said.SPLIT, ("a.x",), ("a.x.m", "a.x.n"), confirmed=True)
AFTER = without("a.x") | {"a.x.m": TREE["a.x"][:3], "a.x.n": TREE["a.x"][3:]}


def plan() -> Plan:
    rows = [("q1", "a.x", "b.u", None, 0.9), ("q2", "a.y", "a.x", None, 0.9), ("q3", "a.y", None, "a.x", 0.2)]
    return make_plan(diff(taxonomy(TREE), taxonomy(AFTER), [SPLIT]), label_frame(rows))


def test_buckets_are_those_that_rows_leave_and_those_that_they_may_enter() -> None:
    new = ("a.x.m", "a.x.n", "a.x.other")
    assert buckets(plan()) == (
        *((leaf, "b.u") for leaf in ("a.x", *new)),
        *(("a.y", leaf) for leaf in ("a.x", *new)),
    )


def test_a_checkpoint_is_stale_that_learned_from_a_touched_row_or_from_one_that_did(tmp_path: Path) -> None:
    lake, registry = Lake(root=str(tmp_path / "lake")), Registry(url=f"sqlite:///{tmp_path / 'registry.db'}")
    assert stale_in(lake, registry, plan()).counts() == dict.fromkeys(
        ("pool", "tasks", "trajectories", "probes", "checkpoints"), 0
    ) | {"buckets": 8}
    lake.write("pool/candidate_pool", pl.DataFrame({"query_id": ["q1", "q3"]}))
    lake.write("tasks/admitted_tasks", pl.DataFrame({"task_id": ["t1", "t2", "t3"], "query_id": ["q1", "q1", "q3"]}))
    seeds = pl.DataFrame({"trajectory_id": ["y1", "y3"], "task_id": ["t1", "t3"]})
    lake.write("trajectories/seed_trajectories", seeds)
    lake.write("frontier/seed_probes", pl.DataFrame({"task_id": ["t1", "t1", "t3"]}))
    for table, version, parent in (
        ("sft/seed_policy", "c1", None), ("sft/boundary_policy", "c2", "c1"), ("policy/rl_policy", "c3", "c0")
    ):  # fmt: skip
        lake.write(
            table, pl.DataFrame({"version": [version], "parent": [parent]}, schema_overrides={"parent": pl.String})
        )
    registry.record_consumed([Consumed("c1", 0, 1, ["y3", "y1"], "d"), Consumed("c2", 0, 1, ["y3"], "d")])
    found = stale_in(lake, registry, plan())
    assert (found.pool, found.tasks, found.trajectories, found.probes) == (1, 2, 1, 2)
    assert found.checkpoints == ("c1", "c2")
    lake.write("policy/training_queue", pl.DataFrame({"task_id": ["t2"]}))
    assert stale_in(lake, registry, plan()).checkpoints == ("c1", "c2", "c3")


def test_a_plan_that_touches_no_row_still_names_a_leaf_for_its_run() -> None:
    after = taxonomy(without("b.u"))
    empty = make_plan(diff(taxonomy(TREE), after, []), label_frame([("q1", "a.x", None, None, 0.9)]))
    assert (empty.partitions.changed, empty.partitions.appear) == ((), ())
    assert len(leaves_of(empty, after)) == 1
    assert leaves_of(plan(), taxonomy(AFTER)) == ["a.x.m", "a.x.n", "a.x.other", "a.y"]
