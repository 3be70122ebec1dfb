"""What must hold of a checkpoint before it is probed or trained further."""

import json

import dagster as dg

from assets import keys
from assets.sft.assets import BOUNDARY, SEED
from resources.checkpoints import LEDGER, read_checkpoint
from resources.lake import Lake


def _consumed_only_its_rows(lake: Lake, table: str, rows: str) -> dg.AssetCheckResult:
    checkpoint = read_checkpoint(lake, table)
    served = {r for step in json.loads((checkpoint.model / LEDGER).read_text(encoding="utf-8")) for r in step}
    strangers = served - set(lake.read(rows)["trajectory_id"])
    return dg.AssetCheckResult(
        passed=bool(served) and not strangers, metadata={"served": len(served), "strangers": len(strangers)}
    )


@dg.asset_check(asset=keys.SEED_POLICY, blocking=True)
def seed_policy_consumed_only_verified_rows(lake: Lake) -> dg.AssetCheckResult:
    """Every row that the loader served is a verified seed trajectory."""
    return _consumed_only_its_rows(lake, SEED, "trajectories/seed_trajectories")


@dg.asset_check(asset=keys.BOUNDARY_POLICY, blocking=True)
def boundary_policy_consumed_only_verified_rows(lake: Lake) -> dg.AssetCheckResult:
    """Every row that the loader served belongs to the mixture."""
    return _consumed_only_its_rows(lake, BOUNDARY, "sft/boundary_mixture")
