"""The leaves of the tree that a profile or a setting names: what the line's partitions are made from."""

from pathlib import Path

import dagster as dg

from assets.partitions import add_partitions, over
from assets.taxonomy.tree import Taxonomy, default_folder, load_taxonomy


def tree_in(folder: str) -> Taxonomy:
    """The tree in a folder; the default tree where it is empty.

    Raises:
        FileNotFoundError: the folder holds no tree.
        TaxonomyError: a file of it does not follow the schema.
    """
    return load_taxonomy(Path(folder).expanduser() if folder else default_folder())


def tags_over_leaves(instance: dg.DagsterInstance, folder: str = "") -> dict[str, str]:
    """The tags of a run over every leaf of a tree, whose partitions are then known.

    Raises:
        FileNotFoundError, TaxonomyError: see `tree_in`.
    """
    return over(add_partitions(instance, [leaf.id for leaf in tree_in(folder).leaves]))
