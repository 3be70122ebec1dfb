"""The partitions of the line: one per intent leaf, so that a change in one leaf makes exactly that leaf stale.

Dagster follows staleness only over edges of fewer than 100 partitions, so that a tree with more leaves is cut higher
up: at level 2, or at level 1. Which keys there are is kept in the instance (dynamic partitions): whoever starts a run
by command adds those of the tree, and a sensor does it for the pages.

Source: pipeline stages 2 and 3; Dagster 1.13 for the limit.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Final

import dagster as dg

from assets.labels.rules import IRRELEVANT

warnings.filterwarnings("ignore", "Parameter `backfill_policy`", dg.BetaWarning)  # it is what makes one run of many
LEAVES: Final = dg.DynamicPartitionsDefinition(name="leaf")
ONE_RUN: Final = dg.BackfillPolicy.single_run()
MOST: Final = 99
"""Partitions over which Dagster still follows staleness."""
BESIDE: Final = "loopwright/leaves"
"""Tag of a run over some leaves that do not follow each other: those beside the one that Dagster knows of."""
RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def partition_of_each(leaves: Iterable[str]) -> dict[str, str]:
    """The partition of every leaf of a tree, and of the queries that no tool is for.

    Args:
        leaves: dotted ids, the Others among them.

    Raises:
        ValueError: there are more level-1 branches than partitions allowed.
    """
    known = sorted({*leaves, IRRELEVANT})
    for depth in range(max(leaf.count(".") for leaf in known) + 1, 0, -1):
        cut = {leaf: ".".join(leaf.split(".")[:depth]) for leaf in known}
        if len(set(cut.values())) <= MOST:
            return cut
    beside = {IRRELEVANT, "other"}
    branches = len({leaf.split(".")[0] for leaf in known} - beside)
    raise ValueError(
        f"the tree has {branches} level-1 branches; at most {MOST - len(beside)} can be told apart: join some"
    )


def add_partitions(instance: dg.DagsterInstance, leaves: Iterable[str]) -> list[str]:
    """Make the partitions of a tree known, and forget those that it has no more; returns all, in Dagster's order."""
    wanted = sorted(set(partition_of_each(leaves).values()))
    known = instance.get_dynamic_partitions(str(LEAVES.name))
    instance.add_dynamic_partitions(str(LEAVES.name), [key for key in wanted if key not in known])
    for key in known:
        if key not in wanted:
            instance.delete_dynamic_partition(str(LEAVES.name), key)
    return list(instance.get_dynamic_partitions(str(LEAVES.name)))


def over_some(partitions: Sequence[str]) -> dict[str, str]:
    """The tags of one run over these partitions, wherever they stand in Dagster's order."""
    return {**over(partitions[:1]), BESIDE: ",".join(partitions[1:])}


def over(partitions: Sequence[str]) -> dict[str, str]:
    """The tags of one run over all these partitions, which follow each other in Dagster's order."""
    return {RANGE_START: partitions[0], RANGE_END: partitions[-1]}
