"""Rows of the lexical layer claim their places: components side by side, and a large one by all threads at once.

Texts of a large log hang together: most rows that share buckets can be in one component, in which every row depends on
those before it. Its rows are taken in blocks. All threads look back from the rows of a block at what was kept before
it, which is nearly all there is to compare, and one of them settles what is kept within the block. The outcome is the
same for any number of threads and any size of block.

Shapes: N rows, A rows that share a bucket, K buckets.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from assets.pool.claim_kernels import Claims, Kept, Rows, Scratch, claim_places, look_back, settle
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
        found: which of them may be similar.
        threshold: Jaccard similarity at which a row is a copy.
        pool: threads.
        progress: told how many rows were compared.
        block: rows of a large component that are looked at together; a smaller component is one thread's.
        crowd: when a bucket is passed over; None: at `CROWD` rows.
    """
    survivor_N = np.arange(len(group_N))
    similarity_N = np.ones(len(group_N), dtype=np.float32)
    size_N = np.bincount(found.root_N, minlength=len(group_N))
    row_A = np.flatnonzero(size_N[found.root_N] > 1).astype(np.int32)
    row_A = row_A[np.argsort(found.root_N[row_A], kind="stable")]
    bucket_K2 = np.zeros((found.buckets, 2), dtype=np.int32)
    bucket_K2[:, 0] = -1
    crowd = crowd or Crowd(CROWD, bands_for(threshold).enough(threshold))
    parts = pieces_of(found.root_N[row_A], core_count() * _PARTS)
    large = max(2 * len(row_A) // (core_count() * _PARTS), block)

    def part(begin: int, end: int) -> None:
        """Whole components, from `begin` to `end`."""
        mine_A = row_A[begin:end]
        rows = Rows(*utf8, group_N, mine_A, _buckets_of(found, mine_A), crowd, threshold)
        kept = Kept(
            bucket_K2, np.full(rows.bucket_AB.shape, -1, np.int32), np.zeros(len(mine_A), np.int32),
            np.zeros(len(mine_A), np.uint64),
        )  # fmt: skip
        claims = Claims(np.empty(len(mine_A), np.int32), np.empty(len(mine_A)))
        if end - begin > large:
            _in_blocks(rows, kept, claims, pool, block)
        else:
            claim_places(rows, kept, _scratch(rows), claims)
        survivor_N[mine_A], similarity_N[mine_A] = mine_A[claims.survivor_A], claims.similarity_A

    pieces = list(zip(parts[:-1].tolist(), parts[1:].tolist(), strict=True))
    small = [(begin, end) for begin, end in pieces if end - begin <= large]
    done = 0
    for (begin, end), _ in zip(small, pool.map(part, *zip(*small, strict=True)) if small else [], strict=True):
        done += end - begin
        progress("rows compared", done, len(row_A))
    for begin, end in sorted({*pieces} - {*small}):
        part(begin, end)
        done += end - begin
        progress("rows compared", done, len(row_A))
    return Survival(survivor_N, similarity_N)


def _in_blocks(rows: Rows, kept: Kept, claims: Claims, pool: ThreadPoolExecutor, block: int) -> None:
    """All rows by all threads, a block at a time."""
    own, settling = [_scratch(rows) for _ in range(core_count())], _scratch(rows)
    for first in range(0, len(rows.row_A), block):
        last = min(first + block, len(rows.row_A))
        cuts = np.linspace(first, last, len(own) + 1).astype(np.int64).tolist()
        list(pool.map(lambda a, b, mine: look_back(a, b, rows, kept, mine, claims), cuts[:-1], cuts[1:], own))
        settle(first, last, rows, kept, settling, claims)  # what a row was compared with before says nothing here


def _buckets_of(found: Buckets, mine_A: NDArray[np.int32]) -> NDArray[np.int32]:
    """The buckets of some rows, those of one row side by side."""
    bucket_AB = np.empty((len(mine_A), len(found.bucket_BN)), dtype=np.int32)
    for band, bucket_N in enumerate(found.bucket_BN):
        bucket_AB[:, band] = bucket_N[mine_A]
    return bucket_AB


def _scratch(rows: Rows) -> Scratch:
    length_A = rows.starts_N[rows.row_A + 1] - rows.starts_N[rows.row_A]
    longest, count = int(length_A.max(initial=0)), len(rows.row_A)
    return Scratch(
        np.full(count, -1, np.int32), np.empty(count, np.int32),
        np.empty(longest + 1, np.uint64), np.empty(longest + 1, np.uint64),
    )  # fmt: skip
