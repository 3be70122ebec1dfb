"""Labels: what each query asks for, how hard it is, and which queries no tool is for."""

import dagster as dg
import polars as pl
from pydantic import Field, PositiveInt

from assets import keys
from assets.config import StageConfig
from assets.labels.agreement import Agreement, against_truth
from assets.labels.annotator import Annotator
from assets.labels.cache import LabelCache
from assets.labels.figures import confusion_figure, difficulty_figure, leaves_figure
from assets.labels.rules import IRRELEVANT
from assets.labels.table import intents_of, irrelevance_table, label_table
from assets.metadata import materialized
from resources.embedder import Embedder
from resources.lake import Lake

TRUTH, OCCURRENCES = "queries/planted_truth", "queries/occurrences"


class QueryLabelsConfig(StageConfig, stage=keys.QUERY_LABELS):
    """How sure a label must be."""

    abstain_below: float = Field(default=0.3, ge=0, le=1)
    """Confidence under which a query is labelled with the Other of its branch."""
    workers: PositiveInt = 2
    """Processes side by side; the labels are the same for any number."""


@dg.asset(
    key=keys.QUERY_LABELS,
    deps=[keys.LEXICAL_SURVIVORS, keys.INTENT_TAXONOMY, keys.DISTINCT_QUERIES],
    group_name="labels",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def query_labels(context: dg.AssetExecutionContext, config: QueryLabelsConfig, lake: Lake) -> dg.MaterializeResult:
    """Each query of the lexical pool with <primary, secondary, constraints> and a difficulty from -1 to 5."""
    embedder = Embedder()
    intents = intents_of(lake.read("taxonomy/intent_taxonomy"))
    annotator = Annotator(intents, embedder.embed, embedder=embedder.version, abstain_below=config.abstain_below)
    pool = lake.read("pool/lexical_survivors", columns=["query_id"])
    queries = lake.read("queries/distinct_queries", columns=["query_id", "text", "context"]).join(
        pool, on="query_id", how="semi"
    )
    cache = LabelCache(lake, annotator.version)
    labels, labelled_now = label_table(annotator, queries, context.log.info, cache=cache, workers=config.workers)
    numbers: dict[str, float | int | str] = {
        "annotator": annotator.version,
        "labelled_now": labelled_now,
        "leaves": labels["primary"].n_unique(),
        "irrelevant_share": _share(labels, pl.col("primary") == IRRELEVANT),
        "abstained_share": _share(labels, pl.col("primary").str.ends_with("other")),
        "with_second_intent": _share(labels, pl.col("secondary").is_not_null()),
        "mean_confidence": _share(labels, pl.col("confidence")),
    }
    figures = {"difficulty": difficulty_figure(labels), "leaves": leaves_figure(labels)}
    truth = _against_planted_truth(lake, labels)
    if truth is not None:
        numbers |= {f"truth_{name}": value for name, value in truth.numbers.items()}
        figures["confusion"] = confusion_figure(truth.confused)
    context.log.info("%d queries labelled by %s", len(labels), annotator.version)
    return materialized(lake, "labels/query_labels", labels, numbers=numbers, figures=figures)


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


def _share(labels: pl.DataFrame, what: pl.Expr) -> float:
    return float(labels.select(what.mean()).item() or 0.0)


def _against_planted_truth(lake: Lake, labels: pl.DataFrame) -> Agreement | None:
    """Agreement with the truth planted in the demo's log; None on a log without truth."""
    if not lake.exists(TRUTH) or labels.is_empty():
        return None
    return against_truth(labels, lake.read(OCCURRENCES), lake.read(TRUTH))
