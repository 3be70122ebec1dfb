"""Which labels a change puts in question, and among which leaves each is asked about again.

A question is one row, one slot (its first leaf or its second) and the leaves that may be the answer, always with the
present leaf where that goes on and with an Other where the row may belong to none of them.

Where a leaf is new, the rows in the Others of its node and of the nodes above are asked, and those of the leaves beside
it of which the annotator was not sure; an edited leaf asks its own rows and those that nearly were its rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from assets.taxonomy.changes import Change, Diff, Kind
from assets.taxonomy.stored import node_of, other_of
from assets.taxonomy.tree import OTHER, Taxonomy

FIRST, SECOND = "primary", "secondary"
QUESTIONS: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "query_id": pl.String,
    "change": pl.Int64,
    "among": pl.List(pl.String),
    "among_secondary": pl.List(pl.String),
}
"""Columns of a plan's questions: the first change that asks, and the leaves allowed as first and as second leaf; null
where that slot is not asked about."""
_ASKED: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "query_id": pl.String,
    "change": pl.Int64,
    "slot": pl.String,
    "allowed": pl.List(pl.String),
}


class Question(NamedTuple):
    """Rows asked about for one reason."""

    slot: str
    rows: pl.Expr
    """Which rows, over the columns of `mapped`."""
    allowed: tuple[str, ...]
    """Leaves that may be the answer, beside the present one."""
    keeps: bool
    """Whether the present leaf may be the answer too."""


def questions(rows: pl.DataFrame, found: Diff, near_below: float) -> pl.DataFrame:
    """Every row in question, once, with all the leaves that may be the answer; sorted by query.

    Args:
        rows: as `plan.mapped` makes them.
        found: the changes.
        near_below: confidence under which a row may as well belong to its runner-up or to a new leaf beside it.
    """
    parts = [pl.DataFrame(schema=_ASKED)]
    for number, change in enumerate(found.changes):
        parts += [_asked(rows, number, question) for question in _questions(change, found, near_below)]
    asked = pl.concat(parts)
    slots = [_of_slot(asked, FIRST, "among"), _of_slot(asked, SECOND, "among_secondary")]
    both = slots[0].join(slots[1], on="query_id", how="full", coalesce=True)
    first = asked.group_by("query_id").agg(pl.col("change").min())
    return both.join(first, on="query_id").select(*QUESTIONS).cast(pl.Schema(QUESTIONS)).sort("query_id")


def leaves_under(tree: Taxonomy, node: str) -> tuple[str, ...]:
    """The real leaves under a node, at any depth."""
    start = f"{node}.".lstrip(".")
    return tuple(leaf.id for leaf in tree.real() if leaf.id.startswith(start))


def _questions(change: Change, found: Diff, near_below: float) -> Iterable[Question]:
    if change.kind is Kind.SPLIT:
        return _of_gone(change.before[0], (*change.after, _other_beside(change.after)))
    if change.kind is Kind.REMOVAL:
        up = node_of(change.before[0])
        while up not in found.nodes:
            up = node_of(up)
        home = found.nodes[up]
        return _of_gone(change.before[0], (*leaves_under(found.after, home), other_of(home)))
    if change.kind is Kind.ADDITION:
        added = {c.after[0] for c in found.changes if c.kind is Kind.ADDITION}
        return _of_new(change.after[0], found.after, added, near_below)
    if change.kind is Kind.EDIT:
        return _of_edited(change.after[0], found.after, near_below)
    return ()


def _of_gone(leaf: str, allowed: Sequence[str]) -> Iterator[Question]:
    """Rows that carry a leaf that is there no more."""
    for slot in (FIRST, SECOND):
        yield Question(slot, pl.col(f"was_{slot}") == leaf, tuple(allowed), keeps=False)


def _of_new(leaf: str, tree: Taxonomy, added: set[str], near_below: float) -> Iterator[Question]:
    node = node_of(leaf)
    parts = node.split(".")
    others = [OTHER, *(other_of(".".join(parts[: depth + 1])) for depth in range(len(parts)))]
    yield Question(FIRST, pl.col(FIRST).is_in(others), (leaf,), keeps=True)
    beside = [one.id for one in tree.real() if node_of(one.id) == node and one.id not in added]
    unsure = pl.col(FIRST).is_in(beside) & (pl.col("confidence") < near_below)
    yield Question(FIRST, unsure, (leaf, other_of(node)), keeps=True)


def _of_edited(leaf: str, tree: Taxonomy, near_below: float) -> Iterator[Question]:
    node = node_of(leaf)
    if leaf == other_of(node):
        yield Question(FIRST, pl.col(FIRST) == leaf, leaves_under(tree, node), keeps=True)
        return
    for slot in (FIRST, SECOND):
        yield Question(slot, pl.col(slot) == leaf, (leaf, other_of(node)), keeps=True)
    near = (pl.col("runner_up") == leaf) & (pl.col("confidence") < near_below) & (pl.col(FIRST) != leaf)
    yield Question(FIRST, near, (leaf, other_of(node)), keeps=True)


def _other_beside(leaves: Sequence[str]) -> str:
    """The Other of the deepest node that holds all these leaves."""
    shared = []
    for parts in zip(*(node_of(leaf).split(".") for leaf in leaves), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return other_of(".".join(shared))


def _asked(rows: pl.DataFrame, number: int, question: Question) -> pl.DataFrame:
    allowed = pl.lit(list(question.allowed), dtype=pl.List(pl.String))
    present = pl.concat_list(pl.col(question.slot)) if question.keeps else pl.lit([], dtype=pl.List(pl.String))
    found = rows.filter(question.rows)
    return found.select(
        "query_id", change=pl.lit(number, pl.Int64), slot=pl.lit(question.slot), allowed=present.list.concat(allowed)
    )


def _of_slot(asked: pl.DataFrame, slot: str, name: str) -> pl.DataFrame:
    """All leaves allowed in one slot of each row, in alphabetical order."""
    mine = asked.filter(pl.col("slot") == slot).explode("allowed")
    return mine.group_by("query_id").agg(pl.col("allowed").drop_nulls().unique().sort().alias(name))
