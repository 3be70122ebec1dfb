"""Random trees, edits of them, labels of them, and an annotator that counts what it is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

import polars as pl
from hypothesis import strategies as st

from assets.labels.rules import IRRELEVANT
from assets.labels.table import LABEL_SCHEMA, LabelTable, keyed
from assets.taxonomy.migration import Entry, Migration, Said
from assets.taxonomy.stored import node_of, other_of
from assets.taxonomy.tree import Leaf, Taxonomy

Tree = Mapping[str, tuple[str, ...]]
"""Leaf -> its examples, which are its meaning."""


def taxonomy(tree: Tree, *, names: str = "", definitions: Mapping[str, str] = {}) -> Taxonomy:
    """The tree with an Other under every node, as the loader makes it."""
    nodes: dict[str, set[str]] = {"": set()}
    for leaf in tree:
        parts = leaf.split(".")
        for depth, part in enumerate(parts):
            nodes.setdefault(".".join(parts[:depth]), set()).add(part)
    leaves = [Leaf(i, f"{i}{names}", i, f"about {examples[0]}", tuple(examples)) for i, examples in tree.items()]
    for node, below in sorted(nodes.items()):
        definition = f"none of those here: {definitions.get(node, 'any')}"
        leaves.append(Leaf(other_of(node), "Other", "其他", definition, siblings=tuple(sorted(below))))
    return Taxonomy(tuple(leaves))


def fresh(tree: Tree, many: int = 6) -> tuple[str, ...]:
    """Examples that no leaf of a tree has."""
    used = {text for examples in tree.values() for text in examples}
    names = (f"say {i}" for i in count(len(used)))
    return tuple(name for name, _ in zip((n for n in names if n not in used), range(many), strict=False))


@st.composite
def trees(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """A small tree of up to three levels."""
    found: dict[str, tuple[str, ...]] = {}
    for branch in range(draw(st.integers(1, 3))):
        for node in range(draw(st.integers(1, 3))):
            under = draw(st.integers(0, 3))
            stem = f"b{branch}.n{node}"
            for leaf in [f"{stem}.l{i}" for i in range(under)] or [stem]:
                found[leaf] = fresh(found)
    return found


@dataclass
class Edited:
    """A tree after some edits, and what a migration file would say of them."""

    tree: dict[str, tuple[str, ...]]
    entries: list[Entry] = field(default_factory=list)


@st.composite
def edits(draw: st.DrawFn, before: Tree) -> Edited:
    """Up to three edits of different leaves."""
    edited = Edited(dict(before))
    for leaf in draw(st.lists(st.sampled_from(sorted(before)), max_size=3, unique=True)):
        said = {one for entry in edited.entries for one in (*entry.before, *entry.after)}
        if leaf in edited.tree and leaf not in said:
            draw(st.sampled_from(EDITS))(edited, leaf, before, draw(st.booleans()))
    return edited


def _rename(edited: Edited, leaf: str, before: Tree, flag: bool) -> None:
    edited.tree[f"{leaf}_renamed"] = edited.tree.pop(leaf)


def _move(edited: Edited, leaf: str, before: Tree, flag: bool) -> None:
    target = f"moved.{leaf.rpartition('.')[2]}" if flag else f"b0.moved.{leaf.rpartition('.')[2]}"
    if target not in edited.tree:
        edited.tree[target] = edited.tree.pop(leaf)


def _remove(edited: Edited, leaf: str, before: Tree, flag: bool) -> None:
    if len(edited.tree) > 1:
        del edited.tree[leaf]


def _edit(edited: Edited, leaf: str, before: Tree, flag: bool) -> None:
    edited.tree[leaf] = fresh(edited.tree)


def _add(edited: Edited, leaf: str, before: Tree, flag: bool) -> None:
    new = f"{node_of(leaf)}.added" if flag else "b9.added"
    edited.tree.setdefault(new, fresh(edited.tree))


def _split(edited: Edited, leaf: str, before: Tree, flag: bool) -> None:
    if len(edited.tree[leaf]) < 2:
        return
    examples = edited.tree.pop(leaf)
    half = len(examples) // 2
    into = [f"{leaf}.s{i}" for i in range(2)] if flag else [f"{leaf}_s{i}" for i in range(2)]
    edited.tree |= {into[0]: examples[:half], into[1]: examples[half:]}
    edited.entries.append(Entry(Said.SPLIT, (leaf,), tuple(into), confirmed=True, where="m.yaml:1"))


def _merge(edited: Edited, leaf: str, before: Tree, flag: bool) -> None:
    said = {one for entry in edited.entries for one in (*entry.before, *entry.after)}
    others = [one for one in sorted(edited.tree) if one != leaf and one in before and one not in said]
    if others:
        other = others[0]
        both = edited.tree.pop(leaf) + edited.tree.pop(other)
        into = other if flag else f"{leaf}_merged"
        edited.tree[into] = both
        edited.entries.append(Entry(Said.MERGE, (leaf, other), (into,), confirmed=True, where="m.yaml:1"))


Edit = Callable[[Edited, str, Tree, bool], None]
EDITS: list[Edit] = [_rename, _move, _remove, _edit, _add, _split, _merge]


@st.composite
def label_frames(draw: st.DrawFn, tree: Taxonomy) -> pl.DataFrame:
    """Labels of a few dozen queries, their order shuffled."""
    leaves = [*(leaf.id for leaf in tree.leaves), IRRELEVANT]
    rows = []
    for number in range(draw(st.integers(0, 40))):
        primary, secondary, near = (draw(st.sampled_from(leaves)) for _ in range(3))
        two = primary != IRRELEVANT and secondary not in (primary, IRRELEVANT) and draw(st.booleans())
        sure = draw(st.sampled_from([0.2, 0.45, 0.9]))
        rows.append((f"q{number:03}", primary, secondary if two else None, near if near != primary else None, sure))
    shown = pl.DataFrame(
        rows, schema=["query_id", "primary", "secondary", "runner_up", "confidence"], orient="row",
        schema_overrides=LABEL_SCHEMA,
    )  # fmt: skip
    rest = {"difficulty": pl.lit(2, pl.Int64), "difficulty_axes": pl.lit("{}"), "constraints": pl.lit("{}")}
    return shown.with_columns(annotator=pl.lit("counting"), **rest).select(*LABEL_SCHEMA).cast(dict(LABEL_SCHEMA))


class Counting:
    """Answers with one of the leaves allowed, and keeps every query that it was asked about."""

    def __init__(self, pick: int = 0, tree: Taxonomy | None = None) -> None:
        self.pick = pick
        self.asked: list[str] = []
        self.leaves = [leaf.id for leaf in tree.leaves] if tree else []

    def __call__(self, wanted: pl.DataFrame) -> pl.DataFrame:
        """Labels of some queries: query_id and among."""
        self.asked += wanted["query_id"].to_list()
        rows = [
            (query_id, allowed[self.pick % len(allowed)], 0.6 + self.pick / 100)
            for query_id, allowed in wanted.select("query_id", "among").iter_rows()
        ]
        shown = pl.DataFrame(
            rows, schema={n: LABEL_SCHEMA[n] for n in ("query_id", "primary", "confidence")}, orient="row"
        )
        nothing = {n: pl.lit(None, pl.String) for n in ("secondary", "runner_up")}
        rest = {"difficulty": pl.lit(3, pl.Int64), "difficulty_axes": pl.lit("{}"), "constraints": pl.lit("{}")}
        return shown.with_columns(annotator=pl.lit("counting"), **nothing, **rest).select(*LABEL_SCHEMA)

    def rows(self, queries: pl.DataFrame) -> LabelTable:
        """As `labels_under` asks: anything is allowed where no leaves are named."""
        wanted = keyed(queries)
        if "among" not in wanted.columns:
            shares = [self.leaves[hash_of(key) % len(self.leaves) :][:1] for key in wanted["key"]]
            wanted = wanted.with_columns(among=pl.Series(shares, dtype=pl.List(pl.String)))
        return LabelTable(self(wanted).join(wanted.select("query_id", "key"), on="query_id").lazy(), len(wanted))


def hash_of(key: str) -> int:
    """A number that is the same in every process."""
    return int(key[:8], 16)


def migration(before: str, after: str, edited: Edited) -> Migration:
    """What a file would say of the edits."""
    return Migration(before, after, tuple(edited.entries))
