"""Semantic layer of the funnel: requests that mean nearly the same, inside each <primary, secondary> bucket.

The keep rule of `assets.pool.survival` with cosine similarity of embeddings, one group of rows with equal bucket and
facts at a time: every row is compared with the rows kept before it. Kept rows go into a growing set a block at a time,
so memory follows the kept rows and one block, however large a group is. `assets.pool.projections` proposes all that may
be similar enough (FAISS where there is a GPU), `assets.pool.vectors.cosines_of_pairs` decides without rounding. So what
is kept is what brute force would keep, on any machine and for any size of block; `sampled_recall` makes sure.

Source: the second level of the AMAP report's funnel; its threshold is not published, ours is measured (see the asset).

Shapes: N rows, D dimensions, R rows of one group in keep order, B rows of one block, K kept rows, S sampled rows,
P pairs.
"""

from contextlib import nullcontext
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.pool.projections import Projections, narrow_products
from assets.pool.survival import Survival
from assets.pool.vectors import Half, Vectors, cosines, cosines_of_pairs, directions
from resources.neighbours import Index, has_gpu

_BLOCK = 1024
_SEEN = 2560
"""Rows of a group, drawn evenly, from which a search learns where vectors of its kind lie."""
_SAMPLE = 200
_PAIRS_AT_ONCE = 16_384


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
    first = first if len(rows_R) > _BLOCK else 0  # a single block is compared as a whole
    with narrow_products() if len(rows_R) > _BLOCK else nullcontext():
        kept = _Kept(vectors, rows_R, threshold, np.flatnonzero(survivor_R[:first] == np.arange(first)))
        for start in range(first, len(rows_R), _BLOCK):
            best_B, found_B = kept.decide(start)
            survivor_R[start : start + len(found_B)] = found_B
            similarity_R[start : start + len(found_B)] = np.minimum(best_B, 1.0)
    return Survival(survivor_R, similarity_R)


class _Pairs(NamedTuple):
    """Rows of one block that are similar enough, the earlier of two ascending."""

    earlier_P: NDArray[np.int64]
    later_P: NDArray[np.int64]
    similarity_P: NDArray[np.float64]


class _Kept:
    """The rows of one group that were kept so far, and which of them are similar to a row."""

    def __init__(
        self, vectors: Vectors, rows_R: NDArray[np.int64], threshold: float, position_K: NDArray[np.int64]
    ) -> None:
        self._vectors, self._rows_R, self._threshold, self._position_K = vectors, rows_R, threshold, position_K
        self._search = self._search_of_group() if len(rows_R) > _BLOCK else None  # one block needs none
        if self._search is not None:
            for start in range(0, len(position_K), _BLOCK):
                self._search.add(directions(vectors.half(rows_R[position_K[start : start + _BLOCK]])))

    def decide(self, start: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Similarity and position of the survivor of each row of the block from `start` on; what is kept is added."""
        half_BD = self._vectors.half(self._rows_R[start : start + _BLOCK])
        best_B, found_B = np.full(len(half_BD), -2.0), np.full(len(half_BD), -1)
        if self._search is None:
            similar_BB = cosines(half_BD, half_BD)
            earlier_P, later_P = np.nonzero(np.triu(similar_BB >= self._threshold, 1))
            _claim_in_block(_Pairs(earlier_P, later_P, similar_BB[earlier_P, later_P]), best_B, found_B, start)
            return best_B, found_B
        direction_BD = directions(half_BD)
        self._look_back(*self._search.reaching(direction_BD, self._threshold), half_BD, best_B, found_B)
        later_P, earlier_P = self._search.within(direction_BD, self._threshold)
        before = best_B[earlier_P] < 0  # a row that has a survivor already stands for none
        later_P, earlier_P = later_P[before], earlier_P[before]
        similarity_P = _similarities(half_BD, later_P, half_BD, earlier_P)
        order_P = np.lexsort((later_P, earlier_P))
        order_P = order_P[similarity_P[order_P] >= self._threshold]
        within = _Pairs(earlier_P[order_P], later_P[order_P], similarity_P[order_P])
        _claim_in_block(within, best_B, found_B, start)
        stays_B = found_B == np.arange(start, start + len(half_BD))
        self._search.add(direction_BD[stays_B])
        self._position_K = np.concatenate([self._position_K, found_B[stays_B]])
        return best_B, found_B

    def _look_back(
        self,
        row_P: NDArray[np.int64],
        kept_P: NDArray[np.int64],
        half_BD: Half,
        best_B: NDArray[np.float64],
        found_B: NDArray[np.int64],
    ) -> None:
        """Write, for each row, the most similar of the kept rows proposed for it; of equally similar ones the first."""
        for start in range(0, len(row_P), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            row_C, position_C = row_P[part], self._position_K[kept_P[part]]
            similarity_C = cosines_of_pairs(half_BD[row_C], self._vectors.half(self._rows_R[position_C]))
            order_C = np.lexsort((position_C, -similarity_C, row_C))
            row_U, first_U = np.unique(row_C[order_C], return_index=True)
            nearest_U, place_U = similarity_C[order_C][first_U], position_C[order_C][first_U]
            equal_U = (nearest_U == best_B[row_U]) & (place_U < found_B[row_U])
            nearer_U = (nearest_U >= self._threshold) & ((nearest_U > best_B[row_U]) | equal_U)
            best_B[row_U[nearer_U]], found_B[row_U[nearer_U]] = nearest_U[nearer_U], place_U[nearer_U]

    def _search_of_group(self) -> Index | Projections:
        rows_R = self._rows_R
        some_S = rows_R[np.linspace(0, len(rows_R) - 1, min(_SEEN, len(rows_R))).astype(np.int64)]
        sample_SD = directions(self._vectors.half(some_S))
        return Index(sample_SD.shape[1]) if has_gpu() else Projections(sample_SD, self._threshold)


def _claim_in_block(within: _Pairs, best_B: NDArray[np.float64], found_B: NDArray[np.int64], start: int) -> None:
    """Improve the best of each row by the block's own kept rows, in place; a row that stays is its own best."""
    row_U, first_U = np.unique(within.earlier_P, return_index=True)
    border_U = np.append(first_U, len(within.earlier_P))
    for row, (begin, end) in zip(row_U.tolist(), pairwise(border_U.tolist()), strict=True):
        if best_B[row] >= 0:
            continue
        later, similarity = within.later_P[begin:end], within.similarity_P[begin:end]
        nearer = similarity > best_B[later]
        best_B[later[nearer]], found_B[later[nearer]] = similarity[nearer], start + row
    stays_B = best_B < 0
    best_B[stays_B], found_B[stays_B] = 1.0, start + np.flatnonzero(stays_B)


def _similarities(
    left_RD: Half, left_P: NDArray[np.int64], right_KD: Half, right_P: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Cosine similarity of pairs of rows, some of them at a time."""
    similarity_P = np.empty(len(left_P), dtype=np.float64)
    for start in range(0, len(left_P), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        similarity_P[part] = cosines_of_pairs(left_RD[left_P[part]], right_KD[right_P[part]])
    return similarity_P


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
