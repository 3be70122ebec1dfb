"""Settings of stages: what cannot work is refused before the stage starts."""

import pytest
from pydantic import ValidationError

from assets.benchmarks.assets import ResultsConfig
from assets.config import StageConfig
from assets.frontier.assets import SeedProbesConfig
from assets.policy.assets import RlPolicyConfig
from assets.sft.assets import BoundaryPolicyConfig, SeedPolicyConfig
from assets.tasks.assets import CompiledTasksConfig
from assets.trajectories.assets import SeedTrajectoriesConfig


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        (RlPolicyConfig, "loss", "nonsense"), (RlPolicyConfig, "importance_sampling", "foo"),
        (RlPolicyConfig, "generations", 1), (SeedPolicyConfig, "heads", 3), (SeedPolicyConfig, "layers", 1),
        (BoundaryPolicyConfig, "replay", 5.0), (BoundaryPolicyConfig, "replay", 1.0),
        (ResultsConfig, "temperatures", []), (ResultsConfig, "temperatures", [-1]),
        (SeedProbesConfig, "warm_up_share", 3.0), (SeedProbesConfig, "k", 1),
        (CompiledTasksConfig, "held_out_share", 9),
        (CompiledTasksConfig, "refusal_share", 4), (SeedTrajectoriesConfig, "noise", 9),
        (SeedTrajectoriesConfig, "share", 0.0),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_work_is_refused_before_the_stage_starts(
    config: type[StageConfig], field: str, value: object
) -> None:
    with pytest.raises(ValidationError):
        config(**{field: value})
    config()
