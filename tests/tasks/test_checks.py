"""The blocking checks of the tasks pass on a sound pool and fail on what they are there for."""

from pathlib import Path

import polars as pl
import pytest

from assets.tasks.checks import (
    every_query_compiled_or_says_why,
    every_refusal_has_its_twin,
    no_group_on_two_sides,
    no_quarantined_task_admitted,
)
from assets.tasks.pool import Sizes, build_pool, pool_frame
from resources.lake import Lake
from tests.tasks.builders import SAID, WEATHER, labelled, said

COMPILED, ADMITTED, DROPPED, QUARANTINE = (
    f"tasks/{t}" for t in ("compiled_tasks", "admitted_tasks", "not_compiled", "quarantine")
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A small pool, all of it admitted."""
    queries = [*(said(f) for f in SAID), labelled("What is the humidity in Paris?", WEATHER)]
    sizes = Sizes(floor=0, per_family=2, copies=1, refusal_share=0.3)
    pool = build_pool(queries, [], languages=("en",), held_out_share=0.0, sizes=sizes)
    lake, frame = Lake(root=str(tmp_path)), pool_frame(pool)
    lake.write(COMPILED, frame)
    lake.write(ADMITTED, frame)
    lake.write(DROPPED, pl.DataFrame(pool.dropped, schema=["query_id", "rule", "detail"], orient="row"))
    lake.write(QUARANTINE, pl.DataFrame(schema={"task_id": pl.String, "check": pl.String, "evidence": pl.String}))
    return lake


def change(lake: Lake, table: str, *columns: pl.Expr) -> None:
    lake.write(table, lake.read(table).with_columns(*columns))


def test_a_sound_pool_passes(lake: Lake) -> None:
    assert every_query_compiled_or_says_why(lake).passed
    assert no_group_on_two_sides(lake).passed
    assert no_quarantined_task_admitted(lake).passed
    assert every_refusal_has_its_twin(lake).passed


def test_a_query_that_is_a_task_and_dropped_fails(lake: Lake) -> None:
    change(lake, DROPPED, pl.lit(SAID["weather"]).alias("query_id"))
    assert not every_query_compiled_or_says_why(lake).passed


def test_a_query_dropped_without_a_rule_fails(lake: Lake) -> None:
    change(lake, DROPPED, pl.lit("").alias("rule"))
    assert not every_query_compiled_or_says_why(lake).passed


def test_a_group_on_two_sides_fails(lake: Lake) -> None:
    change(
        lake, COMPILED, pl.when(pl.col("origin") == "variant").then(pl.lit("hidden")).otherwise("split").alias("split")
    )
    assert not no_group_on_two_sides(lake).passed


def test_a_task_both_admitted_and_quarantined_or_neither_fails(lake: Lake) -> None:
    admitted = lake.read(ADMITTED)
    lake.write(QUARANTINE, admitted.head(1).select("task_id", check=pl.lit("gold"), evidence=pl.lit("")))
    assert not no_quarantined_task_admitted(lake).passed
    lake.write(ADMITTED, admitted.tail(-1))
    assert no_quarantined_task_admitted(lake).passed
    lake.write(ADMITTED, admitted.tail(-2))
    assert not no_quarantined_task_admitted(lake).passed, "one is lost"


def test_a_refusal_without_its_twin_fails(lake: Lake) -> None:
    admitted = lake.read(ADMITTED)
    twin = admitted["twin"].drop_nulls()[0]
    lake.write(ADMITTED, admitted.filter(pl.col("task_id") != twin))
    assert not every_refusal_has_its_twin(lake).passed
    moved = pl.when(pl.col("task_id") == twin).then(pl.lit("dev")).otherwise("split").alias("split")
    lake.write(ADMITTED, admitted.with_columns(moved))
    assert not every_refusal_has_its_twin(lake).passed
