"""Labels: what each query asks for, how hard it is, and which queries no tool is for."""

from functools import partial

import dagster as dg
import polars as pl
from pydantic import Field, PositiveInt

from assets import keys
from assets.config import StageConfig
from assets.labels.agreement import Agreement, against_truth
from assets.labels.annotator import Annotator
from assets.labels.book import LabelBook
from assets.labels.cache import LabelCache
from assets.labels.figures import confusion_figure, difficulty_figure, leaves_figure
from assets.labels.relabel import labels_under, moved_note
from assets.labels.rules import IRRELEVANT
from assets.labels.table import intents_of, irrelevance_table, label_table
from assets.metadata import materialized
from assets.taxonomy.bill import ENOUGH, RATES, Rates
from assets.taxonomy.migration import stored_migrations
from assets.taxonomy.plan import NEAR_BELOW
from assets.taxonomy.stored import CHANGES, taxonomy_of, version_of
from resources.embedder import Embedder
from resources.lake import Lake

TRUTH, OCCURRENCES = "queries/planted_truth", "queries/occurrences"


class QueryLabelsConfig(StageConfig, stage=keys.QUERY_LABELS):
    """How sure a label must be."""

    abstain_below: float = Field(default=0.3, ge=0, le=1)
    """Confidence under which a query is labelled with the Other of its branch."""
    near_below: float = Field(default=NEAR_BELOW, ge=0, le=1)
    """Confidence under which a query is asked about again when a leaf beside its own is new, or its runner-up is
    another one. Ours."""
    workers: PositiveInt = 2
    """Processes side by side; the labels are the same for any number."""


@dg.asset(
    key=keys.QUERY_LABELS,
    deps=[keys.LEXICAL_SURVIVORS, keys.INTENT_TAXONOMY, keys.DISTINCT_QUERIES],
    group_name="labels",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="2",
)
def query_labels(context: dg.AssetExecutionContext, config: QueryLabelsConfig, lake: Lake) -> dg.MaterializeResult:
    """Each query of the lexical pool with <primary, secondary, constraints> and a difficulty from -1 to 5."""
    tree = lake.read("taxonomy/intent_taxonomy")
    annotator = embedded(tree, config.abstain_below)
    cache = LabelCache(lake.folder("labels/query_labels") / "runs", annotator.version)
    book = LabelBook(lake, annotator.kind)
    done = labels_under(
        tree,
        pool_queries(lake),
        book,
        partial(label_table, annotator, say=context.log.info, cache=cache, workers=config.workers),
        migrations=stored_migrations(lake),
        near_below=config.near_below,
    )
    cache.clear()  # the book holds them now
    lake.write(CHANGES, done.moved)
    if done.labelled_now >= ENOUGH:
        lake.write(RATES, Rates(done.seconds / done.labelled_now).frame(), book.annotator)
    numbers: dict[str, float | int | str] = {
        "annotator": annotator.kind, "tree": version_of(taxonomy_of(tree)), "way": done.way, "calls": done.calls,
        "labelled_now": done.labelled_now, **_shares(done.labels),
    }  # fmt: skip
    figures = {"difficulty": difficulty_figure(done.labels), "leaves": leaves_figure(done.labels)}
    truth = _against_planted_truth(lake, done.labels)
    if truth is not None:
        numbers |= {f"truth_{name}": value for name, value in truth.numbers.items()}
        figures["confusion"] = confusion_figure(truth.confused)
    context.log.info("%d queries, %d calls of %s: %s", len(done.labels), done.calls, annotator.kind, done.way)
    note = moved_note(done.moved) if len(done.moved) else None
    return materialized(lake, "labels/query_labels", done.labels, numbers=numbers, figures=figures, note=note)


@dg.asset(
    key=keys.IRRELEVANCE_SET,
    deps=[keys.QUERY_LABELS],
    group_name="labels",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def irrelevance_set(lake: Lake) -> dg.MaterializeResult:
    """The queries to refuse, to ask back about or to answer without tools: a product of their own."""
    aside = irrelevance_table(lake.read("labels/query_labels"))
    numbers = {"unexecutable": int((aside["difficulty"] == -1).sum()), "no_tool": int((aside["difficulty"] == 0).sum())}
    numbers |= dict(aside["reason"].value_counts().sort("reason").iter_rows())
    return materialized(lake, "labels/irrelevance_set", aside, numbers=numbers)


def embedded(tree: pl.DataFrame, abstain_below: float) -> Annotator:
    """The embedded annotator on a taxonomy's table."""
    embedder = Embedder()
    return Annotator(intents_of(tree), embedder.embed, embedder=embedder.version, abstain_below=abstain_below)


def pool_queries(lake: Lake) -> pl.DataFrame:
    """What is labelled: query_id, text and context of the lexical pool."""
    pool = lake.read("pool/lexical_survivors", columns=["query_id"])
    texts = lake.read("queries/distinct_queries", columns=["query_id", "text", "context"])
    return texts.join(pool, on="query_id", how="semi")


def _shares(labels: pl.DataFrame) -> dict[str, float]:
    means = {
        "irrelevant_share": pl.col("primary") == IRRELEVANT,
        "abstained_share": pl.col("primary").str.ends_with("other"),
        "with_second_intent": pl.col("secondary").is_not_null(),
        "mean_confidence": pl.col("confidence"),
    }
    found = {name: labels.select(what.mean()).item() for name, what in means.items()}
    return {"leaves": labels["primary"].n_unique()} | {name: float(value or 0.0) for name, value in found.items()}


def _against_planted_truth(lake: Lake, labels: pl.DataFrame) -> Agreement | None:
    """Agreement with the truth planted in the demo's log; None on a log without truth."""
    if not lake.exists(TRUTH) or labels.is_empty():
        return None
    return against_truth(labels, lake.read(OCCURRENCES), lake.read(TRUTH))
