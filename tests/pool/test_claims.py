"""Rows that claim their places side by side: the same outcome for any block, any number of threads, and any crowd."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.pool.claims import claimed
from assets.pool.lexical import groups_of, shared_buckets, silent
from assets.pool.minhash import Crowd, bands_for, utf8_of
from assets.pool.survival import Survival

ONE_THREAD = 10**9
"""A block that no component reaches."""
NEAR = st.lists(st.text(alphabet="ab 北京", min_size=3, max_size=9).filter(str.strip), min_size=1, max_size=60)


def outcome(texts: list[str], threshold: float, block: int, crowd: Crowd | None = None) -> Survival:
    utf8 = utf8_of(pl.Series(texts))
    groups = groups_of(utf8, [""] * len(texts), numbers=False)
    with ThreadPoolExecutor(3) as pool:
        found = shared_buckets(utf8, groups, bands_for(threshold), pool, silent)
        return claimed(utf8, groups, found, threshold, pool, silent, block=block, crowd=crowd)


@settings(deadline=None, max_examples=60)
@given(NEAR, st.sampled_from([1, 2, 5, 17]), st.sampled_from([0.5, 0.8]), st.sampled_from([None, (1, 3), (3, 16)]))
def test_any_block_and_any_crowd_give_what_one_row_after_the_other_gives(
    texts: list[str], block: int, threshold: float, crowd: tuple[int, int] | None
) -> None:
    passed_over = Crowd(*crowd) if crowd else None
    expected = outcome(texts, threshold, ONE_THREAD, passed_over)
    found = outcome(texts, threshold, block, passed_over)
    np.testing.assert_array_equal(found.survivor_N, expected.survivor_N)
    np.testing.assert_array_equal(found.similarity_N, expected.similarity_N)


@pytest.mark.parametrize("block", [2, 8, 64])
@pytest.mark.parametrize("crowd", [(2, 1), (8, 4), (20, 8)])
def test_a_bucket_that_becomes_crowded_within_a_block_is_passed_over_from_the_same_row_on(
    block: int, crowd: tuple[int, int]
) -> None:
    rng = random.Random(1)
    ends = ["".join(rng.choices("abcdefghijkl", k=9)) for _ in range(40)]
    pairs = [rng.choices(ends, k=2) for _ in range(600)]
    texts = [f"all of us begin with the same words and end with {one} {other}" for one, other in pairs]
    expected = outcome(texts, 0.8, ONE_THREAD, Crowd(*crowd))
    found = outcome(texts, 0.8, block, Crowd(*crowd))
    np.testing.assert_array_equal(found.survivor_N, expected.survivor_N)
    assert 50 < found.kept_N.sum() < 550


@pytest.mark.parametrize("block", [16, 500])
def test_one_large_component_is_worked_through_in_blocks_beside_small_ones(block: int) -> None:
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnop", k=6)) for _ in range(2010)]
    chain = [" ".join(words[i : i + 10]) for i in range(2000)]
    texts = [*chain, *(f"{n:x} alone {n * 7919:x} and {n * 104729:o} words" for n in range(500))]
    expected, found = outcome(texts, 0.7, ONE_THREAD), outcome(texts, 0.7, block)
    np.testing.assert_array_equal(found.survivor_N, expected.survivor_N)
    np.testing.assert_array_equal(found.similarity_N, expected.similarity_N)
    assert 500 < found.kept_N[:2000].sum() < 1500


def test_it_says_how_many_rows_were_compared_up_to_all_of_them() -> None:
    texts = [f"weather in the valley of the river {n % 7}" for n in range(300)] + ["quite another thing"] * 2
    utf8, told = utf8_of(pl.Series(texts)), list[tuple[int, int]]()
    groups = groups_of(utf8, None, numbers=False)
    with ThreadPoolExecutor(2) as pool:
        found = shared_buckets(utf8, groups, bands_for(0.8), pool, silent)
        claimed(utf8, groups, found, 0.8, pool, lambda _, done, total: told.append((done, total)), block=10)
    assert told[-1] == (302, 302)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
