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


ROWS = [("q1", "a.x", "b.u", None, 0.9), ("q2", "a.y", "a.x", None, 0.9), ("q3", "a.y", None, "a.x", 0.2)]


def plan() -> Plan:
    return make_plan(diff(taxonomy(TREE), taxonomy(AFTER), [SPLIT]), label_frame(ROWS))


def test_buckets_are_those_there_are_that_rows_leave_or_may_enter() -> None:
    assert buckets(plan(), label_frame(ROWS)) == (("a.x", "b.u"), ("a.y", "a.x"))
    edited = make_plan(diff(taxonomy(TREE), taxonomy(TREE | {"a.x": ("other words",)})), label_frame(ROWS[:1]))
    others = [("q7", "a.other", "b.u", None, 0.9), ("q8", "a.other", None, None, 0.9), ("q9", "b.u", "a.x", None, 0.9)]
    assert buckets(edited, label_frame([*ROWS[:1], *others])) == (("a.other", "b.u"), ("a.x", "b.u"))


def test_under_another_tree_altogether_the_buckets_are_no_more_than_the_labels_have() -> None:
    olds, news = (tuple(f"{branch}.n.l{i:03}" for i in range(150)) for branch in ("old", "new"))
    before, after = (taxonomy({leaf: (f"say {leaf}",) for leaf in leaves}) for leaves in (olds, news))
    rows = [(f"q{i}", olds[i], olds[-1 - i] if i % 2 else None, None, 0.9) for i in range(150)]
    replaced = make_plan(diff(before, after), label_frame(rows))
    assert set(buckets(replaced, label_frame(rows))) == {(primary, secondary) for _, primary, secondary, *_ in rows}


def test_a_bucket_of_a_renamed_leaf_is_listed_by_the_name_it_has() -> None:
    tree = without("a.x") | {"a.w": TREE["a.x"]}
    renamed = make_plan(diff(taxonomy(TREE), taxonomy(tree)), label_frame(ROWS))
    assert buckets(renamed, label_frame(ROWS)) == (("a.x", "b.u"), ("a.y", "a.x"))


def test_a_checkpoint_is_stale_that_learned_from_a_touched_row_or_from_one_that_did(tmp_path: Path) -> None:
    lake, registry = Lake(root=str(tmp_path / "lake")), Registry(url=f"sqlite:///{tmp_path / 'registry.db'}")
    assert stale_in(lake, registry, plan()).counts() == dict.fromkeys(
        ("pool", "tasks", "trajectories", "probes", "checkpoints"), 0
    ) | {"buckets": 0}
    lake.write("labels/query_labels", label_frame(ROWS))
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
    assert found.buckets == (("a.x", "b.u"), ("a.y", "a.x"))
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
