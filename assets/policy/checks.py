"""What must hold of the RL policy before it is judged."""

import dagster as dg
import polars as pl

from assets import keys
from assets.policy.assets import QUEUE, TABLE
from resources.checkpoints import read_checkpoint
from resources.lake import Lake


@dg.asset_check(asset=keys.RL_POLICY, blocking=True)
def rl_starts_from_the_current_boundary_policy(lake: Lake) -> dg.AssetCheckResult:
    """Its parent is the boundary policy whose frontier was probed, and it is another model."""
    checkpoint, parent = read_checkpoint(lake, TABLE), read_checkpoint(lake, "sft/boundary_policy")
    passed = checkpoint.manifest["parent"] == parent.version != checkpoint.version
    return dg.AssetCheckResult(passed=passed, metadata={"parent": checkpoint.manifest["parent"]})


@dg.asset_check(asset=keys.RL_POLICY, blocking=True)
def only_training_tasks_in_the_queue(lake: Lake) -> dg.AssetCheckResult:
    """No hidden or quarantined task can be drawn."""
    training = lake.read("tasks/admitted_tasks").filter(pl.col("split") == "train")
    strangers = lake.read(QUEUE).join(training, on="task_id", how="anti")
    return dg.AssetCheckResult(
        passed=strangers.is_empty(), metadata={"strangers": len(strangers), "training": len(training)}
    )
