"""Requests that mean the same: the keep rule within a bucket, whatever its size and order."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

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


def noisy(count: int, centres: int, dimensions: int = 32) -> NDArray[np.float32]:
    """Vectors that lie about some centres."""
    rng = np.random.default_rng(0)
    made = unit_vectors(centres, dimensions=dimensions)[rng.integers(0, centres, count)]
    made = made + 0.06 * rng.normal(size=made.shape).astype(np.float32)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("gpu", [False, True])
def test_a_group_of_many_blocks_is_decided_as_brute_force_would(monkeypatch: pytest.MonkeyPatch, *, gpu: bool) -> None:
    monkeypatch.setattr(semantic, "has_gpu", lambda: gpu)  # FAISS searches on the CPU then, by the same calls
    vectors = noisy(5000, centres=1500)
    found = semantic_survivors(vectors, ["x"] * 5000, [""] * 5000, 0.9)
    expected = by_the_rule(cosines(rounded(vectors), rounded(vectors)), 0.9)
    np.testing.assert_array_equal(found.survivor_N, expected.survivor_N)
    np.testing.assert_array_equal(found.similarity_N, np.minimum(expected.similarity_N, 1))
    assert 500 < found.kept_N.sum() < 4500


def test_the_search_of_a_large_group_is_measured_against_brute_force() -> None:
    vectors = noisy(6000, centres=1500)
    ids, halves = [f"q{i:05d}" for i in range(6000)], Vectors([rounded(vectors)])
    rows, found = np.arange(6000), decide(ids, halves, ["x"] * 6000, [""] * 6000, 0.9)
    assert found.recall == sampled_recall(halves, rows, found.survival, 0.9) == 1.0
    blind = Survival(rows.copy(), np.ones(6000, np.float32))
    assert sampled_recall(halves, rows, blind, 0.9) == 0.0, "a layer that drops nothing has no recall"
    few = Vectors([rounded(vectors[:3000])])
    assert decide(ids[:3000], few, ["x"] * 3000, [""] * 3000, 0.9).recall is None, "little to search"


def test_a_bucket_of_identical_vectors_is_no_trouble_for_any_search() -> None:
    same = np.repeat(unit_vectors(1, dimensions=32), 6000, axis=0)
    found = semantic_survivors(same, ["x"] * 6000, [""] * 6000, 0.9)
    assert found.kept_N.sum() == 1
    assert set(found.survivor_N.tolist()) == {0}


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
