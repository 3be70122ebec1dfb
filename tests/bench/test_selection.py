"""The parts of `bench-selection` whose figures nobody would notice to be wrong."""

import numpy as np
import polars as pl
import pytest

from tests.bench.selection_pools import known_words, stratified, words_of
from tests.bench.selection_rows import over_seeds


def test_strata_are_drawn_in_proportion_and_what_rounding_leaves_goes_to_the_largest_remainder() -> None:
    leaves = ["a"] * 60 + ["b"] * 33 + ["c"] * 7
    rows = pl.DataFrame({"query_id": [f"q{i:03d}" for i in range(100)], "primary": leaves, "language": "en"})
    counts = [dict(stratified(rows, 10, seed)["primary"].value_counts().iter_rows()) for seed in (0, 1)]
    assert counts == [{"a": 6, "b": 3, "c": 1}] * 2
    assert set(stratified(rows, 10, 0)["query_id"]) != set(stratified(rows, 10, 1)["query_id"])


def test_the_interval_over_seeds_is_wide_where_seeds_differ_and_items_do_not() -> None:
    by_seed = np.repeat([[0.0], [0.5], [1.0]], 50, axis=1)
    found = over_seeds(by_seed)
    assert found.value == 0.5
    assert (found.low, found.high) == (0.0, 1.0)
    same = over_seeds(np.tile([0.0, 1.0] * 200, (3, 1)))
    assert (same.low, same.high) == pytest.approx((0.45, 0.55), abs=0.02)


def test_a_slip_of_the_finger_is_a_word_that_the_grammar_cannot_say() -> None:
    known = known_words(pl.Series(['{"c": "Rome", "d": "on June 14"}', '{"m": "by bike"}']))
    assert known >= words_of("Hello, what is the weather in Rome on June 14? my mail is <email>")
    assert not known >= words_of("what is the wetaher in Rome")
