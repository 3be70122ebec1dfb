"""What must hold of the frontier before it decides what is trained on."""

import dagster as dg

from assets import keys
from assets.frontier.nightly import MOVES, TABLE
from assets.metadata import markdown_table
from resources.checkpoints import trained_on
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


@dg.asset_check(asset=keys.BOUNDARY_PROBES, blocking=True)
def boundary_probes_are_of_tasks_never_trained_on(lake: Lake) -> dg.AssetCheckResult:
    """No probed task has a row in the ledger of either supervised policy, unless all have."""
    probed, known = set(lake.read("frontier/boundary_probes")["task_id"]), trained_on(lake, "sft/boundary_policy")
    return dg.AssetCheckResult(
        passed=len(probed & known) in {0, len(probed)},
        metadata={"probed": len(probed), "trained_on": len(probed & known)},
    )


@dg.asset_check(asset=keys.REGIONS, blocking=True)
def the_frontier_is_not_empty(lake: Lake) -> dg.AssetCheckResult:
    """Some training task is learnable: otherwise neither adaptive synthesis nor RL has anything to teach."""
    learnable = int((lake.read("frontier/regions")["region"] == "learnable").sum())
    return dg.AssetCheckResult(passed=learnable > 0, metadata={"learnable": learnable})


@dg.asset_check(asset=keys.NIGHTLY_PROBES, blocking=True)
def nightly_probes_are_of_one_policy_and_hold_every_training_task(lake: Lake) -> dg.AssetCheckResult:
    """One result key, and every training task once: none leaves for good."""
    probes, tasks = lake.read(TABLE), lake.read("tasks/admitted_tasks")
    training = sorted(tasks.filter(tasks["split"] == "train")["task_id"])
    whole = sorted(probes["task_id"]) == training
    return dg.AssetCheckResult(
        passed=whole and probes["key"].n_unique() == 1,
        metadata={"keys": probes["key"].n_unique(), "tasks": len(probes), "training": len(training)},
    )


@dg.asset_check(asset=keys.NIGHTLY_PROBES)
def no_pass_rate_moved_by_itself(lake: Lake) -> dg.AssetCheckResult:
    """No family or pool passes at another rate than this policy's earlier attempts let expect: a failure is an alarm.

    Policy, world, verifier and sampler are the same by their hashes; so something moved that no hash sees.
    """
    moved = lake.read(MOVES)
    evidence = {"evidence": dg.MetadataValue.md(markdown_table(moved))} if len(moved) else {}
    return dg.AssetCheckResult(passed=moved.is_empty(), metadata={"alarms": len(moved), **evidence})
