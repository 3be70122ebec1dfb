"""What must hold of the funnel before anything is trained on what it kept."""

import dagster as dg
import polars as pl

from assets import keys
from assets.pool.audit import Conservation, conservation, jaccard_of, similar_pairs_left
from assets.pool.facts import as_read
from assets.pool.layers import buckets_of, told_by
from assets.pool.preview import DROPPED
from assets.pool.vectors import cosines, rounded
from resources.embedder import Embedder
from resources.lake import Lake

_SAMPLE, _SEED, _NAMED = 1_500, 0, 5


@dg.asset_check(asset=keys.LEXICAL_SURVIVORS, blocking=True)
def every_query_is_kept_or_a_near_copy(lake: Lake) -> dg.AssetCheckResult:
    """Rows in = kept + dropped, each dropped row names a kept survivor, and support is conserved."""
    went_in = lake.read("queries/distinct_queries", columns=["query_id", "support"])
    return _result(conservation(went_in, lake.read("pool/lexical_survivors"), lake.read(DROPPED, "lexical")))


@dg.asset_check(asset=keys.LEXICAL_SURVIVORS, blocking=True)
def no_kept_pair_is_a_near_copy(lake: Lake) -> dg.AssetCheckResult:
    """On a sample: no two kept queries with equal facts are as similar as the least similar dropped one."""
    kept = _sample(lake, "pool/lexical_survivors")
    bound = lake.read(DROPPED, "lexical")["similarity"].min()
    if bound is None:
        return dg.AssetCheckResult(passed=True, metadata={"sampled": len(kept)})
    left = similar_pairs_left(kept["told"].to_list(), [""] * len(kept), jaccard_of, float(str(bound)))
    return _pairs_result(kept, left)


@dg.asset_check(asset=keys.SEMANTIC_SURVIVORS, blocking=True)
def every_query_is_kept_set_aside_or_a_paraphrase(lake: Lake) -> dg.AssetCheckResult:
    """Rows in = kept + set aside + dropped, and support is conserved up to that of the queries set aside."""
    aside = lake.read(DROPPED, "labels", columns=["query_id"])
    went_in = lake.read("pool/lexical_survivors").join(aside, on="query_id", how="anti")
    found = conservation(went_in, lake.read("pool/semantic_survivors"), lake.read(DROPPED, "semantic"))
    return _result(found, set_aside=len(aside))


@dg.asset_check(asset=keys.SEMANTIC_SURVIVORS, blocking=True)
def no_kept_pair_means_the_same(lake: Lake) -> dg.AssetCheckResult:
    """On a sample: no two kept queries of a bucket with equal facts are as similar as the least similar dropped one."""
    labels = lake.read("labels/query_labels", columns=["query_id", "primary", "secondary"])
    kept = _sample(lake, "pool/semantic_survivors").join(labels, on="query_id")
    bound = lake.read(DROPPED, "semantic")["similarity"].min()
    if bound is None:
        return dg.AssetCheckResult(passed=True, metadata={"sampled": len(kept)})
    vectors = rounded(Embedder().embed(as_read(kept["told"].to_list())))
    left = similar_pairs_left(
        kept["told"].to_list(), buckets_of(kept), lambda _: cosines(vectors, vectors), float(str(bound)) + 1e-6
    )
    return _pairs_result(kept, left)


@dg.asset_check(asset=keys.CANDIDATE_POOL, blocking=True)
def every_query_is_kept_or_covered(lake: Lake) -> dg.AssetCheckResult:
    """Rows in = kept + covered, each covered row names the pick that covers it, and support is conserved."""
    return _result(
        conservation(
            lake.read("pool/semantic_survivors"), lake.read("pool/candidate_pool"), lake.read(DROPPED, "geometric")
        )
    )


@dg.asset_check(asset=keys.CANDIDATE_POOL, blocking=True)
def every_leaf_is_in_the_pool(lake: Lake) -> dg.AssetCheckResult:
    """Each <primary, secondary> bucket of the semantic pool has a query in the candidate pool."""
    labels = lake.read("labels/query_labels", columns=["query_id", "primary", "secondary"])
    before = set(buckets_of(lake.read("pool/semantic_survivors").join(labels, on="query_id")))
    after = set(buckets_of(lake.read("pool/candidate_pool")))
    return dg.AssetCheckResult(
        passed=before == after, metadata={"buckets": len(before), "missing": len(before - after)}
    )


@dg.asset_check(asset=keys.CANDIDATE_POOL, blocking=True)
def no_query_in_two_leaves(lake: Lake) -> dg.AssetCheckResult:
    """Each query is in the pool once, under the leaf it was labelled with."""
    pool = lake.read("pool/candidate_pool")
    labels = lake.read("labels/query_labels", columns=["query_id", "primary"]).rename({"primary": "label"})
    moved = pool.join(labels, on="query_id", how="left").filter(~pl.col("primary").eq_missing(pl.col("label")))
    repeated = len(pool) - pool["query_id"].n_unique()
    return dg.AssetCheckResult(
        passed=repeated == 0 and moved.is_empty(), metadata={"repeated_ids": repeated, "under_another_leaf": len(moved)}
    )


@dg.asset_check(asset=keys.DROPPED, blocking=True)
def everything_is_in_the_pool_or_dropped(lake: Lake) -> dg.AssetCheckResult:
    """Distinct queries = pool + dropped, each once."""
    before = lake.read("queries/distinct_queries", columns=["query_id"])
    after = pl.concat([lake.read(t, columns=["query_id"]) for t in ("pool/candidate_pool", "pool/dropped")])
    lost = len(before.join(after, on="query_id", how="anti"))
    twice = len(after) - after["query_id"].n_unique()
    strange = len(after.join(before, on="query_id", how="anti"))
    found = {"lost": lost, "twice": twice, "strange": strange}
    return dg.AssetCheckResult(passed=not any(found.values()), metadata=found)


def _result(found: Conservation, **more: int) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=found.holds, metadata={**found._asdict(), **more})


def _pairs_result(kept: pl.DataFrame, left: list[tuple[int, int]]) -> dg.AssetCheckResult:
    """Passed where no pair is left; the first ones are named."""
    ids = kept["query_id"]
    named = "; ".join(f"{ids[a]} and {ids[b]}" for a, b in left[:_NAMED])
    metadata = {"sampled": len(kept), "pairs_left": len(left)} | ({"pairs": named} if left else {})
    return dg.AssetCheckResult(passed=not left, metadata=metadata)


def _sample(lake: Lake, table: str) -> pl.DataFrame:
    """A seeded sample of a pool's queries with what they say."""
    ids = lake.read(table, columns=["query_id"]).sort("query_id")
    chosen = ids.sample(min(_SAMPLE, len(ids)), seed=_SEED)
    texts = lake.read("queries/distinct_queries", columns=["query_id", "context", "normal"])
    rows = texts.join(chosen, on="query_id").sort("query_id")
    return rows.select("query_id", told_by(rows).alias("told"))
