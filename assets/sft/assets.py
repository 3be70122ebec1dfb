"""The two supervised policies: the seed, good enough to reveal its limits, and the boundary, after probing."""

from pathlib import Path
from typing import Annotated

import dagster as dg
from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from assets import keys
from assets.config import Several, Share, StageConfig
from assets.metadata import materialized
from assets.sft.figures import loss_figure
from resources.checkpoints import read_checkpoint, run_folder, train
from resources.lake import Lake
from resources.registry import Registry
from resources.trainer import Trainer
from training.code import code_of
from training.mixture import with_replay
from training.runs import SftRun

SEED, BOUNDARY = "sft/seed_policy", "sft/boundary_policy"
MODULE = "training.sft"


class SeedPolicyConfig(StageConfig, stage=keys.SEED_POLICY):
    """The first SFT, from scratch on nano."""

    steps: PositiveInt = 1600
    batch: PositiveInt = 16
    learning_rate: PositiveFloat = 2e-3
    hidden: PositiveInt = 128
    layers: Several = 3
    heads: PositiveInt = 4
    vocabulary: PositiveInt = 896
    """BPE vocabulary before JSON pieces and tool signatures."""
    save_every: PositiveInt = 400
    seed: int = 0

    @model_validator(mode="after")
    def heads_divide_hidden(self) -> "SeedPolicyConfig":
        """Refuse a model that cannot be built."""
        if self.hidden % (2 * self.heads):
            raise ValueError(f"hidden={self.hidden} must be a multiple of twice heads={self.heads}")
        return self


class BoundaryPolicyConfig(StageConfig, stage=keys.BOUNDARY_POLICY):
    """The second SFT, on the more certain learnable tasks with replay."""

    steps: PositiveInt = 600
    batch: PositiveInt = 16
    learning_rate: PositiveFloat = 1e-3
    decay: Share = 0.9
    """Share of the steps over which the learning rate falls to nothing; long, so as not to shake what has settled."""
    replay: Annotated[float, Field(ge=0, lt=1)] = 0.3
    """Share of seed trajectories in the mixture."""
    save_every: PositiveInt = 200
    seed: int = 0


@dg.asset(
    key=keys.SEED_POLICY,
    deps=[keys.SEED_TRAJECTORIES],
    group_name="sft",
    kinds={"pytorch", "huggingface"},
    owners=["team:loopwright"],
    code_version=f"1-{code_of(MODULE)}",
    pool="gpu",
)
def seed_policy(
    context: dg.AssetExecutionContext, config: SeedPolicyConfig, lake: Lake, trainer: Trainer, registry: Registry
) -> dg.MaterializeResult:
    """The policy after SFT on the warm-up trajectories."""
    trained = {**config.model_dump(), "threads": trainer.threads}  # another number of threads sums in another order
    output = run_folder(lake, SEED, MODULE, trained, {"trajectories": lake.version("trajectories/seed_trajectories")})
    rows = lake.path("trajectories/seed_trajectories")
    run = SftRun(output=output, trajectories=rows, **trained)
    return _train(context, lake, trainer, registry, SEED, run)


@dg.asset(
    key=keys.BOUNDARY_POLICY,
    deps=[keys.SEED_POLICY, keys.ADAPTIVE_TRAJECTORIES, keys.SEED_TRAJECTORIES],
    group_name="sft",
    kinds={"pytorch", "huggingface"},
    owners=["team:loopwright"],
    code_version=f"1-{code_of(MODULE)}",
    pool="gpu",
)
def boundary_policy(
    context: dg.AssetExecutionContext, config: BoundaryPolicyConfig, lake: Lake, trainer: Trainer, registry: Registry
) -> dg.MaterializeResult:
    """The seed policy after SFT on adaptive trajectories, mixed with replay of the seed's."""
    parent = read_checkpoint(lake, SEED)
    trained = {**config.model_dump(exclude={"replay"}), "threads": trainer.threads}
    fresh, replayed = lake.read("trajectories/adaptive_trajectories"), lake.read("trajectories/seed_trajectories")
    mixture = lake.write("sft/boundary_mixture", with_replay(fresh, replayed, config.replay, config.seed))
    versions = {"trajectories": lake.version("sft/boundary_mixture"), "parent": parent.version}
    output = run_folder(lake, BOUNDARY, MODULE, trained, versions)
    init = str(parent.model)
    run = SftRun(output=output, trajectories=Path(mixture), init=init, **trained)
    return _train(context, lake, trainer, registry, BOUNDARY, run)


def _train(
    context: dg.AssetExecutionContext, lake: Lake, trainer: Trainer, registry: Registry, table: str, run: SftRun
) -> dg.MaterializeResult:
    frame, checkpoint, numbers = train(context, lake, trainer, registry, table, MODULE, run)
    return materialized(lake, table, frame, numbers=numbers, figures={"loss": loss_figure(checkpoint.history)})
