"""The inner loop of the lexical layer, compiled: rows claim their places in keep order.

It holds no lock, so that threads work side by side: through different components, or through a block of one large
component, which then looks back at what was kept before the block, and settles what is kept in it row by row. numba is
slow to load: import this only where it runs.

Shapes: C bytes, N texts, L characters of the longest, B bands, A rows that share a bucket, K buckets.
"""

from typing import NamedTuple

from numba import njit

from assets.pool.kernels import F64, I32, I64, U8, U64, bits_of, cut_set, may_reach, ones_in, similarity
from assets.pool.minhash import Crowd


class Rows(NamedTuple):
    """What is compared, and what decides it."""

    bytes_C: U8
    """Texts as UTF-8, end to end."""
    starts_N: I64
    """Where each text begins; length N + 1."""
    group_N: U64
    """Rows of different groups are never compared."""
    row_A: I32
    """Texts in keep order; none elsewhere shares a bucket with one of them."""
    bucket_AB: I32
    """Bucket of each in each band, -1 where it is alone."""
    crowd: Crowd
    """When a bucket is passed over."""
    threshold: float
    """Jaccard similarity at which a row is a copy."""


class Kept(NamedTuple):
    """The kept rows of every bucket, as linked lists: positions in `row_A`."""

    bucket_K2: I32
    """The last kept row, and how many there are."""
    before_AB: I32
    """The kept row before it in the same bucket; -1 for the first."""
    size_A: I32
    """Distinct n-grams of a row."""
    sketch_A: U64
    """A bit of 64 for each of them: bits that differ are n-grams apart."""


class Scratch(NamedTuple):
    """A thread's own."""

    compared_A: I32
    near_A: I32
    own_L: U64
    other_L: U64


class Claims(NamedTuple):
    """What comes of it."""

    survivor_A: I32
    """Position of the row that stands for each; its own for a kept row."""
    similarity_A: F64
    """With it; 1 for a kept row."""


@njit(cache=True, nogil=True)
def claim_places(rows: Rows, kept: Kept, scratch: Scratch, claims: Claims) -> None:
    """Each row in keep order: a row without a similar kept row before it is kept.

    Buckets hold kept rows only, so that a thousand near copies cost a thousand comparisons. Most rows of a bucket
    are told apart by their sketches. A bucket that holds a crowd of kept rows says nothing, as long as a row has enough
    other bands.
    """
    for at in range(len(rows.row_A)):
        _claim(at, rows, kept, scratch, claims)


@njit(cache=True, nogil=True)
def look_back(first: int, last: int, rows: Rows, kept: Kept, scratch: Scratch, claims: Claims) -> None:
    """The most similar row that was kept so far, for the rows from `first` up to `last`; nothing is kept here.

    Writes size and sketch of these rows, and into the claims the position found, or -1.
    """
    for at in range(first, last):
        near = _kept_beside(at, 0, rows, kept, scratch)
        own = _read(at, rows, kept, scratch)
        found, score = _best(at, own, near, -1, rows.threshold, rows, kept, scratch)
        claims.survivor_A[at], claims.similarity_A[at] = found, score


@njit(cache=True, nogil=True)
def settle(first: int, last: int, rows: Rows, kept: Kept, scratch: Scratch, claims: Claims) -> None:
    """Keep or let go the rows of a block that has looked back: each is compared with those kept in the block before it.

    A row of which a bucket became crowded within the block looks at everything again, so that the outcome is that of
    `claim_places` for any size of block.
    """
    for at in range(first, last):
        if _crowded_since(at, first, rows, kept):
            _claim(at, rows, kept, scratch, claims)
            continue
        best, score = claims.survivor_A[at], claims.similarity_A[at]
        near = _kept_beside(at, first, rows, kept, scratch)
        if near:
            own = _read(at, rows, kept, scratch)
            best, score = _best(at, own, near, best, score, rows, kept, scratch)
        _decide(at, best, score, rows, kept, claims)


@njit(cache=True, nogil=True)
def _claim(at: int, rows: Rows, kept: Kept, scratch: Scratch, claims: Claims) -> None:
    """One row, compared with all that was kept before it."""
    near = _kept_beside(at, 0, rows, kept, scratch)
    own = _read(at, rows, kept, scratch)
    best, score = _best(at, own, near, -1, rows.threshold, rows, kept, scratch)
    _decide(at, best, score, rows, kept, claims)


@njit(cache=True, nogil=True)
def _read(at: int, rows: Rows, kept: Kept, scratch: Scratch) -> int:
    """Cut a row into n-grams, and note their number and sketch."""
    row = rows.row_A[at]
    own = cut_set(rows.bytes_C, rows.starts_N[row], rows.starts_N[row + 1], scratch.own_L)
    kept.size_A[at], kept.sketch_A[at] = own, bits_of(scratch.own_L, own)
    return own


@njit(cache=True, nogil=True)
def _best(
    at: int, own: int, near: int, best: int, score: float, rows: Rows, kept: Kept, scratch: Scratch
) -> tuple[int, float]:
    """The most similar of the kept rows noted as near, if it reaches `score`; of equal ones the first."""
    row = rows.row_A[at]
    for other in scratch.near_A[:near]:
        apart = ones_in(kept.sketch_A[at] ^ kept.sketch_A[other])
        if not may_reach(own, kept.size_A[other], apart, rows.threshold):
            continue
        that = rows.row_A[other]
        if rows.group_N[that] == rows.group_N[row]:
            size = cut_set(rows.bytes_C, rows.starts_N[that], rows.starts_N[that + 1], scratch.other_L)
            found = similarity(scratch.own_L, own, scratch.other_L, size, rows.threshold)
            if found > score or (found == score and (best == -1 or other < best)):
                best, score = other, found
    return best, score


@njit(cache=True, nogil=True)
def _kept_beside(at: int, first: int, rows: Rows, kept: Kept, scratch: Scratch) -> int:
    """Note the kept rows from `first` on that row `at` is to be compared with, each once; returns how many."""
    crowd, bands = rows.crowd, rows.bucket_AB.shape[1]
    near = crowded = 0
    for band in range(bands):
        bucket = rows.bucket_AB[at, band]
        crowded += int(bucket >= 0 and kept.bucket_K2[bucket, 1] > crowd.rows)
    most = crowd.rows if bands - crowded >= crowd.bands else len(rows.row_A)
    for band in range(bands):
        bucket = rows.bucket_AB[at, band]
        if bucket < 0 or kept.bucket_K2[bucket, 1] > most:
            continue
        other = kept.bucket_K2[bucket, 0]
        while other >= first:
            if scratch.compared_A[other] != at:
                scratch.compared_A[other] = at
                scratch.near_A[near] = other
                near += 1
            other = kept.before_AB[other, band]
    return near


@njit(cache=True, nogil=True)
def _crowded_since(at: int, first: int, rows: Rows, kept: Kept) -> bool:
    """Whether a bucket of row `at` holds a crowd now and did not before row `first`."""
    for band in range(rows.bucket_AB.shape[1]):
        bucket = rows.bucket_AB[at, band]
        if bucket >= 0 and kept.bucket_K2[bucket, 1] > rows.crowd.rows:
            other, since = kept.bucket_K2[bucket, 0], 0
            while other >= first:
                since += 1
                other = kept.before_AB[other, band]
            if kept.bucket_K2[bucket, 1] - since <= rows.crowd.rows:
                return True
    return False


@njit(cache=True, nogil=True)
def _decide(at: int, best: int, score: float, rows: Rows, kept: Kept, claims: Claims) -> None:
    """Let a row go in favour of another, or keep it and put it into its buckets."""
    if best != -1:
        claims.survivor_A[at], claims.similarity_A[at] = best, score
        return
    claims.survivor_A[at], claims.similarity_A[at] = at, 1.0
    for band in range(rows.bucket_AB.shape[1]):
        bucket = rows.bucket_AB[at, band]
        if bucket >= 0:
            kept.before_AB[at, band] = kept.bucket_K2[bucket, 0]
            kept.bucket_K2[bucket, 0] = at
            kept.bucket_K2[bucket, 1] += 1
