"""Geometric layer of the funnel: the smallest set of requests that leaves none of the others far from a kept one.

K-Center-Greedy inside each <primary, secondary> bucket: every pick is the row farthest from all picks before it, so
rare and boundary requests stay while dense regions are thinned. All buckets share one radius instead of proportional
quotas: the picks of all buckets, by the distance at which they were made, are cut at one size or at one distance.

Picks are made in batches. Within a batch a row is compared with the picks made since only when it stands first, since
distances only shrink; a batch ends where a row outside its horizon could be farther. Then one pass of matrix products
brings all distances up to date, and with them which pick is nearest. So every batch is exact, the work is that of
comparing each row with each pick once, and where batches end changes nothing.

Source: Gonzalez (1985); the third level of the AMAP report's funnel.

Shapes: N points, D dimensions, R rows of one bucket, K picks, M picks made, H rows within a horizon, L cells.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.pool.nearest import come_nearer, nearest_pick, rows_by_group, sum_of

_BATCH = 512
_FIRST_BATCH = 16
_CENTRED = 65_536
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
    rows_by_bucket = rows_by_group(buckets)
    if (size is None) == (radius is None):
        raise ValueError(f"give either a size or a radius, got size={size} and radius={radius}")
    if size is not None and size < len(rows_by_bucket):
        raise ValueError(
            f"size must be at least {len(rows_by_bucket)}, one pick per bucket, got {size}: raise it or merge buckets"
        )
    covers = [_Cover(points_ND, rows) for rows in rows_by_bucket]
    if radius is not None:
        _pick_to_radius(covers, radius)
    elif size is not None and covers:
        _pick_to_size(covers, size)
    return _cut(points_ND, covers, size, radius)


class _Cover:
    """The picks of one bucket so far, and every row's distance to the nearest of them."""

    def __init__(self, points_ND: NDArray[np.float32], rows_R: NDArray[np.int64]) -> None:
        from assets.pool.distances import dots

        self.points_ND, self.rows_R = points_ND, rows_R
        self.square_R = np.full(len(rows_R), np.inf, dtype=np.float32)
        """Squared distance of each row to its pick; -1 for a pick."""
        self.near_R = np.full(len(rows_R), -1)
        """The pick nearest to each row."""
        self.picks: list[int] = []
        self.distances: list[float] = []
        middle_D = sum_of(points_ND, rows_R).astype(np.float32)
        medoid = int(dots(points_ND, rows_R, middle_D).argmax())
        self._take(np.array([medoid]), np.array([np.inf], dtype=np.float32))

    def extend(self, most: int = _BATCH, floor: float = 0.0) -> None:
        """Pick one exact batch: of the rows that lie apart from every pick, none nearer than `floor`."""
        from assets.pool.distances import pick_farthest

        most = min(most, _BATCH, max(_FIRST_BATCH, len(self.picks) // 4))
        candidates_H, outside = _farthest_rows(self.square_R, 16 * most)
        batch_K, square_K = pick_farthest(
            self.points_ND, self.rows_R[candidates_H], self.square_R[candidates_H], outside,
            np.float32(floor) if floor > 0 else _ROUNDING, most, len(self.rows_R) / 16,
        )  # fmt: skip
        self._take(candidates_H[batch_K], np.sqrt(square_K))

    def _take(self, batch_K: NDArray[np.int64], distance_K: NDArray[np.float32]) -> None:
        rows_K = self.rows_R[batch_K]
        self.picks += rows_K.tolist()
        self.distances += distance_K.tolist()
        self.square_R[batch_K], self.near_R[batch_K] = -1.0, rows_K
        come_nearer(self.points_ND, self.rows_R, rows_K, self.square_R, self.near_R)
        last = int(self.square_R.argmax())
        self.farthest = float(np.sqrt(np.maximum(self.square_R[last], 0.0)))
        """Distance of the row that is farthest from every pick; zero when only picks and copies of picks are left."""
        self.next = (-self.farthest, int(self.rows_R[last]))
        """Where that row would stand among all picks."""


def _pick_to_radius(covers: Sequence[_Cover], radius: float) -> None:
    """Pick until no row is farther than the radius."""
    floor = np.nextafter(np.float32(radius), np.float32(np.inf))
    for cover in covers:
        while cover.farthest > 0 and cover.farthest >= floor:
            cover.extend(floor=float(floor))


def _pick_to_size(covers: Sequence[_Cover], size: int) -> None:
    """Pick until no row that is left could stand among the first `size` picks of all buckets."""
    made = len(covers)
    while made < size:
        cover = min(covers, key=lambda cover: cover.next)
        if cover.farthest <= 0:
            return
        before = len(cover.picks)
        cover.extend(size - made)
        made += len(cover.picks) - before
    while True:
        rows_M, distance_M = _in_order(covers)
        last = (-float(distance_M[:size][-1]), int(rows_M[:size][-1]))
        missing = [cover for cover in covers if cover.farthest > 0 and cover.next < last]
        if not missing:
            return
        for cover in missing:
            cover.extend(floor=-last[0])


def _in_order(covers: Sequence[_Cover]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """All picks made and their distances, farthest first; of equally far ones the first row."""
    rows_M = np.array([row for cover in covers for row in cover.picks], dtype=np.int64)
    distance_M = np.array([distance for cover in covers for distance in cover.distances], dtype=np.float32)
    order_M = np.lexsort((rows_M, -distance_M))
    return rows_M[order_M], distance_M[order_M]


def _cut(points_ND: NDArray[np.float32], covers: Sequence[_Cover], size: int | None, radius: float | None) -> CoreSet:
    """Of all picks made, those of the global size or radius; where they are too few, copies of picks fill up."""
    rows_M, distance_M = _in_order(covers)
    near_N, square_N = np.arange(len(points_ND)), np.zeros(len(points_ND), dtype=np.float32)
    for cover in covers:
        near_N[cover.rows_R], square_N[cover.rows_R] = cover.near_R, np.maximum(cover.square_R, 0.0)
    is_pick_N = np.zeros(len(points_ND), dtype=np.bool_)
    is_pick_N[rows_M] = True
    count = int((distance_M > np.float32(radius)).sum()) if radius is not None else size
    copies_F = np.flatnonzero(~is_pick_N)[: max(0, (size or 0) - len(rows_M))]
    picks_K = np.concatenate([rows_M[:count], copies_F])
    is_pick_N[rows_M[count:]], is_pick_N[copies_F] = False, True
    near_N[copies_F] = copies_F
    lost_N = ~is_pick_N[near_N]  # the picks that covered them were cut
    cover_N = np.sqrt(square_N)
    for cover in covers:
        lost_R = cover.rows_R[lost_N[cover.rows_R]]
        if len(lost_R):
            near_N[lost_R], cover_N[lost_R] = nearest_pick(points_ND, lost_R, cover.rows_R[is_pick_N[cover.rows_R]])
    distance_K = np.concatenate([distance_M[:count], np.zeros(len(copies_F), np.float32)])
    return CoreSet(picks_K, distance_K, near_N, cover_N)


def central_picks(points_ND: NDArray[np.float32], core: CoreSet, buckets: Sequence[str]) -> CoreSet:
    """Move each pick to the most central row of those it covers: greedy k-center loves outliers, a pool should not.

    One step of k-medoids. Every row stays within the old radius plus the way its pick was moved; what the radius
    becomes is in the result. An outlier that covers only itself stays a pick. Of equally central rows the first counts.
    """
    from assets.pool.distances import central_rows, squares_of_pairs

    old_L, size_L = np.unique(core.nearest_N, return_counts=True)
    order_N = np.argsort(core.nearest_N, kind="stable")
    moved_N = np.arange(len(points_ND))
    moved_N[old_L] = central_rows(points_ND, order_N, np.concatenate([[0], size_L.cumsum()]))
    picks_K = moved_N[core.picks_K]
    is_pick_N, is_new_N = np.zeros(len(points_ND), dtype=np.bool_), np.zeros(len(points_ND), dtype=np.bool_)
    is_pick_N[picks_K], is_new_N[picks_K[picks_K != core.picks_K]] = True, True
    near_N = moved_N[core.nearest_N]
    square_N = squares_of_pairs(points_ND, np.arange(len(points_ND)), near_N)
    for rows_R in rows_by_group(buckets):
        for is_new in (False, True):  # who keeps his pick need only be compared with the new ones
            some_R = rows_R[is_new_N[near_N[rows_R]] == is_new]
            among_N = is_pick_N if is_new else is_new_N
            square_R, near_R = square_N[some_R], near_N[some_R]
            come_nearer(points_ND, some_R, rows_R[among_N[rows_R]], square_R, near_R)
            square_N[some_R], near_N[some_R] = square_R, near_R
    near_N[picks_K], square_N[picks_K] = picks_K, 0.0
    return CoreSet(picks_K, core.distance_K, near_N, np.sqrt(square_N))


def covered_by(
    points_ND: NDArray[np.float32], picks_K: NDArray[np.int64], distance_K: NDArray[np.float32], buckets: Sequence[str]
) -> CoreSet:
    """How picks cover the rows of their buckets; each bucket has one."""
    nearest_N, cover_N = np.arange(len(points_ND)), np.zeros(len(points_ND), dtype=np.float32)
    for rows_R in rows_by_group(buckets):
        nearest_N[rows_R], cover_N[rows_R] = nearest_pick(points_ND, rows_R, np.intersect1d(picks_K, rows_R))
    return CoreSet(picks_K, distance_K, nearest_N, cover_N)


def centres_of(points_ND: NDArray[np.float32], groups: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The mean of each group, what `centred` measures from."""
    names = sorted(set(groups))
    parts = zip(names, rows_by_group(groups), strict=True)
    return {name: (sum_of(points_ND, rows_R) / len(rows_R)).astype(np.float32) for name, rows_R in parts}


def centred(
    points_ND: NDArray[np.float32], groups: Sequence[str], centres: Mapping[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Unit vectors relative to the centre of their group; rows of a group without one stay where they are.

    An embedder trained on English puts all Chinese texts close together; measured from the middle of each language,
    distances mean the same in both. A row that is its group's centre keeps its direction.
    """
    moved_ND = points_ND.copy()
    for name, rows_R in zip(sorted(set(groups)), rows_by_group(groups), strict=True):
        for start in range(0, len(rows_R) if name in centres else 0, _CENTRED):
            moved_ND[rows_R[start : start + _CENTRED]] -= centres[name]
    for start in range(0, len(points_ND), _CENTRED):
        part = slice(start, start + _CENTRED)
        length_N = np.linalg.norm(moved_ND[part], axis=1, keepdims=True)
        lost_N = length_N[:, 0] < _ROUNDING
        moved_ND[part][lost_N], length_N[lost_N] = points_ND[part][lost_N], 1.0
        moved_ND[part] /= length_N
    return moved_ND


def _farthest_rows(square_R: NDArray[np.float32], count: int) -> tuple[NDArray[np.int64], np.float32]:
    """The `count` rows with the largest values, ascending, and what no other row exceeds; of equal values the first."""
    if len(square_R) <= count:
        return np.arange(len(square_R)), np.float32(-1.0)
    bound = np.partition(square_R, len(square_R) - count)[len(square_R) - count]
    above = np.flatnonzero(square_R > bound)
    level = np.flatnonzero(square_R == bound)[: count - len(above)]
    return np.sort(np.concatenate([above, level])), bound
