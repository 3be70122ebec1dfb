"""Named selections of the graph. Their sizes come from the profile, which is already every stage's default."""

from typing import Any, Final

import dagster as dg

from assets import keys
from assets.taxonomy.bill import bill_of
from assets.taxonomy.outline import outline
from assets.taxonomy.stale import stale_in
from dagster_project.tree_changes import planned, rates_in, wait_for_approval, what_a_plan_is_for
from resources.lake import Lake
from resources.registry import Registry

factory: Final = dg.define_asset_job(
    "factory",
    selection=dg.AssetSelection.all() - dg.AssetSelection.assets(*keys.BY_THE_CLOCK),
    description="The whole line: raw queries in, a better policy and its report out.",
)
reprobe_frontier: Final = dg.define_asset_job(
    "reprobe_frontier",
    selection=dg.AssetSelection.assets(keys.NIGHTLY_PROBES),
    executor_def=dg.in_process_executor,  # one process per night: when it is killed, nothing of it stays behind
    description="Measure again what the newest policy solves sometimes; attempts already recorded are not repeated.",
)
rebuild_leaves: Final = dg.define_asset_job(
    "rebuild_leaves",
    selection=dg.AssetSelection.assets(*keys.BY_LEAF, keys.IRRELEVANCE_SET, keys.DROPPED),
    executor_def=dg.in_process_executor,  # as in a demo: a process for each step and check starts longer than it works
    description="Make the leaves anew that a change of the tree touches, up to the trajectories that policies learn.",
)

rename_leaves: Final = dg.define_asset_job(
    "rename_leaves",
    selection=dg.AssetSelection.assets(keys.INTENT_TAXONOMY),
    executor_def=dg.in_process_executor,
    description="Take up what was edited in the tree's files and changes no meaning, as names: no label is touched.",
)


@dg.op
def show_plan(context: dg.OpExecutionContext, lake: Lake, registry: Registry) -> None:
    """Work out what the change of the tree does and costs, and show it on the taxonomy's page."""
    made_for = what_a_plan_is_for(lake)
    plan, queries, leaves = planned(lake)
    rates, source = rates_in(lake)
    price, follows = bill_of(len(plan.asked), plan.fresh, rates), stale_in(lake, registry, plan)
    wait_for_approval(lake, plan, leaves, made_for)
    told = outline(plan, price, bill_of(0, queries, rates), follows, source)
    context.log.info("the tree changed; nothing is run before the plan is approved:\n%s", told)
    shown: dict[str, Any] = {
        "plan": dg.MetadataValue.md(f"```\n{told}\n```"),
        "approve": "loopwright taxonomy apply --approve-only",
        "leaves": dg.MetadataValue.json(leaves),
        "calls": price.calls,
        "seconds": price.seconds,
        "usd": price.usd,
        **{f"stale_{name.replace(' ', '_')}": count for name, count in follows.counts().items()},
    }
    context.add_output_metadata(shown)
    context.log_event(dg.AssetObservation(keys.INTENT_TAXONOMY, metadata=shown))


@dg.job(executor_def=dg.in_process_executor)
def plan_tree_change() -> None:
    """Say what a change of the tree would do and cost; nothing is changed."""
    show_plan()


JOBS: Final[list[Any]] = [factory, reprobe_frontier, rebuild_leaves, rename_leaves, plan_tree_change]
