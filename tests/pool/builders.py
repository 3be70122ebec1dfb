"""Rows and vectors for the tests of the funnel."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType

import dagster as dg
import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.labels import assets as labels
from assets.pool import assets as pool
from assets.pool.decisions import decide
from assets.pool.survival import Survival, keep_order
from assets.pool.vectors import Vectors, rounded
from assets.taxonomy.tree import load_taxonomy
from resources.lake import Lake

EPOCH = datetime(2026, 1, 1)  # noqa: DTZ001 - the tables hold naive UTC

FUNNEL = [
    pool.lexical_survivors, labels.query_labels, labels.irrelevance_set, pool.semantic_survivors, pool.candidate_pool,
    pool.dropped,
]  # fmt: skip
"""The assets from distinct queries to the pool."""


def queries(texts: Sequence[str], *, support: int = 1) -> pl.DataFrame:
    """A table of distinct queries, seen one second after the other."""
    return pl.DataFrame(
        {
            "query_id": [f"q{i:05d}" for i in range(len(texts))],
            "normal": list(texts),
            "language": ["en" if text.isascii() else "zh" for text in texts],
            "support": [support + i for i in range(len(texts))],
            "first_seen": [EPOCH + timedelta(seconds=i) for i in range(len(texts))],
        }
    )


def filled(root: Path, texts: Sequence[str]) -> Lake:
    """A lake with distinct queries and the default tree: what the pool and the labels are made from."""
    lake = Lake(root=str(root))
    table = queries(texts).with_columns(context=pl.lit(None, dtype=pl.String), text=pl.col("normal"))
    lake.write("queries/distinct_queries", table)
    lake.write("taxonomy/intent_taxonomy", load_taxonomy().table())
    return lake


def checks_of(*modules: ModuleType) -> list[dg.AssetChecksDefinition]:
    """Every asset check that these modules define."""
    return [v for module in modules for v in vars(module).values() if isinstance(v, dg.AssetChecksDefinition)]


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The same rows in another order, put back into keep order as every layer does."""
    return keep_order(frame.sample(fraction=1.0, shuffle=True, seed=seed))


def unit_vectors(count: int, *, dimensions: int = 8, seed: int = 0) -> NDArray[np.float32]:
    """Random directions."""
    points = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def by_the_rule(similarity_NN: NDArray[np.float64], threshold: float) -> Survival:
    """The keep rule, word for word: a row stays unless a kept row before it is similar enough."""
    count = len(similarity_NN)
    survivor_N, best_N = np.arange(count), np.ones(count, dtype=np.float32)
    for row in range(count):
        kept = [k for k in range(row) if survivor_N[k] == k and similarity_NN[row, k] >= threshold]
        if kept:
            survivor_N[row] = max(kept, key=lambda k: (similarity_NN[row, k], -k))
            best_N[row] = similarity_NN[row, survivor_N[row]]
    return Survival(survivor_N, best_N)


def semantic_survivors(
    vectors_ND: NDArray[np.float32], buckets: Sequence[str], facts: Sequence[str], threshold: float
) -> Survival:
    """What the semantic layer decides about rows in keep order that it has never seen."""
    ids = [f"q{i:05d}" for i in range(len(buckets))]
    return decide(ids, Vectors([rounded(vectors_ND)]), buckets, facts, threshold).survival
