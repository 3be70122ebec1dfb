"""Groups of queries that mean the same, how many there are, and how well each query lies in its group.

Spherical k-means over unit vectors. How many groups there are is not given: of a ladder of numbers the one with the
best silhouette counts. Over cosine distances the silhouette is exact and cheap, for the mean distance of a row from a
group is one minus its product with the group's mean. Each tag that experts gave starts a group of its own, and the rows
that have it stay there.

Rows are taken in the order given and every choice has a seed: sort them first, and the same rows give the same groups.

Source: Dhillon and Modha (2001); k-means++ of Arthur and Vassilvitskii (2007); Rousseeuw (1987); seeded k-means of Basu
et al. (2002).

Shapes: N points, D dimensions, K clusters, T tags.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Points = NDArray[np.float32]
Numbers = NDArray[np.int64]

UNTAGGED: Final = -1
_ROUNDS: Final = 30
_STEP: Final = 1.35
"""Ours: how much larger each number of the ladder is than the one before."""
_PATIENCE: Final = 5
"""Ours: so many numbers without a better silhouette end the ladder."""
_STARTS: Final = 5
_FEW_ROWS: Final = 2000
_TINY: Final = np.float32(1e-9)
_ROWS: Final = 8192


class Clusters(NamedTuple):
    """Rows by cluster; clusters are numbered by size, the largest first."""

    cluster_N: Numbers
    centres_KD: Points
    silhouette_N: NDArray[np.float32]
    """How much nearer each row lies to its own cluster than to the next one: 1 well inside, below 0 misplaced."""
    tried: tuple[tuple[int, float], ...] = ()
    """Numbers of clusters that were tried, and the mean silhouette of each."""

    @property
    def silhouette(self) -> float:
        """The mean over all rows."""
        return float(self.silhouette_N.mean()) if len(self.silhouette_N) else 0.0


def centred(points_ND: NDArray[np.floating]) -> Points:
    """Unit vectors seen from the middle of all of them: what every text has in common no longer counts."""
    return unit(points_ND - points_ND.mean(axis=0, keepdims=True))


def unit(points_ND: NDArray[np.floating]) -> Points:
    """Rows of length one; a row of zeros stays."""
    length_N = np.linalg.norm(points_ND, axis=1, keepdims=True)
    return np.asarray(points_ND / np.maximum(length_N, _TINY), dtype=np.float32)


def best_clusters(
    points_ND: Points, *, tag_N: Numbers | None = None, least: int = 2, most: int | None = None, seed: int = 0
) -> Clusters:
    """Clusters in the number that gives the best mean silhouette; of equal ones the smaller.

    Args:
        points_ND: unit vectors, sorted by something stable.
        tag_N: what experts said of each row, `UNTAGGED` for none; no fewer clusters than tags are made.
        least: smallest number tried.
        most: largest number tried; a tenth of the rows without it.
        seed: of the first centres.

    Raises:
        ValueError: there are fewer than two rows, `least` is below one, or `most` is below `least`.
    """
    if most is not None and most < least:
        raise ValueError(f"the largest number tried is below the smallest: most={most}, least={least}")
    if len(points_ND) < 2 or least < 1:
        raise ValueError(f"needs two rows and a least number of one, got {len(points_ND)} rows and least={least}")
    tags = len(set(tag_N[tag_N != UNTAGGED].tolist())) if tag_N is not None else 0
    ceiling = min(most or max(2, len(points_ND) // 10), len(points_ND) - 1)
    floor = min(max(least, tags), ceiling) if tags <= ceiling else tags
    best: Clusters | None = None
    waited, tried = 0, list[tuple[int, float]]()
    for number in ladder(floor, max(floor, ceiling)):
        found = clusters_of(points_ND, number, tag_N=tag_N, seed=seed)
        tried.append((len(found.centres_KD), round(found.silhouette, 5)))
        if best is None or tried[-1][1] > round(best.silhouette, 5):
            best, waited = found, 0
        elif (waited := waited + 1) == _PATIENCE:
            break
    assert best is not None
    return best._replace(tried=tuple(tried))


def ladder(least: int, most: int) -> list[int]:
    """Numbers from `least` to `most`, each about a third larger than the one before."""
    numbers = [least]
    while numbers[-1] < most:
        numbers.append(min(most, max(numbers[-1] + 1, round(numbers[-1] * _STEP))))
    return numbers


def clusters_of(points_ND: Points, number: int, *, tag_N: Numbers | None = None, seed: int = 0) -> Clusters:
    """Spherical k-means; clusters that end up empty are left out.

    Few rows are clustered from several first centres, of which the best silhouette counts: many rows even out.

    Args:
        points_ND: unit vectors.
        number: of clusters.
        tag_N: rows with a tag keep to the cluster of that tag.
        seed: of the first centres.
    """
    starts = _STARTS if len(points_ND) <= _FEW_ROWS else 1
    found = [_k_means(points_ND, number, tag_N, seed + start) for start in range(starts)]
    return max(found, key=lambda one: round(one.silhouette, 5))


def _k_means(points_ND: Points, number: int, tag_N: Numbers | None, seed: int) -> Clusters:
    tag_N = np.full(len(points_ND), UNTAGGED) if tag_N is None else tag_N
    tags = np.unique(tag_N[tag_N != UNTAGGED])
    fixed = np.flatnonzero(tag_N != UNTAGGED)
    place = np.searchsorted(tags, tag_N[fixed])
    centres_KD = _first_centres(points_ND, unit(_sums(points_ND[fixed], place, len(tags))), number, seed)
    cluster_N = np.full(len(points_ND), -1)
    for _ in range(_ROUNDS):
        before_N, cluster_N = cluster_N, nearest(points_ND, centres_KD)
        cluster_N[fixed] = place
        if (before_N == cluster_N).all():
            break
        centres_KD = _moved(points_ND, cluster_N, centres_KD)
    return _numbered(points_ND, cluster_N)


def nearest(points_ND: Points, centres_KD: Points) -> Numbers:
    """The nearest centre of each row; of equally near ones the first."""
    parts = [(points_ND[i : i + _ROWS] @ centres_KD.T).argmax(axis=1) for i in range(0, len(points_ND), _ROWS)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def silhouettes(points_ND: Points, cluster_N: Numbers) -> NDArray[np.float32]:
    """The silhouette of each row over cosine distances; 0 for the only row of a cluster, or if there is one cluster."""
    number = int(cluster_N.max(initial=-1)) + 1
    if number < 2:
        return np.zeros(len(points_ND), dtype=np.float32)
    size_K = np.bincount(cluster_N, minlength=number)
    mean_KD = (_sums(points_ND, cluster_N, number) / np.maximum(size_K, 1)[:, None]).astype(np.float32)
    made = []
    for start in range(0, len(points_ND), _ROWS):
        own = cluster_N[start : start + _ROWS]
        rows = np.arange(len(own))
        away = np.maximum(1.0 - points_ND[start : start + _ROWS] @ mean_KD.T, 0.0)
        inside = away[rows, own] * size_K[own] / np.maximum(size_K[own] - 1, 1)
        away[:, size_K == 0] = np.inf
        away[rows, own] = np.inf
        outside = away.min(axis=1)
        made.append(np.where(size_K[own] > 1, (outside - inside) / np.maximum(np.maximum(outside, inside), _TINY), 0.0))
    return np.concatenate(made).astype(np.float32)


def groups_of_centres(centres_KD: Points, *, least: int = 2, most: int = 12) -> Numbers:
    """Which centres belong together, by average linkage; the number of groups is that of the best silhouette.

    Args:
        centres_KD: unit vectors.
        least: smallest number of groups.
        most: largest number of groups.

    Returns:
        The group of each centre, numbered by the first centre in it; all 0 where there are no more than `least`.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    count = len(centres_KD)
    if count <= max(2, least):
        return np.zeros(count, dtype=np.int64)
    joined = linkage(centres_KD.astype(np.float64), method="average", metric="cosine")
    numbers = range(max(2, least), min(most, count - 1) + 1)
    cuts = [_by_first(fcluster(joined, number, criterion="maxclust")) for number in numbers]
    return max(cuts, key=lambda cut: round(float(silhouettes(centres_KD, cut).mean()), 5))


def _first_centres(points_ND: Points, seeds_TD: Points, number: int, seed: int) -> Points:
    """The seeds, and rows drawn by their squared distance from what was drawn before."""
    rng = np.random.default_rng(seed)
    centres = list(seeds_TD)
    if not centres:
        centres = [points_ND[int(rng.integers(len(points_ND)))]]
    away_N = np.asarray(2.0 - 2.0 * (points_ND @ np.array(centres).T).max(axis=1), dtype=np.float64)
    while len(centres) < number:
        away_N = np.maximum(away_N, 0.0)
        if not (total := away_N.sum()) > _TINY:
            break
        row = int(np.searchsorted(np.cumsum(away_N), rng.random() * total))
        centres.append(points_ND[min(row, len(points_ND) - 1)])
        away_N = np.minimum(away_N, 2.0 - 2.0 * (points_ND @ centres[-1]))
    return np.array(centres, dtype=np.float32)


def _moved(points_ND: Points, cluster_N: Numbers, centres_KD: Points) -> Points:
    sums_KD = _sums(points_ND, cluster_N, len(centres_KD))
    empty_K = np.linalg.norm(sums_KD, axis=1) < _TINY
    return np.where(empty_K[:, None], centres_KD, unit(sums_KD))


def _numbered(points_ND: Points, cluster_N: Numbers) -> Clusters:
    names, first, count = np.unique(cluster_N, return_index=True, return_counts=True)
    order = np.lexsort((first, -count))
    new = np.empty(int(names.max()) + 1, dtype=np.int64)
    new[names[order]] = np.arange(len(names))
    cluster_N = new[cluster_N]
    return Clusters(cluster_N, unit(_sums(points_ND, cluster_N, len(names))), silhouettes(points_ND, cluster_N))


def _by_first(group_K: Sequence[int]) -> Numbers:
    number: dict[int, int] = {}
    return np.array([number.setdefault(int(group), len(number)) for group in group_K], dtype=np.int64)


def _sums(points_ND: Points, group_N: Numbers, groups: int) -> NDArray[np.float64]:
    """The sum of the rows of each group, in float64."""
    member = sparse.csr_matrix(
        (np.ones(len(group_N)), (group_N, np.arange(len(group_N)))), shape=(groups, len(group_N))
    )
    return np.asarray(member @ points_ND.astype(np.float64))
