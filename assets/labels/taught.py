"""A teacher's labels as a table, and beside it the quarantine: every query is in exactly one of the two.

Nothing is remembered here: what was asked before is answered from the client's disk, call by call, so that a
changed tree asks again at its changed nodes only.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import polars as pl

from assets.labels.annotator import Label
from assets.labels.quarantine import QUARANTINE_SCHEMA
from assets.labels.table import LABEL_SCHEMA, LabelTable, keyed
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
        queries: query_id, text, context; and, where not every leaf is allowed, among: those that are.
        say: told every half minute how far it is.
        rows_at_a_time: queries asked about side by side.

    Raises:
        EndpointUnusable: the endpoint takes no request at all.
    """
    asked = queries.select("query_id", "text", "context", *(["among"] if "among" in queries.columns else [])).sort(
        "query_id"
    )
    rows: list[tuple[object, ...]] = []
    refused: list[tuple[str, str, str, str]] = []
    begun = told = time.monotonic()
    for part in asked.iter_slices(rows_at_a_time):
        for query_id, one in _annotated(teacher, part):
            if isinstance(one, Refused):
                refused.append((query_id, one.cause, one.problem, one.raw))
            else:
                rows.append(_row(query_id, one, teacher.kind))
        done, now = len(rows) + len(refused), time.monotonic()
        if now - told > _SECONDS_BETWEEN_LINES:
            told, rate = now, done / (now - begun)
            say(f"{done:,} of {len(asked):,} asked, {rate:,.1f}/s, {(len(asked) - done) / rate:,.0f} s left")
    labels = pl.DataFrame(rows, schema=LABEL_SCHEMA, orient="row")
    quarantine = pl.DataFrame(refused, schema=QUARANTINE_SCHEMA, orient="row")
    return Taught(labels, quarantine, teacher.client.usage, teacher.client.budget.spent)


class TaughtRows:
    """Asks a teacher for the labels of rows, as often as it is called, and remembers which have none."""

    def __init__(self, teacher: Teacher, say: Callable[[str], object]) -> None:
        self.teacher = teacher
        self.say = say
        self._refused: list[pl.DataFrame] = [pl.DataFrame(schema=QUARANTINE_SCHEMA)]

    def __call__(self, queries: pl.DataFrame) -> LabelTable:
        """The labels that there are; for the columns see `taught_table`."""
        begun, asked = time.monotonic(), keyed(queries)
        made = taught_table(self.teacher, asked, self.say)
        self._refused.append(made.quarantine)
        labels = made.labels.join(asked.select("query_id", "key"), on="query_id")
        return LabelTable(labels.lazy(), len(labels), time.monotonic() - begun)

    def outcome(self, labels: pl.DataFrame) -> Taught:
        """All labels, and the queries that were refused each time they were asked about."""
        refused = pl.concat(self._refused).join(labels, on="query_id", how="anti")
        quarantine = refused.unique("query_id", keep="last").sort("query_id")
        return Taught(labels, quarantine, self.teacher.client.usage, self.teacher.client.budget.spent)


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


def _annotated(teacher: Teacher, part: pl.DataFrame) -> Iterator[tuple[str, Label | Refused]]:
    """Each query with its label; those that have the same leaves to choose among are asked about side by side."""
    groups = part.group_by("among", maintain_order=True) if "among" in part.columns else [((None,), part)]
    for (among,), rows in groups:
        found = teacher.annotate(rows["text"].to_list(), rows["context"].to_list(), among)
        yield from zip(rows["query_id"], found, strict=True)


def _row(query_id: str, label: Label, version: str) -> tuple[object, ...]:
    return (query_id, *label[:-1], label.constraints.as_json(), version)
