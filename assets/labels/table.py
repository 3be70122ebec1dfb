"""Labels as tables: every query of the lexical pool with its label, and those that no tool is for."""

import json
import time
from collections.abc import Callable

import polars as pl

from assets.labels.annotator import Annotator, Intent
from assets.labels.rules import IRRELEVANT

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
_ROWS_AT_A_TIME = 8192
_SECONDS_BETWEEN_LINES = 30.0


def intents_of(taxonomy: pl.DataFrame) -> list[Intent]:
    """The leaves of `taxonomy/intent_taxonomy` as the annotator reads them."""
    columns = ("leaf", "examples", "synonyms", "name_en", "name_zh", "definition")
    return [
        Intent(leaf, tuple(examples), (*synonyms, *texts) if examples else ())
        for leaf, examples, synonyms, *texts in taxonomy.select(columns).iter_rows()
    ]


def label_table(annotator: Annotator, queries: pl.DataFrame, say: Callable[[str], object]) -> pl.DataFrame:
    """One row per query, sorted by id.

    Args:
        annotator: fitted on the taxonomy in force.
        queries: query_id, text, context.
        say: told every half minute how far it is.
    """
    ordered = queries.select("query_id", "text", "context").sort("query_id")
    parts: list[pl.DataFrame] = [pl.DataFrame(schema=LABEL_SCHEMA)]
    begun = told = time.monotonic()
    for start in range(0, len(ordered), _ROWS_AT_A_TIME):
        parts.append(_labelled(annotator, ordered[start : start + _ROWS_AT_A_TIME]))
        now = time.monotonic()
        if now - told > _SECONDS_BETWEEN_LINES:
            told, done = now, min(start + _ROWS_AT_A_TIME, len(ordered))
            rate = done / (now - begun)
            say(f"{done:,} of {len(ordered):,} labelled, {rate:,.0f}/s, {(len(ordered) - done) / rate:,.0f} s left")
    return pl.concat(parts)


def irrelevance_table(labels: pl.DataFrame) -> pl.DataFrame:
    """The queries that need no tool (0) or that no tool can serve (-1), with the reason; sorted by id."""
    aside = labels.filter(pl.col("primary") == IRRELEVANT).sort("query_id")
    reasons = [json.loads(axes)["reason"] for axes in aside["difficulty_axes"]]
    return aside.select("query_id", "difficulty", reason=pl.Series(reasons, dtype=pl.String))


def constraint_count() -> pl.Expr:
    """`Constraints.count` of each label of a table, without building objects."""
    slots: dict[str, pl.DataType] = dict.fromkeys(("kind", "sort", "sky"), pl.String())
    slots |= {"date": pl.Struct({}), "budget": pl.Int64(), "party": pl.Int64()}
    lists = {"cities": pl.List(pl.Struct({})), "modes": pl.List(pl.String())}
    read = pl.col("constraints").str.json_decode(pl.Struct({**lists, **slots})).struct
    counts = [read.field(name).list.len().cast(pl.Int64) for name in lists]
    return pl.sum_horizontal(*counts, *(read.field(name).is_not_null().cast(pl.Int64) for name in slots))


def _labelled(annotator: Annotator, queries: pl.DataFrame) -> pl.DataFrame:
    labels = annotator.annotate(queries["text"].to_list(), queries["context"].to_list())
    rows = [
        (query_id, *label[:-1], label.constraints.model_dump_json(), annotator.version)
        for query_id, label in zip(queries["query_id"], labels, strict=True)
    ]
    return pl.DataFrame(rows, schema=LABEL_SCHEMA, orient="row")
