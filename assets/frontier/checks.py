"""What must hold of the frontier before it decides what is trained on."""

import dagster as dg

from assets import keys
from resources.lake import Lake


def _of_one_policy(lake: Lake, table: str, checkpoint: str) -> dg.AssetCheckResult:
    probes, tasks = lake.read(table), lake.read("tasks/admitted_tasks")
    hidden = probes.join(tasks.filter(tasks["split"] != "train"), on="task_id", how="semi")
    passed = probes["key"].n_unique() == 1 and hidden.is_empty() and bool(lake.exists(checkpoint))
    return dg.AssetCheckResult(
        passed=passed, metadata={"keys": probes["key"].n_unique(), "not_for_training": len(hidden)}
    )


@dg.asset_check(asset=keys.SEED_PROBES, blocking=True)
def seed_probes_are_of_one_policy_on_training_tasks(lake: Lake) -> dg.AssetCheckResult:
    """One result key, and no hidden task among the probed."""
    return _of_one_policy(lake, "frontier/seed_probes", "sft/seed_policy")


@dg.asset_check(asset=keys.SEED_PROBES, blocking=True)
def seed_probes_are_of_tasks_never_trained_on(lake: Lake) -> dg.AssetCheckResult:
    """No probed task has a seed trajectory, unless all have: both stages must be given the same warm-up share."""
    probed, known = lake.read("frontier/seed_probes"), lake.read("trajectories/seed_trajectories", columns=["task_id"])
    trained = len(probed.join(known, on="task_id", how="semi"))
    return dg.AssetCheckResult(
        passed=trained in {0, len(probed)}, metadata={"probed": len(probed), "trained_on": trained}
    )


@dg.asset_check(asset=keys.BOUNDARY_PROBES, blocking=True)
def boundary_probes_are_of_one_policy_on_training_tasks(lake: Lake) -> dg.AssetCheckResult:
    """One result key, and no hidden task among the probed."""
    return _of_one_policy(lake, "frontier/boundary_probes", "sft/boundary_policy")


@dg.asset_check(asset=keys.REGIONS, blocking=True)
def the_frontier_is_not_empty(lake: Lake) -> dg.AssetCheckResult:
    """Some training task is learnable: otherwise neither adaptive synthesis nor RL has anything to teach."""
    learnable = int((lake.read("frontier/regions")["region"] == "learnable").sum())
    return dg.AssetCheckResult(passed=learnable > 0, metadata={"learnable": learnable})
