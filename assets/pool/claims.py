"""Rows of the lexical layer claim their places: components side by side, and a large one by all threads at once.

Texts of a large log hang together: most rows that share buckets can be in one component, in which every row depends on
those before it. Its rows are taken in blocks. All threads look back from the rows of a block at what was kept before
it, which is nearly all there is to compare, and one of them settles what is kept within the block. The outcome is the
same for any number of threads and any size of block.

Shapes: N rows, A rows that share a bucket, E buckets of these one after the other, K buckets, M rows of a piece,
R rows of a band that share a bucket.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from assets.pool.claim_kernels import Block, Claims, Kept, Rows, Scratch, claim_places, look_back, settle
from assets.pool.lexical import Buckets, Progress, pieces_of
from assets.pool.minhash import CROWD, Crowd, Utf8, bands_for
from assets.pool.survival import Survival
from training.side_by_side import core_count

_PARTS = 8
"""Pieces of work per thread."""
_BLOCK = 4096
"""Rows of a large component that look back together: so few that what they touch is still at hand when they settle."""


def claimed(
    utf8: Utf8,
    group_N: NDArray[np.uint64],
    found: Buckets,
    threshold: float,
    pool: ThreadPoolExecutor,
    progress: Progress,
    *,
    block: int = _BLOCK,
    crowd: Crowd | None = None,
) -> Survival:
    """Let the rows of each component claim their places in keep order.

    Args:
        utf8: texts in keep order.
        group_N: rows of different groups are never compared.
        found: which of them may be similar; its runs are used up.
        threshold: Jaccard similarity at which a row is a copy.
        pool: threads.
        progress: told how many rows were compared.
        block: rows of a large component that are looked at together; a smaller component is one thread's.
        crowd: when a bucket is passed over; None: at `CROWD` rows.
    """
    rows, kept = _rows(utf8, group_N, found, threshold, crowd)
    places = len(rows.row_A)
    claims = Claims(np.empty(places, np.int32), np.empty(places, np.float32))
    parts = pieces_of(found.root_N[rows.row_A], core_count() * _PARTS)
    large = max(2 * places // (core_count() * _PARTS), block)

    def part(begin: int, end: int) -> None:
        """Whole components, from `begin` to `end`."""
        if end - begin > large:
            _in_blocks(begin, end, rows, kept, claims, pool, block)
        else:
            claim_places(begin, end, rows, kept, _scratch(begin, end, rows), claims)

    pieces = list(zip(parts[:-1].tolist(), parts[1:].tolist(), strict=True))
    small = [(begin, end) for begin, end in pieces if end - begin <= large]
    done = 0
    for (begin, end), _ in zip(small, pool.map(part, *zip(*small, strict=True)) if small else [], strict=True):
        done += end - begin
        progress("rows compared", done, places)
    for begin, end in sorted({*pieces} - {*small}):
        part(begin, end)
        done += end - begin
        progress("rows compared", done, places)
    survivor_N, similarity_N = np.arange(len(group_N)), np.ones(len(group_N), dtype=np.float32)
    survivor_N[rows.row_A] = rows.row_A[claims.survivor_A]
    similarity_N[rows.row_A] = claims.similarity_A
    return Survival(survivor_N, similarity_N)


def _rows(
    utf8: Utf8, group_N: NDArray[np.uint64], found: Buckets, threshold: float, crowd: Crowd | None
) -> tuple[Rows, Kept]:
    """The rows that share a bucket, component by component, and room for those that each bucket keeps."""
    from assets.pool.bucket_kernels import count_run, list_run

    row_A, place_N = _places(found.root_N)
    next_A = np.zeros(len(row_A) + 2, dtype=np.int64)
    for run_R in found.run_BR:
        count_run(run_R, place_N, next_A)
    np.cumsum(next_A, out=next_A)
    bucket_E, taken = np.empty(int(next_A[-1]), dtype=np.int32), 0
    size_K = np.zeros(found.buckets, dtype=np.int32)
    bands = len(found.run_BR)
    while found.run_BR:
        taken = list_run(found.run_BR.pop(0), taken, place_N, next_A, bucket_E, size_K)
    first_K = np.concatenate([[0], np.cumsum(size_K - 1, dtype=np.int64)])
    room = int(first_K[-1])
    crowd = crowd or Crowd(CROWD, bands_for(threshold).enough(threshold))
    size_K[:] = 0
    return (
        Rows(*utf8, group_N, row_A, next_A[:-1], bucket_E, bands, crowd, threshold),
        Kept(first_K, size_K, np.empty((room, 2), np.uint64)),
    )


def _places(root_N: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rows of components of two and more, one component after the other, and the place of each row among them."""
    size_N = np.bincount(root_N, minlength=len(root_N))
    row_A = np.flatnonzero(size_N[root_N] > 1)
    row_A |= root_N[row_A].astype(np.int64) << 32
    row_A.sort()
    row_A &= (1 << 32) - 1
    place_N = np.full(len(root_N), -1, dtype=np.int32)
    place_N[row_A] = np.arange(len(row_A), dtype=np.int32)
    return row_A.astype(np.int32), place_N


def _in_blocks(
    begin: int, end: int, rows: Rows, kept: Kept, claims: Claims, pool: ThreadPoolExecutor, block: int
) -> None:
    """Rows from `begin` to `end` by all threads, a block at a time."""
    own, settling = [_scratch(begin, end, rows) for _ in range(core_count())], _scratch(begin, end, rows)
    known = Block(
        np.empty(block, np.int32), np.empty(block, np.float64), np.empty(block, np.int32), np.empty(block, np.uint64)
    )
    for first in range(begin, end, block):
        last = min(first + block, end)
        cuts = np.linspace(first, last, len(own) + 1).astype(np.int64).tolist()
        looks = [
            pool.submit(look_back, first, low, high, rows, kept, mine, known)
            for low, high, mine in zip(cuts[:-1], cuts[1:], own, strict=True)
        ]
        for look in looks:
            look.result()
        settle(first, last, rows, kept, settling, known, claims)  # what was compared before says nothing here


def _scratch(begin: int, end: int, rows: Rows) -> Scratch:
    row_M = rows.row_A[begin:end]
    longest = int((rows.starts_N[row_M + 1] - rows.starts_N[row_M]).max(initial=0))
    compared_M = np.full(end - begin, -1, np.int32)
    return Scratch(begin, compared_M, np.empty(longest + 1, np.uint64), np.empty(longest + 1, np.uint64))
