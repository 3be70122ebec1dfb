"""Named selections of the graph. Their sizes come from the profile, which is already every stage's default."""

from typing import Final

import dagster as dg

factory: Final = dg.define_asset_job(
    "factory",
    selection=dg.AssetSelection.all(),
    description="The whole line: raw queries in, a better policy and its report out.",
)
reprobe_frontier: Final = dg.define_asset_job(
    "reprobe_frontier",
    selection=dg.AssetSelection.groups("frontier"),
    description="Measure again what the policies solve sometimes; attempts already recorded are not repeated.",
)
JOBS: Final = [factory, reprobe_frontier]
