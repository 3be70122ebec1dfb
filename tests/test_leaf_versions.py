"""Of a table that is cut by leaves, a run over one leaf brings every leaf up to date and reports no other."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets.labels.rules import IRRELEVANT
from assets.metadata import materialized
from assets.partitions import LEAVES, ONE_RUN
from assets.versions import reported_by_leaf
from resources.lake import Lake

WALK, RIDE, OTHER = "trips.walk", "trips.ride", "trips.other"
EVERY = {WALK, RIDE, OTHER, IRRELEVANT}
TEXTS = {WALK: "on foot", RIDE: "by tram", OTHER: "somehow"}


class Line:
    """Texts by leaf, and after them how long each is: another text of the same length gives the same rows."""

    def __init__(self, lake: Lake, instance: dg.DagsterInstance) -> None:
        self.lake, self.instance, self.code = lake, instance, "1"
        lake.write("taxonomy/intent_taxonomy", pl.DataFrame({"leaf": [WALK, RIDE, OTHER]}))
        instance.add_dynamic_partitions(str(LEAVES.name), sorted(EVERY))

    def make(self, table: str, leaf: str, texts: dict[str, str]) -> set[str | None]:
        """Run one of the two tables over one leaf; returns the leaves that it then reported."""
        made = {spec.key.to_user_string(): spec for spec in self._assets(texts)}
        run = dg.materialize(list(made.values()), selection=[made[table]], instance=self.instance, partition_key=leaf)
        found = self.instance.fetch_materializations(dg.AssetKey(table.split("/")), limit=100).records
        return {record.partition_key for record in found if record.run_id == run.run_id}

    def _assets(self, texts: dict[str, str]) -> list[dg.AssetsDefinition]:
        rows = pl.DataFrame({"leaf": list(texts), "text": list(texts.values())})

        @dg.asset(key=["labels", "texts"], partitions_def=LEAVES, backfill_policy=ONE_RUN)
        def written(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:
            yield from reported_by_leaf(context, self.lake, materialized(self.lake, "labels/texts", rows), rows, "leaf")

        @dg.asset(
            key=["pool", "lengths"], deps=[written], partitions_def=LEAVES, backfill_policy=ONE_RUN,
            code_version=self.code,
        )  # fmt: skip
        def measured(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:
            long = rows.with_columns(pl.col("text").str.len_chars())
            yield from reported_by_leaf(context, self.lake, materialized(self.lake, "pool/lengths", long), long, "leaf")

        return [written, measured]


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    with dg.DagsterInstance.ephemeral() as instance:
        found = Line(Lake(root=str(tmp_path)), instance)
        assert found.make("labels/texts", WALK, TEXTS) == EVERY, "nothing was known before"
        assert found.make("pool/lengths", WALK, TEXTS) == EVERY
        yield found


def test_a_run_reports_its_leaf_and_those_whose_rows_changed(line: Line) -> None:
    assert line.make("labels/texts", WALK, TEXTS) == {WALK}
    assert line.make("labels/texts", WALK, TEXTS | {RIDE: "by tram and bus"}) == {WALK, RIDE}


def test_a_leaf_that_is_stale_is_reported_though_its_rows_are_the_same(line: Line) -> None:
    now = TEXTS | {RIDE: "by boat"}
    assert line.make("labels/texts", RIDE, now) == {RIDE}
    assert line.make("pool/lengths", WALK, now) == {WALK, RIDE}
    assert line.make("pool/lengths", WALK, now) == {WALK}, "and then it is fresh"


def test_after_a_change_of_the_code_every_leaf_is_reported(line: Line) -> None:
    line.code = "2"
    assert line.make("pool/lengths", WALK, TEXTS) == EVERY
    assert line.make("pool/lengths", WALK, TEXTS) == {WALK}


def test_the_row_count_that_the_asset_s_page_shows_is_the_table_s_and_each_leaf_has_its_own(line: Line) -> None:
    assert line.make("labels/texts", OTHER, TEXTS | {RIDE: "by boat"}) == {OTHER, RIDE}
    latest = line.instance.fetch_materializations(dg.AssetKey(["labels", "texts"]), limit=2 + len(EVERY)).records
    shown = [
        {name: value.value for name, value in record.asset_materialization.metadata.items()}
        for record in latest
        if record.asset_materialization is not None and record.partition_key is not None
    ]
    assert shown[0]["dagster/row_count"] == len(TEXTS) == shown[0]["table_rows"]
    assert [one.get("rows_of_leaf") for one in shown[:2]] == [1, 1]
    assert "dagster/row_count" not in shown[1]
