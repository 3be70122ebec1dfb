"""Geometric layer of the funnel: the smallest set of requests that leaves none of the others far from a kept one.

K-Center-Greedy inside each <primary, secondary> bucket: every pick is the row farthest from all picks before it, so
rare and boundary requests stay while dense regions are thinned. All buckets share one radius instead of proportional
quotas: the picks of all buckets, by the distance at which they were made, are cut at one size or at one distance.

A batch is exact as long as its horizon holds: greedy runs among the rows that are farthest at its start, and stops
when the best of them is no farther than the farthest row outside; only then are all distances updated.

Source: Gonzalez (1985); the third level of the AMAP report's funnel.

Shapes: N points, D dimensions, K picks, H rows within a horizon.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BATCH = 256
_ROUNDING = np.float32(1e-6)


class CoreSet(NamedTuple):
    """K picked rows and how well they cover the rest."""

    picks_K: NDArray[np.int64]
    """Row numbers into the input, by the distance at which they were picked, farthest first."""
    distance_K: NDArray[np.float32]
    """Distance of each pick from the picks before it, in its bucket; infinite for the first of a bucket."""
    nearest_N: NDArray[np.int64]
    """Row number of the pick that covers each row."""
    cover_N: NDArray[np.float32]
    """Distance of each row from that pick."""

    @property
    def radius(self) -> float:
        """The largest distance from any row to the pick that covers it."""
        return float(self.cover_N.max(initial=0.0))


def core_set(
    points_ND: NDArray[np.float32],
    buckets: Sequence[str],
    *,
    size: int | None = None,
    radius: float | None = None,
) -> CoreSet:
    """Pick rows of every bucket under one radius.

    Args:
        points_ND: unit vectors, float32. Of equally far rows the first is picked: sort by importance.
        buckets: N names; rows of different buckets never cover each other.
        size: how many rows to pick over all buckets, at least one per bucket; all rows where there are fewer.
        radius: in place of a size, pick until no row is farther than this from a pick of its bucket.

    Raises:
        ValueError: neither or both of size and radius are given, or the size is smaller than the number of buckets.
    """
    rows_by_bucket = _rows_by_bucket(buckets)
    if (size is None) == (radius is None):
        raise ValueError(f"give either a size or a radius, got size={size} and radius={radius}")
    if size is not None and size < len(rows_by_bucket):
        raise ValueError(
            f"size must be at least {len(rows_by_bucket)}, one pick per bucket, got {size}: raise it or merge buckets"
        )
    covers = [_Cover(points_ND, rows) for rows in rows_by_bucket]
    while covers and _is_open(covers, size, radius):
        max(covers, key=lambda cover: cover.farthest).extend()
    return _cut(points_ND, covers, size, radius)


class _Cover:
    """The picks of one bucket so far, and every row's distance to the nearest of them."""

    def __init__(self, points_ND: NDArray[np.float32], rows_R: NDArray[np.int64]) -> None:
        self.rows_R = rows_R
        self.points_RD = np.ascontiguousarray(points_ND[rows_R])
        self.picks: list[int] = []
        self.distances: list[float] = []
        self.square_R = np.full(len(rows_R), np.inf, dtype=np.float32)
        medoid = int((self.points_RD @ self.points_RD.mean(axis=0)).argmax())
        self._take([medoid], [float("inf")])

    def extend(self) -> None:
        """Pick one exact batch."""
        if self.farthest == 0.0:  # only copies of picks are left: any of them will do, in order
            copies = np.flatnonzero(self.square_R == 0.0)[:_BATCH].tolist()
            self._take(copies, [0.0] * len(copies))
            return
        horizon_H = _farthest_rows(self.square_R, 4 * _BATCH)
        outside = float(np.delete(self.square_R, horizon_H).max(initial=-1.0))
        square_H = self.square_R[horizon_H].copy()
        between_HH = _squares(self.points_RD[horizon_H], self.points_RD[horizon_H])
        batch: list[int] = []
        distances: list[float] = []
        while len(batch) < _BATCH:
            best = int(square_H.argmax())
            if square_H[best] <= 0 or (batch and square_H[best] <= outside):
                break
            batch.append(int(horizon_H[best]))
            distances.append(float(np.sqrt(square_H[best])))
            np.minimum(square_H, between_HH[best], out=square_H)
            square_H[best] = -1.0
        self._take(batch, distances)

    def farther_than(self, distance: float) -> int:
        """How many picks were made at this distance or farther."""
        return bisect_right(self.distances, -distance, key=lambda made: -made)

    def _take(self, batch: list[int], distances: list[float]) -> None:
        self.picks += batch
        self.distances += distances
        for start in range(0, len(self.rows_R), 65_536):  # bounds the matrix of one product
            part = slice(start, start + 65_536)
            squares = _squares(self.points_RD[part], self.points_RD[batch]).min(axis=1)
            np.minimum(self.square_R[part], squares, out=self.square_R[part])
        self.square_R[self.picks] = -1.0
        self.farthest = float(np.sqrt(max(0.0, self.square_R.max()))) if len(self.picks) < len(self.rows_R) else -1.0
        """Distance of the row that is farthest from every pick; below zero when all are picked."""


def _is_open(covers: Sequence[_Cover], size: int | None, radius: float | None) -> bool:
    """Whether a pick that belongs to the result may still be missing."""
    farthest = max(cover.farthest for cover in covers)
    if farthest < 0:
        return False
    if radius is not None:
        return farthest > radius
    return size is not None and sum(cover.farther_than(farthest) for cover in covers) < size


def _cut(points_ND: NDArray[np.float32], covers: Sequence[_Cover], size: int | None, radius: float | None) -> CoreSet:
    """Of all picks made, those of the global size or radius, farthest first; of equally far ones the first row."""
    made_M = np.concatenate([cover.rows_R[cover.picks] for cover in covers] or [np.empty(0, np.int64)])
    distance_M = np.array([d for cover in covers for d in cover.distances], dtype=np.float32)
    order_M = np.lexsort((made_M, -distance_M))
    if radius is not None:
        order_M = order_M[distance_M[order_M] > radius]
    picks_K, distance_K = made_M[order_M][:size], distance_M[order_M][:size]
    is_pick_N = np.zeros(len(points_ND), dtype=np.bool_)
    is_pick_N[picks_K] = True
    nearest_N = np.arange(len(points_ND))
    cover_N = np.zeros(len(points_ND), dtype=np.float32)
    for cover in covers:
        rows_R = cover.rows_R
        nearest_N[rows_R], cover_N[rows_R] = nearest_pick(points_ND, rows_R, rows_R[is_pick_N[rows_R]])
    return CoreSet(picks_K, distance_K, nearest_N, cover_N)


def nearest_pick(
    points_ND: NDArray[np.float32], rows_R: NDArray[np.int64], picks_K: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each of `rows_R`, the nearest of `picks_K` and the distance to it; a pick is nearest to itself."""
    nearest_R = np.empty(len(rows_R), dtype=np.int64)
    distance_R = np.empty(len(rows_R), dtype=np.float32)
    order_K = np.sort(picks_K)
    for start in range(0, len(rows_R), 4096):
        part = slice(start, start + 4096)
        squares = _squares(points_ND[rows_R[part]], points_ND[order_K])
        position = squares.argmin(axis=1)
        nearest_R[part] = order_K[position]
        distance_R[part] = np.sqrt(np.maximum(squares[np.arange(len(position)), position], 0.0))
    own = np.isin(rows_R, picks_K)
    nearest_R[own], distance_R[own] = rows_R[own], 0.0
    return nearest_R, distance_R


def central_picks(points_ND: NDArray[np.float32], core: CoreSet, buckets: Sequence[str]) -> CoreSet:
    """Move each pick to the most central row of those it covers: greedy k-center loves outliers, a pool should not.

    One step of k-medoids. Every row stays within the old radius plus the way its pick was moved; what the radius
    becomes is in the result. An outlier that covers only itself stays a pick. Of equally central rows the first counts.
    """
    sums_ND = np.zeros(points_ND.shape, dtype=np.float64)
    np.add.at(sums_ND, core.nearest_N, points_ND)
    central_N = np.einsum("nd,nd->n", points_ND, sums_ND[core.nearest_N]).round(6)
    order_N = np.lexsort((np.arange(len(points_ND)), -central_N, core.nearest_N))
    owner_N = core.nearest_N[order_N]
    first_N = np.concatenate([[True], owner_N[1:] != owner_N[:-1]]) if len(owner_N) else np.empty(0, np.bool_)
    moved = dict(zip(owner_N[first_N].tolist(), order_N[first_N].tolist(), strict=True))
    picks_K = np.array([moved[pick] for pick in core.picks_K.tolist()], dtype=np.int64)
    return covered_by(points_ND, picks_K, core.distance_K, buckets)


def covered_by(
    points_ND: NDArray[np.float32], picks_K: NDArray[np.int64], distance_K: NDArray[np.float32], buckets: Sequence[str]
) -> CoreSet:
    """How picks cover the rows of their buckets; each bucket has one."""
    nearest_N, cover_N = np.arange(len(points_ND)), np.zeros(len(points_ND), dtype=np.float32)
    for rows_R in _rows_by_bucket(buckets):
        nearest_N[rows_R], cover_N[rows_R] = nearest_pick(points_ND, rows_R, np.intersect1d(picks_K, rows_R))
    return CoreSet(picks_K, distance_K, nearest_N, cover_N)


def centres_of(points_ND: NDArray[np.float32], groups: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The mean of each group, what `centred` measures from."""
    names = sorted(set(groups))
    return {name: points_ND[rows_R].mean(axis=0) for name, rows_R in zip(names, _rows_by_bucket(groups), strict=True)}


def centred(
    points_ND: NDArray[np.float32], groups: Sequence[str], centres: Mapping[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Unit vectors relative to the centre of their group; rows of a group without one stay where they are.

    An embedder trained on English puts all Chinese texts close together; measured from the middle of each language,
    distances mean the same in both. A row that is its group's centre keeps its direction.
    """
    moved_ND = points_ND.copy()
    for name, rows_R in zip(sorted(set(groups)), _rows_by_bucket(groups), strict=True):
        if name in centres:
            moved_ND[rows_R] -= centres[name]
    length_N = np.linalg.norm(moved_ND, axis=1, keepdims=True)
    lost_N = length_N[:, 0] < _ROUNDING
    moved_ND[lost_N], length_N[lost_N] = points_ND[lost_N], 1.0
    moved_ND /= length_N
    return moved_ND


def _rows_by_bucket(buckets: Sequence[str]) -> list[NDArray[np.int64]]:
    rows: dict[str, list[int]] = {}
    for row, bucket in enumerate(buckets):
        rows.setdefault(bucket, []).append(row)
    return [np.array(rows[bucket]) for bucket in sorted(rows)]


def _farthest_rows(square_R: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The `count` rows with the largest values, ascending; of equal values the first rows."""
    if len(square_R) <= count:
        return np.arange(len(square_R))
    bound = np.partition(square_R, len(square_R) - count)[len(square_R) - count]
    above = np.flatnonzero(square_R > bound)
    level = np.flatnonzero(square_R == bound)[: count - len(above)]
    return np.sort(np.concatenate([above, level]))


def _squares(left_RD: NDArray[np.float32], right_KD: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared Euclidean distances of unit vectors, shape (R, K); what rounding leaves between copies is zero."""
    squares = np.float32(2.0) - np.float32(2.0) * (left_RD @ right_KD.T)
    squares[squares < _ROUNDING] = 0.0
    return squares
