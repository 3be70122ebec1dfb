"""The taxonomy as a teacher sees it: at each node the children to choose from, by id and meaning, without their names.

Because names are left out and a node is shown by its own definition and not by its leaves, a rename changes no prompt,
and a leaf that is split, added or edited changes those of its own node only.

Source: pipeline law 9.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from assets.taxonomy.tree import OTHER

_OWN_DEFINITION = "Here: "
"""In the definition of an Other: what stands before that of its node."""
_NO_OTHER_FITS = "None of the others fits."


class Option(NamedTuple):
    """One answer that can be chosen."""

    id: str
    definition: str
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()

    def told(self) -> str:
        """The option as it stands in a prompt."""
        lines = [f"- {self.id}: {self.definition}"]
        lines += [f"    for example: {' | '.join(self.examples)}"] if self.examples else []
        lines += [f"    but not: {' | '.join(self.counter_examples)}"] if self.counter_examples else []
        return "\n".join(lines)


class Tree(NamedTuple):
    """What can be chosen at every inner node."""

    nodes: Mapping[str, tuple[Option, ...]]
    """By dotted id, the whole tree under the empty one; sorted by id, the Other last."""
    leaves: Mapping[str, Option]
    """By dotted id, the Others among them."""

    def among(self, leaves: Sequence[str]) -> tuple[Option, ...]:
        """Exactly these leaves as options, sorted by id.

        Raises:
            ValueError: there is none, or one of them is no leaf.
        """
        unknown = sorted(set(leaves) - set(self.leaves))
        if unknown or not leaves:
            raise ValueError(
                f"choose among leaves of the taxonomy, got {', '.join(unknown) or 'none'}; "
                f"there are: {', '.join(sorted(self.leaves))}"
            )
        return tuple(self.leaves[leaf] for leaf in sorted(set(leaves)))


def tree_of(taxonomy: pl.DataFrame) -> Tree:
    """The tree of `taxonomy/intent_taxonomy`.

    Args:
        taxonomy: leaf, definition, examples, counter_examples; one row per leaf, the Others among them.
    """
    columns = ("leaf", "definition", "examples", "counter_examples")
    leaves = {
        leaf: Option(leaf, definition, tuple(sorted(examples)), tuple(sorted(counter)))
        for leaf, definition, examples, counter in taxonomy.select(columns).sort("leaf").iter_rows()
    }
    nodes: dict[str, dict[str, Option]] = {}
    for leaf, option in leaves.items():
        parts = leaf.split(".")
        for depth, name in enumerate(parts):
            children = nodes.setdefault(".".join(parts[:depth]), {})
            children[name] = _shown(option, leaves, ".".join(parts[: depth + 1]), name)
    return Tree({node: _other_last(children) for node, children in nodes.items()}, leaves)


def _shown(leaf: Option, leaves: Mapping[str, Option], dotted: str, name: str) -> Option:
    """A child as it is shown under its node: a leaf in full, an inner node by its definition."""
    if name == OTHER:
        return Option(OTHER, _NO_OTHER_FITS)
    if dotted == leaf.id:
        return leaf._replace(id=name)
    own = leaves[f"{dotted}.{OTHER}"].definition
    return Option(name, own.partition(_OWN_DEFINITION)[2] or own)


def _other_last(children: Mapping[str, Option]) -> tuple[Option, ...]:
    return tuple(sorted(children.values(), key=lambda option: (option.id == OTHER, option.id)))
