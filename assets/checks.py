"""What must hold of every stage that plays episodes: no verifier stumbled over one of them.

Such an attempt is a scored zero, so that stumbling pays nothing, and it may have been right; so nothing that follows
may be made from the stage before the verifier is mended. Its new version then grades everything anew.
"""

from typing import Final

import dagster as dg
import polars as pl

from assets import keys
from assets.metadata import markdown_table
from resources.lake import Lake
from training.journal import verifier_failures

FAILURES: Final = "{}_verifier_failures"
STAGES: Final = {
    "trajectories/seed_trajectories": keys.SEED_TRAJECTORIES,
    "trajectories/adaptive_trajectories": keys.ADAPTIVE_TRAJECTORIES,
    "frontier/seed_probes": keys.SEED_PROBES,
    "frontier/boundary_probes": keys.BOUNDARY_PROBES,
    "frontier/nightly_probes": keys.NIGHTLY_PROBES,
    "policy/rl_policy": keys.RL_POLICY,
    "benchmarks/results": keys.RESULTS,
}
"""Tables of the stages that play."""


def keep_failures(lake: Lake, table: str, episodes: pl.DataFrame) -> dict[str, int]:
    """Write down which episodes of a stage the verifier stumbled over; returns their number for the catalogue.

    Args:
        lake: where to.
        table: of the stage.
        episodes: everything that was played for it (`training.journal.EPISODE_SCHEMA`).
    """
    found = verifier_failures(episodes)
    lake.write(FAILURES.format(table), found)
    return {"verifier_failed": len(found)}


def _check(table: str, key: dg.AssetKey) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=key, name="no_verifier_failed", blocking=True)
    def no_verifier_failed(lake: Lake) -> dg.AssetCheckResult:
        """No verifier ended in an exception over an episode of this stage."""
        failures = lake.read(FAILURES.format(table))
        evidence = {"evidence": dg.MetadataValue.md(markdown_table(failures.head(20)))} if len(failures) else {}
        return dg.AssetCheckResult(passed=failures.is_empty(), metadata={"failures": len(failures), **evidence})

    return no_verifier_failed


NO_VERIFIER_FAILED: Final = [_check(table, key) for table, key in STAGES.items()]
