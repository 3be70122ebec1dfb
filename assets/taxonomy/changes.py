"""The changes between two versions of the tree, typed: what each did to which leaves."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from assets.taxonomy.migration import Entry
from assets.taxonomy.tree import Taxonomy


class Kind(StrEnum):
    """What happened to a leaf or a node."""

    RENAME = "rename"
    """Another name or id, the same meaning."""
    MOVE = "move"
    """The same last id and meaning under another node."""
    MERGE = "merge"
    """Several leaves became one."""
    SPLIT = "split"
    """One leaf became several."""
    REMOVAL = "removal"
    """A leaf is gone."""
    EDIT = "edit"
    """The same id, another meaning."""
    ADDITION = "addition"
    """A leaf is new."""


class Change(NamedTuple):
    """One change."""

    kind: Kind
    before: tuple[str, ...]
    """Leaves of the tree before, or the one node."""
    after: tuple[str, ...]
    """Leaves of the tree after, or the one node."""
    is_node: bool = False
    """Whether a node went with all that is under it."""
    note: str = ""
    """What a person should know, for example that it may be something else."""

    def __str__(self) -> str:
        what = "node " if self.is_node else ""
        if self.before == self.after or not self.before or not self.after:
            return f"{self.kind} {what}{', '.join(self.before or self.after)}"
        return f"{self.kind} {what}{', '.join(self.before)} -> {', '.join(self.after)}"


class Diff(NamedTuple):
    """Two versions of the tree and what happened between them."""

    before: Taxonomy
    after: Taxonomy
    changes: tuple[Change, ...]
    """In a stable order: first what costs nothing."""
    follows: Mapping[str, str]
    """Leaf before -> leaf after, for every leaf that goes on, the Others and the unchanged among them."""
    nodes: Mapping[str, str]
    """Node before -> node after, for every node that goes on; the whole tree is the empty text."""
    proposed: tuple[Entry, ...]
    """What looks like a split, a merge or a rename with an edit, and is not confirmed."""
