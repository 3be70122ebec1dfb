"""What must hold of the taxonomy before anything is labelled by it."""

import dagster as dg

from assets import keys
from resources.lake import Lake


@dg.asset_check(asset=keys.INTENT_TAXONOMY, blocking=True)
def no_leaf_twice(lake: Lake) -> dg.AssetCheckResult:
    """Every id is there once, and no two leaves mean the same."""
    table = lake.read("taxonomy/intent_taxonomy")
    repeated = {name: len(table) - table[name].n_unique() for name in ("leaf", "leaf_hash")}
    return dg.AssetCheckResult(passed=not any(repeated.values()), metadata=repeated)


@dg.asset_check(asset=keys.INTENT_TAXONOMY, blocking=True)
def every_node_has_an_other(lake: Lake) -> dg.AssetCheckResult:
    """Under every inner node there is a leaf for what fits nowhere else, so that no query has to be forced."""
    leaves = set(lake.read("taxonomy/intent_taxonomy")["leaf"])
    inner = {leaf.rpartition(".")[0] for leaf in leaves}
    without = sorted(node for node in inner if f"{node}.other".strip(".") not in leaves)
    return dg.AssetCheckResult(passed=not without, metadata={"inner_nodes": len(inner), "without_other": str(without)})
