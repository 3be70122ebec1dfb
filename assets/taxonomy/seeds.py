"""The seed set: a few hundred queries, as different from each other as can be, for experts to tag.

K-center over the embeddings: each pick is the query farthest from all picks before it, so rare requests stand beside
common ones. Strata of support (how often a query was asked) share the picks evenly, or the set would be all oddities:
far from everything is above all what was asked once.

Source: pipeline stage 2 (a small high-variance seed set); Gonzalez (1985).

Shapes: N queries, D dimensions.
"""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.geometric import core_set
from assets.taxonomy.experts import COLUMNS

STRATA: Final = 4
"""Ours: once, two to three times, four to fifteen times, more often."""
SEED_COLUMNS: Final = ("query_id", "text", "support", "stratum", "distance")


def seed_set(queries: pl.DataFrame, vectors_ND: NDArray[np.float32], *, size: int) -> pl.DataFrame:
    """Pick a seed set.

    Args:
        queries: query_id, text, support; N rows.
        vectors_ND: unit vectors of the texts, in the order of the rows.
        size: how many to pick; all where there are fewer.

    Returns:
        query_id, text, support, stratum, and distance (from the picks made before in its stratum; null for the first);
        the farthest first. The order of the rows given changes nothing.

    Raises:
        ValueError: the size is below one, or rows and vectors do not pair up.
    """
    if size < 1 or len(queries) != len(vectors_ND):
        raise ValueError(
            f"a seed set needs a size of one or more and a vector for each query, got size={size}, "
            f"{len(queries)} queries and {len(vectors_ND)} vectors"
        )
    rows = queries.select("query_id", "text", "support").with_row_index("row").sort("query_id")
    rows = rows.with_columns(stratum=_stratum(pl.col("support")))
    parts = rows.partition_by("stratum", maintain_order=True)
    parts = sorted(parts, key=lambda part: int(part["stratum"][0]))
    quotas = _quotas([len(part) for part in parts], size)
    picked = [_picked(part, vectors_ND, quota) for part, quota in zip(parts, quotas, strict=True) if quota]
    found = pl.concat(picked) if picked else rows.with_columns(distance=pl.lit(None, dtype=pl.Float64)).head(0)
    order = found.sort("distance", "query_id", descending=[True, False], nulls_last=False)
    return order.select(SEED_COLUMNS)


def write_seeds(seeds: pl.DataFrame, path: Path) -> None:
    """Write a seed set for experts to fill in: query, tags (empty), annotator (empty), query_id, support.

    Args:
        seeds: as `seed_set` gives them.
        path: ends in .csv or .jsonl; both are read back by `read_expert_tags`.

    Raises:
        ValueError: the name ends in something else, or the file is there already: it may hold somebody's tags.
    """
    if path.suffix not in (".csv", ".jsonl"):
        raise ValueError(f"{path.name} must end in .csv or .jsonl")
    if path.exists():
        raise ValueError(f"{path} is there already and may hold tags: give another name or move it away")
    sheet = seeds.select(
        pl.col("text").alias(COLUMNS.query),
        pl.lit("").alias(COLUMNS.tags),
        pl.lit("").alias(COLUMNS.annotator),
        "query_id",
        "support",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        sheet.write_csv(path, include_bom=True)  # without the mark, spreadsheets take Chinese for another encoding
    else:
        sheet.write_ndjson(path)


def _stratum(support: pl.Expr) -> pl.Expr:
    return (support.clip(1).log(4).floor() + (support > 1).cast(pl.Float64)).clip(0, STRATA - 1).cast(pl.Int64)


def _quotas(sizes: list[int], size: int) -> list[int]:
    """Even shares of `size`; what a small stratum cannot fill goes to the others."""
    quota = [0] * len(sizes)
    left = min(size, sum(sizes))
    while left:
        open_ = [i for i, n in enumerate(sizes) if quota[i] < n]
        share = max(1, left // len(open_))
        for i in reversed(open_):  # the often asked first
            take = min(share, sizes[i] - quota[i], left)
            quota[i], left = quota[i] + take, left - take
    return quota


def _picked(part: pl.DataFrame, vectors_ND: NDArray[np.float32], quota: int) -> pl.DataFrame:
    points_ND = np.ascontiguousarray(vectors_ND[part["row"].to_numpy()])
    core = core_set(points_ND, [""] * len(part), size=quota)
    distance = pl.Series([float(d) if np.isfinite(d) else None for d in core.distance_K], dtype=pl.Float64)
    picked: pl.DataFrame = part[core.picks_K.tolist()]
    return picked.with_columns(distance=distance.round(6))
