"""The inner loops behind stored pairs, compiled: who is near whom, and who stays at another threshold.

They hold no lock, so that threads run side by side. numba is slow to load: import this only where it runs.

A row carries one bit per level (a threshold of the preview): whether the keep rule would keep it there. A pair is worth
storing as long as the row has few of them, or where it takes the row out at a level at which nothing stored did yet.

Shapes: C bytes, N texts, L characters of the longest, W words of a sketch, B bands, A rows that share a bucket,
K buckets, T levels, P pairs.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from assets.pool.kernels import F32, I32, I64, U8, U64, cut_set, similarity

F64 = NDArray[np.float64]
Found = tuple[I64, I64, F64, int]
"""Later and earlier row and similarity of each pair, in keep order, and how many pairs the layer had missed."""
WORDS = 4
_WEYL = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


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
    bytes_C: U8,
    starts_N: I64,
    size_N: I32,
    sketch_NW: U64,
    rows_A: I32,
    bucket_BA: I32,
    survivor_A: I32,
    level_T: F64,
    own_level: int,
    bound: int,
    most: int,
    head_K: I32,
    tail_K: I32,
    whole_A: NDArray[np.bool_],
) -> Found:
    """Pairs of texts down to the lowest level, as positions in `rows_A`.

    Args:
        bytes_C: texts as UTF-8, end to end.
        starts_N: where each text begins; length N + 1.
        size_N: distinct n-grams of each.
        sketch_NW: see `sketch_texts`.
        rows_A: rows in keep order; no row elsewhere shares a bucket with one of them, and their facts agree within one.
        bucket_BA: bucket of each in each band, -1 where it is alone.
        survivor_A: what the layer decided, as positions in `rows_A`.
        level_T: ascending, at most 63; the layer's threshold is one of them.
        own_level: which one.
        bound: pairs of one row beyond which only those are stored that take it out somewhere.
        most: rows of one bucket that a row is compared with, the earliest.
        head_K: scratch by bucket, all -1.
        tail_K: scratch by bucket.
        whole_A: written: whether every pair of the row is stored.
    """
    later, earlier, similar = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    after_BA = np.full(bucket_BA.shape, -1, dtype=np.int32)
    stamp_A, near_A = np.full(len(rows_A), -1, dtype=np.int32), np.empty(len(rows_A), dtype=np.int32)
    standing_A = np.zeros(len(rows_A), dtype=np.uint64)
    longest = missed = 0
    for row in rows_A:
        longest = max(longest, starts_N[row + 1] - starts_N[row])
    own_L, other_L = np.empty(longest + 1, dtype=np.uint64), np.empty(longest + 1, dtype=np.uint64)
    for at in range(len(rows_A)):
        row, stored, kept = rows_A[at], 0, survivor_A[at] == at
        left = _all_of(len(level_T))
        near, whole_A[at] = _beside(at, survivor_A[at], bucket_BA, head_K, after_BA, most, stamp_A, near_A)
        own = cut_set(bytes_C, starts_N[row], starts_N[row + 1], own_L) if near else 0
        for other in near_A[:near]:
            if stored >= bound and not left:
                break
            least = level_T[0] if stored < bound else level_T[_lowest(left)]
            beside = rows_A[other]
            chosen = other == survivor_A[at]
            if not chosen and not _may_reach(size_N[row], size_N[beside], sketch_NW[row], sketch_NW[beside], least):
                continue
            count = cut_set(bytes_C, starts_N[beside], starts_N[beside + 1], other_L)
            found = similarity(own_L, own, other_L, count, level_T[0])
            if found < least and not chosen:
                continue
            if kept and survivor_A[other] == other and found >= level_T[own_level]:
                missed += 1
                continue
            gone = standing_A[other] & _up_to(level_T, found)
            if chosen or stored < bound or gone & left:
                later.append(np.int64(at))
                earlier.append(np.int64(other))
                similar.append(found)
                stored += 1
                left &= ~gone
        whole_A[at] &= stored < bound
        standing_A[at] = _with_own(left, own_level, kept)
        if standing_A[at]:
            _line_up(at, bucket_BA, head_K, tail_K, after_BA)
    return np.array(later), np.array(earlier), np.array(similar), missed


@njit(cache=True, nogil=True)
def settle_block(
    first: int,
    limit_B: I64,
    row_P: I64,
    similar_P: F64,
    survivor_R: I64,
    similarity_R: F32,
    level_T: F64,
    own_level: int,
    bound: int,
    standing_R: U64,
    whole_R: NDArray[np.bool_],
) -> Found:
    """The same for rows whose neighbours were found already: rows of one group from `first` on, a block of them.

    Args:
        first: number of the block's first row in its group.
        limit_B: where the neighbours of each row of the block begin; length B + 1.
        row_P: neighbours, ascending; those that do not come before the row are passed over.
        similar_P: similarity with each, at least the lowest level.
        survivor_R: what the layer decided, as numbers in the group.
        similarity_R: what it found.
        level_T: see `find_pairs`.
        own_level: see `find_pairs`.
        bound: see `find_pairs`.
        standing_R: written: the levels that keep each row.
        whole_R: written: whether every pair of the row is stored.
    """
    later, earlier, similar = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    missed = 0
    for row in range(first, first + len(limit_B) - 1):
        survivor, stored = survivor_R[row], 0
        left = _all_of(len(level_T))
        if survivor != row:
            later.append(row)
            earlier.append(survivor)
            similar.append(float(similarity_R[row]))
            stored += 1
            left &= ~(standing_R[survivor] & _up_to(level_T, similarity_R[row]))
        for p in range(limit_B[row - first], limit_B[row - first + 1]):
            other, found = row_P[p], similar_P[p]
            if other >= row or other == survivor:
                continue
            if survivor == row and survivor_R[other] == other and found >= level_T[own_level]:
                missed += 1
                continue
            gone = standing_R[other] & _up_to(level_T, found)
            if stored < bound or gone & left:
                later.append(row)
                earlier.append(np.int64(other))
                similar.append(found)
                stored += 1
                left &= ~gone
        whole_R[row] &= stored < bound
        standing_R[row] = _with_own(left, own_level, survivor == row)
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
def _may_reach(left: int, right: int, left_W: U64, right_W: U64, least: float) -> bool:
    """Whether sets of these sizes and sketches can have that Jaccard similarity: bits that differ are n-grams apart."""
    if min(left, right) < least * max(left, right):
        return False
    apart = 0
    for w in range(WORDS):
        apart += _ones_in(left_W[w] ^ right_W[w])
    return left + right - apart >= least * (left + right + apart) - 1e-9


@njit(cache=True, nogil=True)
def _ones_in(word: np.uint64) -> int:
    word -= (word >> _ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _all_of(levels: int) -> np.uint64:
    return (_ONE << np.uint64(levels)) - _ONE


@njit(cache=True, nogil=True)
def _up_to(level_T: F64, found: float) -> np.uint64:
    """The levels that a similarity reaches."""
    return _all_of(np.searchsorted(level_T, found, side="right"))


@njit(cache=True, nogil=True)
def _lowest(levels: np.uint64) -> int:
    return _ones_in((levels & (~levels + _ONE)) - _ONE)


@njit(cache=True, nogil=True)
def _with_own(levels: np.uint64, own_level: int, kept: bool) -> np.uint64:
    """At its own threshold the layer has decided."""
    bit = _ONE << np.uint64(own_level)
    return levels | bit if kept else levels & ~bit
