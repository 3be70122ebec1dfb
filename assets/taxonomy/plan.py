"""Two taxonomies and the labels of the first: which rows are asked about again and which follow for nothing.

The plan is exact: `apply.apply_plan` asks about the rows that it names and about no others, and what it does not name
stays as it is, byte for byte. Renames, moves and merges rewrite ids; splits, additions, removals and edits ask.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import polars as pl

from assets.labels.rules import IRRELEVANT
from assets.taxonomy.changes import Change, Diff, Kind
from assets.taxonomy.questions import QUESTIONS, questions
from assets.taxonomy.stored import version_of
from assets.taxonomy.tree import Taxonomy

NEAR_BELOW: Final = 0.5
"""Ours: confidence under which a row may as well belong to its runner-up."""
LEAF_COLUMNS: Final = ("primary", "secondary")
"""Columns whose ids are rewritten. The runner-up is a hint and stays as the annotator said it, or one renamed leaf
would change the rows of all that it is the runner-up of; `aliases` tells what it is called now."""


class Partitions(NamedTuple):
    """Leaves whose rows a plan touches."""

    changed: tuple[str, ...]
    """In both trees, with rows that change or may."""
    appear: tuple[str, ...]
    vanish: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What turns the labels of one tree into those of another."""

    before: str
    """Version of the tree that the labels are of."""
    after: str
    changes: tuple[Change, ...]
    follows: dict[str, str]
    """Leaf before -> leaf after, for all that go on."""
    asked: pl.DataFrame
    """The rows to ask about, each once: query_id, change, among, among_secondary; sorted by query."""
    moved: pl.DataFrame
    """The rows whose primary leaf changes without being asked about: query_id, change, from, to; sorted by query."""
    touched: pl.DataFrame
    """The buckets <primary, secondary> of rows that change or may: query_id, primary, secondary, as they are now."""
    partitions: Partitions
    kept: bool = False
    """Whether the labels of the tree after are in the book already and only taken up again."""
    fresh: int = 0
    """Queries that the annotator has no label of yet: they are labelled under the whole tree."""
    by: str = ""
    """Who labels from now on, where the labels in force are by another annotator; every row has another label then."""

    @property
    def calls(self) -> int:
        """Rows that the annotator is asked about."""
        return len(self.asked) + self.fresh

    @property
    def hash(self) -> str:
        """Over all that decides what is done; what an approval names."""
        digest = hashlib.blake2b(json.dumps([self.before, self.after, sorted(self.follows.items())]).encode())
        digest.update(self.asked.select("query_id", "among", "among_secondary").write_json().encode())
        digest.update(self.by.encode())
        return digest.hexdigest()[:16]

    def asked_by(self) -> list[int]:
        """Rows asked about for each change; a row that several ask about counts for the first."""
        return _counts(self.asked, len(self.changes))

    def moved_by(self) -> list[int]:
        """Rows whose primary leaf each change rewrites."""
        return _counts(self.moved, len(self.changes))


def make_plan(
    found: Diff,
    labels: pl.DataFrame,
    *,
    near_below: float = NEAR_BELOW,
    aliases: Mapping[str, str | None] = {},
) -> Plan:
    """What must be done to the labels of the tree before so that they are labels of the tree after.

    Args:
        found: the changes, with what was confirmed.
        labels: query_id, primary, secondary, runner_up, confidence; of the tree before.
        near_below: confidence under which a row may as well belong to its runner-up or to a new leaf beside it.
        aliases: what a runner-up of an earlier tree is called in the tree before; None: it is gone.

    Raises:
        ValueError: a label is no leaf of the tree before.
    """
    rows = mapped(found, labels, aliases)
    asked = questions(rows, found, near_below)
    return Plan(
        before=version_of(found.before),
        after=version_of(found.after),
        changes=found.changes,
        follows=dict(found.follows),
        asked=asked,
        moved=_moved(rows, asked, found),
        touched=_altered(rows, asked)
        .select("query_id", primary="was_primary", secondary="was_secondary")
        .sort("query_id"),
        partitions=_partitions(rows, asked, found.before, found.after),
    )


def plan_back(found: Diff, labels: pl.DataFrame, kept: pl.DataFrame) -> Plan:
    """What taking up the labels of a version again does: they are there, so only rows that came since are asked about.

    Args:
        found: the changes.
        labels: those in force; the columns of `labels/query_labels`.
        kept: those of the tree after, as the book holds them; the same columns.
    """
    names = labels.columns
    left = labels.join(kept, on=names, how="anti", nulls_equal=True)
    right = kept.join(left.select("query_id"), on="query_id", how="semi")
    both = left.select("query_id", "primary").join(right.select("query_id", "primary"), on="query_id", suffix="_now")
    moved = both.filter(pl.col("primary") != pl.col("primary_now")).sort("query_id")
    pair = [rows.select("query_id", "primary", "secondary") for rows in (left, right)]
    touched = pair[0].join(pair[1], on=pair[0].columns, how="anti", nulls_equal=True)
    entered = pair[1].join(pair[0], on=pair[0].columns, how="anti", nulls_equal=True)
    return Plan(
        before=version_of(found.before),
        after=version_of(found.after),
        changes=found.changes,
        follows={},
        asked=pl.DataFrame(schema=QUESTIONS),
        moved=moved.select(
            "query_id", pl.lit(None, pl.Int64).alias("change"), pl.col("primary").alias("from"), to="primary_now"
        ),
        touched=pl.concat([touched, entered]).sort("query_id"),
        partitions=_parted({*left["primary"], *right["primary"]}, found.before, found.after),
        kept=True,
        fresh=len(left) - len(right),
    )


def plan_anew(found: Diff, labels: pl.DataFrame, fresh: int) -> Plan:
    """What labelling everything does: nothing that is there is of use to the annotator.

    Args:
        found: the changes.
        labels: those in force: query_id, primary, secondary.
        fresh: queries to label.
    """
    nothing = {"query_id": pl.String, "change": pl.Int64, "from": pl.String, "to": pl.String}
    plan = Plan(
        before=version_of(found.before),
        after=version_of(found.after),
        changes=found.changes,
        follows={},
        asked=pl.DataFrame(schema=QUESTIONS),
        moved=pl.DataFrame(schema=nothing),
        touched=labels.clear().select("query_id", "primary", "secondary"),
        partitions=Partitions((), (), ()),
        fresh=fresh,
    )
    return touching_all(plan, labels, found)


def touching_all(plan: Plan, labels: pl.DataFrame, found: Diff) -> Plan:
    """A plan after which no row is as it was in the labels in force."""
    leaves = {IRRELEVANT, *(leaf.id for tree in (found.before, found.after) for leaf in tree.leaves)}
    every = labels.select("query_id", "primary", "secondary").sort("query_id")
    return replace(plan, touched=every, partitions=_parted(leaves, found.before, found.after))


def mapped(found: Diff, labels: pl.DataFrame, aliases: Mapping[str, str | None]) -> pl.DataFrame:
    """The labels with every leaf as it is called in the tree after (null: it does not go on), and as it `was_`.

    Raises:
        ValueError: a label is no leaf of the tree before.
    """
    used = {leaf for name in LEAF_COLUMNS for leaf in labels[name].drop_nulls().unique()}
    if strange := sorted(used - {leaf.id for leaf in found.before.leaves} - {IRRELEVANT}):
        version = version_of(found.before)
        raise ValueError(
            f"these labels are not of tree {version}: it has no leaf {', '.join(strange[:5])}; take the labels of that "
            "version (`loopwright taxonomy versions`), or the tree that these labels are of"
        )
    return labels.select(
        "query_id",
        "confidence",
        follow("runner_up", aliases_after(found, aliases)),
        *(follow(name, found.follows) for name in LEAF_COLUMNS),
        *(pl.col(name).alias(f"was_{name}") for name in LEAF_COLUMNS),
    )


def aliases_after(found: Diff, aliases: Mapping[str, str | None]) -> dict[str, str | None]:
    """What every leaf of the tree before, and of trees before that, is called in the tree after; None: it is gone."""
    older = {old: found.follows.get(name) if name else None for old, name in aliases.items()}
    return older | {leaf.id: found.follows.get(leaf.id) for leaf in found.before.leaves}


def follow(name: str, follows: Mapping[str, str] | Mapping[str, str | None]) -> pl.Expr:
    """A column of leaves as they are called after; null where a leaf does not go on."""
    known = {**follows, IRRELEVANT: IRRELEVANT}
    return pl.col(name).replace_strict(known, default=None, return_dtype=pl.String)


def _moved(rows: pl.DataFrame, asked: pl.DataFrame, found: Diff) -> pl.DataFrame:
    """Rows whose primary leaf has another id, by the change that gave it."""
    cause = {leaf: number for number, change in enumerate(found.changes) for leaf in _rewritten(change, found)}
    changed = rows.filter(pl.col("primary").is_not_null() & (pl.col("primary") != pl.col("was_primary")))
    quiet = changed.join(asked, on="query_id", how="anti").sort("query_id")
    by = pl.col("was_primary").replace_strict(cause, default=None, return_dtype=pl.Int64)
    return quiet.select(
        "query_id", by.alias("change"), pl.col("was_primary").alias("from"), pl.col("primary").alias("to")
    )


def _rewritten(change: Change, found: Diff) -> list[str]:
    """Leaves before whose ids a change rewrites."""
    if change.kind is Kind.MERGE or (change.kind in (Kind.RENAME, Kind.MOVE) and not change.is_node):
        return list(change.before)
    if change.is_node:
        return [leaf for leaf in found.follows if leaf.startswith(f"{change.before[0]}.")]
    return []


def _altered(rows: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Rows of which anything changes or may."""
    same = [pl.col(name).eq_missing(pl.col(f"was_{name}")) for name in LEAF_COLUMNS]
    return rows.filter(~pl.all_horizontal(same) | pl.col("query_id").is_in(asked["query_id"].implode()))


def _partitions(rows: pl.DataFrame, asked: pl.DataFrame, before: Taxonomy, after: Taxonomy) -> Partitions:
    altered = _altered(rows, asked)
    questioned = asked.filter(pl.col("among").is_not_null())
    settled = altered.filter(~pl.col("query_id").is_in(questioned["query_id"].implode()))
    touched = {*altered["was_primary"], *settled["primary"].drop_nulls(), *questioned["among"].explode().drop_nulls()}
    return _parted(touched, before, after)


def _parted(touched: set[str], before: Taxonomy, after: Taxonomy) -> Partitions:
    olds, news = {leaf.id for leaf in before.leaves}, {leaf.id for leaf in after.leaves}
    return Partitions(
        changed=tuple(sorted(touched & ((olds & news) | {IRRELEVANT}))),
        appear=tuple(sorted(news - olds)),
        vanish=tuple(sorted(olds - news)),
    )


def _counts(rows: pl.DataFrame, changes: int) -> list[int]:
    found = dict(rows["change"].drop_nulls().value_counts().iter_rows())
    return [found.get(number, 0) for number in range(changes)]
