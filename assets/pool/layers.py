"""The three layers on tables: rows in, survivors and dropped rows out, support conserved.

Between the Dagster assets and the algorithms: puts rows into keep order, asks the layer, and names each row that went.

Shapes: N rows, D dimensions.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.coverage import Certificate, certify
from assets.pool.facts import as_read, facts_of, read_requests, rules_version
from assets.pool.geometric import central_picks, centred, core_set
from assets.pool.increment import LAST, LexicalIndex
from assets.pool.index_store import open_index, save_index
from assets.pool.semantic import sampled_recall, semantic_survivors
from assets.pool.survival import DROPPED_SCHEMA, Survival, dropped_rows, keep_order, kept_rows
from training.code import code_of

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
_MOST_NEW = 0.5
"""Share of new rows beyond which all are decided at once, which is faster."""
NEAR_COPY, SAME_MEANING, COVERED, IRRELEVANT = "near_copy", "same_meaning", "covered", "irrelevant"


class Layer(NamedTuple):
    """What one layer made of its rows."""

    kept: pl.DataFrame
    """Sorted by query_id, support merged."""
    dropped: pl.DataFrame
    """query_id, layer, rule, survivor, similarity; sorted by query_id."""
    measured: Mapping[str, float] = MappingProxyType({})
    """What the layer found out about itself."""

    @property
    def numbers(self) -> dict[str, float]:
        """Rows in, kept and dropped."""
        rows = len(self.kept) + len(self.dropped)
        return {
            "rows_in": rows,
            "kept": len(self.kept),
            "dropped": len(self.dropped),
            "kept_share": len(self.kept) / max(1, rows),
            **self.measured,
        }


class Policy(NamedTuple):
    """What keeps two rows apart however similar they are."""

    numbers: bool = True
    """Numbers that differ keep both."""
    names: bool = True
    """Cities, days, modes and other slots that differ keep both."""


def lexical_layer(queries: pl.DataFrame, folder: Path | None = None, *, threshold: float, policy: Policy) -> Layer:
    """Drop near copies in letters; rows that were decided before are not decided again.

    Args:
        queries: query_id, normal, context, support, first_seen.
        folder: of the index that remembers earlier rows; None remembers nothing.
        threshold: Jaccard similarity of character n-grams at which a row is a copy.
        policy: what keeps both; without names only digits are looked at, which costs next to nothing.
    """
    key = f"{threshold} {policy} {code_of(__name__, ('assets',))} {rules_version()}"
    index = open_index(folder, key, threshold) if folder is not None else LexicalIndex(threshold)
    fresh = _fresh(queries, index)
    if fresh is None:
        index, fresh = LexicalIndex(threshold), queries
    known = len(index)
    if len(fresh):
        told = _told(fresh)
        facts = facts_of(told.to_list(), numbers=policy.numbers) if policy.names else None
        facts = [""] * len(fresh) if facts is None and not policy.numbers else facts
        index.add(fresh["query_id"].to_list(), fresh["first_seen"], told, facts)
        if folder is not None:
            save_index(folder, key, index, [told])
    order, ordered = index.in_keep_order(), keep_order(queries)
    layer = _layer(ordered, index.survival(order), layer="lexical", rule=NEAR_COPY)
    return layer._replace(measured={"decided_before": known, "decided_now": len(fresh)})


def _fresh(queries: pl.DataFrame, index: LexicalIndex) -> pl.DataFrame | None:
    """The rows that the index does not know, or None where it knows others or at other times, or where most are new."""
    if not len(index):
        return None
    known = pl.DataFrame(
        {
            "query_id": pl.concat([s.ids for s in index.segments]),
            "known": np.concatenate([s.seen_N for s in index.segments]),
        }
    )
    now = queries.with_columns(now=pl.col("first_seen").cast(pl.Int64).fill_null(LAST))
    both = now.join(known, on="query_id", how="left")
    fresh = both.filter(pl.col("known").is_null())
    same = len(both) - len(fresh) == len(known) and both.filter(pl.col("known") != pl.col("now")).is_empty()
    return fresh.drop("known", "now") if same and len(fresh) <= _MOST_NEW * len(known) else None


def semantic_layer(queries: pl.DataFrame, embed: Embed, *, threshold: float, policy: Policy) -> Layer:
    """Drop paraphrases inside each <primary, secondary> bucket.

    Args:
        queries: query_id, normal, context, support, first_seen, primary, secondary.
        embed: text to unit vectors.
        threshold: cosine similarity at which a row is a copy.
        policy: what keeps both.
    """
    ordered = keep_order(queries)
    told = read_requests(_told(ordered).to_list(), numbers=policy.numbers, names=policy.names)
    vectors_ND, buckets = embed(told.words), buckets_of(ordered)
    survival = semantic_survivors(vectors_ND, buckets, told.facts, threshold)
    recall = sampled_recall(vectors_ND, buckets, told.facts, survival, threshold)
    layer = _layer(ordered, survival, layer="semantic", rule=SAME_MEANING)
    return layer._replace(measured={} if recall is None else {"recall_sampled": recall})


class Space(NamedTuple):
    """Where the geometric layer measures distances."""

    ordered: pl.DataFrame
    """The queries in the order in which equally far ones are picked: the most frequent first."""
    points_ND: NDArray[np.float32]
    """Unit vectors, measured from the middle of each language."""
    buckets: list[str]
    """<primary, secondary> and language: a query is covered by one of its own bucket."""


def space_of(queries: pl.DataFrame, embed: Embed) -> Space:
    """Embed queries for the geometric layer; for the arguments see there."""
    ordered = queries.sort("support", "query_id", descending=[True, False])
    languages = ordered["language"].to_list()
    points_ND = centred(embed(as_read(_told(ordered).to_list())), languages)
    buckets = [f"{bucket} + {language}" for bucket, language in zip(buckets_of(ordered), languages, strict=True)]
    return Space(ordered, points_ND, buckets)


class Selected(NamedTuple):
    """What the geometric layer made of its rows, and how well that covers them."""

    layer: Layer
    certificate: Certificate


def geometric_layer(queries: pl.DataFrame, embed: Embed, *, size: int | None, radius: float | None) -> Selected:
    """Pick the rows that cover the rest under one radius; every pick takes over the support of the rows it covers.

    Args:
        queries: query_id, normal, context, language, support, primary, secondary.
        embed: text to unit vectors.
        size: rows to keep over all buckets, or None.
        radius: in its place, the largest distance that may be left.
    """
    ordered, points_ND, buckets = space_of(queries, embed)
    greedy = core_set(points_ND, buckets, size=size, radius=radius)
    core = central_picks(points_ND, greedy, buckets)
    similarity_N = (1.0 - core.cover_N**2 / 2.0).astype(np.float32)
    layer = _layer(ordered, Survival(core.nearest_N, similarity_N), layer="geometric", rule=COVERED)
    distances = pl.DataFrame(
        {
            "query_id": ordered["query_id"][core.picks_K.tolist()],
            "distance": pl.Series(core.distance_K.astype(np.float64), dtype=pl.Float64),
        }
    )
    kept = layer.kept.join(distances, on="query_id").sort("query_id")
    certificate = certify(points_ND, buckets, ordered["primary"].to_list(), greedy, core)
    return Selected(layer._replace(kept=kept), certificate)


def set_aside(labels: pl.DataFrame) -> pl.DataFrame:
    """Dropped rows for the queries that no tool is for: they leave the pool here and have no survivor."""
    aside = labels.filter(pl.col("difficulty") <= 0).select("query_id").sort("query_id")
    nothing = pl.lit(None)
    return aside.with_columns(
        layer=pl.lit("labels"), rule=pl.lit(IRRELEVANT), survivor=nothing, similarity=nothing
    ).cast(DROPPED_SCHEMA)  # type: ignore[arg-type]


def buckets_of(queries: pl.DataFrame) -> list[str]:
    """The <primary, secondary> bucket of each row."""
    return (
        queries.select(pl.concat_str("primary", pl.col("secondary").fill_null(""), separator=" + "))
        .to_series()
        .to_list()
    )


def _told(queries: pl.DataFrame) -> pl.Series:
    """What each row says, the turn before it included: "and tomorrow?" after Beijing is not the same after Paris."""
    said = pl.concat_str("context", "normal", separator="\n", ignore_nulls=True)
    return queries.select(said).to_series()


def _layer(ordered: pl.DataFrame, survival: Survival, *, layer: str, rule: str) -> Layer:
    dropped = dropped_rows(ordered["query_id"].to_list(), survival, layer=layer, rule=rule)
    return Layer(kept_rows(ordered, survival), dropped)
