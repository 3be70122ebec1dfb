"""Pairs of requests that mean nearly the same, down to a floor below the semantic layer's threshold.

Within each group (bucket and facts) every row is compared with all rows before it that any threshold keeps; in a group
of more than `LARGE` rows only with the nearest ones that an index of cells finds.

Shapes: N rows, D dimensions, R rows of one group, B rows of one block, P pairs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.pool.decisions import groups_of
from assets.pool.lexical import Progress, silent
from assets.pool.pairs import BOUND, Levels, Pairs, Piece, gathered, is_off, levels_of, no_pairs
from assets.pool.survival import Survival
from assets.pool.vectors import Half, Vectors, cosines, cosines_of_pairs, directions, nearest_cells, rounded
from resources.neighbours import Index, cells_of

LARGE = 30_000
"""Rows of one group from which on only the nearest of each are looked at; ours."""
_BLOCK = 256
_PROBES = 16


def semantic_pairs(
    vectors: Vectors,
    buckets: Sequence[str],
    facts: Sequence[str],
    survival: Survival,
    *,
    threshold: float,
    floor: float,
    progress: Progress = silent,
) -> Pairs:
    """Every pair of rows of one bucket with equal facts whose cosine similarity reaches the floor.

    Args:
        vectors: in keep order.
        buckets: of each row.
        facts: of each row.
        survival: what the layer decided.
        threshold: at which it did.
        floor: least similarity to store; nothing is where it is 0 or not below the threshold.
        progress: told what is being done, and how far it is.
    """
    if is_off(floor, threshold):
        return no_pairs()
    levels = levels_of(floor, threshold)
    whole_N = np.ones(len(vectors), dtype=np.bool_)
    found: list[Piece] = []
    groups = groups_of(buckets, facts)
    done, total = 0, int(groups.sizes_G[groups.sizes_G > 1].sum())
    for group in np.flatnonzero(groups.sizes_G > 1).tolist():
        rows_R = groups.order_N[groups.starts_G[group] : groups.starts_G[group + 1]]
        half_RD, survivor_R = vectors.half(rows_R), np.searchsorted(rows_R, survival.survivor_N[rows_R])
        own = Survival(survivor_R, np.minimum(cosines_of_pairs(half_RD, half_RD[survivor_R]), 1.0))
        whole_R = np.ones(len(rows_R), dtype=np.bool_)
        pieces = _of_group(half_RD, own, levels, whole_R)
        found += [(rows_R[later_P], rows_R[earlier_P], similar_P, m) for later_P, earlier_P, similar_P, m in pieces]
        whole_N[rows_R] = whole_R
        done += len(rows_R)
        progress("rows compared for the preview", done, total)
    return gathered(found, whole_N, levels.step, np.float64)


def _of_group(half_RD: Half, own: Survival, levels: Levels, whole_R: NDArray[np.bool_]) -> list[Piece]:
    from assets.pool.pair_kernels import Rule, settle_block

    standing_R = np.zeros(len(half_RD), dtype=np.uint64)
    rule = Rule(levels.level_T, levels.own, BOUND)
    search = _Search(half_RD, float(levels.level_T[0]))
    pieces = []
    for start in range(0, len(half_RD), _BLOCK):
        near = search.near(start, standing_R, whole_R)
        pieces.append(settle_block(start, *near, own.survivor_N, own.similarity_N, rule, standing_R, whole_R))
    return pieces


class _Near(NamedTuple):
    """Neighbours of the rows of a block, one row's after the other's."""

    limit_B: NDArray[np.int64]
    row_P: NDArray[np.int64]
    similar_P: NDArray[np.float64]


class _Search:
    """Rows of one group, block by block, among those before them."""

    def __init__(self, half_RD: Half, floor: float) -> None:
        self._half_RD, self._floor = half_RD, floor
        self._index: Index | None = None
        if len(half_RD) > LARGE:
            self._cells_CD = rounded(cells_of(directions(half_RD), round(2 * len(half_RD) ** 0.5)))
            self._index = Index(half_RD.shape[1], cells=len(self._cells_CD))
            self._stored: list[NDArray[np.int64]] = []

    def near(self, start: int, standing_R: NDArray[np.uint64], whole_R: NDArray[np.bool_]) -> _Near:
        """The rows that stand at some level and reach the floor, and those of the block itself."""
        block_BD = self._half_RD[start : start + _BLOCK]
        inside_B = np.arange(start, start + len(block_BD))
        if self._index is None:
            row_K = np.concatenate([np.flatnonzero(standing_R[:start]), inside_B])
            row_BK = np.broadcast_to(row_K, (len(block_BD), len(row_K)))
            return self._listed(cosines(block_BD, self._half_RD[row_K]), row_BK)
        before = np.arange(max(0, start - _BLOCK), start)
        self._stored.append(before[standing_R[before] > 0])
        added_BD = self._half_RD[self._stored[-1]]
        if len(added_BD):
            self._index.add(directions(added_BD), nearest_cells(added_BD, self._cells_CD, 1)[:, 0])
        nearest = self._index.nearest(directions(block_BD), BOUND, nearest_cells(block_BD, self._cells_CD, _PROBES))
        whole_R[inside_B] &= nearest.similarity_QK[:, -1] < self._floor
        known_S = np.concatenate([*self._stored, [-1]])  # FAISS says -1 where it has no more
        row_BB = np.broadcast_to(inside_B, (len(block_BD), len(block_BD)))
        row_BK = np.sort(np.concatenate([known_S[nearest.row_QK], row_BB], axis=1), axis=1)
        of_P, at_P = np.nonzero(row_BK >= 0)
        similar_BK = np.full(row_BK.shape, -2.0)
        similar_BK[of_P, at_P] = cosines_of_pairs(block_BD[of_P], self._half_RD[row_BK[of_P, at_P]])
        return self._listed(similar_BK, row_BK)

    def _listed(self, similar_BK: NDArray[np.float64], row_BK: NDArray[np.int64]) -> _Near:
        near_BK = (similar_BK >= self._floor) & (row_BK >= 0)
        limit_B = np.concatenate([[0], np.cumsum(near_BK.sum(axis=1))]).astype(np.int64)
        return _Near(limit_B, row_BK[near_BK], np.minimum(similar_BK[near_BK], 1.0))
