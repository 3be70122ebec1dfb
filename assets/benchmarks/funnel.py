"""Where the rows went, layer by layer: in = kept + dropped by reason (pipeline law 3), from the tables themselves.

Read by the report page, by `loopwright demo` and by the test of the whole factory.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import polars as pl

from assets.labels.quarantine import quarantine_in
from resources.lake import Lake

QUARANTINE, FILES, DROPPED = "queries/quarantine", "queries/files", "pool/dropped_by_layer"
NOT_COMPILED, REJECTED = "tasks/not_compiled", "tasks/quarantine"


class Layer(NamedTuple):
    """One step of the funnel."""

    name: str
    table: str
    """What it made."""
    went_in: int
    kept: int
    dropped: Mapping[str, int]
    """By reason, most frequent first."""
    unit: str = "queries"

    @property
    def lost(self) -> int:
        """Rows that are neither kept nor dropped; anything but 0 is a fault."""
        return self.went_in - self.kept - sum(self.dropped.values())


def layers(lake: Lake) -> list[Layer]:
    """Every layer whose tables are there, in order."""
    built: list[tuple[tuple[str, ...], Callable[[Lake], Layer]]] = [
        (("queries/raw_queries", QUARANTINE, FILES), _read),
        (("queries/raw_queries", "queries/distinct_queries"), _distinct),
        (("queries/distinct_queries", "pool/lexical_survivors"), _lexical),
        (("pool/lexical_survivors", "labels/query_labels", "labels/irrelevance_set"), _labelled),
        (("labels/query_labels", "labels/irrelevance_set", "pool/semantic_survivors"), _semantic),
        (("pool/semantic_survivors", "pool/candidate_pool"), _geometric),
        (("tasks/compiled_tasks", NOT_COMPILED, "pool/candidate_pool", "labels/irrelevance_set"), _compiled),
        (("tasks/compiled_tasks", "tasks/admitted_tasks", REJECTED), _admitted),
    ]
    return [build(lake) for needs, build in built if all(lake.exists(table) for table in needs)]


def rows_of(lake: Lake, table: str) -> int:
    """Rows of a table, without reading it."""
    return int(lake.scan(table).select(pl.len()).collect().item()) if lake.exists(table) else 0


def _counts(column: pl.Series) -> dict[str, int]:
    counted = column.value_counts().sort("count", column.name, descending=[True, False])
    return {str(reason).replace("_", " "): number for reason, number in counted.iter_rows()}


def _read(lake: Lake) -> Layer:
    rows = int(lake.read(FILES)["rows"].sum())
    causes = _counts(lake.read(QUARANTINE)["cause"])
    return Layer("read", "queries/raw_queries", rows, len(lake.read("queries/raw_queries")), causes, "lines")


def _distinct(lake: Lake) -> Layer:
    support = lake.read("queries/distinct_queries")["support"]
    raw, same = rows_of(lake, "queries/raw_queries"), int(support.sum()) - len(support)
    return Layer("distinct", "queries/distinct_queries", raw, len(support), {"said before": same}, "lines")


def _dropped(lake: Lake, layer: str) -> dict[str, int]:
    return _counts(lake.read(DROPPED, layer)["rule"]) if lake.exists(DROPPED, layer) else {}


def _lexical(lake: Lake) -> Layer:
    kept = rows_of(lake, "pool/lexical_survivors")
    return Layer(
        "lexical", "pool/lexical_survivors", rows_of(lake, "queries/distinct_queries"), kept, _dropped(lake, "lexical")
    )


def _labelled(lake: Lake) -> Layer:
    """Labelled queries that ask for tools; the others are the irrelevance set, a product of their own."""
    labels = rows_of(lake, "labels/query_labels")
    aside = _counts(lake.read("labels/irrelevance_set")["reason"])
    went_in = rows_of(lake, "pool/lexical_survivors")
    refused = _counts(quarantine_in(lake)["cause"])
    kept = labels - sum(aside.values())
    return Layer("labelled, needs tools", "labels/query_labels", went_in, kept, aside | refused)


def _semantic(lake: Lake) -> Layer:
    went_in = rows_of(lake, "labels/query_labels") - rows_of(lake, "labels/irrelevance_set")
    kept = rows_of(lake, "pool/semantic_survivors")
    return Layer("semantic", "pool/semantic_survivors", went_in, kept, _dropped(lake, "semantic"))


def _geometric(lake: Lake) -> Layer:
    went_in, kept = rows_of(lake, "pool/semantic_survivors"), rows_of(lake, "pool/candidate_pool")
    return Layer("geometric", "pool/candidate_pool", went_in, kept, _dropped(lake, "geometric"))


def _compiled(lake: Lake) -> Layer:
    """The pool's queries, and those of the irrelevance set that were to become refusals; not what topped them up."""
    dropped = lake.read(NOT_COMPILED)
    tasks = lake.read("tasks/compiled_tasks").filter(pl.col("origin") == "query").select("query_id").unique()
    met = pl.concat([tasks, dropped.select("query_id")])
    asked = met.join(lake.read("labels/irrelevance_set"), on="query_id", how="semi")
    went_in = pl.concat([lake.read("pool/candidate_pool").select("query_id"), asked]).unique()
    kept = tasks.join(went_in, on="query_id", how="semi")
    return Layer("compiled", "tasks/compiled_tasks", len(went_in), len(kept), _counts(dropped["rule"]))


def _admitted(lake: Lake) -> Layer:
    """Originals, variants and refusals through the gate."""
    failed = _counts(lake.read(REJECTED)["check"])
    went_in, kept = rows_of(lake, "tasks/compiled_tasks"), rows_of(lake, "tasks/admitted_tasks")
    return Layer("admitted", "tasks/admitted_tasks", went_in, kept, failed, "tasks")
