"""The blocking checks of the tasks pass on a sound pool and fail on what they are there for."""

from pathlib import Path

import polars as pl
import pytest

from assets.tasks.checks import (
    every_query_compiled_or_says_why,
    every_refusal_has_its_twin,
    no_group_on_two_sides,
    no_honeypot_among_the_tasks,
    no_quarantined_task_admitted,
    no_way_to_cheat_pays_on_an_admitted_task,
    the_gate_catches_every_kind_of_broken_task,
)
from assets.tasks.pool import Sizes, build_pool, pool_frame
from environments.honeypots.tasks import honeypots
from resources.lake import Lake
from tests.tasks.builders import SAID, WEATHER, labelled, said
from training.trajectories import tasks_frame

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


def report(lake: Lake, **changes: str) -> None:
    """A no-op that earned nothing on every admitted task, but for what is changed on the first."""
    rows = lake.read(ADMITTED).select("task_id", check=pl.lit("no-op-1"), status=pl.lit("passed"))
    first = rows.head(1).with_columns(**{name: pl.lit(value) for name, value in changes.items()})
    lake.write("tasks/admission_report", pl.concat([first, rows.tail(-1)]))


def test_cheating_that_pays_on_an_admitted_task_or_was_not_tried_fails_and_names_it(lake: Lake) -> None:
    report(lake)
    assert no_way_to_cheat_pays_on_an_admitted_task(lake).passed
    first = lake.read(ADMITTED)["task_id"][0]
    for changes in ({"status": "failed"}, {"status": "no_result"}, {"check": "gold"}):
        report(lake, **changes)
        found = no_way_to_cheat_pays_on_an_admitted_task(lake)
        assert not found.passed
        assert found.metadata["tasks"].value == first


def test_a_kind_of_broken_task_that_is_let_through_fails(lake: Lake) -> None:
    mistakes = pl.DataFrame({"mistake": ["turned down"], "what": ["weather, chatty"]})
    lake.write("tasks/gate_known", mistakes)
    assert the_gate_catches_every_kind_of_broken_task(lake).passed
    lake.write("tasks/gate_known", mistakes.with_columns(mistake=pl.lit("let through")))
    assert not the_gate_catches_every_kind_of_broken_task(lake).passed


def test_a_honeypot_among_the_tasks_or_without_its_mark_fails(lake: Lake) -> None:
    pots = tasks_frame(honeypots(1))
    lake.write("tasks/honeypots", pots)
    assert no_honeypot_among_the_tasks(lake).passed
    admitted = lake.read(ADMITTED)
    lake.write(ADMITTED, pl.concat([admitted, pots.with_columns(origin=pl.lit("query"))], how="diagonal"))
    assert not no_honeypot_among_the_tasks(lake).passed
    lake.write(ADMITTED, admitted)
    lake.write("tasks/honeypots", pots.with_columns(split=pl.lit("train")))
    assert not no_honeypot_among_the_tasks(lake).passed
