"""Labels: what each query asks for, how hard it is, and which queries no tool is for."""

from typing import Literal

import dagster as dg
import polars as pl
from pydantic import Field, PositiveInt

from assets import keys
from assets.config import Share, StageConfig
from assets.labels.agreement import Agreement, against_truth
from assets.labels.annotator import Annotator
from assets.labels.cache import LabelCache
from assets.labels.figures import confusion_figure, difficulty_figure, leaves_figure
from assets.labels.options import tree_of
from assets.labels.quarantine import QUARANTINE, no_quarantine
from assets.labels.rules import IRRELEVANT
from assets.labels.table import LabelTable, intents_of, irrelevance_table, label_table
from assets.labels.taught import Taught, require_few_quarantined, taught_table
from assets.labels.teacher import Teacher
from assets.metadata import materialized
from resources.embedder import Embedder
from resources.endpoints import ChatEndpoint
from resources.lake import Lake

TRUTH, OCCURRENCES = "queries/planted_truth", "queries/occurrences"


class QueryLabelsConfig(StageConfig, stage=keys.QUERY_LABELS):
    """Who labels, and how sure a label must be."""

    annotator: Literal["embedded", "teacher"] = "embedded"
    """`embedded` needs nothing; `teacher` asks the language model of the resource `teacher`."""
    abstain_below: float = Field(default=0.3, ge=0, le=1)
    """Confidence under which a query is labelled with the Other of its branch."""
    workers: PositiveInt = 2
    """Processes of the embedded annotator side by side; the labels are the same for any number."""
    most_quarantined: Share = 0.05
    """Share of the queries that may have no label of the teacher (malformed answer, dead endpoint, spent budget) before
    the stage fails; what has no answer is asked again the next time. Ours."""


@dg.asset(
    key=keys.QUERY_LABELS,
    deps=[keys.LEXICAL_SURVIVORS, keys.INTENT_TAXONOMY, keys.DISTINCT_QUERIES],
    group_name="labels",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def query_labels(
    context: dg.AssetExecutionContext, config: QueryLabelsConfig, lake: Lake, teacher: ChatEndpoint
) -> dg.MaterializeResult:
    """Each query of the lexical pool with <primary, secondary, constraints> and a difficulty from -1 to 5."""
    pool = lake.read("pool/lexical_survivors", columns=["query_id"])
    queries = lake.read("queries/distinct_queries", columns=["query_id", "text", "context"]).join(
        pool, on="query_id", how="semi"
    )
    if config.annotator == "teacher":
        taught = _taught(context, config, lake, teacher, queries)
        require_few_quarantined(taught, config.most_quarantined)
        labels, quarantine, made = taught.labels, taught.quarantine, taught.numbers
    else:
        labels, labelled_now = _embedded(context, config, lake, queries)
        quarantine, made = no_quarantine(), {"labelled_now": labelled_now}
    lake.write(QUARANTINE, quarantine)
    numbers: dict[str, float | int | str] = {
        "annotator": str(labels["annotator"].first()),
        **made,
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
    context.log.info("%d queries labelled by %s, %d quarantined", len(labels), numbers["annotator"], len(quarantine))
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


def _embedded(
    context: dg.AssetExecutionContext, config: QueryLabelsConfig, lake: Lake, queries: pl.DataFrame
) -> LabelTable:
    embedder = Embedder()
    intents = intents_of(lake.read("taxonomy/intent_taxonomy"))
    annotator = Annotator(intents, embedder.embed, embedder=embedder.version, abstain_below=config.abstain_below)
    return label_table(
        annotator, queries, context.log.info, cache=LabelCache(lake, annotator.version), workers=config.workers
    )


def _taught(
    context: dg.AssetExecutionContext,
    config: QueryLabelsConfig,
    lake: Lake,
    endpoint: ChatEndpoint,
    queries: pl.DataFrame,
) -> Taught:
    """A run and its re-executions share one budget."""
    client = endpoint.client(lake.folder("labels/teacher_answers"), purse=context.run.root_run_id or context.run_id)
    tree = tree_of(lake.read("taxonomy/intent_taxonomy"))
    return taught_table(Teacher(tree, client, abstain_below=config.abstain_below), queries, context.log.info)


def _share(labels: pl.DataFrame, what: pl.Expr) -> float:
    return float(labels.select(what.mean()).item() or 0.0)


def _against_planted_truth(lake: Lake, labels: pl.DataFrame) -> Agreement | None:
    """Agreement with the truth planted in the demo's log; None on a log without truth."""
    if not lake.exists(TRUTH) or labels.is_empty():
        return None
    return against_truth(labels, lake.read(OCCURRENCES), lake.read(TRUTH))
