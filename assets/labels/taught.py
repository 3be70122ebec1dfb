"""A teacher's labels as a table, and beside it the quarantine: every query is in exactly one of the two.

Nothing is remembered here: what was asked before is answered from the client's disk, call by call, so that a
changed tree asks again at its changed nodes only.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from assets.labels.annotator import Label
from assets.labels.quarantine import QUARANTINE_SCHEMA
from assets.labels.table import LABEL_SCHEMA
from assets.labels.teacher import Refused, Teacher
from environments.budget import Spent
from environments.endpoint import Usage

_SECONDS_BETWEEN_LINES = 30.0
_SHOWN = 300


class TeacherError(RuntimeError):
    """Too many queries have no label for the labels to stand for the pool."""


class Taught(NamedTuple):
    """What a teacher made of some queries, and what that took."""

    labels: pl.DataFrame
    quarantine: pl.DataFrame
    usage: Usage
    spent: Spent

    @property
    def numbers(self) -> dict[str, float | int]:
        """The figures worth plotting over time."""
        counted = {f"teacher_{name}": round(value, 1) for name, value in self.usage._asdict().items()}
        causes = {f"quarantined_{cause}": n for cause, n in sorted(self.quarantine["cause"].value_counts().iter_rows())}
        return {**counted, "teacher_usd": round(self.spent.usd, 6), "quarantined": len(self.quarantine), **causes}


def taught_table(
    teacher: Teacher, queries: pl.DataFrame, say: Callable[[str], object], *, rows_at_a_time: int = 1024
) -> Taught:
    """A label or a row of the quarantine for each query, both sorted by id.

    Args:
        teacher: of the taxonomy in force.
        queries: query_id, text, context.
        say: told every half minute how far it is.
        rows_at_a_time: queries asked about side by side.

    Raises:
        EndpointUnusable: the endpoint takes no request at all.
    """
    asked = queries.select("query_id", "text", "context").sort("query_id")
    rows: list[tuple[object, ...]] = []
    refused: list[tuple[str, str, str, str]] = []
    begun = told = time.monotonic()
    for part in asked.iter_slices(rows_at_a_time):
        found = teacher.annotate(part["text"].to_list(), part["context"].to_list())
        for query_id, one in zip(part["query_id"], found, strict=True):
            if isinstance(one, Refused):
                refused.append((query_id, one.cause, one.problem, one.raw))
            else:
                rows.append(_row(query_id, one, teacher.version))
        done, now = len(rows) + len(refused), time.monotonic()
        if now - told > _SECONDS_BETWEEN_LINES:
            told, rate = now, done / (now - begun)
            say(f"{done:,} of {len(asked):,} asked, {rate:,.1f}/s, {(len(asked) - done) / rate:,.0f} s left")
    labels = pl.DataFrame(rows, schema=LABEL_SCHEMA, orient="row")
    quarantine = pl.DataFrame(refused, schema=QUARANTINE_SCHEMA, orient="row")
    return Taught(labels, quarantine, teacher.client.usage, teacher.client.budget.spent)


def require_few_quarantined(taught: Taught, most: float) -> None:
    """Refuse labels of which too many are missing to stand for the pool.

    Raises:
        TeacherError: more than the share `most` is quarantined; what was answered is kept and not asked again.
    """
    total = len(taught.labels) + len(taught.quarantine)
    if len(taught.quarantine) <= most * total:
        return
    causes = taught.quarantine["cause"].value_counts().sort("count", "cause", descending=[True, False])
    counts = ", ".join(f"{cause} {count:,}" for cause, count in causes.iter_rows())
    shown = taught.quarantine.filter(pl.col("cause") == causes["cause"][0])[0]
    raw = f"; the answer was {shown['raw'][0][:_SHOWN]!r}" if shown["raw"][0] else ""
    raise TeacherError(
        f"{len(taught.quarantine):,} of {total:,} queries have no label ({counts}); at most {most:.0%} may. For "
        f"example {shown['query_id'][0]}: {shown['problem'][0]}{raw}. What was answered is kept: mend the "
        "endpoint, or allow more, and materialize again: only the rest is asked"
    )


def _row(query_id: str, label: Label, version: str) -> tuple[object, ...]:
    return (query_id, *label[:-1], label.constraints.model_dump_json(), version)
