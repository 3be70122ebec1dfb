"""What a layer of the funnel decided: which row stands for each row, and the tables that follow from it.

The rule of the lexical and semantic layers: in the order (first seen, id) a row is kept unless a *kept* row is at
least as similar as the threshold; its support passes to the most similar of those. So no chain of neighbours pulls
unlike requests together, row order changes nothing, and a later day never un-keeps an earlier row.

Shapes: N rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

IRRELEVANT = "irrelevant"
"""Rule by which a query goes that no tool is for."""
LABEL_QUARANTINED = "label_quarantined"
"""Rule by which a query goes that has no label."""
DROPPED_SCHEMA = {
    "query_id": pl.String,
    "layer": pl.String,
    "rule": pl.String,
    "survivor": pl.String,
    "similarity": pl.Float64,
}


class Survival(NamedTuple):
    """For every row, in the order given, the row that stands for it."""

    survivor_N: NDArray[np.int64]
    """Row number of the survivor; a kept row survives as itself."""
    similarity_N: NDArray[np.float32]
    """Similarity with the survivor, in [0, 1]; 1 for a kept row."""

    @property
    def kept_N(self) -> NDArray[np.bool_]:
        """Which rows were kept."""
        kept_N: NDArray[np.bool_] = self.survivor_N == np.arange(len(self.survivor_N))
        return kept_N


def keep_order(frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` in the order in which rows claim their place: first seen, then id; rows without a time come last."""
    return frame.sort("first_seen", "query_id", nulls_last=True)


def kept_rows(frame: pl.DataFrame, survival: Survival) -> pl.DataFrame:
    """The kept rows of `frame`, sorted by id, each with the support of all the rows it stands for."""
    support = np.bincount(survival.survivor_N, weights=frame["support"].to_numpy(), minlength=len(frame))
    merged = frame.with_columns(support=pl.Series(support.astype(np.int64), dtype=pl.Int64))
    return merged.filter(pl.Series(survival.kept_N)).sort("query_id")


def dropped_rows(query_ids: pl.Series | Sequence[str], survival: Survival, *, layer: str, rule: str) -> pl.DataFrame:
    """One row per dropped query, sorted by id: layer, rule, survivor and similarity."""
    gone = np.flatnonzero(~survival.kept_N)
    ids = pl.Series(query_ids, dtype=pl.String)
    columns = {
        "query_id": ids.gather(gone),
        "layer": pl.repeat(layer, len(gone), eager=True),
        "rule": pl.repeat(rule, len(gone), eager=True),
        "survivor": ids.gather(survival.survivor_N[gone]),
        "similarity": survival.similarity_N[gone].astype(np.float64),
    }
    return pl.DataFrame(columns, schema=DROPPED_SCHEMA).sort("query_id")


def set_aside(labels: pl.DataFrame, quarantine: pl.DataFrame | None = None) -> pl.DataFrame:
    """Dropped rows for the queries that no tool is for or that have no label: they go here and have no survivor.

    Args:
        labels: query_id, difficulty.
        quarantine: query_id of the queries that could not be labelled.
    """
    aside = labels.filter(pl.col("difficulty") <= 0).select("query_id", rule=pl.lit(IRRELEVANT))
    if quarantine is not None:
        aside = pl.concat([aside, quarantine.select("query_id", rule=pl.lit(LABEL_QUARANTINED))])
    nothing = pl.lit(None)
    rows = aside.with_columns(layer=pl.lit("labels"), survivor=nothing, similarity=nothing).sort("query_id")
    return rows.select(*DROPPED_SCHEMA).cast(DROPPED_SCHEMA)  # type: ignore[arg-type]
