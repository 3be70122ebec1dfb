"""Labels: what each query asks for, how hard it is, and which queries no tool is for."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import dagster as dg
import polars as pl
from pydantic import Field, PositiveInt

from assets import keys
from assets.config import Share, StageConfig
from assets.labels.agreement import Agreement, against_truth
from assets.labels.annotator import Annotator
from assets.labels.book import IN_FORCE, LabelBook, tree_in_force
from assets.labels.cache import LabelCache
from assets.labels.figures import confusion_figure, difficulty_figure, leaves_figure
from assets.labels.held_back import AGREEMENT, HeldBack, against_experts, agreement_row, read_held_back
from assets.labels.options import tree_of
from assets.labels.quarantine import QUARANTINE, no_quarantine
from assets.labels.rates import embedded_rates, teacher_rates
from assets.labels.relabel import LabelRows, Relabelled, labels_under, moved_note
from assets.labels.rules import IRRELEVANT
from assets.labels.table import intents_of, irrelevance_table, label_table
from assets.labels.taught import TaughtRows, require_few_quarantined
from assets.labels.teacher import Teacher
from assets.metadata import described, materialized
from assets.partitions import LEAVES, ONE_RUN
from assets.taxonomy.bill import RATES, TEACHER, Rates, rates_of
from assets.taxonomy.migration import stored_migrations
from assets.taxonomy.plan import NEAR_BELOW
from assets.taxonomy.stored import CHANGES, taxonomy_of, version_of
from assets.taxonomy.tree import OTHER
from assets.versions import reported_by_leaf
from resources.embedder import Embedder
from resources.endpoints import ChatEndpoint
from resources.lake import Lake

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH, OCCURRENCES = "queries/planted_truth", "queries/occurrences"


class QueryLabelsConfig(StageConfig, stage=keys.QUERY_LABELS):
    """Who labels, and how sure a label must be."""

    annotator: Literal["embedded", "teacher"] = "embedded"
    """`embedded` needs nothing; `teacher` asks the language model of the resource `teacher`."""
    abstain_below: float = Field(default=0.3, ge=0, le=1)
    """Confidence under which a query is labelled with the Other of its branch."""
    near_below: float = Field(default=NEAR_BELOW, ge=0, le=1)
    """Confidence under which a query is asked about again when a leaf beside its own is new, or its runner-up is
    another one. Ours."""
    workers: PositiveInt = 2
    """Processes of the embedded annotator side by side; the labels are the same for any number."""
    most_quarantined: Share = 0.05
    """Share of the queries that may have no label of the teacher (malformed answer, dead endpoint, spent budget) before
    the stage fails; what has no answer is asked again the next time. Ours."""
    expert_labels: str = ""
    """File of expert labels (CSV, JSONL, or JSON as Label Studio exports it) that the labels are compared with; nothing
    is learned from it. Empty: there is none."""
    least_expert_accuracy: Share = 0.0
    """Accuracy on the expert labels under which a check warns; 0: never."""


@dg.asset(
    key=keys.QUERY_LABELS,
    deps=[keys.LEXICAL_SURVIVORS, keys.INTENT_TAXONOMY, keys.DISTINCT_QUERIES],
    group_name="labels",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="2",
    partitions_def=LEAVES,
    backfill_policy=ONE_RUN,
)
def query_labels(
    context: dg.AssetExecutionContext, config: QueryLabelsConfig, lake: Lake, teacher: ChatEndpoint
) -> Iterator[dg.MaterializeResult]:
    """Each query of the lexical pool with <primary, secondary, constraints> and a difficulty from -1 to 5."""
    tree = lake.read("taxonomy/intent_taxonomy")
    held_back = read_held_back(Path(config.expert_labels).expanduser()) if config.expert_labels else None
    asker = (_taught if config.annotator == "teacher" else _embedded)(context, config, lake, teacher, tree)
    book, was = LabelBook(lake, asker.kind), tree_in_force(lake)
    done = labels_under(
        tree, pool_queries(lake), book, asker.rows, migrations=stored_migrations(lake), near_below=config.near_below,
        in_lake=was,
    )  # fmt: skip
    labels, version = done.told(), version_of(taxonomy_of(tree))
    quarantine, spent = asker.settle(labels)
    lake.write(QUARANTINE, quarantine)
    if was != version or not lake.exists(CHANGES):  # a run without a change, or that ends a killed one, tells no other
        lake.write(CHANGES, done.moved)
    if rates := asker.rates(done):
        lake.write(RATES, rates.frame(), book.annotator)
    numbers: dict[str, float | int | str] = {
        "annotator": asker.kind, "tree": version, "way": done.way, "calls": done.calls,
        "labelled_now": done.labelled_now, **spent, **_shares(labels),
    }  # fmt: skip
    figures = {"difficulty": difficulty_figure(labels), "leaves": leaves_figure(labels)}
    compared, confused = _compared(lake, config, held_back, labels, tree)
    numbers, figures = numbers | compared, figures | confused
    context.log.info(
        "%d queries, %d asked about by %s, %d quarantined: %s",
        len(labels), done.calls, asker.kind, len(quarantine), done.way,
    )  # fmt: skip
    note = moved_note(done.moved) if len(done.moved) else None
    lake.write_pieces("labels/query_labels", done.pieces())
    result = described(lake, "labels/query_labels", numbers=numbers, figures=figures, note=note)
    lake.write(IN_FORCE, pl.DataFrame({"tree": [version]}))
    by_leaf = (piece.with_columns(leaf="primary") for piece in lake.pieces("labels/query_labels"))
    yield from reported_by_leaf(context, lake, result, by_leaf, "leaf")


@dg.asset(
    key=keys.IRRELEVANCE_SET,
    deps=[dg.AssetDep(keys.QUERY_LABELS, partition_mapping=dg.SpecificPartitionsPartitionMapping([IRRELEVANT]))],
    group_name="labels",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def irrelevance_set(lake: Lake) -> dg.MaterializeResult:
    """The queries to refuse, to ask back about or to answer without tools: a product of their own."""
    columns = ["query_id", "primary", "difficulty", "difficulty_axes"]
    rows = lake.scan("labels/query_labels").filter(pl.col("primary") == IRRELEVANT).select(columns)
    aside = irrelevance_table(rows.collect())
    numbers = {"unexecutable": int((aside["difficulty"] == -1).sum()), "no_tool": int((aside["difficulty"] == 0).sum())}
    numbers |= dict(aside["reason"].value_counts().sort("reason").iter_rows())
    return materialized(lake, "labels/irrelevance_set", aside, numbers=numbers)


class _Asker(NamedTuple):
    """Who labels rows."""

    kind: str
    """Everything that decides a label but the tree."""
    rows: LabelRows
    settle: Callable[[pl.DataFrame], tuple[pl.DataFrame, dict[str, float | int]]]
    """Takes the labels when all are there; gives the quarantine, and what it cost."""
    rates: Callable[[Relabelled], Rates | None]
    """Takes what was labelled; gives what one call takes, where that is known."""


def _embedded(
    context: dg.AssetExecutionContext,
    config: QueryLabelsConfig,
    lake: Lake,
    _endpoint: ChatEndpoint,
    tree: pl.DataFrame,
) -> _Asker:
    annotator = embedded(tree, config.abstain_below)
    cache = LabelCache(lake, annotator.version)

    def settle(_labels: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, float | int]]:
        """The book holds them now."""
        cache.clear()
        return no_quarantine(), {}

    rows = partial(label_table, annotator, say=context.log.info, cache=cache, workers=config.workers)
    return _Asker(annotator.kind, rows, settle, lambda done: embedded_rates(done.labelled_now, done.seconds))


def _taught(
    context: dg.AssetExecutionContext,
    config: QueryLabelsConfig,
    lake: Lake,
    endpoint: ChatEndpoint,
    tree: pl.DataFrame,
) -> _Asker:
    """A run and its re-executions share one budget."""
    client = endpoint.client(lake.folder("labels/teacher_answers"), purse=context.run.root_run_id or context.run_id)
    teacher = Teacher(tree_of(tree), client, abstain_below=config.abstain_below)
    rows = TaughtRows(teacher, context.log.info)

    def settle(labels: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, float | int]]:
        """What has no label, if it is little."""
        taught = rows.outcome(labels)
        require_few_quarantined(taught, config.most_quarantined)
        return taught.quarantine, taught.numbers

    def rates(done: Relabelled) -> Rates | None:
        """Calls for a query of which nothing was known are those of a run that labelled no others."""
        known = rates_of(lake.read(RATES, teacher.kind)) if lake.exists(RATES, teacher.kind) else TEACHER
        per_query = client.usage.questions / done.fresh if done.fresh == done.calls > 0 else known.calls_per_query
        return teacher_rates(client, done.seconds, calls_per_query=per_query)

    return _Asker(teacher.kind, rows, settle, rates)


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
        "abstained_share": (pl.col("primary") == OTHER) | pl.col("primary").str.ends_with(f".{OTHER}"),
        "with_second_intent": pl.col("secondary").is_not_null(),
        "mean_confidence": pl.col("confidence"),
    }
    found = {name: labels.select(what.mean()).item() for name, what in means.items()}
    return {"leaves": labels["primary"].n_unique()} | {name: float(value or 0.0) for name, value in found.items()}


def _compared(
    lake: Lake, config: QueryLabelsConfig, held_back: HeldBack | None, labels: pl.DataFrame, tree: pl.DataFrame
) -> tuple[dict[str, float | int | str], dict[str, "Figure"]]:
    """Numbers and figures of the labels beside planted truth and experts' labels, where there are any."""
    numbers: dict[str, float | int | str] = {}
    figures = {}
    truth = _against_planted_truth(lake, labels)
    if truth is not None:
        numbers |= {f"truth_{name}": value for name, value in truth.numbers.items()}
        figures["confusion"] = confusion_figure(truth.confused)
    experts = against_experts(labels, held_back, tree) if held_back else None
    lake.write(AGREEMENT, agreement_row(experts, config.least_expert_accuracy))
    if experts is not None:
        numbers |= {f"experts_{name}": value for name, value in experts.numbers.items()}
        figures["experts_confusion"] = confusion_figure(experts.confused)
    return numbers, figures


def _against_planted_truth(lake: Lake, labels: pl.DataFrame) -> Agreement | None:
    """Agreement with the truth planted in the demo's log; None on a log without truth."""
    if not lake.exists(TRUTH) or labels.is_empty():
        return None
    return against_truth(labels, lake.read(OCCURRENCES), lake.read(TRUTH))
