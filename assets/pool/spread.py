"""Leaf x difficulty x constraint density, layer by layer: what the funnel does to the mixture of requests.

Labels are made after the lexical layer; a near copy, which that layer dropped, counts under the label of its survivor.
"""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl


class Spread(NamedTuple):
    """How a set of labelled queries is spread."""

    queries: int
    leaves: int
    smallest_leaf: int
    """Queries of the leaf that has the fewest."""
    leaf_entropy: float
    """In bits."""
    difficulty: Mapping[int, float]
    """Share of the queries by difficulty, for each that occurs."""
    constraints: float
    """Mean number of constraints that a query states."""
    cells: int
    """Combinations of leaf, difficulty and number of constraints that occur."""
    cell_entropy: float
    """Over those, in bits."""


def spread(labels: pl.DataFrame) -> Spread:
    """Measure labelled queries.

    Args:
        labels: primary, difficulty, count (of constraints); one row per query.
    """
    leaves = labels["primary"].value_counts()["count"]
    cells = labels.group_by("primary", "difficulty", "count").len()["len"]
    levels = labels["difficulty"].value_counts(normalize=True).sort("difficulty")
    return Spread(
        queries=len(labels),
        leaves=len(leaves),
        smallest_leaf=int(leaves.min() or 0),  # type: ignore[arg-type]
        leaf_entropy=_entropy(leaves),
        difficulty=dict(levels.iter_rows()),
        constraints=float(labels.select(pl.col("count").mean()).item() or 0.0),
        cells=len(cells),
        cell_entropy=_entropy(cells),
    )


def spread_by_layer(labels: pl.DataFrame, dropped: Mapping[str, pl.DataFrame]) -> dict[str, Spread]:
    """The spread of the distinct queries, and of what each layer left.

    Args:
        labels: query_id, primary, difficulty, count; one row per query that the lexical layer kept.
        dropped: query_id, survivor by layer, in the order of the layers, the lexical one first.
    """
    copies = dropped["lexical"].select(query_id="survivor").join(labels, on="query_id")
    found, left = {"distinct": spread(pl.concat([labels, copies.select(labels.columns)]))}, labels
    for layer, gone in dropped.items():
        left = left.join(gone, on="query_id", how="anti")
        found[layer] = spread(left)
    return found


def _entropy(counts: pl.Series) -> float:
    return float(counts.entropy(base=2.0) or 0.0)
