"""What must hold of the labels before pools are cut by them."""

import dagster as dg
import polars as pl

from assets import keys
from assets.labels.held_back import AGREEMENT
from assets.labels.quarantine import quarantine_in
from assets.labels.rules import IRRELEVANT
from resources.lake import Lake


@dg.asset_check(asset=keys.QUERY_LABELS, blocking=True)
def every_pool_query_is_labelled_once(lake: Lake) -> dg.AssetCheckResult:
    """Labelled and quarantined queries are exactly those of the lexical pool, each once (conservation)."""
    pool = lake.read("pool/lexical_survivors", columns=["query_id"])
    labelled = lake.read("labels/query_labels", columns=["query_id"])
    quarantined = quarantine_in(lake).select("query_id")
    met = pl.concat([labelled, quarantined])
    faults = {
        "twice": len(met) - met["query_id"].n_unique(),
        "missing": len(pool.join(met, on="query_id", how="anti")),
        "strange": len(met.join(pool, on="query_id", how="anti")),
    }
    counts = {"labelled": len(labelled), "quarantined": len(quarantined)}
    return dg.AssetCheckResult(passed=not any(faults.values()), metadata=counts | faults)


@dg.asset_check(asset=keys.QUERY_LABELS, blocking=True)
def every_label_is_a_leaf_of_the_taxonomy(lake: Lake) -> dg.AssetCheckResult:
    """Primary and secondary are leaves of the taxonomy in force, or say that no tool is for the query.

    The runner-up is a leaf of the tree under which the query was last asked about.
    """
    labels = lake.read("labels/query_labels", columns=["primary", "secondary"])
    known = {*lake.read("taxonomy/intent_taxonomy")["leaf"], IRRELEVANT}
    used = {leaf for column in labels.columns for leaf in labels[column].drop_nulls().unique()}
    return dg.AssetCheckResult(passed=used <= known, metadata={"used": len(used), "unknown": sorted(used - known)})


@dg.asset_check(asset=keys.QUERY_LABELS, blocking=True)
def a_second_intent_differs_from_the_first(lake: Lake) -> dg.AssetCheckResult:
    """No query has the same leaf as primary and secondary."""
    same = lake.read("labels/query_labels", columns=["primary", "secondary"]).filter(
        pl.col("primary") == pl.col("secondary")
    )
    return dg.AssetCheckResult(passed=same.is_empty(), metadata={"same": len(same)})


@dg.asset_check(asset=keys.QUERY_LABELS)
def labels_are_what_experts_say(lake: Lake) -> dg.AssetCheckResult:
    """The accuracy on held-back expert labels is not below what was asked for; a warning, not a gate."""
    found = lake.read(AGREEMENT).to_dicts() if lake.exists(AGREEMENT) else []
    passed = all(row["least"] == 0 or (row["accuracy"] or 0.0) >= row["least"] for row in found)
    told = {name: value for row in found for name, value in row.items() if value is not None}
    return dg.AssetCheckResult(passed=passed, severity=dg.AssetCheckSeverity.WARN, metadata=told)


@dg.asset_check(asset=keys.IRRELEVANCE_SET, blocking=True)
def aside_are_exactly_the_queries_without_tools(lake: Lake) -> dg.AssetCheckResult:
    """The irrelevance set holds every query of difficulty -1 or 0 and no other (conservation)."""
    aside = lake.read("labels/irrelevance_set")
    labels = lake.read("labels/query_labels", columns=["query_id", "difficulty"])
    labelled = labels.filter(pl.col("difficulty") <= 0).select("query_id")
    passed = aside["query_id"].sort().equals(labelled["query_id"].sort())
    return dg.AssetCheckResult(passed=passed, metadata={"aside": len(aside), "without_tools": len(labelled)})
