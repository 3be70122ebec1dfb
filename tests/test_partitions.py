"""Leaves as partitions: one each as long as Dagster follows them, higher nodes in a larger tree."""

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets import keys
from assets.labels.rules import IRRELEVANT
from assets.metadata import materialized
from assets.partitions import LEAVES, MOST, ONE_RUN, add_partitions, over, over_some, partition_of_each
from assets.taxonomy.tree import load_taxonomy
from assets.versions import DATA_VERSION, is_whole, reported_by_leaf, version_in
from dagster_project.definitions import defs
from resources.lake import Lake

THREE = ("a.x", "a.y", "b")
ROWS = pl.DataFrame({"id": [1, 2, 3, 4], "of": ["a.x", "a.x", "b", None]})


def test_the_default_tree_has_a_partition_per_leaf_and_one_for_what_no_tool_is_for() -> None:
    leaves = [leaf.id for leaf in load_taxonomy().leaves]
    assert partition_of_each(leaves) == {leaf: leaf for leaf in (*leaves, IRRELEVANT)}
    assert len(leaves) + 1 <= MOST


def test_a_tree_of_500_leaves_is_cut_where_fewer_than_100_partitions_are() -> None:
    leaves = [f"b{i // 100}.n{i // 10}.l{i}" for i in range(500)]
    found = partition_of_each(leaves)
    assert found["b1.n12.l127"] == "b1.n12"
    assert len(set(found.values())) == 50 + 1
    flat = [f"b{i // 10}.l{i}" for i in range(500)]
    assert partition_of_each(flat)["b3.l37"] == "b3"


def test_more_branches_than_partitions_are_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="100 level-1 branches; at most 97 can be told apart: join some"):
        partition_of_each([f"b{i}" for i in range(100)])


def test_what_is_cut_by_leaves_is_what_the_keys_say() -> None:
    graph = defs.resolve_asset_graph()
    assert [key for key in keys.PIPELINE if graph.get(key).is_partitioned] == list(keys.BY_LEAF)


@dg.asset(key=["labels", "toy"], partitions_def=LEAVES, backfill_policy=ONE_RUN, code_version="1")
def toy(context: dg.AssetExecutionContext, lake: Lake) -> object:
    """Rows of three leaves."""
    rows = lake.read("labels/rows")
    yield from reported_by_leaf(context, lake, materialized(lake, "labels/toy", rows), rows, "of")


class Toy:
    """The toy asset on an instance and a lake."""

    def __init__(self, root: Path, instance: dg.DagsterInstance) -> None:
        self.lake, self.instance = Lake(root=str(root)), instance
        self.lake.write("taxonomy/intent_taxonomy", pl.DataFrame({"leaf": THREE}))
        self.partitions = add_partitions(instance, THREE)

    def made(self, rows: pl.DataFrame, tags: dict[str, str]) -> dict[str, str]:
        """Make it; the leaves that were reported, with their versions."""
        self.lake.write("labels/rows", rows)
        run = dg.materialize([toy], instance=self.instance, tags=tags, resources={"lake": self.lake})
        records = self.instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
        events = [r.asset_materialization for r in records.records if r.asset_materialization is not None]
        ours = [event for event in events if "table_version" in event.metadata]
        assert [is_whole(event) for event in ours] == [False] * (len(ours) - 1) + [True]
        assert {version_in(event) for event in ours} == {self.lake.version("labels/toy")}
        return {str(event.partition): (event.tags or {})[DATA_VERSION] for event in ours}


@pytest.fixture
def made_toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path, dg.DagsterInstance.local_temp(str(tmp_path)))


def test_a_run_reports_the_leaves_it_was_asked_for_and_those_that_changed(made_toy: Toy) -> None:
    first = made_toy.made(ROWS, over(made_toy.partitions))
    assert set(first) == {*THREE, IRRELEVANT}
    changed = ROWS.with_columns(id=pl.when(pl.col("of") == "b").then(9).otherwise("id"))
    second = made_toy.made(changed, over_some(["a.y"]))
    assert set(second) == {"a.y", "b"}
    assert second["a.y"] == first["a.y"]
    assert second["b"] != first["b"]
    assert set(made_toy.made(changed, over_some(["a.x", IRRELEVANT]))) == {"a.x", IRRELEVANT}


def test_a_leaf_has_the_same_version_for_any_order_of_the_rows_and_whatever_the_others_hold(made_toy: Toy) -> None:
    first = made_toy.made(ROWS, over(made_toy.partitions))
    other = pl.concat([ROWS.reverse().filter(pl.col("of") == "a.x"), pl.DataFrame({"id": [7], "of": ["b"]})])
    second = made_toy.made(other, over(made_toy.partitions))
    assert {leaf for leaf in first if first[leaf] == second[leaf]} == {"a.x", "a.y"}


def test_rows_of_a_leaf_that_the_tree_lost_are_an_error_that_says_what_to_make_first(made_toy: Toy) -> None:
    rows = ROWS.with_columns(of=pl.lit("a.gone"))
    with pytest.raises(ValueError, match=r"for example 'a\.gone': it changed since they were labelled"):
        made_toy.made(rows, over(made_toy.partitions))


def test_partitions_of_a_tree_are_added_and_those_it_lost_are_forgotten() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        add_partitions(instance, THREE)
        assert set(add_partitions(instance, ("a.x", "c"))) == {"a.x", "c", IRRELEVANT}
