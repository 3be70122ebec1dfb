"""The inner loops of the semantic and geometric layers, compiled: distances of single rows, and what they decide.

Matrix products say which pairs could matter; what is compared and kept is always `square_between`. So no result
depends on the number of threads or on the size of a block.

They hold no lock. numba is slow to load: import this only where it runs.

Shapes: N points, D dimensions, R rows, K picks, H candidates, L cells, Q asked vectors, F near and
G far features, P pairs.
"""

from heapq import heapify, heappop, heapreplace

import numpy as np
from numba import njit
from numpy.typing import NDArray

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
_COPY = np.float32(1e-6)
_TWO = np.float32(2.0)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def dot(left_D: F32, right_D: F32) -> np.float32:
    """Inner product, added up in an order that the compiler chose once."""
    found = np.float32(0.0)
    for d in range(len(left_D)):
        found += left_D[d] * right_D[d]
    return found


@njit(cache=True, nogil=True)
def square_between(left_D: F32, right_D: F32) -> np.float32:
    """Squared Euclidean distance of unit vectors; what rounding leaves between copies is zero."""
    square = _TWO - _TWO * dot(left_D, right_D)
    return square if square >= _COPY else np.float32(0.0)


@njit(cache=True, nogil=True)
def dots(points_ND: F32, rows_R: I64, vector_D: F32) -> F32:
    """Inner product of each row with one vector."""
    found_R = np.empty(len(rows_R), dtype=np.float32)
    for r in range(len(rows_R)):
        found_R[r] = dot(points_ND[rows_R[r]], vector_D)
    return found_R


@njit(cache=True, nogil=True)
def squares_of_pairs(points_ND: F32, left_P: I64, right_P: I64) -> F32:
    """Squared distance of each pair of rows; zero for a row and itself."""
    square_P = np.zeros(len(left_P), dtype=np.float32)
    for p in range(len(left_P)):
        if left_P[p] != right_P[p]:
            square_P[p] = square_between(points_ND[left_P[p]], points_ND[right_P[p]])
    return square_P


@njit(cache=True, nogil=True, fastmath=True)
def _largest(values_K: F32) -> np.float32:
    """The largest value; no order of comparing changes it, so the compiler may choose one."""
    largest = np.float32(-np.inf)
    for value in values_K:
        largest = max(largest, value)
    return largest


@njit(cache=True, nogil=True)
def lower(
    points_RD: F32, picks_KD: F32, rows_K: I64, product_RK: F32, slack: np.float32, square_R: F32, near_R: I64
) -> None:
    """Let each row have the nearer of its pick so far and those given; of equally near picks the first row.

    Args:
        points_RD: the rows' unit vectors.
        picks_KD: the picks' unit vectors.
        rows_K: which rows the picks are.
        product_RK: inner products of rows and picks.
        slack: the most by which a product may differ from `dot`.
        square_R: squared distance to the pick so far; lowered in place.
        near_R: row of that pick; changed in place.
    """
    half = np.float32(0.5)
    for r in range(len(points_RD)):
        best = _largest(product_RK[r])
        least = np.float32(1.0) - half * square_R[r] - slack
        if best < least:
            continue
        least = max(least, best - slack - slack)
        for k in range(len(rows_K)):
            if product_RK[r, k] >= least:
                square = square_between(points_RD[r], picks_KD[k])
                if square < square_R[r] or (square == square_R[r] and rows_K[k] < near_R[r]):
                    square_R[r], near_R[r] = square, rows_K[k]


@njit(cache=True, nogil=True)
def pick_farthest(
    points_ND: F32, rows_H: I64, square_H: F32, outside: np.float32, floor: np.float32, most: int, work: float
) -> tuple[I64, F32]:
    """Greedy picks among candidates, each the farthest from all picks before it; positions and squared distances.

    Distances only shrink, so a candidate is compared with the picks of this batch only when it stands first, and only
    until it no longer does. Ends where a row outside could be farther.

    Args:
        points_ND: unit vectors.
        rows_H: candidates, ascending: of equally far ones the first is picked.
        square_H: squared distance of each to the nearest pick of earlier batches.
        outside: no row that is no candidate has a larger value.
        floor: nothing nearer than this (a distance) is picked.
        most: picks at most, one or more.
        work: comparisons allowed per pick made.
    """
    heap = [(-square_H[h], h) for h in range(len(rows_H))]
    heapify(heap)
    compared_H = np.zeros(len(rows_H), dtype=np.int64)
    batch_K, square_K = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.float32)
    made, comparisons = 0, 0
    while made < most and len(heap) > 0 and comparisons <= work * max(made, 1):
        square, h = -heap[0][0], heap[0][1]
        if square <= 0 or np.sqrt(square) < floor or (made > 0 and square <= outside):
            break
        shrunk, runner = square, np.float32(-1.0)
        for second in range(1, min(3, len(heap))):
            runner = max(runner, -heap[second][0])
        while compared_H[h] < made and shrunk >= runner:
            pick = rows_H[batch_K[compared_H[h]]]
            shrunk = min(shrunk, square_between(points_ND[rows_H[h]], points_ND[pick]))
            compared_H[h] += 1
            comparisons += 1
        if shrunk < square:
            heapreplace(heap, (-shrunk, h))
            continue
        heappop(heap)
        batch_K[made], square_K[made] = h, square
        made += 1
    return batch_K[:made], square_K[:made]


@njit(cache=True, nogil=True)
def central_rows(points_ND: F32, order_N: I64, starts_L: I64) -> I64:
    """The most central row of each cell: the largest inner product with the cell's sum; of equal ones the first row.

    Args:
        points_ND: the points.
        order_N: rows cell by cell, ascending in each.
        starts_L: where each cell begins in it, and its end; length L + 1.
    """
    central_L = np.empty(len(starts_L) - 1, dtype=np.int64)
    sum_D = np.empty(points_ND.shape[1], dtype=np.float64)
    for cell in range(len(central_L)):
        sum_D[:] = 0.0
        for row in order_N[starts_L[cell] : starts_L[cell + 1]]:
            sum_D += points_ND[row]
        best = -np.inf
        for row in order_N[starts_L[cell] : starts_L[cell + 1]]:
            central = 0.0
            for d in range(len(sum_D)):
                central += sum_D[d] * points_ND[row, d]
            if central > best + 1e-6:
                best, central_L[cell] = central, row
    return central_L


@njit(cache=True, nogil=True)
def pass_bounds(
    bound_QN: F32,
    asked_QF: F32,
    asked_QG: F32,
    other_NF: F32,
    other_NG: F32,
    least: np.float32,
    found_P2: NDArray[np.int32],
) -> int:
    """Write the pairs whose bound reaches `least`, and still does along more directions; returns how many.

    Args:
        bound_QN: of every pair, from its near features.
        asked_QF: near features of `assets.pool.projections`, the last of them what remains.
        asked_QG: far features.
        other_NF: near features of the others.
        other_NG: far features of the others.
        least: what has to be reached.
        found_P2: room for as many pairs as there are bounds.
    """
    found, lane, last = 0, 64, asked_QF.shape[1] - 1
    for q in range(bound_QN.shape[0]):
        bound_N = bound_QN[q]
        for start in range(0, len(bound_N), lane):
            stop, any_reaches = min(start + lane, len(bound_N)), False
            for n in range(start, stop):
                any_reaches |= bound_N[n] >= least
            if not any_reaches:
                continue
            for n in range(start, stop):
                if bound_N[n] < least:
                    continue
                closer = bound_N[n] - asked_QF[q, last] * other_NF[n, last] + dot(asked_QG[q], other_NG[n])
                if closer >= least:
                    found_P2[found, 0], found_P2[found, 1] = q, n
                    found += 1
    return found
