"""The inner loop of the lexical layer, compiled: rows claim their places in keep order.

Each bucket keeps the sketches of its kept rows side by side, so that looking through it reads memory in order; the few
rows that a sketch does not tell apart are compared by their n-grams.

It holds no lock, so that threads work side by side: through different components, or through a block of one large
component, which then looks back at what was kept before the block, and settles what is kept in it row by row. numba is
slow to load: import this only where it runs.

Shapes: C bytes, N texts, L characters of the longest, A rows that share a bucket, E buckets of these one after the
other, K buckets, S rows that buckets have room for, M rows of a piece, B rows of a block.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from assets.pool.kernels import F32, F64, I32, I64, U8, U64, bits_of, cut_set, may_reach, ones_in, similarity
from assets.pool.minhash import Crowd

_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


class Rows(NamedTuple):
    """What is compared, and what decides it."""

    bytes_C: U8
    """Texts as UTF-8, end to end."""
    starts_N: I64
    """Where each text begins; length N + 1."""
    group_N: U64
    """Rows of different groups are never compared."""
    row_A: I32
    """Texts, component by component, each component in keep order."""
    first_A: I64
    """Where the buckets of each begin; length A + 1."""
    bucket_E: I32
    bands: int
    """Buckets that a row could have."""
    crowd: Crowd
    """When a bucket is passed over."""
    threshold: float
    """Jaccard similarity at which a row is a copy."""


class Kept(NamedTuple):
    """The kept rows of every bucket, side by side in keep order."""

    first_K: I64
    """Where those of each bucket begin; length K + 1. The last row of a bucket needs no room: none looks for it."""
    count_K: I32
    noted_S2: U64
    """Of a kept row, side by side in memory: a bit of 64 for each of its distinct n-grams, so that bits that differ are
    n-grams apart; and its place in `row_A` (upper half) with the number of these n-grams."""


class Scratch(NamedTuple):
    """A thread's own, for a piece of the rows."""

    begin: int
    """Where the piece begins."""
    compared_M: I32
    """For which row each row of the piece was last compared."""
    own_L: U64
    other_L: U64


class Claims(NamedTuple):
    """What comes of it."""

    survivor_A: I32
    """The place of the row that stands for each; its own for a kept row."""
    similarity_A: F32
    """With it; 1 for a kept row."""


class Block(NamedTuple):
    """What is known of the rows of a block that has looked back, and not been settled."""

    best_B: I32
    """Place of the most similar row kept before the block, or -1."""
    score_B: F64
    size_B: I32
    bits_B: U64


@njit(cache=True, nogil=True)
def claim_places(begin: int, end: int, rows: Rows, kept: Kept, scratch: Scratch, claims: Claims) -> None:
    """Each row in keep order: a row without a similar kept row before it is kept.

    Buckets hold kept rows only, so that a thousand near copies cost a thousand comparisons. A bucket that holds a crowd
    of kept rows says nothing, as long as a row has enough other bands.
    """
    for at in range(begin, end):
        own, bits = _read(at, rows, scratch)
        best, score = _best(at, 0, own, bits, -1, rows.threshold, rows, kept, scratch)
        _decide(at, best, score, own, bits, rows, kept, claims)


@njit(cache=True, nogil=True)
def look_back(start: int, first: int, last: int, rows: Rows, kept: Kept, scratch: Scratch, block: Block) -> None:
    """The most similar row that was kept so far, for the rows from `first` to `last` of the block from `start` on.

    Nothing is kept here.
    """
    for at in range(first, last):
        own, bits = _read(at, rows, scratch)
        best, score = _best(at, 0, own, bits, -1, rows.threshold, rows, kept, scratch)
        i = at - start
        block.best_B[i], block.score_B[i], block.size_B[i], block.bits_B[i] = best, score, own, bits


@njit(cache=True, nogil=True)
def settle(first: int, last: int, rows: Rows, kept: Kept, scratch: Scratch, block: Block, claims: Claims) -> None:
    """Keep or let go the rows of a block that has looked back: each is compared with those kept in the block before it.

    A row of which a bucket became crowded within the block looks at everything again, so that the outcome is that of
    `claim_places` for any size of block.
    """
    for at in range(first, last):
        i = at - first
        best, score, own, bits = block.best_B[i], block.score_B[i], block.size_B[i], block.bits_B[i]
        if _crowded_since(at, first, rows, kept):
            own, bits = _read(at, rows, scratch)
            best, score = _best(at, 0, own, bits, -1, rows.threshold, rows, kept, scratch)
        elif _kept_since(at, first, rows, kept):
            own, bits = _read(at, rows, scratch)
            best, score = _best(at, first, own, bits, best, score, rows, kept, scratch)
        _decide(at, best, score, own, bits, rows, kept, claims)


@njit(cache=True, nogil=True)
def _read(at: int, rows: Rows, scratch: Scratch) -> tuple[int, np.uint64]:
    """Cut a row into n-grams; returns their number and sketch."""
    row = rows.row_A[at]
    own = cut_set(rows.bytes_C, rows.starts_N[row], rows.starts_N[row + 1], scratch.own_L)
    return own, bits_of(scratch.own_L, own)


@njit(cache=True, nogil=True)
def _best(
    at: int,
    first: int,
    own: int,
    bits: np.uint64,
    best: int,
    score: float,
    rows: Rows,
    kept: Kept,
    scratch: Scratch,
) -> tuple[int, float]:
    """The most similar kept row from place `first` on, if it reaches `score`; of equal ones the first."""
    most = _most_looked_at(at, rows, kept)
    for e in range(rows.first_A[at], rows.first_A[at + 1]):
        bucket = rows.bucket_E[e]
        count = kept.count_K[bucket]
        if count > most:
            continue
        begin = kept.first_K[bucket]
        for s in range(begin + count - 1, begin - 1, -1):
            other, size = _place(s, kept), int(kept.noted_S2[s, 1] & _LOWER)
            if other < first:
                break
            if not may_reach(own, size, ones_in(bits ^ kept.noted_S2[s, 0]), score):
                continue
            if scratch.compared_M[other - scratch.begin] == at:
                continue
            scratch.compared_M[other - scratch.begin] = at
            found = _similarity(at, other, own, score, rows, scratch)
            if found > score or (found == score and (best == -1 or other < best)):
                best, score = other, found
    return best, score


@njit(cache=True, nogil=True)
def _place(s: int, kept: Kept) -> int:
    """Where a kept row stands in `row_A`."""
    return int(kept.noted_S2[s, 1] >> _HALF)


@njit(cache=True, nogil=True)
def _similarity(at: int, other: int, own: int, least: float, rows: Rows, scratch: Scratch) -> float:
    """Exact, or 0 where it cannot reach `least`, or facts differ."""
    row, that = rows.row_A[at], rows.row_A[other]
    if rows.group_N[that] != rows.group_N[row]:
        return 0.0
    size = cut_set(rows.bytes_C, rows.starts_N[that], rows.starts_N[that + 1], scratch.other_L)
    return similarity(scratch.own_L, own, scratch.other_L, size, least)


@njit(cache=True, nogil=True)
def _most_looked_at(at: int, rows: Rows, kept: Kept) -> int:
    """Kept rows up to which a bucket of a row is looked through."""
    crowd, crowded = rows.crowd, 0
    for e in range(rows.first_A[at], rows.first_A[at + 1]):
        crowded += int(kept.count_K[rows.bucket_E[e]] > crowd.rows)
    return crowd.rows if rows.bands - crowded >= crowd.bands else len(rows.row_A)


@njit(cache=True, nogil=True)
def _kept_since(at: int, first: int, rows: Rows, kept: Kept) -> bool:
    """Whether a bucket of row `at` holds a row that was kept from place `first` on."""
    for e in range(rows.first_A[at], rows.first_A[at + 1]):
        bucket = rows.bucket_E[e]
        count = kept.count_K[bucket]
        if count > 0 and _place(kept.first_K[bucket] + count - 1, kept) >= first:
            return True
    return False


@njit(cache=True, nogil=True)
def _crowded_since(at: int, first: int, rows: Rows, kept: Kept) -> bool:
    """Whether a bucket of row `at` holds a crowd now and did not before place `first`."""
    most = rows.crowd.rows
    for e in range(rows.first_A[at], rows.first_A[at + 1]):
        bucket = rows.bucket_E[e]
        if kept.count_K[bucket] > most and _place(kept.first_K[bucket] + most, kept) >= first:
            return True
    return False


@njit(cache=True, nogil=True)
def _decide(
    at: int, best: int, score: float, own: int, bits: np.uint64, rows: Rows, kept: Kept, claims: Claims
) -> None:
    """Let a row go in favour of another, or keep it and put it into its buckets."""
    if best != -1:
        claims.survivor_A[at], claims.similarity_A[at] = best, score
        return
    claims.survivor_A[at], claims.similarity_A[at] = at, 1.0
    for e in range(rows.first_A[at], rows.first_A[at + 1]):
        bucket = rows.bucket_E[e]
        s = kept.first_K[bucket] + kept.count_K[bucket]
        kept.count_K[bucket] += 1
        if s < kept.first_K[bucket + 1]:
            kept.noted_S2[s, 0], kept.noted_S2[s, 1] = bits, np.uint64(at) << _HALF | np.uint64(own)
