"""Semantic layer of the funnel: requests that mean nearly the same, inside each <primary, secondary> bucket.

The keep rule of `assets.pool.survival` with cosine similarity of embeddings, one group of rows with equal bucket and
facts at a time: every row is searched among the rows kept before it. Kept rows go into a growing index a block at a
time, so memory follows the kept rows and one block, however large a group is. The index proposes in single precision,
`assets.pool.vectors.cosines` decides without rounding.

In a group of more than `LARGE` rows the search visits only the cells nearest to a row (IVF): a row as similar as the
threshold lies in one of them nearly always; `sampled_recall` measures how nearly. Cells come from the first rows of
the group in keep order and are made anew whenever it has doubled, so a row's decision never depends on later ones but
through the number of doublings, and `decided_as_one` says when that changed.

Source: the second level of the AMAP report's funnel; its threshold is not published, ours is measured (see the asset).

Shapes: N rows, D dimensions, R rows of one group in keep order, B rows of one block, K kept rows, S sampled rows.
"""

import math

import numpy as np
from numpy.typing import NDArray

from assets.pool.survival import Survival
from assets.pool.vectors import Half, Vectors, cosines, cosines_of_pairs, directions, nearest_cells, rounded
from resources.neighbours import Index, cells_of

_BLOCK = 1024
LARGE = 30_000
"""Rows of one group from which on cells are searched instead of everything; ours."""
_PROBES = 16
_PER_CELL = 40
"""Rows that each cell is made from; ours."""
_SAMPLE = 500
_SLACK = 2e-5
"""More than single precision can be off by in the similarity of two unit vectors of some hundred dimensions."""


def claim(vectors: Vectors, rows_R: NDArray[np.int64], threshold: float, settled: Survival, first: int) -> Survival:
    """Survivor (a position in the group) and similarity of each row of one group.

    Args:
        vectors: of all rows.
        rows_R: the group's, in keep order.
        threshold: cosine similarity in (0, 1] at which a row counts as a copy.
        settled: earlier decisions, of length R; those before `first` hold.
        first: position of the first row to decide.
    """
    survivor_R, similarity_R = settled.survivor_N.copy(), settled.similarity_N.copy()
    kept = _Kept(vectors, rows_R)
    begin = first - first % _BLOCK  # blocks lie where a run from the start has them: within one, all rows are compared
    before_K = np.flatnonzero(survivor_R[:begin] == np.arange(begin))
    for start in range(0, len(before_K), _BLOCK):
        position_B = before_K[start : start + _BLOCK]
        half_BD = vectors.half(rows_R[position_B])
        kept.add(half_BD, position_B, kept.cells_of(half_BD, 1))
    for start in range(begin, len(rows_R), _BLOCK):
        half_BD = vectors.half(rows_R[start : start + _BLOCK])
        cell_BC, stop = kept.cells_of(half_BD, _PROBES), start + len(half_BD)
        best_B, found_B = kept.nearest(half_BD, cell_BC, threshold)
        _claim_in_block(half_BD, best_B, found_B, start, threshold)
        survivor_R[start:stop], similarity_R[start:stop] = found_B, np.minimum(best_B, 1.0)
        stays_B = found_B == np.arange(start, stop)
        kept.add(half_BD[stays_B], found_B[stays_B], cell_BC[stays_B] if cell_BC is not None else None)
    return Survival(survivor_R, similarity_R)


def trained_on(size: int) -> int:
    """How many of the first rows of a group of `size` its cells are made from; 0 where everything is searched."""
    if size <= LARGE:
        return 0
    whole = _before_doubling(size)
    return min(whole, _PER_CELL * _cells(whole))


def decided_as_one(before: int, now: int) -> bool:
    """Whether a group that had `before` rows and has `now` is searched through the same cells, or both times whole."""
    return trained_on(before) == trained_on(now)


def _before_doubling(size: int) -> int:
    """`LARGE` doubled as often as `size` allows."""
    return LARGE << ((size // LARGE).bit_length() - 1)


def _cells(whole: int) -> int:
    return round(2 * math.sqrt(whole))


class _Kept:
    """The rows of one group that were kept so far, and where to look for the one most similar to a row."""

    def __init__(self, vectors: Vectors, rows_R: NDArray[np.int64]) -> None:
        self._vectors, self._rows_R = vectors, rows_R
        self._position_K = np.empty(0, np.int64)
        self._index: Index | None = None
        self._cells_CD: Half | None = None
        if trained := trained_on(len(rows_R)):
            first_TD = directions(vectors.half(rows_R[:trained]))
            self._cells_CD = rounded(cells_of(first_TD, _cells(_before_doubling(len(rows_R)))))

    def cells_of(self, half_BD: Half, count: int) -> NDArray[np.int64] | None:
        """Where to look for rows like these, their own cell first; None where everything is searched."""
        return None if self._cells_CD is None else nearest_cells(half_BD, self._cells_CD, count)

    def add(self, half_BD: Half, position_B: NDArray[np.int64], cell_BC: NDArray[np.int64] | None) -> None:
        """Take in rows that were kept; nothing is searched in a group of one block."""
        if len(self._rows_R) <= _BLOCK or not len(half_BD):
            return
        if self._index is None:
            self._index = Index(half_BD.shape[1], cells=0 if self._cells_CD is None else len(self._cells_CD))
        self._index.add(directions(half_BD), None if cell_BC is None else cell_BC[:, 0])
        self._position_K = np.concatenate([self._position_K, position_B])

    def nearest(
        self, half_BD: Half, cell_BC: NDArray[np.int64] | None, threshold: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Similarity and position of the kept row most similar to each row; -2 and -1 where none is similar enough.

        Of equally similar ones the first.
        """
        best_B, found_B = np.full(len(half_BD), -2.0), np.full(len(half_BD), -1)
        ask_Q, k = np.arange(len(half_BD) if self._index is not None else 0), 2
        while len(ask_Q) and self._index is not None:
            near = self._index.nearest(directions(half_BD[ask_Q]), k, None if cell_BC is None else cell_BC[ask_Q])
            least_Q = np.maximum(near.similarity_QK[:, 0] - 2 * _SLACK, threshold - _SLACK)
            close_QK = (near.similarity_QK >= least_Q[:, None]) & (near.row_QK >= 0)
            more_Q = close_QK[:, -1] & (k < len(self._index))  # another one as close may not have been named
            close_QK[more_Q] = False
            of_P, rank_P = np.nonzero(close_QK)
            self._decide(half_BD, ask_Q[of_P], self._position_K[near.row_QK[of_P, rank_P]], best_B, found_B)
            ask_Q, k = ask_Q[more_Q], min(8 * k, len(self._index))
        found_B[best_B < threshold] = -1
        best_B[best_B < threshold] = -2.0
        return best_B, found_B

    def _decide(
        self,
        half_BD: Half,
        row_P: NDArray[np.int64],
        position_P: NDArray[np.int64],
        best_B: NDArray[np.float64],
        found_B: NDArray[np.int64],
    ) -> None:
        """Write the best of the pairs of each row."""
        similarity_P = cosines_of_pairs(half_BD[row_P], self._vectors.half(self._rows_R[position_P]))
        order_P = np.lexsort((position_P, -similarity_P, row_P))
        row_U, first_U = np.unique(row_P[order_P], return_index=True)
        best_B[row_U], found_B[row_U] = similarity_P[order_P][first_U], position_P[order_P][first_U]


def _claim_in_block(
    half_BD: Half, best_B: NDArray[np.float64], found_B: NDArray[np.int64], start: int, threshold: float
) -> None:
    """Improve the best of each row by the block's own kept rows, in place; a row that stays is its own best."""
    similar_BB = cosines(half_BD, half_BD)
    for row in range(len(half_BD)):
        if best_B[row] >= threshold:
            continue
        best_B[row], found_B[row] = 1.0, start + row
        later = similar_BB[row, row + 1 :]
        nearer = np.flatnonzero((later >= threshold) & (later > best_B[row + 1 :])) + row + 1
        best_B[nearer] = similar_BB[row, nearer]
        found_B[nearer] = start + row


def sampled_recall(vectors: Vectors, rows_R: NDArray[np.int64], survival: Survival, threshold: float) -> float:
    """Of a seeded sample of a group's rows that brute force finds a kept row before for, the share that were dropped.

    Args:
        vectors: of all rows.
        rows_R: the group's, in keep order.
        survival: what was decided about them, by position.
        threshold: the layer's.
    """
    at_S = np.sort(np.random.default_rng(0).choice(len(rows_R), min(_SAMPLE, len(rows_R)), replace=False))
    half_SD, best_S = vectors.half(rows_R[at_S]), np.full(len(at_S), -2.0)
    kept_K = np.flatnonzero(survival.kept_N)
    for start in range(0, len(kept_K), _BLOCK):
        part_B = kept_K[start : start + _BLOCK]
        similar_SB = cosines(half_SD, vectors.half(rows_R[part_B]))
        similar_SB[part_B[None, :] >= at_S[:, None]] = -2.0
        best_S = np.maximum(best_S, similar_SB.max(axis=1))
    due_S = best_S >= threshold
    return float((~survival.kept_N[at_S])[due_S].mean()) if due_S.any() else 1.0
