"""What must hold of the log before anything is made from it."""

import dagster as dg
import polars as pl

from assets import keys
from assets.queries.assets import FILES, OCCURRENCES, QUARANTINE, TRUTH
from assets.queries.personal import KINDS
from assets.queries.scrub import personal_rows
from resources.lake import Lake


@dg.asset_check(asset=keys.RAW_QUERIES, blocking=True)
def every_row_is_kept_or_quarantined(lake: Lake) -> dg.AssetCheckResult:
    """Per file: rows in = rows kept + rows in quarantine, and no row is in both (conservation)."""
    place = ["source_file", "source_row"]
    kept, bad = (lake.read(t, columns=place) for t in ("queries/raw_queries", QUARANTINE))
    both = len(kept.join(bad, on=place))
    counted = pl.concat([kept, bad]).unique().group_by("source_file").agg(pl.len().alias("found"))
    files = lake.read(FILES).join(counted, on="source_file", how="left").with_columns(pl.col("found").fill_null(0))
    lost = int((files["rows"] - files["found"].cast(pl.Int64)).sum())
    passed = both == 0 and lost == 0
    numbers = {"rows_in": int(files["rows"].sum()), "kept": len(kept), "quarantined": len(bad)}
    numbers |= {"lost": lost, "in_both": both}
    return dg.AssetCheckResult(passed=passed, metadata=numbers)


@dg.asset_check(asset=keys.RAW_QUERIES, blocking=True)
def no_personal_data_left(lake: Lake) -> dg.AssetCheckResult:
    """No stored text, context or excerpt still holds a phone, e-mail, card, identity number or address."""
    raw = lake.read("queries/raw_queries", columns=["text", "context"])
    bad = lake.read(QUARANTINE, columns=["excerpt"])
    left = {"text": len(personal_rows(raw["text"])), "context": len(personal_rows(raw["context"]))}
    left |= {"quarantine": len(personal_rows(bad["excerpt"]))}
    return dg.AssetCheckResult(passed=not any(left.values()), metadata=left)


@dg.asset_check(asset=keys.RAW_QUERIES, blocking=True)
def no_raw_id_twice(lake: Lake) -> dg.AssetCheckResult:
    """Every raw row has an id of its own."""
    ids = lake.read("queries/raw_queries", columns=["raw_id"])["raw_id"]
    return dg.AssetCheckResult(passed=ids.n_unique() == len(ids), metadata={"repeated": len(ids) - ids.n_unique()})


@dg.asset_check(asset=keys.RAW_QUERIES, blocking=False)
def planted_personal_data_was_found(lake: Lake) -> dg.AssetCheckResult:
    """Each value planted in the generated log shows as its mark; a log without truth passes."""
    if not lake.exists(TRUTH):
        return dg.AssetCheckResult(passed=True, metadata={"planted": 0})
    rows = lake.read("queries/raw_queries").join(lake.read(TRUTH).select("raw_id", "personal"), on="raw_id")
    planted = rows.explode("personal").drop_nulls("personal")
    has = {kind: pl.col("text").str.contains(f"<{kind}>", literal=True) for kind in KINDS}
    found = pl.any_horizontal(*((pl.col("personal") == kind) & has[kind] for kind in KINDS))
    missed = planted.filter(~found)
    recall = 1 - len(missed) / max(1, len(planted))
    return dg.AssetCheckResult(passed=missed.is_empty(), metadata={"planted": len(planted), "recall": recall})


@dg.asset_check(asset=keys.DISTINCT_QUERIES, blocking=True)
def no_query_twice(lake: Lake) -> dg.AssetCheckResult:
    """One row per query id, and one id per folded text and context."""
    queries = lake.read("queries/distinct_queries", columns=["query_id"])
    repeated = len(queries) - queries["query_id"].n_unique()
    return dg.AssetCheckResult(passed=repeated == 0, metadata={"repeated": repeated})


@dg.asset_check(asset=keys.DISTINCT_QUERIES, blocking=True)
def support_adds_up_to_the_raw_rows(lake: Lake) -> dg.AssetCheckResult:
    """Support sums to the raw rows, and each raw row is an occurrence of exactly one query (conservation)."""
    queries = lake.read("queries/distinct_queries", columns=["query_id", "support"])
    rows = lake.read("queries/raw_queries", columns=["raw_id"])["raw_id"]
    found = lake.read(OCCURRENCES, columns=["raw_id"])["raw_id"]
    same_rows = found.equals(rows) or found.sort().equals(rows.sort())
    del found
    counts = lake.scan(OCCURRENCES).group_by("query_id").agg(pl.len().cast(pl.Int64).alias("found"))
    counted = counts.collect(engine="streaming")
    wrong = queries.join(counted, on="query_id", how="full").filter(~pl.col("support").eq_missing(pl.col("found")))
    passed = wrong.is_empty() and same_rows and queries["support"].sum() == len(rows)
    return dg.AssetCheckResult(
        passed=passed, metadata={"raw_rows": len(rows), "queries_with_wrong_support": len(wrong)}
    )
