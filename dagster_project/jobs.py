"""Named selections of the graph. Their sizes come from the profile, which is already every stage's default."""

from typing import Final

import dagster as dg

from assets import keys

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
JOBS: Final = [factory, reprobe_frontier]
