"""Leaf x difficulty x constraint density by layer, on tables small enough to count by hand."""

import polars as pl
import pytest

from assets.labels.constraints import constraints_of, read
from assets.labels.table import constraint_count
from assets.pool.figures import spread_figure
from assets.pool.spread import spread, spread_by_layer

TEXTS = [
    "hello",
    "weather in Rome",
    "weather in Rome on June 14",
    "cheapest flight from Rome to Oslo on Friday for less than 200 euros",
    "which is faster from Rome to Milan, by car or by bike",
    "best museum in Rome",
    "is it sunny in Oslo tomorrow",
    "book the cheapest train from Rome to Milan for two people on 2026-06-14",
    "weather in Atlantisville",
]


def labels() -> pl.DataFrame:
    leaves = ["x", "x", "y", "irrelevant"]
    return pl.DataFrame(
        {"query_id": list("abcd"), "primary": leaves, "difficulty": [1, 2, 2, 0], "count": [1, 3, 3, 0]}
    )


def gone(*pairs: tuple[str, str | None]) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema={"query_id": pl.String, "survivor": pl.String}, orient="row")


def test_the_number_of_constraints_is_read_off_the_table_as_the_labels_count_it() -> None:
    made = [constraints_of(read(text)) for text in TEXTS]
    table = pl.DataFrame({"constraints": [c.as_json() for c in made]})
    assert table.select(constraint_count()).to_series().to_list() == [c.stated for c in made]
    assert len({c.stated for c in made}) > 3


def test_two_leaves_of_one_size_are_one_bit() -> None:
    found = spread(labels().filter(pl.col("query_id").is_in(["b", "c"])))
    assert (found.leaves, found.smallest_leaf, found.cells) == (2, 1, 2)
    assert found.leaf_entropy == pytest.approx(1.0)
    assert found.cell_entropy == pytest.approx(1.0)
    assert found.difficulty == {2: 1.0}
    assert found.constraints == 3.0


def test_each_layer_takes_what_it_dropped_and_a_near_copy_counts_as_its_survivor() -> None:
    dropped = {
        "lexical": gone(("copy of b", "b"), ("copy of c", "c"), ("another of c", "c")),
        "labels": gone(("d", None)),
        "semantic": gone(("a", "b")),
    }
    found = spread_by_layer(labels(), dropped)
    assert [s.queries for s in found.values()] == [7, 4, 3, 2]
    assert found["distinct"].difficulty == pytest.approx({0: 1 / 7, 1: 1 / 7, 2: 5 / 7})
    assert found["distinct"].constraints == pytest.approx(16 / 7)
    assert found["labels"].leaves == 2
    assert len(spread_figure(found).axes) == 3


def test_no_query_at_all_is_an_empty_spread() -> None:
    found = spread(labels().clear())
    assert (found.queries, found.leaves, found.leaf_entropy, found.constraints) == (0, 0, 0.0, 0.0)
