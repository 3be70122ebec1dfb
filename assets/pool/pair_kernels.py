"""The inner loops behind stored pairs, compiled: who is near whom, and who stays at another threshold.

They hold no lock, so that threads run side by side. numba is slow to load: import this only where it runs.

A row carries one bit per level (a threshold of the preview): whether the keep rule would keep it there. A pair is worth
storing as long as the row has few of them, or where it takes the row out at a level at which nothing stored did yet.

Shapes: C bytes, N texts, L characters of the longest, W words of a sketch, B bands, A rows that share a bucket,
K buckets, T levels, P pairs.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from assets.pool.kernels import F32, I32, I64, U8, U64, cut_set, may_reach, ones_in, similarity

F64 = NDArray[np.float64]
Found = tuple[I64, I64, F64, int]
"""Later and earlier row and similarity of each pair, in keep order, and how many pairs the layer had missed."""
WORDS = 4
_WEYL = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


class Texts(NamedTuple):
    """Texts as UTF-8, end to end, and what `sketch_texts` says of each."""

    bytes_C: U8
    starts_N: I64
    """Where each begins; length N + 1."""
    size_N: I32
    """Distinct n-grams."""
    sketch_NW: U64
    """One bit of 256 for each of them."""


class Rule(NamedTuple):
    """Which pairs are stored."""

    level_T: F64
    """Ascending, at most 63; the lowest is the floor, and the layer's threshold is one of them."""
    own_level: int
    """Which one."""
    bound: int
    """Pairs of one row beyond which only those are stored that take it out at some level."""


@njit(cache=True, nogil=True)
def sketch_texts(bytes_C: U8, starts_N: I64, rows: tuple[int, int], longest: int, size_N: I32, sketch_NW: U64) -> None:
    """How many distinct n-grams the texts of `rows` have, and one bit of 256 for each of them."""
    grams_L = np.empty(longest + 1, dtype=np.uint64)
    for row in range(rows[0], rows[1]):
        size_N[row] = cut_set(bytes_C, starts_N[row], starts_N[row + 1], grams_L)
        for g in range(size_N[row]):
            bit = (grams_L[g] * _WEYL) >> np.uint64(56)
            sketch_NW[row, int(bit >> np.uint64(6))] |= _ONE << (bit & np.uint64(63))


@njit(cache=True, nogil=True)
def find_pairs(
    texts: Texts,
    first: int,
    bucket_BA: I32,
    survivor_A: I32,
    rule: Rule,
    most: int,
    head_K: I32,
    tail_K: I32,
    whole_A: NDArray[np.bool_],
) -> Found:
    """Pairs among some texts, in keep order, as positions among them.

    Args:
        texts: these and others.
        first: where these begin; no other text shares a bucket with one of them, and in a bucket all facts agree.
        bucket_BA: bucket of each in each band, -1 where it is alone.
        survivor_A: what the layer decided, as positions.
        rule: what is stored.
        most: rows of one bucket that a row is compared with, the earliest.
        head_K: scratch by bucket, all -1.
        tail_K: scratch by bucket.
        whole_A: written: whether every pair of the row is stored.
    """
    later, earlier, similar = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    rows, missed = len(survivor_A), 0
    after_BA = np.full(bucket_BA.shape, -1, dtype=np.int32)
    stamp_A, near_A = np.full(rows, -1, dtype=np.int32), np.empty(rows, dtype=np.int32)
    standing_A = np.zeros(rows, dtype=np.uint64)
    longest = max(1, (texts.starts_N[first + 1 : first + rows + 1] - texts.starts_N[first : first + rows]).max())
    own_L, other_L = np.empty(longest + 1, dtype=np.uint64), np.empty(longest + 1, dtype=np.uint64)
    for at in range(rows):
        near, all_met = _beside(at, survivor_A[at], bucket_BA, head_K, after_BA, most, stamp_A, near_A)
        stored = len(later)
        left, overlooked = _compare(
            at, near_A[:near], texts, first, survivor_A, standing_A, rule, own_L, other_L, later, earlier, similar
        )
        missed += overlooked
        whole_A[at] = all_met and len(later) - stored < rule.bound
        standing_A[at] = _with_own(left, rule.own_level, survivor_A[at] == at)
        if standing_A[at]:
            _line_up(at, bucket_BA, head_K, tail_K, after_BA)
    return np.array(later), np.array(earlier), np.array(similar), missed


@njit(cache=True, nogil=True)
def _compare(
    at: int,
    near_K: I32,
    texts: Texts,
    first: int,
    survivor_A: I32,
    standing_A: U64,
    rule: Rule,
    own_L: U64,
    other_L: U64,
    later: list[np.int64],
    earlier: list[np.int64],
    similar: list[float],
) -> tuple[np.uint64, int]:
    """Append the pairs of one row worth storing; returns the levels that keep it, and how many pairs were missed."""
    left, missed, stored = _all_of(len(rule.level_T)), 0, 0
    own = cut_set(texts.bytes_C, texts.starts_N[first + at], texts.starts_N[first + at + 1], own_L)
    for other in near_K:
        least = rule.level_T[0]
        if stored >= rule.bound:
            if not left:
                break
            least = rule.level_T[_lowest(left)]
        if not may_reach(own, texts.size_N[first + other], _apart(texts, first + at, first + other), least):
            continue
        count = cut_set(texts.bytes_C, texts.starts_N[first + other], texts.starts_N[first + other + 1], other_L)
        found = similarity(own_L, own, other_L, count, least)
        if found < least:
            continue
        if survivor_A[at] == at and survivor_A[other] == other and found >= rule.level_T[rule.own_level]:
            missed += 1
            continue
        gone = standing_A[other] & _up_to(rule.level_T, found)
        if stored < rule.bound or gone & left:
            later.append(np.int64(at))
            earlier.append(np.int64(other))
            similar.append(found)
            stored += 1
            left &= ~gone
    return left, missed


@njit(cache=True, nogil=True)
def settle_block(
    first: int,
    limit_B: I64,
    row_P: I64,
    similar_P: F64,
    survivor_R: I64,
    similarity_R: F32,
    rule: Rule,
    standing_R: U64,
    whole_R: NDArray[np.bool_],
) -> Found:
    """The same for rows whose neighbours were found already: rows of one group from `first` on, a block of them.

    Args:
        first: number of the block's first row in its group.
        limit_B: where the neighbours of each row of the block begin; length B + 1.
        row_P: neighbours, ascending; those that do not come before the row are passed over.
        similar_P: similarity with each, at least the floor.
        survivor_R: what the layer decided, as numbers in the group.
        similarity_R: what it found.
        rule: what is stored.
        standing_R: written: the levels that keep each row.
        whole_R: lowered: whether every pair of the row is stored.
    """
    later, earlier, similar = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    missed = 0
    for row in range(first, first + len(limit_B) - 1):
        survivor, stored, left = survivor_R[row], 0, _all_of(len(rule.level_T))
        for p in range(limit_B[row - first] - 1, limit_B[row - first + 1]):
            if p < limit_B[row - first]:  # what the layer decided comes first, with the similarity that it found
                other, found = survivor, float(similarity_R[row])
            else:
                other, found = row_P[p], similar_P[p]
            if other >= row or (other == survivor and stored):
                continue
            if survivor == row and survivor_R[other] == other and found >= rule.level_T[rule.own_level]:
                missed += 1
                continue
            gone = standing_R[other] & _up_to(rule.level_T, found)
            if stored < rule.bound or gone & left:
                later.append(np.int64(row))
                earlier.append(np.int64(other))
                similar.append(found)
                stored += 1
                left &= ~gone
        whole_R[row] &= stored < rule.bound
        standing_R[row] = _with_own(left, rule.own_level, survivor == row)
    return np.array(later), np.array(earlier), np.array(similar), missed


@njit(cache=True, nogil=True)
def replay(later_P: I64, earlier_P: I64, near_P: NDArray[np.bool_], kept_N: NDArray[np.bool_]) -> None:
    """The keep rule over pairs in keep order of the later row: `kept_N` loses the rows that a kept one is near to.

    Args:
        later_P: the later row of each pair, never falling.
        earlier_P: the earlier one.
        near_P: whether they are similar enough.
        kept_N: in: which rows are there; out: which of them stay.
    """
    for p in range(len(later_P)):
        if near_P[p] and kept_N[earlier_P[p]]:
            kept_N[later_P[p]] = False


@njit(cache=True, nogil=True)
def _beside(
    at: int, survivor: int, bucket_BA: I32, head_K: I32, after_BA: I32, most: int, stamp_A: I32, near_A: I32
) -> tuple[int, bool]:
    """Write the rows that row `at` is compared with to `near_A`, its survivor first, each once."""
    near, whole = 0, True
    if survivor != at:
        near_A[near], stamp_A[survivor] = survivor, at
        near += 1
    for band in range(len(bucket_BA)):
        bucket, seen = bucket_BA[band, at], 0
        other = head_K[bucket] if bucket >= 0 else np.int32(-1)
        while other != -1 and seen < most:
            if stamp_A[other] != at:
                stamp_A[other] = at
                near_A[near] = other
                near += 1
            seen += 1
            other = after_BA[band, other]
        whole &= other == -1
    return near, whole


@njit(cache=True, nogil=True)
def _line_up(at: int, bucket_BA: I32, head_K: I32, tail_K: I32, after_BA: I32) -> None:
    """Put a row at the end of its buckets."""
    for band in range(len(bucket_BA)):
        bucket = bucket_BA[band, at]
        if bucket < 0:
            continue
        if head_K[bucket] == -1:
            head_K[bucket] = at
        else:
            after_BA[band, tail_K[bucket]] = at
        tail_K[bucket] = at


@njit(cache=True, nogil=True)
def _apart(texts: Texts, left: int, right: int) -> int:
    """Bits in which the sketches of two texts differ: at least as many n-grams are in one of them only."""
    apart = 0
    for w in range(WORDS):
        apart += ones_in(texts.sketch_NW[left, w] ^ texts.sketch_NW[right, w])
    return apart


@njit(cache=True, nogil=True)
def _all_of(levels: int) -> np.uint64:
    return (_ONE << np.uint64(levels)) - _ONE


@njit(cache=True, nogil=True)
def _up_to(level_T: F64, found: float) -> np.uint64:
    """The levels that a similarity reaches."""
    return _all_of(int(np.searchsorted(level_T, found, side="right")))


@njit(cache=True, nogil=True)
def _lowest(levels: np.uint64) -> int:
    return ones_in((levels & (~levels + _ONE)) - _ONE)


@njit(cache=True, nogil=True)
def _with_own(levels: np.uint64, own_level: int, kept: bool) -> np.uint64:
    """At its own threshold the layer has decided."""
    bit = _ONE << np.uint64(own_level)
    return levels | bit if kept else levels & ~bit
