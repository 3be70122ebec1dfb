"""What must hold of trajectories before anything learns from them."""

import dagster as dg

from assets import keys
from assets.trajectories.assets import ADAPTIVE, SEED
from resources.lake import Lake


def _only_training_tasks(lake: Lake, table: str) -> dg.AssetCheckResult:
    tasks = lake.read("tasks/admitted_tasks").select("task_id", "split")
    kept = lake.read(table).join(tasks, on="task_id", how="left")
    strangers = kept.filter(kept["split"].is_null() | (kept["split"] != "train"))
    repeated = len(kept) - kept["task_id"].n_unique()
    passed = strangers.is_empty() and repeated == 0 and len(kept) > 0
    return dg.AssetCheckResult(
        passed=passed, metadata={"kept": len(kept), "strangers": len(strangers), "repeated": repeated}
    )


@dg.asset_check(asset=keys.SEED_TRAJECTORIES, blocking=True)
def seed_trajectories_solve_admitted_training_tasks(lake: Lake) -> dg.AssetCheckResult:
    """One trajectory per task, each of an admitted task of the training split."""
    return _only_training_tasks(lake, SEED)


@dg.asset_check(asset=keys.ADAPTIVE_TRAJECTORIES, blocking=True)
def adaptive_trajectories_solve_admitted_training_tasks(lake: Lake) -> dg.AssetCheckResult:
    """One trajectory per task, each of an admitted task of the training split."""
    return _only_training_tasks(lake, ADAPTIVE)
