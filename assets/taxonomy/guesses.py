"""What the difference of two trees looks like where ids and meanings cannot tell: guesses for a person to confirm.

A leaf that is gone is compared with those that are new, or have grown, by the examples they share. A guess costs
nothing until it is confirmed in a migration file.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from assets.taxonomy.migration import Entry, Said
from assets.taxonomy.stored import node_of
from assets.taxonomy.tree import Leaf

_SHARED: Final = 0.3
"""Ours: share of the shorter list of examples that two leaves must have in common to be taken for related."""


def likely_causes(gone: Sequence[Leaf], new: Sequence[Leaf], grown: Sequence[Leaf]) -> tuple[Entry, ...]:
    """Splits, merges and renames with an edit that would explain the leaves that are gone.

    Args:
        gone: leaves that the tree after does not have.
        new: leaves that the tree before did not have.
        grown: leaves of both, whose meaning is another one now.
    """
    splits = [entry for leaf in gone if (entry := _split(leaf, new))]
    left = [leaf for leaf in gone if not any(leaf.id in entry.before for entry in splits)]
    taken = {leaf for entry in splits for leaf in entry.after}
    targets = {leaf.id: _heir(leaf, [*(n for n in new if n.id not in taken), *grown]) for leaf in left}
    return (*splits, *_joined(targets, {leaf.id for leaf in grown}))


def related(one: Leaf, other: Leaf) -> float:
    """Share of the shorter list of examples that both have, 0..1."""
    mine, theirs = _texts(one), _texts(other)
    return len(mine & theirs) / max(1, min(len(mine), len(theirs)))


def _split(leaf: Leaf, new: Sequence[Leaf]) -> Entry | None:
    under = [n.id for n in new if n.id.startswith(f"{leaf.id}.")]
    beside = [n.id for n in new if node_of(n.id) == node_of(leaf.id) and related(leaf, n) >= _SHARED]
    into = under or beside
    return Entry(Said.SPLIT, (leaf.id,), tuple(sorted(into))) if len(into) > 1 else None


def _heir(leaf: Leaf, candidates: Sequence[Leaf]) -> str | None:
    """The leaf that most looks like what this one became; None where none does."""
    lead, heir = min(((-_likeness(leaf, other), other.id) for other in candidates), default=(0.0, ""))
    return heir if -lead >= _SHARED else None


def _likeness(leaf: Leaf, other: Leaf) -> float:
    same_name = leaf.name_en == other.name_en or leaf.name_zh == other.name_zh
    same_id = leaf.id.rpartition(".")[2] == other.id.rpartition(".")[2]
    return related(leaf, other) + 0.5 * same_name + 0.5 * same_id


def _joined(targets: Mapping[str, str | None], grown: set[str]) -> Iterable[Entry]:
    for target in sorted({found for found in targets.values() if found}):
        sources = sorted(leaf for leaf, found in targets.items() if found == target)
        if target in grown:
            yield Entry(Said.MERGE, tuple(sorted([*sources, target])), (target,))
        elif len(sources) > 1:
            yield Entry(Said.MERGE, tuple(sources), (target,))
        else:
            yield Entry(Said.RENAME, tuple(sources), (target,))


def _texts(leaf: Leaf) -> set[str]:
    return {text.casefold() for text in (*leaf.examples, *leaf.synonyms)}
