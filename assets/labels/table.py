"""Labels as tables: every query of the lexical pool with its label, and those that no tool is for."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import polars as pl

from assets.labels.annotator import Annotator, Intent
from assets.labels.cache import LabelCache
from assets.labels.rules import IRRELEVANT
from assets.queries.normalise import content_ids
from training.side_by_side import each_part

LABEL_SCHEMA = {
    "query_id": pl.String,
    "primary": pl.String,
    "secondary": pl.String,
    "runner_up": pl.String,
    "confidence": pl.Float64,
    "difficulty": pl.Int64,
    "difficulty_axes": pl.String,
    "constraints": pl.String,
    "annotator": pl.String,
}
BOOKED = {**LABEL_SCHEMA, "key": pl.String}
"""A label as it is kept: with the hash of the text and context that it is of."""
_MADE = {name: kind for name, kind in BOOKED.items() if name != "annotator"}
_WORTH_A_PROCESS = 4
"""Parts from which on starting processes pays."""
_SECONDS_BETWEEN_LINES = 30.0


class LabelTable(NamedTuple):
    """Labels of all queries asked for, how many of their texts had none before, and how long those took."""

    labels: pl.LazyFrame
    """`BOOKED` columns, on disk where they may be many; what was kept of other queries may be among them."""
    labelled_now: int
    seconds: float = 0.0

    def of(self, asked: pl.DataFrame) -> pl.DataFrame:
        """The labels of some of the queries, sorted by id.

        Args:
            asked: query_id, key.
        """
        first, last = pl.lit(asked["query_id"].min(), pl.String), pl.lit(asked["query_id"].max(), pl.String)
        near = self.labels.filter(pl.col("query_id").is_between(first, last))
        kept = near.collect().join(asked, on=["query_id", "key"], how="semi")
        return kept.unique("query_id").select(*BOOKED).sort("query_id")


def intents_of(taxonomy: pl.DataFrame) -> list[Intent]:
    """The leaves of `taxonomy/intent_taxonomy` as the annotator reads them."""
    columns = ("leaf", "examples", "synonyms", "name_en", "name_zh", "definition")
    return [
        Intent(leaf, tuple(examples), (*synonyms, *texts) if examples else ())
        for leaf, examples, synonyms, *texts in taxonomy.select(columns).iter_rows()
    ]


def label_table(
    annotator: Annotator,
    queries: pl.DataFrame,
    say: Callable[[str], object],
    *,
    cache: LabelCache | None = None,
    workers: int = 1,
    rows_at_a_time: int = 8192,
) -> LabelTable:
    """One label per query; texts that were labelled before by this annotator are not labelled again.

    Args:
        annotator: fitted on the taxonomy in force.
        queries: query_id, text, context, each text in its context once; and, where not every leaf is allowed, among:
            those that are.
        say: told every half minute how far it is.
        cache: what was labelled before, and where each finished part is kept.
        workers: processes side by side; the labels are the same for any number.
        rows_at_a_time: rows of a part, which is what a kill costs each worker.
    """
    asked = keyed(queries)
    known = cache.known(_MADE) if cache is not None else pl.DataFrame(schema=_MADE)
    fresh = asked.join(known, on=["query_id", "key"], how="anti", maintain_order="left") if len(known) else asked
    keep = cache if cache is not None else _InMemory()
    begun = told = time.monotonic()
    done = 0
    for part in _labelled_parts(annotator, fresh, workers, rows_at_a_time):
        keep.add(part)
        done, now = done + len(part), time.monotonic()
        if now - told > _SECONDS_BETWEEN_LINES:
            told, rate = now, done / (now - begun)
            say(f"{done:,} of {len(fresh):,} labelled, {rate:,.0f}/s, {(len(fresh) - done) / rate:,.0f} s left")
    labels = keep.labels(_MADE).with_columns(annotator=pl.lit(annotator.kind))
    return LabelTable(labels, done, time.monotonic() - begun)


class _InMemory:
    """What a cache does, without a disk."""

    def __init__(self) -> None:
        self.parts: list[pl.DataFrame] = []

    def add(self, labels: pl.DataFrame) -> None:
        """Keep one more part."""
        self.parts.append(labels)

    def labels(self, schema: Mapping[str, type[pl.DataType]]) -> pl.LazyFrame:
        """All of them."""
        return pl.concat([pl.DataFrame(schema=schema), *self.parts]).lazy()


def keyed(queries: pl.DataFrame) -> pl.DataFrame:
    """Queries with the key under which the label of what they say is kept; sorted by id.

    Args:
        queries: query_id, text, context; and among, if not every leaf is allowed; and key, if it is known.
    """
    if "key" in queries.columns:
        return queries if queries["query_id"].is_sorted() else queries.sort("query_id")
    asked = queries.select("query_id", "text", "context", *(["among"] if "among" in queries.columns else [])).sort(
        "query_id"
    )
    parts = asked.select("text", "context", *([pl.col("among").list.join("|")] if "among" in asked.columns else []))
    return asked.with_columns(content_ids(parts).alias("key"))


def irrelevance_table(labels: pl.DataFrame) -> pl.DataFrame:
    """The queries that need no tool (0) or that no tool can serve (-1), with the reason; sorted by id."""
    aside = labels.filter(pl.col("primary") == IRRELEVANT).sort("query_id")
    reasons = [json.loads(axes)["reason"] for axes in aside["difficulty_axes"]]
    return aside.select("query_id", "difficulty", reason=pl.Series(reasons, dtype=pl.String))


def constraint_count() -> pl.Expr:
    """`Constraints.stated` of each label of a table, without building objects."""
    slots: dict[str, pl.DataType] = dict.fromkeys(("kind", "sort", "sky"), pl.String())
    slots |= {"date": pl.Struct({}), "budget": pl.Int64(), "party": pl.Int64()}
    lists = {"cities": pl.List(pl.Struct({})), "modes": pl.List(pl.String())}
    read = pl.col("constraints").str.json_decode(pl.Struct({**lists, **slots})).struct
    counts = [read.field(name).list.len().cast(pl.Int64) for name in lists]
    return pl.sum_horizontal(*counts, *(read.field(name).is_not_null().cast(pl.Int64) for name in slots))


def _labelled_parts(annotator: Annotator, fresh: pl.DataFrame, workers: int, rows: int) -> Iterator[pl.DataFrame]:
    """Labels of `fresh` (query_id, key, text, context), `rows` at a time, in its order."""
    parts = [fresh[start : start + rows] for start in range(0, len(fresh), rows)]
    side_by_side = workers if len(parts) >= _WORTH_A_PROCESS else 1
    return each_part(_labelled, annotator.fitted(), parts, workers=side_by_side)


def _labelled(annotator: Annotator, rows: pl.DataFrame) -> pl.DataFrame:
    among = rows["among"].to_list() if "among" in rows.columns else None
    labels = annotator.annotate(rows["text"].to_list(), rows["context"].to_list(), among)
    *columns, constraints = zip(*labels, strict=True)
    made = (rows["query_id"], *columns, [one.as_json() for one in constraints], rows["key"])
    return pl.DataFrame(dict(zip(_MADE, made, strict=True)), schema=_MADE)
