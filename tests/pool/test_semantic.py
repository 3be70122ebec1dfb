"""Requests that mean the same: the keep rule within a bucket, whatever its size and order."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.pool import semantic
from assets.pool.decisions import decide
from assets.pool.facts import facts_of
from assets.pool.semantic import sampled_recall
from assets.pool.survival import Survival, dropped_rows, kept_rows
from assets.pool.vectors import Vectors, cosines, rounded
from resources.embedder import Embedder
from tests.pool.builders import by_the_rule, queries, semantic_survivors, shuffled, unit_vectors


def test_paraphrases_of_one_request_leave_the_first_seen() -> None:
    texts = ["what is my bank balance", "what's my bank balance", "play some jazz music", "play some jazz music please"]
    found = semantic_survivors(Embedder().embed(texts), ["x"] * 4, facts_of(texts), 0.9)
    assert found.survivor_N.tolist() == [0, 0, 2, 2]


def test_rows_of_other_buckets_or_other_facts_are_not_compared() -> None:
    same = np.repeat(unit_vectors(1), 4, axis=0)
    found = semantic_survivors(same, ["a", "a", "b", "a"], ["rome", "rome", "rome", "oslo"], 0.9)
    assert found.survivor_N.tolist() == [0, 0, 2, 3]


def test_ten_equal_vectors_leave_one_and_nine_that_name_it() -> None:
    rows = queries([f"text {i}" for i in range(10)])
    survival = semantic_survivors(np.repeat(unit_vectors(1), 10, axis=0), ["x"] * 10, [""] * 10, 0.99)
    dropped = dropped_rows(rows["query_id"].to_list(), survival, layer="semantic", rule="same_meaning")
    assert kept_rows(rows, survival)["support"].to_list() == [rows["support"].sum()]
    assert dropped["survivor"].to_list() == ["q00000"] * 9
    assert dropped["similarity"].to_list() == pytest.approx([1.0] * 9)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 120), st.integers(0, 100), st.sampled_from([1, 7, 64]))
def test_the_rule_holds_word_for_word_at_every_block_size(count: int, seed: int, block: int) -> None:
    vectors = unit_vectors(count, dimensions=4, seed=seed)
    expected = by_the_rule(cosines(rounded(vectors), rounded(vectors)), 0.8)
    original, semantic._BLOCK = semantic._BLOCK, block
    try:
        found = semantic_survivors(vectors, ["x"] * count, [""] * count, 0.8)
    finally:
        semantic._BLOCK = original
    np.testing.assert_array_equal(found.survivor_N, expected.survivor_N)
    np.testing.assert_array_equal(found.similarity_N, np.minimum(expected.similarity_N, 1))


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 60), st.integers(0, 20))
def test_the_order_of_rows_changes_nothing_and_nothing_is_lost(count: int, seed: int) -> None:
    rows = queries([f"text {i}" for i in range(count)])
    vectors = unit_vectors(count, dimensions=3, seed=seed)
    tables = []
    for frame in (rows, shuffled(rows, seed)):
        numbers = [int(name[1:]) for name in frame["query_id"]]
        survival = semantic_survivors(vectors[numbers], [f"b{i % 3}" for i in numbers], [""] * count, 0.7)
        dropped = dropped_rows(frame["query_id"].to_list(), survival, layer="semantic", rule="same_meaning")
        tables.append((kept_rows(frame, survival), dropped))
    (kept, dropped), (kept_again, dropped_again) = tables
    assert kept.equals(kept_again)
    assert dropped.drop("similarity").equals(dropped_again.drop("similarity"))
    assert len(kept) + len(dropped) == count
    assert kept["support"].sum() == rows["support"].sum()


def test_memory_follows_the_kept_rows_when_one_bucket_holds_most() -> None:
    centres = unit_vectors(50, dimensions=64)
    vectors = centres[np.arange(40_000) % 50]
    buckets = ["big" if i % 5 < 3 else f"b{i % 97}" for i in range(40_000)]
    tracemalloc.start()
    found = semantic_survivors(vectors, buckets, [""] * 40_000, 0.95)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.kept_N.sum() < 50 * 98
    assert peak < 150e6  # 40,000 x 40,000 similarities would be 6.4 GB


def test_a_large_group_is_searched_by_cells_and_loses_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    centres = unit_vectors(3000, dimensions=32)
    noisy = centres[rng.integers(0, 3000, 12_000)] + 0.06 * rng.normal(size=(12_000, 32)).astype(np.float32)
    vectors = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    ids, halves = [f"q{i:05d}" for i in range(12_000)], Vectors([rounded(vectors)])
    exact = semantic_survivors(vectors, ["x"] * 12_000, [""] * 12_000, 0.9)
    original, semantic.LARGE = semantic.LARGE, 5_000
    try:
        by_cells = decide(ids, halves, ["x"] * 12_000, [""] * 12_000, 0.9)
        again = semantic_survivors(vectors, ["x"] * 12_000, [""] * 12_000, 0.9)
    finally:
        semantic.LARGE = original
    rows, kept_N = np.arange(12_000), by_cells.survival.kept_N
    assert (kept_N == exact.kept_N).mean() > 0.99
    assert by_cells.recall is not None
    assert by_cells.recall > 0.99
    np.testing.assert_array_equal(by_cells.survival.survivor_N, again.survivor_N)
    assert sampled_recall(halves, rows, exact, 0.9) == 1.0
    blind = Survival(rows.copy(), np.ones(12_000, np.float32))
    assert sampled_recall(halves, rows, blind, 0.9) == 0.0, "a layer that drops nothing has no recall"
    assert decide(ids, halves, ["x"] * 12_000, [""] * 12_000, 0.9).recall is None, "nothing was searched by cells"


def test_a_bucket_of_identical_vectors_is_no_trouble_for_cells() -> None:
    same = np.repeat(unit_vectors(1, dimensions=32), 6000, axis=0)
    original, semantic.LARGE = semantic.LARGE, 5_000
    try:
        found = semantic_survivors(same, ["x"] * 6000, [""] * 6000, 0.9)
    finally:
        semantic.LARGE = original
    assert found.kept_N.sum() == 1


def test_bad_input_is_an_error_that_names_it() -> None:
    vectors = unit_vectors(3)
    vectors[1, 0] = np.nan
    with pytest.raises(ValueError, match="vector 1 of 3 holds NaN"):
        semantic_survivors(vectors, ["x"] * 3, [""] * 3, 0.9)
    with pytest.raises(ValueError, match=r"threshold must be in \(0, 1\], got 1\.5"):
        semantic_survivors(unit_vectors(1), ["x"], [""], 1.5)
    with pytest.raises(ValueError, match="got 2, 3, 2, 3"):
        semantic_survivors(unit_vectors(3), ["x"] * 2, [""] * 3, 0.9)


def test_no_rows_are_no_error() -> None:
    assert semantic_survivors(unit_vectors(0), [], [], 0.9).survivor_N.tolist() == []
