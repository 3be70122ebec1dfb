"""Similar pairs, stored down to a floor below a layer's threshold, so that other thresholds can be previewed.

The rule of the lexical and semantic layers asks for nothing else: in keep order a row stays unless a kept row before it
is similar enough. So the pairs say for any threshold from the floor on what a run there would keep, and at the layer's
own threshold exactly what it kept: what it decided is stored with them, and a pair that its search missed is left out
and counted.

A crowd of n near copies has n * n / 2 pairs. Beyond `BOUND` pairs of one row only those are stored that let it go at a
level at which no stored one did, so at the levels (every `Pairs.step`) nothing is lost, and in between little.

Shapes: N rows, P pairs, T levels, D dimensions, R rows of one group, B bands.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

BOUND = 64
_STEPS = (0.0025, 0.005, 0.01, 0.02, 0.05)
_MOST_LEVELS = 61
"""Beside the floor's and the threshold's own: a row has one bit for each."""


Similarities = NDArray[np.floating[Any]]
BOUNDS = {"threshold": pl.Float64, "floor": pl.Float64, "step": pl.Float64, "bounded": pl.Int64, "missed": pl.Int64}


class Pairs(NamedTuple):
    """Similar rows, numbered in keep order; sorted by the later, then the earlier row."""

    later_P: NDArray[np.int64]
    earlier_P: NDArray[np.int64]
    similarity_P: Similarities
    """In the precision that the layer compares in."""
    whole_P: NDArray[np.bool_]
    """Whether every pair of the later row is stored."""
    step: float
    """Distance of the levels; 0 where nothing is stored."""
    missed: int
    """Similar pairs of kept rows: what the layer's search had overlooked."""

    @property
    def bounded(self) -> int:
        """Rows of which not every pair is stored."""
        return len(np.unique(self.later_P[~self.whole_P]))


def no_pairs() -> Pairs:
    """What is stored where the floor is off."""
    empty = np.empty(0, np.int64)
    return Pairs(empty, empty, np.empty(0, np.float64), np.empty(0, np.bool_), 0.0, 0)


def is_off(floor: float, threshold: float) -> bool:
    """Whether a floor stores nothing: 0, or not below the threshold."""
    return not 0 < floor < threshold


class Levels(NamedTuple):
    """The thresholds at which a preview loses nothing, however crowded the rows."""

    level_T: NDArray[np.float64]
    own: int
    """Which is the layer's threshold."""
    step: float


def levels_of(floor: float, threshold: float) -> Levels:
    """Even levels from the floor to 1, the floor and the threshold among them."""
    step = next((s for s in _STEPS if (1 - floor) / s <= _MOST_LEVELS - 1), _STEPS[-1])
    even = np.round(np.arange(np.ceil(round(floor / step, 6)), round(1 / step) + 1) * step, 6)
    level_T = np.unique(np.concatenate([even, [floor, threshold, 1.0]]))
    return Levels(level_T, int(np.searchsorted(level_T, threshold)), step)


Piece = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]
"""Later and earlier row and similarity of some pairs, and how many the layer had missed."""


def gathered(found: Sequence[Piece], whole_N: NDArray[np.bool_], step: float, dtype: type[np.floating[Any]]) -> Pairs:
    """Pairs found piece by piece, in order."""
    if not found:
        return no_pairs()._replace(step=step, similarity_P=np.empty(0, dtype))
    later_P, earlier_P, similar_P = (np.concatenate([part[i] for part in found]) for i in range(3))
    order_P = np.lexsort((earlier_P, later_P))
    later_P = later_P[order_P].astype(np.int64)
    missed = sum(part[3] for part in found)
    return Pairs(
        later_P, earlier_P[order_P].astype(np.int64), similar_P[order_P].astype(dtype), whole_N[later_P], step, missed
    )


def kept_at(
    later_P: NDArray[np.int64],
    earlier_P: NDArray[np.int64],
    similarity_P: Similarities,
    threshold: float,
    there_N: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which rows a run at `threshold` keeps.

    Args:
        later_P: the later row of each pair; the pairs of an earlier row come before those of a later one.
        earlier_P: the earlier one.
        similarity_P: down to a floor that is not above the threshold.
        threshold: similarity at which a row is a copy.
        there_N: which of the N rows are there at all.
    """
    from assets.pool.pair_kernels import replay

    kept_N = there_N.copy()
    replay(later_P, earlier_P, similarity_P >= similarity_P.dtype.type(threshold), kept_N)
    return kept_N


def named(pairs: Pairs, query_ids: pl.Series) -> pl.DataFrame:
    """Pairs as a table in keep order: later, earlier, similarity, whole.

    Args:
        pairs: rows by number.
        query_ids: in keep order.
    """
    return pl.DataFrame(
        {
            "later": query_ids.gather(pairs.later_P),
            "earlier": query_ids.gather(pairs.earlier_P),
            "similarity": pairs.similarity_P,
            "whole": pairs.whole_P,
        }
    )


class Stored(NamedTuple):
    """What a layer leaves for the preview."""

    pairs: pl.DataFrame
    """later, earlier, similarity, whole; in keep order."""
    bounds: pl.DataFrame
    """One row: threshold, floor, step, bounded, missed."""

    @property
    def numbers(self) -> dict[str, float]:
        """For the catalogue."""
        return {
            "pairs_stored": len(self.pairs),
            "rows_with_more_pairs": int(self.bounds["bounded"][0]),
            "pairs_missed": int(self.bounds["missed"][0]),
        }


def stored(pairs: Pairs, query_ids: pl.Series, floor: float, threshold: float) -> Stored:
    """Pairs with names instead of numbers, and what a preview must know of them."""
    bounds = {"threshold": threshold, "floor": 0.0 if is_off(floor, threshold) else floor, "step": pairs.step,
              "bounded": pairs.bounded, "missed": pairs.missed}  # fmt: skip
    return Stored(named(pairs, query_ids), pl.DataFrame([bounds], schema=BOUNDS))
