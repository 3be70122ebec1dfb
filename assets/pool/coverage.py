"""The coverage certificate of a pool: how far what was left out lies from what was kept, and what chance would do.

Shown with every candidate pool: the radius at every size, the radius against a random choice of the same size, the
distances of the rows left out, and how well the rarest leaves are covered.

Shapes: N points, D dimensions, K picks, L leaves.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.geometric import CoreSet
from assets.pool.nearest import largest_gap, rows_by_group

QUANTILES = (0.5, 0.9, 0.99, 1.0)


class Certificate(NamedTuple):
    """How well a pool covers the rows it was picked from; distances are Euclidean between unit vectors."""

    radius: float
    greedy_radius: float
    """Before the picks were moved to the middle of what they cover."""
    random_radius: float
    """The same for a random choice of as many rows, at least one per bucket; mean over seeds."""
    left_out: dict[str, float]
    """Quantiles of the distance from a row left out to its pick."""
    tail_leaves: tuple[str, ...]
    """The rarest tenth of the leaves."""
    tail_kept: float
    """Share of the tail's rows that were kept."""
    tail_radius: float
    curve: tuple[tuple[int, float], ...]
    """(size, greedy radius) of the pool at that size, at about a hundred sizes."""

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers worth plotting over time."""
        shown = {"radius": self.radius, "greedy_radius": self.greedy_radius, "random_radius": self.random_radius}
        shown |= {f"left_out_{name}": value for name, value in self.left_out.items()}
        return shown | {"tail_kept_share": self.tail_kept, "tail_radius": self.tail_radius}


def certify(
    points_ND: NDArray[np.float32],
    buckets: Sequence[str],
    leaves: Sequence[str],
    greedy: CoreSet,
    core: CoreSet,
    *,
    seeds: Sequence[int] = (0, 1, 2),
) -> Certificate:
    """Measure a pool against the rows it was picked from and against random choices of its size.

    Args:
        points_ND: what distances are measured between.
        buckets: N names; rows of different buckets never cover each other.
        leaves: N primary leaves.
        greedy: as picked.
        core: as kept, its picks moved.
        seeds: of the random choices.
    """
    kept_N = np.zeros(len(points_ND), dtype=np.bool_)
    kept_N[core.picks_K] = True
    left_out_N = core.cover_N[~kept_N]
    quantiles = np.quantile(left_out_N, QUANTILES) if len(left_out_N) else np.zeros(len(QUANTILES))
    tail = rarest_leaves(leaves)
    in_tail_N = pl.Series(leaves, dtype=pl.String).is_in(tail).to_numpy()
    return Certificate(
        radius=core.radius,
        greedy_radius=greedy.radius,
        random_radius=float(np.mean([random_radius(points_ND, buckets, len(core.picks_K), seed) for seed in seeds])),
        left_out={f"q{int(100 * q)}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
        tail_leaves=tail,
        tail_kept=float(kept_N[in_tail_N].mean()) if in_tail_N.any() else 1.0,
        tail_radius=float(core.cover_N[in_tail_N].max(initial=0.0)),
        curve=radius_curve(greedy),
    )


def radius_curve(core: CoreSet, points: int = 100) -> tuple[tuple[int, float], ...]:
    """The radius of the pool at about `points` sizes: each pick's distance is the radius before it was made."""
    first, last = int(np.isinf(core.distance_K).sum()), len(core.picks_K)
    sizes = sorted(set(np.linspace(first, last - 1, points).astype(int).tolist())) if last > first else []
    return (*((size, float(core.distance_K[size])) for size in sizes), (last, core.radius))


def random_radius(points_ND: NDArray[np.float32], buckets: Sequence[str], size: int, seed: int) -> float:
    """The radius of a random choice of `size` rows, at least one of each bucket."""
    rows_by_bucket = rows_by_group(buckets)
    place_N = np.random.default_rng(seed).permutation(len(points_ND))
    for rows_R in rows_by_bucket:
        place_N[rows_R[place_N[rows_R].argmin()]] = -1
    chosen_N = np.zeros(len(points_ND), dtype=np.bool_)
    chosen_N[np.argsort(place_N, kind="stable")[:size]] = True
    worst = 0.0
    for rows_R in rows_by_bucket:
        worst = largest_gap(points_ND, rows_R, rows_R[chosen_N[rows_R]], worst)
    return worst


def rarest_leaves(leaves: Sequence[str]) -> tuple[str, ...]:
    """The tenth of the leaves (at least one) that has the fewest rows, rarest first."""
    counts = pl.Series("leaf", leaves, dtype=pl.String).value_counts(name="rows").sort("rows", "leaf")
    return tuple(counts["leaf"].head(max(1, len(counts) // 10)))
