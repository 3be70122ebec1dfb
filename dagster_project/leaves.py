"""The leaves of the tree that a profile or a setting names: what the line's partitions are made from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.partitions import add_partitions, over, over_some
from assets.taxonomy.tree import Taxonomy, default_folder, load_taxonomy


def tree_in(folder: str) -> Taxonomy:
    """The tree in a folder; the default tree where it is empty.

    Raises:
        FileNotFoundError: the folder holds no tree.
        TaxonomyError: a file of it does not follow the schema.
    """
    return load_taxonomy(Path(folder).expanduser() if folder else default_folder())


def tags_over_leaves(instance: dg.DagsterInstance, folder: str = "", leaves: Sequence[str] = ()) -> dict[str, str]:
    """The tags of a run over every leaf of a tree, or over some of its partitions; its partitions are then known.

    Raises:
        FileNotFoundError, TaxonomyError: see `tree_in`.
    """
    known = add_partitions(instance, [leaf.id for leaf in tree_in(folder).leaves])
    return over_some(leaves) if leaves else over(known)


def materialize_leaves(assets: Sequence[Any], folder: str = "", **more: Any) -> dg.ExecuteInProcessResult:
    """`dagster.materialize` over every leaf of a tree, on an instance that is gone afterwards.

    Args:
        assets: and checks.
        folder: of the tree; empty: the default one.
        more: as `dagster.materialize` takes it.
    """
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(assets, instance=instance, tags=tags_over_leaves(instance, folder), **more)
