"""Stored pairs say what any threshold from the floor on keeps, and exactly what the layer's own kept."""

import random
import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assets.pool import lexical_pairs as by_letters
from assets.pool import semantic_pairs as by_meaning
from assets.pool.audit import jaccard_of
from assets.pool.lexical import groups_of, lexical_survivors
from assets.pool.minhash import utf8_of
from assets.pool.pairs import BOUND, Pairs, kept_at, levels_of
from assets.pool.survival import Survival
from assets.pool.vectors import Vectors, rounded
from tests.pool.builders import by_the_rule, semantic_survivors, unit_vectors

TEXTS = st.lists(st.text(alphabet="ab 北京", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=40)
THRESHOLDS = st.floats(0.5, 1.0)
WORDS = ["weather", "forecast", "please", "tell", "umbrella", "holiday", "mountain", "evening", "concert", "garden"]


def pairs_of(texts: list[str], facts: list[str], threshold: float, floor: float) -> tuple[Survival, Pairs]:
    said = pl.Series(texts, dtype=pl.String)
    survival = lexical_survivors(said, facts, threshold)
    groups = groups_of(utf8_of(said), facts, numbers=False)
    return survival, by_letters.lexical_pairs(said, groups, survival, threshold=threshold, floor=floor)


def kept(pairs: Pairs, threshold: float, count: int) -> NDArray[np.bool_]:
    return kept_at(*pairs[:3], threshold, np.ones(count, dtype=np.bool_))


@settings(deadline=None, max_examples=100)
@given(TEXTS, st.data(), THRESHOLDS)
def test_letters_replayed_at_any_threshold_keep_what_a_run_there_keeps(
    texts: list[str], data: st.DataObject, threshold: float
) -> None:
    facts = data.draw(st.lists(st.sampled_from(["rome", "oslo"]), min_size=len(texts), max_size=len(texts)))
    survival, pairs = pairs_of(texts, facts, 0.75, 0.5)
    assume(pairs.missed == 0)  # the bands of the layer find a pair above its threshold with 99.9%
    same = np.array(facts)[:, None] == np.array(facts)[None, :]
    expected = by_the_rule(np.where(same, jaccard_of(texts), 0.0), threshold)
    np.testing.assert_array_equal(kept(pairs, threshold, len(texts)), expected.kept_N)
    np.testing.assert_array_equal(kept(pairs, 0.75, len(texts)), survival.kept_N)
    assert (pairs.earlier_P < pairs.later_P).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 300), st.integers(0, 100), st.floats(0.6, 1.0), st.sampled_from([1, 7, 256]))
def test_meanings_replayed_at_any_threshold_keep_what_a_run_there_keeps(
    count: int, seed: int, threshold: float, block: int
) -> None:
    vectors, buckets = unit_vectors(count, dimensions=4, seed=seed), [f"b{i % 2}" for i in range(count)]
    survival = semantic_survivors(vectors, buckets, [""] * count, 0.8)
    original, by_meaning._BLOCK = by_meaning._BLOCK, block
    try:
        pairs = by_meaning.semantic_pairs(
            Vectors([rounded(vectors)]), buckets, [""] * count, survival, threshold=0.8, floor=0.6
        )
    finally:
        by_meaning._BLOCK = original
    np.testing.assert_array_equal(kept(pairs, 0.8, count), survival.kept_N)
    expected = semantic_survivors(vectors, buckets, [""] * count, threshold)
    np.testing.assert_array_equal(kept(pairs, threshold, count), expected.kept_N)


def near_copies(count: int, seed: int = 0) -> list[str]:
    """One long request with a few words exchanged, so that everybody is near everybody."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        said = ["how", "far", "is", "it", "to", "the", *WORDS * 2]
        for _ in range(rng.randint(1, 5)):
            said[rng.randrange(len(said))] = rng.choice(WORDS)
        texts.append(" ".join(said))
    return list(dict.fromkeys(texts))


@pytest.mark.parametrize("large", [10_000, 100])
def test_a_crowd_stores_few_pairs_of_a_row_and_loses_nothing_at_the_levels(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_letters, "LARGE", large)  # 100: through bands
    texts = near_copies(900)
    count = len(texts)
    survival, pairs = pairs_of(texts, [""] * count, 0.75, 0.6)
    levels = levels_of(0.6, 0.75)
    assert np.bincount(pairs.later_P).max() <= BOUND + len(levels.level_T) + 1
    assert len(pairs.later_P) < count * (count - 1) / 4
    assert pairs.bounded > 500
    similarity = jaccard_of(texts)
    for threshold in levels.level_T:
        expected = by_the_rule(similarity, threshold).kept_N if threshold != 0.75 else survival.kept_N
        np.testing.assert_array_equal(kept(pairs, threshold, count), expected)


def test_a_bucket_of_equal_vectors_stores_one_pair_a_row_beyond_the_first_block() -> None:
    same = np.repeat(unit_vectors(1, dimensions=32), 3000, axis=0)
    survival = semantic_survivors(same, ["x"] * 3000, [""] * 3000, 0.93)
    pairs = by_meaning.semantic_pairs(
        Vectors([rounded(same)]), ["x"] * 3000, [""] * 3000, survival, threshold=0.93, floor=0.85
    )
    assert len(pairs.later_P) <= 3000 * BOUND
    assert kept(pairs, 0.99, 3000).sum() == 1
    assert kept(pairs, 0.93, 3000).sum() == 1


def test_memory_stays_small_when_one_bucket_holds_most_and_is_a_crowd() -> None:
    centres = unit_vectors(50, dimensions=64)
    rng = np.random.default_rng(0)
    noisy = centres[np.arange(20_000) % 50] + 0.01 * rng.normal(size=(20_000, 64)).astype(np.float32)
    vectors = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    buckets, facts = ["big" if i % 5 < 3 else f"b{i % 97}" for i in range(20_000)], [""] * 20_000
    survival = semantic_survivors(vectors, buckets, facts, 0.95)
    tracemalloc.start()
    pairs = by_meaning.semantic_pairs(Vectors([rounded(vectors)]), buckets, facts, survival, threshold=0.95, floor=0.85)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs.bounded > 10_000
    assert peak < 200e6  # the 2.4 million similar pairs of the big bucket alone would not fit, nor 12,000 x 12,000
    np.testing.assert_array_equal(kept(pairs, 0.95, 20_000), survival.kept_N)


def test_a_large_group_is_searched_by_cells_and_agrees_with_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    centres = unit_vectors(800, dimensions=32)
    noisy = centres[rng.integers(0, 800, 4000)] + 0.06 * rng.normal(size=(4000, 32)).astype(np.float32)
    vectors = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    bucket, facts = ["x"] * 4000, [""] * 4000
    monkeypatch.setattr(by_meaning, "LARGE", 1000)
    survival = semantic_survivors(vectors, bucket, facts, 0.93)
    pairs = by_meaning.semantic_pairs(Vectors([rounded(vectors)]), bucket, facts, survival, threshold=0.93, floor=0.85)
    np.testing.assert_array_equal(kept(pairs, 0.93, 4000), survival.kept_N)
    for threshold in (0.86, 0.9, 0.96):
        expected = semantic_survivors(vectors, bucket, facts, threshold)
        assert (kept(pairs, threshold, 4000) == expected.kept_N).mean() > 0.98


def test_what_the_layer_missed_is_counted_and_does_not_contradict_it() -> None:
    texts = ["weather in rome today", "weather in rome today!", "weather in rome today?"]
    blind = Survival(np.array([0, 1, 0]), np.array([1, 1, 0.9], np.float32))
    groups = np.zeros(3, dtype=np.uint64)
    pairs = by_letters.lexical_pairs(pl.Series(texts), groups, blind, threshold=0.75, floor=0.6)
    assert pairs.missed == 1
    assert kept(pairs, 0.75, 3).tolist() == [True, True, False]


@pytest.mark.parametrize("floor", [0.0, 0.75, 0.9])
def test_without_a_floor_below_the_threshold_nothing_is_stored(floor: float) -> None:
    _, pairs = pairs_of(["weather in rome", "weather in rome!"], ["", ""], 0.75, floor)
    assert len(pairs.later_P) == 0
    vectors = np.repeat(unit_vectors(1), 2, axis=0)
    survival = semantic_survivors(vectors, ["x"] * 2, [""] * 2, 0.75)
    halves = Vectors([rounded(vectors)])
    pairs = by_meaning.semantic_pairs(halves, ["x"] * 2, [""] * 2, survival, threshold=0.75, floor=floor)
    assert len(pairs.later_P) == 0


@pytest.mark.parametrize(
    ("floor", "threshold"), [(0.6, 0.75), (0.85, 0.93), (0.01, 0.02), (0.613, 0.7771), (0.999, 1.0)]
)
def test_levels_fit_into_one_word_and_hold_floor_and_threshold(floor: float, threshold: float) -> None:
    levels = levels_of(floor, threshold)
    assert len(levels.level_T) <= 63
    assert levels.level_T[0] == floor
    assert levels.level_T[-1] == 1.0
    assert levels.level_T[levels.own] == threshold
