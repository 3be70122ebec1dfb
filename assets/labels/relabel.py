"""The labels of a set of queries under one version of the tree, at the cost of what changed.

What the book holds under this version is taken as it is; where it holds none, the version that was in force before is
carried over by a plan; where there is none either, everything is labelled. Queries that are new, and those whose text
is another one, are labelled under the version in force.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from assets.labels.book import LabelBook
from assets.labels.table import BOOKED, LABEL_SCHEMA, LabelTable, keyed
from assets.taxonomy.apply import answers_to, apply_plan, without_answer
from assets.taxonomy.diff import diff
from assets.taxonomy.migration import Migration, said_of
from assets.taxonomy.plan import Plan, aliases_after, make_plan
from assets.taxonomy.stored import TREES, taxonomy_of, version_of
from resources.lake import ROWS_AT_ONCE

MOVED: Final = {"query_id": pl.String, "from": pl.String, "to": pl.String, "change": pl.String}
"""Columns of `taxonomy/changes`: every query that a plan asked about or moved, and by which change."""
PLANNED: Final = ("query_id", "key", "primary", "secondary", "runner_up", "confidence")
"""What a plan is made from."""
TOLD: Final = ("query_id", "primary", "secondary", "confidence", "difficulty")
"""What is counted of labels."""
_ID: Final = ("query_id", "key")
LabelRows = Callable[[pl.DataFrame], LabelTable]
"""Labels queries (query_id, text, context and, where not every leaf is allowed, among)."""


class Relabelled(NamedTuple):
    """Labels under one version of the tree, and how they came about."""

    book: LabelBook
    version: str
    queries: pl.DataFrame
    """What was asked for: query_id, sorted."""
    way: str
    """`kept`, `planned from VERSION` or `everything`."""
    plan: Plan | None
    moved: pl.DataFrame
    """What the change of the tree did to the labels in the lake: query_id, from, to, change; empty without one."""
    calls: int
    """Rows labelled: those that the plan asked about and those that had no label."""
    fresh: int
    """Of these, those that had no label."""
    labelled_now: int
    """How many of the texts had to be read; the rest were labelled before a kill."""
    seconds: float

    def pieces(self, rows: int = ROWS_AT_ONCE) -> Iterator[pl.DataFrame]:
        """The labels of the queries asked for, sorted by id, so many at a time; at least one piece."""
        for after, last, asked in _ranges(self.queries, rows):
            found = self.book.between(self.version, after, last)
            yield found.join(asked, on="query_id", how="semi", maintain_order="left").select(*LABEL_SCHEMA)

    @property
    def labels(self) -> pl.DataFrame:
        """All of them."""
        return pl.concat(list(self.pieces()))

    def told(self) -> pl.DataFrame:
        """What there is to count of all of them: `TOLD` columns."""
        rows = self.book.present(self.version, TOLD)
        return rows.join(self.queries, on="query_id", how="semi", maintain_order="left")


def labels_under(
    tree: pl.DataFrame,
    queries: pl.DataFrame,
    book: LabelBook,
    label_rows: LabelRows,
    *,
    migrations: Sequence[Migration] = (),
    near_below: float,
    in_lake: str | None = None,
    rows_at_a_time: int = ROWS_AT_ONCE,
) -> Relabelled:
    """Label `queries` under a tree and keep the labels in the book.

    Args:
        tree: the taxonomy's table (`taxonomy/intent_taxonomy`).
        queries: query_id, text, context.
        book: of the annotator that `label_rows` asks.
        label_rows: asked for the rows in question, and for those without a label.
        migrations: what was confirmed of the way from one version to another.
        near_below: confidence under which a row may as well belong to its runner-up.
        in_lake: the version that the labels in the lake are of: a change goes on from there, and what moved is told
            from there, also where runs that were killed left the book ahead of it. None: not noted.
        rows_at_a_time: labels held in memory whole, the rest is read and written in pieces.

    Raises:
        BookError: a file of the book is torn.
        MigrationError: a confirmed entry does not fit the trees.
    """
    texts, known = keyed(queries), book.versions()
    ids = texts.select("query_id", "key")
    del queries  # of tens of millions there is one copy, where the caller keeps none
    to = _To(version_of(taxonomy_of(tree)), tree, book, migrations, near_below)
    start = _start(to, texts, label_rows, in_lake)
    came_from = book.planned_from(to.version) if known[-1:] == [to.version] else start.planned_from
    fresh = texts.join(start.rows, on=_ID, how="anti", maintain_order="left") if len(start.rows) else texts
    del texts
    made = label_rows(fresh) if len(fresh) else None
    fresh = fresh.select("query_id", "key")
    if made is not None or not book.has(to.version) or start.damaged:
        book.write(to.version, _pieces(book, start, fresh, made, rows_at_a_time), tree, came_from)
    else:
        book.use(to.version)
    told_from = in_lake if in_lake in (*known, to.version) else came_from or next(reversed(known), to.version)
    spent = [table for table in (start.made, made) if table is not None]
    return Relabelled(
        book,
        to.version,
        ids.select("query_id"),
        start.way,
        start.plan,
        _moved(to, told_from or to.version, came_from, start),
        calls=len(fresh) + (start.plan.calls if start.plan else 0),
        fresh=len(fresh),
        labelled_now=sum(table.labelled_now for table in spent),
        seconds=sum(table.seconds for table in spent),
    )


def _pieces(
    book: LabelBook, start: "_Start", fresh: pl.DataFrame, made: LabelTable | None, rows: int
) -> Iterator[pl.DataFrame]:
    """What the book held, as a plan leaves it, with the labels of fresh queries in addition or instead; in order.

    Args:
        book: to read from.
        start: what it holds.
        fresh: query_id, key; sorted.
        made: their labels, where there are any.
        rows: of a piece, about.
    """
    every = pl.concat([start.rows.select("query_id"), fresh.select("query_id")]).sort("query_id")
    for after, last, _ in _ranges(every, rows):
        held = start.between(book, after, last)
        if made is not None:
            new = made.of(_between(fresh, after, last))
            held = pl.concat([held.join(new, on="query_id", how="anti"), new])
        yield held.sort("query_id")


def _ranges(ids: pl.DataFrame, rows: int) -> Iterator[tuple[str | None, str | None, pl.DataFrame]]:
    """All ids that there could be, cut between some of the given ones: greater than, at most, those given between.

    Args:
        ids: query_id, sorted.
        rows: given ids of a range.
    """
    after = None
    for start in range(0, max(len(ids), 1), rows):
        piece = ids[start : start + rows]
        last = piece["query_id"][-1] if start + rows < len(ids) else None
        yield after, last, piece
        after = last


def _between(ids: pl.DataFrame, after: str | None, last: str | None) -> pl.DataFrame:
    """The rows of a sorted table in a range."""
    first = 0 if after is None else ids["query_id"].search_sorted(after, side="right")
    end = len(ids) if last is None else ids["query_id"].search_sorted(last, side="right")
    return ids[first:end]


class _To(NamedTuple):
    """The version that is labelled under, and what is known of the ways to it."""

    version: str
    tree: pl.DataFrame
    book: LabelBook
    migrations: Sequence[Migration]
    near_below: float

    def plan_from(self, version: str, rows: pl.DataFrame) -> tuple[Plan, dict[str, str | None]]:
        """What the change from a version in the book does to rows of it, and what older names are called after it."""
        before, now = taxonomy_of(self.book.lake.read(TREES, version)), taxonomy_of(self.tree)
        found, aliases = diff(before, now, said_of(self.migrations, before, now)), self.book.aliases(version)
        return make_plan(found, rows, near_below=self.near_below, aliases=aliases), aliases_after(found, aliases)


class _Start(NamedTuple):
    """What there is before the queries without a label are asked about."""

    rows: pl.DataFrame
    """Which queries have a label: query_id, key."""
    way: str
    held: str | None = None
    """The version in the book that their labels are of, before the plan."""
    plan: Plan | None = None
    planned_from: str | None = None
    answers: pl.DataFrame | None = None
    made: LabelTable | None = None
    damaged: bool = False

    def between(self, book: LabelBook, after: str | None, last: str | None) -> pl.DataFrame:
        """The labels of the queries in a range, as the plan leaves them; see `LabelBook.between`."""
        if self.held is None:
            return pl.DataFrame(schema=BOOKED)
        rows = book.between(self.held, after, last)
        if self.plan is None or self.answers is None:
            return rows
        planned = rows.join(_between(self.rows, after, last), on=_ID, how="semi", maintain_order="left")
        return apply_plan(planned, self.plan, self.answers)


def _start(to: _To, texts: pl.DataFrame, label_rows: LabelRows, in_lake: str | None) -> _Start:
    if to.book.has(to.version):
        rows = to.book.present(to.version, _ID)
        whole = len(rows) == to.book.page(to.version)["rows"].sum()
        return _Start(rows, "kept", to.version, damaged=not whole)
    before = to.book.gone_on_from(in_lake)
    if before is None:
        return _Start(pl.DataFrame(schema=dict.fromkeys(_ID, pl.String)), "everything")
    rows = to.book.present(before, PLANNED).join(texts, on=_ID, how="semi", maintain_order="left")
    plan, aliases = to.plan_from(before, rows)
    to.book.alias(to.version, aliases)
    answered: list[LabelTable] = []

    def annotate(wanted: pl.DataFrame) -> pl.DataFrame:
        """Labels of the rows in question, and a note of what they took."""
        asking = keyed(texts.drop("key").join(wanted, on="query_id"))
        answered.append(label_rows(asking))
        return answered[0].of(asking.select("query_id", "key"))

    answers = answers_to(plan, annotate)
    kept = rows.select(_ID).join(without_answer(plan, answers), on="query_id", how="anti", maintain_order="left")
    return _Start(kept, f"planned from {before}", before, plan, before, answers, next(iter(answered), None))


def _moved(to: _To, before: str, came_from: str | None, start: _Start) -> pl.DataFrame:
    """The queries that the change from a version named, and those that are elsewhere now.

    A change that a killed run left in the book is told as that run would have told it.

    Args:
        to: the version that the rows are of.
        before: the version that is told from.
        came_from: the version that a plan went on from, where one led here; another than `before` where this one was
            taken up again.
        start: with the plan, if this run made one.
    """
    if before == to.version:
        return pl.DataFrame(schema=MOVED)
    rows = to.book.present(to.version, (*_ID, "primary"))
    was = to.book.present(before, PLANNED).join(rows, on=_ID, how="semi", maintain_order="left")
    both = was.select("query_id", pl.col("primary").alias("from")).join(
        rows.select("query_id", pl.col("primary").alias("to")), on="query_id"
    )
    other = both.filter(pl.col("from") != pl.col("to"))
    if came_from != before:  # no plan went on from there
        return other.with_columns(change=pl.lit(f"back to tree {to.version}")).sort("query_id")
    named = moved(start.plan or to.plan_from(before, was)[0], was, rows)
    unnamed = other.join(named, on="query_id", how="anti").with_columns(change=pl.lit("labelled anew"))
    return pl.concat([named, unnamed]).sort("query_id")


def moved(plan: Plan, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """What a plan did, row by row: where each query that it asked about or moved was, and where it is; sorted."""
    names = pl.DataFrame({"change": range(len(plan.changes)), "said": [str(change) for change in plan.changes]})
    named = pl.concat([plan.asked.select("query_id", "change"), plan.moved.select("query_id", "change")])
    was, now = (frame.select("query_id", "primary") for frame in (before, after))
    rows = named.join(was, on="query_id").join(now, on="query_id", suffix="_now")
    said = rows.join(names.cast({"change": pl.Int64}), on="change", how="left")
    columns = {"from": "primary", "to": "primary_now", "change": "said"}
    return said.select("query_id", *(pl.col(old).alias(new) for new, old in columns.items())).sort("query_id")


def moved_note(rows: pl.DataFrame) -> str:
    """A Markdown table with one line per change: rows named, and how many have another first leaf now."""
    counts = rows.group_by("change").agg(pl.len().alias("rows"), (pl.col("from") != pl.col("to")).sum().alias("moved"))
    lines = [f"| {change} | {count:,} | {other:,} |" for change, count, other in counts.sort("change").iter_rows()]
    return "\n".join(["| change | rows named | of another leaf now |", "| --- | --- | --- |", *lines])
