"""What must hold of the RL policy before it is judged."""

import dagster as dg
import polars as pl

from assets import keys
from assets.policy.assets import QUEUE, TABLE
from assets.tasks.admission import HONEYPOTS, QUARANTINE
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


SAMPLED = (
    "trajectories/seed_trajectories", "trajectories/adaptive_trajectories", "frontier/seed_probes",
    "frontier/boundary_probes", "frontier/nightly_probes", QUEUE,
)  # fmt: skip
"""Every table of attempts that something was learned or decided from."""


@dg.asset_check(asset=keys.RL_POLICY, blocking=True)
def nothing_turned_down_was_ever_sampled(lake: Lake) -> dg.AssetCheckResult:
    """No trajectory, probe or place in the queue is of a task in quarantine, or of a honeypot."""
    barred = pl.concat([lake.read(t, columns=["task_id"]) for t in (QUARANTINE, HONEYPOTS)])
    found = {
        table: len(lake.read(table, columns=["task_id"]).join(barred, on="task_id", how="semi"))
        for table in SAMPLED
        if lake.exists(table)
    }
    wrong = ", ".join(table for table, rows in found.items() if rows)
    return dg.AssetCheckResult(passed=not wrong, metadata={"barred": len(barred), "sampled_in": wrong or "none"})
