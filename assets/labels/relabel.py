"""The labels of a set of queries under one version of the tree, at the cost of what changed.

What the book holds under this version is taken as it is; where it holds none, the version that was in force before is
carried over by a plan; where there is none either, everything is labelled. Queries that are new, and those whose text
is another one, are labelled under the version in force.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import polars as pl

from assets.labels.book import BOOKED, LabelBook
from assets.labels.table import LABEL_SCHEMA, LabelTable, keyed
from assets.taxonomy.apply import apply_plan
from assets.taxonomy.diff import diff
from assets.taxonomy.migration import Migration, said_of
from assets.taxonomy.plan import Plan, aliases_after, make_plan
from assets.taxonomy.stored import TREES, taxonomy_of, version_of

MOVED: Final = {"query_id": pl.String, "from": pl.String, "to": pl.String, "change": pl.String}
"""Columns of `taxonomy/changes`: every query that a plan asked about or moved, and by which change."""
LabelRows = Callable[[pl.DataFrame], LabelTable]
"""Labels queries (query_id, text, context and, where not every leaf is allowed, among)."""


class Relabelled(NamedTuple):
    """Labels under one version of the tree, and how they came about."""

    labels: pl.DataFrame
    """One row per query asked for, sorted by id."""
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


def labels_under(
    tree: pl.DataFrame,
    queries: pl.DataFrame,
    book: LabelBook,
    label_rows: LabelRows,
    *,
    migrations: Sequence[Migration] = (),
    near_below: float,
    in_lake: str | None = None,
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

    Raises:
        BookError: a file of the book is torn.
        MigrationError: a confirmed entry does not fit the trees.
    """
    texts, known = keyed(queries), book.versions()
    del queries  # of tens of millions there is one copy, where the caller keeps none
    to = _To(version_of(taxonomy_of(tree)), tree, book, migrations, near_below)
    start = _start(to, texts, label_rows, in_lake)
    came_from = book.planned_from(to.version) if known[-1:] == [to.version] else start.planned_from
    fresh = texts.join(start.rows, on=["query_id", "key"], how="anti")
    texts, rows, made = texts.select("query_id", "key"), start.rows, None
    if len(fresh):
        rows, made = _with_labels(rows, fresh, label_rows)
    if made is not None or not book.has(to.version) or start.damaged:
        book.write(to.version, rows, tree, came_from)
    else:
        book.use(to.version)
    told_from = in_lake if in_lake in (*known, to.version) else came_from or next(reversed(known), to.version)
    asked = rows.join(texts, on="query_id", how="semi").sort("query_id").select(*LABEL_SCHEMA)
    spent = [table for table in (start.made, made) if table is not None]
    return Relabelled(
        asked,
        start.way,
        start.plan,
        _moved(to, told_from or to.version, came_from, rows, start),
        calls=len(fresh) + (start.plan.calls if start.plan else 0),
        fresh=len(fresh),
        labelled_now=sum(table.labelled_now for table in spent),
        seconds=sum(table.seconds for table in spent),
    )


def _with_labels(rows: pl.DataFrame, fresh: pl.DataFrame, label_rows: LabelRows) -> tuple[pl.DataFrame, LabelTable]:
    """The rows with the labels of fresh ones in addition or instead; and what those took, without the labels."""
    made = label_rows(fresh)
    new = made.labels.join(fresh.select("query_id", "key"), on="query_id").select(*BOOKED)
    both = pl.concat([rows.join(new, on="query_id", how="anti"), new]) if len(rows) else new
    return both, made._replace(labels=made.labels.clear())


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
    way: str
    plan: Plan | None = None
    planned_from: str | None = None
    made: LabelTable | None = None
    damaged: bool = False


def _start(to: _To, texts: pl.DataFrame, label_rows: LabelRows, in_lake: str | None) -> _Start:
    if to.book.has(to.version):
        rows = to.book.present(to.version)
        whole = len(rows) == to.book.page(to.version)["rows"].sum()
        return _Start(rows, "kept", damaged=not whole)
    before = to.book.gone_on_from(in_lake)
    if before is None:
        return _Start(pl.DataFrame(schema=BOOKED), "everything")
    rows = to.book.present(before).join(texts, on=["query_id", "key"], how="semi")
    plan, aliases = to.plan_from(before, rows)
    to.book.alias(to.version, aliases)
    answered: list[LabelTable] = []

    def annotate(wanted: pl.DataFrame) -> pl.DataFrame:
        """Labels of the rows in question, and a note of what they took."""
        answered.append(label_rows(texts.drop("key").join(wanted, on="query_id")))
        return answered[0].labels

    after = apply_plan(rows, plan, annotate)
    return _Start(after, f"planned from {before}", plan, before, next(iter(answered), None))


def _moved(to: _To, before: str, came_from: str | None, rows: pl.DataFrame, start: _Start) -> pl.DataFrame:
    """The queries that the change from a version named, and those that are elsewhere now.

    A change that a killed run left in the book is told as that run would have told it.

    Args:
        to: the version that the rows are of.
        before: the version that is told from.
        came_from: the version that a plan went on from, where one led here; another than `before` where this one was
            taken up again.
        rows: the labels now.
        start: with the plan, if this run made one.
    """
    if before == to.version:
        return pl.DataFrame(schema=MOVED)
    was = to.book.present(before).join(rows, on=["query_id", "key"], how="semi")
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
