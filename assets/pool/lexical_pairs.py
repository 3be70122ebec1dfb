"""Pairs of texts that share most of their letters, down to a floor below the lexical layer's threshold.

Facts must agree, so rows are compared within their group: each with each where it has at most `LARGE` rows, which
finds every pair, and through bands cut for the floor where it has more.

Shapes: N rows, A rows that share a bucket, B bands, K buckets.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.lexical import Progress, pieces_of, shared_buckets, silent
from assets.pool.minhash import Utf8, bands_for, utf8_of
from assets.pool.pairs import BOUND, Levels, Pairs, Piece, gathered, is_off, levels_of, no_pairs
from assets.pool.survival import Survival
from training.side_by_side import core_count

if TYPE_CHECKING:
    from assets.pool.pair_kernels import Texts

LARGE = 10_000
"""Rows of one group from which on bands propose the pairs; ours."""
_RECALL = 0.99
"""Share of the pairs exactly at the floor that bands find; more of those above it."""
_MOST = 1024
"""Rows of one band's bucket that a row is compared with."""
_ROWS_AT_A_TIME = 131_072
_PARTS = 8


def lexical_pairs(
    texts: pl.Series,
    group_N: NDArray[np.uint64],
    survival: Survival,
    *,
    threshold: float,
    floor: float,
    progress: Progress = silent,
) -> Pairs:
    """Every pair of rows with equal facts whose Jaccard similarity reaches the floor.

    Args:
        texts: N normalised texts in keep order.
        group_N: rows of different groups are never compared.
        survival: what the layer decided.
        threshold: at which it did.
        floor: least similarity to store; nothing is where it is 0 or not below the threshold.
        progress: told what is being done, and how far it is.

    Raises:
        ValueError: a text is empty.
    """
    if is_off(floor, threshold) or len(texts) == 0:
        return no_pairs()
    levels = levels_of(floor, threshold)
    _, code_N, count_G = np.unique(group_N, return_inverse=True, return_counts=True)
    size_N = count_G[code_N]
    whole_N = np.ones(len(texts), dtype=np.bool_)
    found = []
    with ThreadPoolExecutor(core_count()) as pool:
        small_A = np.flatnonzero((size_N > 1) & (size_N <= LARGE))
        small_A = small_A[np.argsort(code_N[small_A], kind="stable")]
        every = _Candidates(code_N[small_A], code_N[small_A].astype(np.int32)[None], len(count_G), LARGE)
        found += _compared(texts, small_A, survival, every, levels, whole_N, pool, progress)
        large_A = np.flatnonzero(size_N > LARGE)
        if len(large_A):
            large_A, banded = _by_bands(texts, large_A, group_N, survival, floor, pool, progress)
            found += _compared(texts, large_A, survival, banded, levels, whole_N, pool, progress)
    return gathered(found, whole_N, levels.step, np.float64)


class _Candidates(NamedTuple):
    """Which of some rows are compared."""

    root_A: NDArray[np.int64]
    """Component of each row, never falling: rows of different components share no bucket."""
    bucket_BA: NDArray[np.int32]
    buckets: int
    most: int
    """Rows of one bucket that a row is compared with."""


def _by_bands(
    texts: pl.Series,
    rows_A: NDArray[np.int64],
    group_N: NDArray[np.uint64],
    survival: Survival,
    floor: float,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> tuple[NDArray[np.int64], _Candidates]:
    """Rows in components, and the bands' buckets; a row and its survivor are always in one component."""
    from assets.pool.bucket_kernels import join_all, roots_of

    def told(what: str, done: int, total: int) -> None:
        """The layer has bands of its own."""
        progress(f"{what} for the preview", done, total)

    banding = bands_for(floor, recall=_RECALL)
    found = shared_buckets(utf8_of(texts.gather(rows_A)), group_N[rows_A], banding, pool, told)
    survivor_A = np.searchsorted(rows_A, survival.survivor_N[rows_A])
    join_all(survivor_A.astype(np.int64), found.root_N)
    roots_of(found.root_N)
    order_A = np.argsort(found.root_N, kind="stable")
    bucket_BA = found.by_band()[:, order_A]
    candidates = _Candidates(found.root_N[order_A].astype(np.int64), bucket_BA, found.buckets, _MOST)
    return rows_A[order_A], candidates


def _compared(
    texts: pl.Series,
    rows_A: NDArray[np.int64],
    survival: Survival,
    candidates: _Candidates,
    levels: Levels,
    whole_N: NDArray[np.bool_],
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> list[Piece]:
    """The pairs of some rows, component by component."""
    from assets.pool.pair_kernels import Rule, find_pairs

    if not len(rows_A):
        return []
    sketched, rule = _sketched(utf8_of(texts.gather(rows_A)), pool), Rule(levels.level_T, levels.own, BOUND)
    head_K, tail_K = np.full(candidates.buckets, -1, np.int32), np.empty(candidates.buckets, np.int32)
    place_N = np.empty(len(texts), dtype=np.int64)
    place_N[rows_A] = np.arange(len(rows_A))
    survivor_A = place_N[survival.survivor_N[rows_A]]
    parts = pieces_of(candidates.root_A, core_count() * _PARTS)

    def part(begin: int, end: int) -> Piece:
        """Whole components, from `begin` to `end`."""
        whole_A = np.ones(end - begin, dtype=np.bool_)
        bucket_BA = np.ascontiguousarray(candidates.bucket_BA[:, begin:end])
        later_P, earlier_P, similar_P, missed = find_pairs(
            sketched, begin, bucket_BA, (survivor_A[begin:end] - begin).astype(np.int32), rule, candidates.most,
            head_K, tail_K, whole_A,
        )  # fmt: skip
        whole_N[rows_A[begin:end]] = whole_A
        return rows_A[begin + later_P], rows_A[begin + earlier_P], similar_P, missed

    found = []
    for done, piece in enumerate(pool.map(part, parts[:-1], parts[1:]), start=1):
        found.append(piece)
        progress("rows compared for the preview", int(parts[done]), len(rows_A))
    return found


def _sketched(utf8: Utf8, pool: ThreadPoolExecutor) -> "Texts":
    """The texts with the number of their distinct n-grams and a bit for each of these."""
    from assets.pool.pair_kernels import WORDS, Texts, sketch_texts

    rows = len(utf8.starts_N) - 1
    texts = Texts(*utf8, np.empty(rows, dtype=np.int32), np.zeros((rows, WORDS), dtype=np.uint64))

    def chunk(start: int) -> None:
        """One chunk of rows."""
        stop = min(start + _ROWS_AT_A_TIME, rows)
        sketch_texts(*utf8, (start, stop), utf8.longest, texts.size_N, texts.sketch_NW)

    list(pool.map(chunk, range(0, rows, _ROWS_AT_A_TIME)))
    return texts
