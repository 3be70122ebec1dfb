"""What other thresholds would keep, by leaf, read off the stored pairs: nothing is run again.

The lexical layer comes before the labels, so a query that another threshold would newly keep has none: it is counted
under the leaf of the query that stands for it now. The semantic layer compares labelled queries only; what it would do
with those others is not guessed.
"""

from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.pairs import Stored, kept_at
from resources.lake import Lake

PAIRS: Final = {"lexical": "pool/lexical_pairs", "semantic": "pool/semantic_pairs"}
SURVIVORS: Final = {"lexical": "pool/lexical_survivors", "semantic": "pool/semantic_survivors"}
BOUNDS: Final = "pool/pair_bounds"
"""One partition per layer: what its pairs can say."""
DROPPED: Final = "pool/dropped_by_layer"
"""One partition per layer, written by the layer itself; `pool/dropped` has them all."""


class Previewed(NamedTuple):
    """One layer at another threshold, or on what another threshold of the layer before it leaves."""

    layer: str
    now: float
    asked: float
    leaves: pl.DataFrame
    """leaf, now, then, unlabelled: queries kept, and how many of those kept then have no label; most frequent first."""
    bounded: int
    """Rows with more pairs than are stored."""
    step: float
    """Where there are such rows, thresholds that are multiples of this are exact if every pair had been looked at."""


def store(lake: Lake, layer: str, stored: Stored | None) -> None:
    """Write a layer's pairs, and then what they can say."""
    assert stored is not None, f"the {layer} layer leaves its pairs, be they none"
    lake.write(PAIRS[layer], stored.pairs)
    lake.write(BOUNDS, stored.bounds, layer)


def preview(lake: Lake, *, lexical: float | None, semantic: float | None) -> list[Previewed]:
    """The layers at other thresholds.

    The semantic layer is left out where only the lexical one is asked about and the semantic one stores nothing.

    Args:
        lake: with the tables of a pool.
        lexical: threshold of the lexical layer; None leaves it as it is.
        semantic: threshold of the semantic layer; None leaves it as it is.

    Raises:
        FileNotFoundError: there is no pool yet.
        ValueError: no threshold is given, one is out of range or below the stored floor, or tables are of other runs.
    """
    if lexical is None and semantic is None:
        raise ValueError("nothing to preview: give --lexical, --semantic or both")
    for table in SURVIVORS.values():
        if not lake.exists(table):
            raise FileNotFoundError(
                f"there is no pool yet ({table} is missing): `loopwright demo --until pool` makes one"
            )
    found = []
    labels = lake.read("labels/query_labels").select("query_id", leaf="primary")
    letters = _rows(lake, "lexical", labels).with_columns(then="now")
    if lexical is not None:
        bounds = _bounds(lake, "lexical", lexical)
        letters = _replayed(lake, "lexical", letters, lexical, bounds)
        found.append(_summed("lexical", letters, lexical, bounds))
    if semantic is None and _bounds(lake, "semantic")["floor"] == 0:
        return found
    bounds = _bounds(lake, "semantic", semantic)
    threshold = bounds["threshold"] if semantic is None else semantic
    left = letters.filter("then").select("query_id", there=pl.lit(value=True))
    meaning = _rows(lake, "semantic", labels).join(left, on="query_id", how="left", maintain_order="left")
    meaning = _replayed(lake, "semantic", meaning, threshold, bounds)
    return [*found, _summed("semantic", meaning, threshold, bounds)]


def _rows(lake: Lake, layer: str, labels: pl.DataFrame) -> pl.DataFrame:
    """What went into a layer: query_id, survivor, now (whether it is kept), leaf, unlabelled, there; sorted by id."""
    kept = lake.read(SURVIVORS[layer]).select("query_id", survivor="query_id", now=pl.lit(value=True))
    gone = lake.read(DROPPED, layer).select("query_id", "survivor", now=pl.lit(value=False))
    rows = pl.concat([kept, gone]).join(labels, on="query_id", how="left")
    rows = rows.join(labels.rename({"leaf": "stands_for_it"}), left_on="survivor", right_on="query_id", how="left")
    return rows.select(
        "query_id",
        "now",
        leaf=pl.coalesce("leaf", "stands_for_it", pl.lit("not labelled yet")),
        unlabelled=pl.col("leaf").is_null(),
    ).sort("query_id")


def _bounds(lake: Lake, layer: str, asked: float | None = None) -> dict[str, float]:
    """What the stored pairs of a layer can say.

    Raises:
        ValueError: they were never stored, or cannot say what is asked.
    """
    setting = f"the setting `floor` of {SURVIVORS[layer]}"
    if asked is not None and not 0 < asked <= 1:
        raise ValueError(f"--{layer} must be in (0, 1], got {asked:g}")
    if not (lake.exists(PAIRS[layer]) and lake.exists(BOUNDS, layer)):
        raise ValueError(f"this pool was made before similarities were stored: materialize {SURVIVORS[layer]} again")
    bounds: dict[str, float] = lake.read(BOUNDS, layer).row(0, named=True)
    if asked is None:
        return bounds
    if bounds["floor"] == 0:
        raise ValueError(
            f"the {layer} layer stores no similarities: give {setting} a value below its threshold "
            f"({bounds['threshold']:g}) and materialize it again"
        )
    if asked < bounds["floor"]:
        raise ValueError(
            f"--{layer} {asked:g} lies below {bounds['floor']:g}, down to which similarities are stored: "
            f"lower {setting} and materialize it again"
        )
    return bounds


def _replayed(lake: Lake, layer: str, rows: pl.DataFrame, threshold: float, bounds: dict[str, float]) -> pl.DataFrame:
    """`rows` with `then`: whether each would be kept; rows that are not `there` neither stay nor push out others.

    Raises:
        ValueError: the pairs do not say what the layer did, so they are of another run.
    """
    pairs = lake.read(PAIRS[layer])
    numbers = rows.select("query_id").with_row_index("row")
    later, earlier = (
        pairs.select(query_id=side).join(numbers, on="query_id", how="left", maintain_order="left")["row"]
        for side in ("later", "earlier")
    )
    there_N = rows["there"].fill_null(value=False).to_numpy() if "there" in rows.columns else _everybody(rows)
    if not later.has_nulls() and not earlier.has_nulls():
        found = (later.cast(pl.Int64).to_numpy(), earlier.cast(pl.Int64).to_numpy(), pairs["similarity"].to_numpy())
        if (kept_at(*found, bounds["threshold"], _everybody(rows)) == rows["now"].to_numpy()).all():
            return rows.with_columns(then=pl.Series(kept_at(*found, threshold, there_N)))
    raise ValueError(
        f"{PAIRS[layer]} and {SURVIVORS[layer]} are not of one run (was one killed?): "
        f"materialize {SURVIVORS[layer]} again"
    )


def _everybody(rows: pl.DataFrame) -> NDArray[np.bool_]:
    return np.ones(len(rows), dtype=np.bool_)


def _summed(layer: str, rows: pl.DataFrame, asked: float, bounds: dict[str, float]) -> Previewed:
    leaves = (
        rows.group_by("leaf")
        .agg(pl.col("now", "then").sum(), unlabelled=(pl.col("then") & pl.col("unlabelled")).sum())
        .filter((pl.col("now") > 0) | (pl.col("then") > 0))
        .sort("now", "leaf", descending=[True, False])
    )
    return Previewed(layer, bounds["threshold"], asked, leaves, int(bounds["bounded"]), bounds["step"])
