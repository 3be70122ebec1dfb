"""Pairs of requests that mean nearly the same, down to a floor below the semantic layer's threshold.

Within each group (bucket and facts) every row is compared with all rows before it that any threshold keeps; in a group
of more than `LARGE` rows only with the nearest ones that an index of cells finds.

Shapes: N rows, D dimensions, R rows of one group, B rows of one block, P pairs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.pool.lexical import Progress, silent
from assets.pool.pairs import BOUND, Levels, Pairs, Piece, gathered, is_off, levels_of, no_pairs
from assets.pool.semantic import LARGE, groups_of
from assets.pool.survival import Survival
from resources.neighbours import Index, cells_of, checked

_BLOCK = 256
_PROBES = 16
_SAME = 1 - 1e-6
"""Similarity from which on vectors are equal but for rounding."""


def semantic_pairs(
    vectors_ND: NDArray[np.float32],
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
        vectors_ND: unit vectors in keep order.
        buckets: of each row.
        facts: of each row.
        survival: what the layer decided.
        threshold: at which it did.
        floor: least similarity to store; nothing is where it is 0 or not below the threshold.
        progress: told what is being done, and how far it is.

    Raises:
        ValueError: a vector holds NaN.
    """
    if is_off(floor, threshold):
        return no_pairs()
    vectors_ND = checked(vectors_ND)
    levels = levels_of(floor, threshold)
    rounded_T = levels.level_T.astype(np.float32).astype(np.float64)  # as the layer compares
    whole_N = np.ones(len(vectors_ND), dtype=np.bool_)
    found: list[Piece] = []
    groups = groups_of(buckets, facts)
    done, total = 0, sum(map(len, groups))
    for rows_R in groups:
        own = Survival(np.searchsorted(rows_R, survival.survivor_N[rows_R]), survival.similarity_N[rows_R])
        whole_R = np.ones(len(rows_R), dtype=np.bool_)
        pieces = _of_group(vectors_ND[rows_R], own, levels._replace(level_T=rounded_T), whole_R)
        found += [(rows_R[later_P], rows_R[earlier_P], similar_P, m) for later_P, earlier_P, similar_P, m in pieces]
        whole_N[rows_R] = whole_R
        done += len(rows_R)
        progress("rows compared for the preview", done, total)
    return gathered(found, whole_N, levels.step, np.float32)


def _of_group(
    vectors_RD: NDArray[np.float32], survival: Survival, levels: Levels, whole_R: NDArray[np.bool_]
) -> list[Piece]:
    from assets.pool.pair_kernels import Rule, settle_block

    standing_R = np.zeros(len(vectors_RD), dtype=np.uint64)
    rule = Rule(levels.level_T, levels.own, BOUND)
    search = _Search(vectors_RD, float(levels.level_T[0]))
    pieces = []
    for start in range(0, len(vectors_RD), _BLOCK):
        near = search.near(start, standing_R, whole_R)
        pieces.append(settle_block(start, *near, survival.survivor_N, survival.similarity_N, rule, standing_R, whole_R))
    return pieces


class _Near(NamedTuple):
    """Neighbours of the rows of a block, one row's after the other's."""

    limit_B: NDArray[np.int64]
    row_P: NDArray[np.int64]
    similar_P: NDArray[np.float64]


class _Search:
    """Rows of one group, block by block, among those before them."""

    def __init__(self, vectors_RD: NDArray[np.float32], floor: float) -> None:
        self._vectors_RD, self._floor = vectors_RD, np.float32(floor)
        self._index: Index | None = None
        if len(vectors_RD) > LARGE:
            cells_LD = cells_of(vectors_RD, round(2 * len(vectors_RD) ** 0.5))
            self._index = Index(vectors_RD.shape[1], cells_LD=cells_LD, probes=_PROBES)
            self._stored: list[NDArray[np.int64]] = []

    def near(self, start: int, standing_R: NDArray[np.uint64], whole_R: NDArray[np.bool_]) -> _Near:
        """The rows that stand at some level and reach the floor, and those of the block itself."""
        block_BD = self._vectors_RD[start : start + _BLOCK]
        inside_B = np.arange(start, start + len(block_BD))
        if self._index is None:
            row_K = np.concatenate([np.flatnonzero(standing_R[:start]), inside_B])
            row_BK = np.broadcast_to(row_K, (len(block_BD), len(row_K)))
            return self._listed(block_BD @ self._vectors_RD[row_K].T, row_BK)
        before = np.arange(max(0, start - _BLOCK), start)
        self._stored.append(before[standing_R[before] > 0])
        self._index.add(self._vectors_RD[self._stored[-1]])
        nearest = self._index.nearest(block_BD, BOUND)
        whole_R[inside_B] &= nearest.similarity_QK[:, -1] < self._floor
        known_S = np.concatenate([*self._stored, [-1]])  # FAISS says -1 where it has no more
        row_BB = np.broadcast_to(inside_B, (len(block_BD), len(block_BD)))
        row_BK = np.concatenate([known_S[nearest.row_QK], row_BB], axis=1)
        similar_BK = np.concatenate([nearest.similarity_QK, block_BD @ block_BD.T], axis=1)
        order_BK = np.argsort(row_BK, axis=1, kind="stable")
        return self._listed(np.take_along_axis(similar_BK, order_BK, 1), np.take_along_axis(row_BK, order_BK, 1))

    def _listed(self, similar_BK: NDArray[np.float32], row_BK: NDArray[np.int64]) -> _Near:
        near_BK = (similar_BK >= self._floor) & (row_BK >= 0)
        limit_B = np.concatenate([[0], np.cumsum(near_BK.sum(axis=1))]).astype(np.int64)
        similar_P = similar_BK[near_BK]
        return _Near(limit_B, row_BK[near_BK], np.where(similar_P >= _SAME, 1.0, similar_P).astype(np.float64))
