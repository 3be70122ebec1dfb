"""The pool: distinct queries through three layers (letters, meaning, coverage), each row that goes with its reason."""

from collections.abc import Iterator, Mapping
from typing import Literal

import dagster as dg
import polars as pl
from pydantic import Field, NonNegativeInt

from assets import keys
from assets.config import Share, StageConfig
from assets.labels.quarantine import quarantine_in
from assets.labels.table import constraint_count
from assets.metadata import materialized
from assets.partitions import LEAVES, ONE_RUN
from assets.pool.epoch import Wanted
from assets.pool.figures import (
    before_and_after_figure,
    radius_figure,
    similarity_figure,
    spread_figure,
    waterfall_figure,
)
from assets.pool.layers import Policy, geometric_layer, lexical_layer, semantic_layer
from assets.pool.preview import DROPPED, store
from assets.pool.readings import Reader
from assets.pool.spread import Spread, spread_by_layer
from assets.pool.survival import set_aside
from assets.versions import reported_by_leaf
from resources.embedder import Embedder
from resources.lake import Lake
from training.reporting import Reporter

INDEX = "pool/lexical_index"
"""What the lexical layer remembers of earlier days."""
READINGS = "pool/readings"
"""What was read of each query and its vector: the semantic and the geometric layer read a query once."""
DECISIONS = "pool/semantic_decisions"
"""What the semantic layer remembers of earlier days."""
EPOCH = "pool/epoch"
"""What is fixed until the pool's epoch ends."""
LAYERS = ("lexical", "labels", "semantic", "geometric")
_COLUMNS = ("query_id", "normal", "context", "language", "first_seen")


class LexicalSurvivorsConfig(StageConfig, stage=keys.LEXICAL_SURVIVORS):
    """Which requests are copies by their letters."""

    threshold: float = Field(default=0.75, gt=0, le=1)
    """Jaccard similarity of character n-grams at which a query is a near copy. Ours: the source gives none; low,
    because facts must agree first: among the demo's queries no pair above it differs in its leaf."""
    floor: float = Field(default=0.6, ge=0, le=1)
    """Similarity down to which pairs are stored, so that `loopwright pool preview` can show other thresholds. 0, or one
    not below the threshold: none are, which saves time and disk on tens of millions of queries."""
    keep_numbers: bool = True
    """Numbers that differ keep both (FM 1506, FM 1507)."""
    keep_names: bool = True
    """Cities, days, modes and other slots that differ keep both."""


class SemanticSurvivorsConfig(StageConfig, stage=keys.SEMANTIC_SURVIVORS):
    """Which requests are copies by their meaning."""

    threshold: float = Field(default=0.93, gt=0, le=1)
    """Cosine similarity at which a query says the same as another of its bucket. Ours: the source gives none."""
    floor: float = Field(default=0.85, ge=0, le=1)
    """Similarity down to which pairs are stored, so that `loopwright pool preview` can show other thresholds. 0, or one
    not below the threshold: none are."""
    keep_numbers: bool = True
    """Numbers that differ keep both."""
    keep_names: bool = True
    """Cities, days, modes and other slots that differ keep both."""


class CandidatePoolConfig(StageConfig, stage=keys.CANDIDATE_POOL):
    """How large the pool is: by size, or by the radius of a pool epoch."""

    size: NonNegativeInt = 8_000
    """Queries to keep over all buckets and languages; 0 where a radius is given."""
    radius: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False)
    """Largest distance to a kept query; 0: whatever the size gives when the pool epoch begins."""
    epoch: Literal["keep", "new"] = "keep"
    """Keep the radius of the pool epoch, so that a change in one leaf leaves the picks of the others alone, or begin
    a new epoch. The first run begins one, and so does another size or radius."""
    epoch_tolerance: Share = 0.1
    """Share by which the pool may miss its size, and new queries the expected coverage, before the layer says that
    the epoch should end. Ours."""


@dg.asset(
    key=keys.LEXICAL_SURVIVORS,
    deps=[keys.DISTINCT_QUERIES],
    group_name="pool",
    kinds={"polars", "numba"},
    owners=["team:loopwright"],
    code_version="2",
)
def lexical_survivors(
    context: dg.AssetExecutionContext, config: LexicalSurvivorsConfig, lake: Lake
) -> dg.MaterializeResult:
    """Distinct queries without near copies: MinHash LSH proposes, exact Jaccard similarity decides."""
    layer = lexical_layer(
        lake.read("queries/distinct_queries", columns=["query_id", "normal", "context", "first_seen", "support"]),
        lake.folder(INDEX),
        threshold=config.threshold,
        policy=Policy(config.keep_numbers, config.keep_names),
        floor=config.floor,
        progress=Reporter(context).progress,
    )
    store(lake, "lexical", layer.stored)
    lake.write(DROPPED, layer.dropped, "lexical")
    context.log.info("%d kept, %d near copies", len(layer.kept), len(layer.dropped))
    figures = {"similarity of dropped": similarity_figure(layer.dropped, config.threshold)}
    kept = layer.kept.select("query_id", "support")
    return materialized(lake, "pool/lexical_survivors", kept, numbers=layer.numbers, figures=figures)


@dg.asset(
    key=keys.SEMANTIC_SURVIVORS,
    deps=[keys.LEXICAL_SURVIVORS, keys.QUERY_LABELS, keys.IRRELEVANCE_SET, keys.DISTINCT_QUERIES],
    group_name="pool",
    kinds={"polars", "faiss"},
    owners=["team:loopwright"],
    code_version="2",
    partitions_def=LEAVES,
    backfill_policy=ONE_RUN,
)
def semantic_survivors(
    context: dg.AssetExecutionContext, config: SemanticSurvivorsConfig, lake: Lake
) -> Iterator[dg.MaterializeResult]:
    """Queries that tools are for, without paraphrases inside each <primary, secondary> bucket."""
    labels = lake.read("labels/query_labels", columns=["query_id", "primary", "secondary", "difficulty"])
    aside = set_aside(labels, quarantine_in(lake))
    lake.write(DROPPED, aside, "labels")
    executable = labels.filter(pl.col("difficulty") > 0)
    queries = _with_texts(lake, "pool/lexical_survivors").join(executable, on="query_id")
    policy = Policy(config.keep_numbers, config.keep_names)
    layer = semantic_layer(
        queries, _reader(lake), lake.folder(DECISIONS), threshold=config.threshold, policy=policy, floor=config.floor,
        progress=Reporter(context).progress,
    )  # fmt: skip
    store(lake, "semantic", layer.stored)
    lake.write(DROPPED, layer.dropped, "semantic")
    context.log.info("%d queries: %d kept, %d paraphrases", len(queries), len(layer.kept), len(layer.dropped))
    numbers = {**layer.numbers, "set_aside": len(aside)}
    figures = {
        "leaves before and after": before_and_after_figure(queries["primary"], layer.kept["primary"]),
        "similarity of dropped": similarity_figure(layer.dropped, config.threshold),
    }
    kept = layer.kept.select("query_id", "support")
    result = materialized(lake, "pool/semantic_survivors", kept, numbers=numbers, figures=figures)
    rows = layer.kept.select("query_id", "support", leaf="primary")
    yield from reported_by_leaf(context, lake, result, rows, "leaf")


@dg.asset(
    key=keys.CANDIDATE_POOL,
    deps=[keys.SEMANTIC_SURVIVORS, keys.QUERY_LABELS, keys.INTENT_TAXONOMY, keys.DISTINCT_QUERIES],
    group_name="pool",
    kinds={"polars", "numpy"},
    owners=["team:loopwright"],
    code_version="2",
    partitions_def=LEAVES,
    backfill_policy=ONE_RUN,
)
def candidate_pool(
    context: dg.AssetExecutionContext, config: CandidatePoolConfig, lake: Lake
) -> Iterator[dg.MaterializeResult]:
    """The queries that cover all the others under one radius, with the certificate of how well they do."""
    labels = lake.read("labels/query_labels", columns=["query_id", "primary", "secondary"])
    queries = _with_texts(lake, "pool/semantic_survivors").join(labels, on="query_id")
    taxonomy = lake.version("taxonomy/intent_taxonomy")
    wanted = Wanted(config.size or None, config.radius or None, Embedder().version, taxonomy)
    keep, most = config.epoch == "keep", config.epoch_tolerance
    found = geometric_layer(queries, _reader(lake), lake.folder(EPOCH), wanted=wanted, keep=keep, most=most)
    layer, certificate = found.layer, found.certificate
    lake.write(DROPPED, layer.dropped, "geometric")
    if found.began is not None:
        context.log.info("pool epoch %d begins: %s", found.epoch.number, found.began)
    if found.should_end != "no":
        context.log.warning("pool epoch %d should end: %s", found.epoch.number, found.should_end)
    context.log.info(
        "%d queries: %d kept, radius %.3f (random choice: %.3f)",
        len(queries), len(layer.kept), certificate.radius, certificate.random_radius,
    )  # fmt: skip
    figures = {
        "leaves before and after": before_and_after_figure(queries["primary"], layer.kept["primary"]),
        "radius by size": radius_figure(certificate),
    }
    kept = layer.kept.select("query_id", "support", "primary", "secondary", "distance")
    note = f"Rarest leaves: {', '.join(certificate.tail_leaves)}"
    numbers: dict[str, float | str] = {**layer.numbers, **certificate.numbers, "epoch_should_end": found.should_end}
    result = materialized(lake, "pool/candidate_pool", kept, numbers=numbers, figures=figures, note=note)
    yield from reported_by_leaf(context, lake, result, kept.with_columns(leaf="primary"), "leaf")


@dg.asset(
    key=keys.DROPPED,
    deps=[
        keys.LEXICAL_SURVIVORS,
        keys.QUERY_LABELS,
        keys.SEMANTIC_SURVIVORS,
        keys.CANDIDATE_POOL,
        keys.DISTINCT_QUERIES,
    ],
    group_name="pool",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def dropped(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
    """Every distinct query that is not in the pool: which layer let it go, by which rule, and who stands for it."""
    parts = {layer: lake.read(DROPPED, layer) for layer in LAYERS}
    frame = with_distance(pl.concat(parts.values()).sort("query_id"))
    steps = {
        "distinct": len(lake.read("queries/distinct_queries", columns=["query_id"])),
        **{layer: -len(p) for layer, p in parts.items()},
    }
    left = sum(steps.values())
    context.log.info("%d of %d distinct queries dropped: %d are left", len(frame), steps["distinct"], left)
    numbers = {f"dropped_{layer}": len(part) for layer, part in parts.items()} | {"left": left}
    figures = {
        "waterfall": waterfall_figure(steps, left),
        "mixture by layer": spread_figure(layer_spreads(lake, parts)),
    }
    return materialized(lake, "pool/dropped", frame, numbers=numbers, figures=figures)


def layer_spreads(lake: Lake, parts: Mapping[str, pl.DataFrame]) -> dict[str, Spread]:
    """Leaves, difficulty and constraints of the distinct queries, and of what each layer left of them.

    Args:
        lake: holds the labels.
        parts: what each layer dropped, in the order of `LAYERS`.
    """
    columns = ("query_id", "primary", "difficulty")
    labels = lake.scan("labels/query_labels").select(*columns, count=constraint_count())
    return spread_by_layer(labels.collect(engine="streaming"), parts)


def with_distance(rows: pl.DataFrame) -> pl.DataFrame:
    """Dropped rows with the Euclidean distance of unit vectors beside the similarity, where there is one.

    Letters have no distance: theirs stays empty.
    """
    apart = (2.0 - 2.0 * pl.col("similarity")).clip(0.0).sqrt()
    return rows.with_columns(distance=pl.when(pl.col("layer") != "lexical").then(apart))


def _reader(lake: Lake) -> Reader:
    embedder = Embedder()
    return Reader(embedder.embed, embedder.version, lake.folder(READINGS))


def _with_texts(lake: Lake, table: str) -> pl.DataFrame:
    """A pool's queries with their texts."""
    return lake.read(table).join(lake.read("queries/distinct_queries", columns=_COLUMNS), on="query_id")
