"""A taxonomy read back from its table in the lake, and the version under which its labels are kept.

The version is over ids and meanings and not over names: what only changes a name, or the order of the files, is the
same tree to every label (pipeline law 9).
"""

import hashlib
import json
from typing import Final

import polars as pl

from assets.taxonomy.tree import OTHER, Leaf, Taxonomy

TREES: Final = "taxonomy/versions"
"""Table with one partition per version: the tree that it was, under the names that it had last."""
CHANGES: Final = "taxonomy/changes"
"""Table of the rows that the last change of the tree asked about or moved."""
_COLUMNS: Final = ("leaf", "name_en", "name_zh", "definition", "examples", "counter_examples", "synonyms")


def taxonomy_of(table: pl.DataFrame) -> Taxonomy:
    """The tree of a `taxonomy/intent_taxonomy` table; which leaves are our additions is not in the table.

    Args:
        table: as `Taxonomy.table` makes it.
    """
    beside = _children(table["leaf"].to_list())
    leaves = []
    for ident, name_en, name_zh, definition, *lists in table.select(_COLUMNS).iter_rows():
        examples, counter_examples, synonyms = (tuple(cell) for cell in lists)
        node, _, last = ident.rpartition(".")
        siblings = tuple(sorted(beside[node])) if last == OTHER else ()
        texts = (ident, name_en, name_zh, definition, examples, counter_examples, synonyms)
        leaves.append(Leaf(*texts, siblings=siblings))
    return Taxonomy(tuple(leaves))


def version_of(taxonomy: Taxonomy) -> str:
    """Hash over what the leaves mean: 16 hex digits, the same for any order of leaves and any names."""
    meanings = sorted((leaf.id, leaf.meaning) for leaf in taxonomy.leaves)
    return hashlib.blake2b(json.dumps(meanings).encode(), digest_size=8).hexdigest()


def node_of(ident: str) -> str:
    """The node that a leaf or node stands under; the whole tree is the empty text."""
    return ident.rpartition(".")[0]


def other_of(node: str) -> str:
    """The Other of a node."""
    return f"{node}.{OTHER}".strip(".")


def nodes_of(taxonomy: Taxonomy) -> frozenset[str]:
    """Every inner node, the whole tree (the empty text) among them."""
    return frozenset(node_of(leaf.id) for leaf in taxonomy.leaves if leaf.is_other)


def _children(leaves: list[str]) -> dict[str, set[str]]:
    """Last ids of what stands under each node, without its Other."""
    found: dict[str, set[str]] = {"": set()}
    for leaf in leaves:
        parts = leaf.split(".")
        for depth, part in enumerate(parts):
            under = found.setdefault(".".join(parts[:depth]), set())
            if part != OTHER:
                under.add(part)
    return found
