"""The frontier: what the current policy solves sometimes, measured by K attempts at each probed task."""

import dagster as dg
import numpy as np
import polars as pl
from pydantic import PositiveFloat, PositiveInt

from assets import keys
from assets.config import Several, Share, StageConfig
from assets.frontier.figures import regions_figure
from assets.frontier.probing import frontier_frame, probe_sample, probes_frame
from assets.metadata import materialized
from assets.tasks.pool import tasks_of
from resources.checkpoints import ROLLOUTS, Checkpoint, play, read_checkpoint, run_folder
from resources.lake import Lake
from resources.registry import Outcome, Registry
from resources.trainer import Trainer
from training.code import code_of
from training.runs import RolloutRun
from training.trajectories import tasks_frame


class SeedProbesConfig(StageConfig, stage=keys.SEED_PROBES):
    """How much of the frontier is measured."""

    tasks: PositiveInt = 400
    """Tasks probed, none of them from the warm-up set."""
    k: Several = 8
    """Attempts at each (K of the AMAP report)."""
    temperature: PositiveFloat = 1.0
    batch: PositiveInt = 192
    """Attempts side by side; part of what makes a resumed probe equal."""
    warm_up_share: Share = 0.7
    """Share of `trajectories/seed_trajectories`."""
    seed: int = 0


class BoundaryProbesConfig(StageConfig, stage=keys.BOUNDARY_PROBES):
    """How much of the frontier is measured."""

    tasks: PositiveInt = 400
    k: Several = 8
    temperature: PositiveFloat = 1.0
    batch: PositiveInt = 192
    warm_up_share: Share = 0.7
    seed: int = 1


@dg.asset(
    key=keys.SEED_PROBES,
    deps=[keys.SEED_POLICY, keys.ADMITTED_TASKS],
    group_name="frontier",
    kinds={"pytorch", "parquet"},
    owners=["team:loopwright"],
    code_version=f"1-{code_of(ROLLOUTS)}",
    pool="gpu",
)
def seed_probes(
    context: dg.AssetExecutionContext, config: SeedProbesConfig, lake: Lake, trainer: Trainer, registry: Registry
) -> dg.MaterializeResult:
    """K attempts of the seed policy at a sample of the training tasks."""
    return _probe(context, config, lake, trainer, registry, "frontier/seed_probes", "sft/seed_policy")


@dg.asset(
    key=keys.REGIONS,
    deps=[keys.SEED_PROBES, keys.ADMITTED_TASKS],
    group_name="frontier",
    kinds={"polars"},
    owners=["team:loopwright"],
    code_version="1",
)
def regions(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
    """Every training task with its expected success, learnability and region for the seed policy."""
    frame = frontier_frame(tasks_of(lake.read("tasks/admitted_tasks")), lake.read("frontier/seed_probes"))
    counts = dict(frame["region"].value_counts().iter_rows())
    context.log.info("regions of %d training tasks: %s", len(frame), counts)
    numbers = {f"region_{k}": v for k, v in counts.items()} | {"certain": int(frame["certain"].sum())}
    return materialized(lake, "frontier/regions", frame, numbers=numbers, figures={"regions": regions_figure(frame)})


@dg.asset(
    key=keys.BOUNDARY_PROBES,
    deps=[keys.BOUNDARY_POLICY, keys.ADMITTED_TASKS],
    group_name="frontier",
    kinds={"pytorch", "parquet"},
    owners=["team:loopwright"],
    code_version=f"1-{code_of(ROLLOUTS)}",
    pool="gpu",
)
def boundary_probes(
    context: dg.AssetExecutionContext, config: BoundaryProbesConfig, lake: Lake, trainer: Trainer, registry: Registry
) -> dg.MaterializeResult:
    """K attempts of the boundary policy: RL starts from the frontier of the policy that it trains."""
    return _probe(context, config, lake, trainer, registry, "frontier/boundary_probes", "sft/boundary_policy")


def _probe(
    context: dg.AssetExecutionContext,
    config: SeedProbesConfig | BoundaryProbesConfig,
    lake: Lake,
    trainer: Trainer,
    registry: Registry,
    table: str,
    checkpoint_table: str,
) -> dg.MaterializeResult:
    checkpoint = read_checkpoint(lake, checkpoint_table)
    tasks = probe_sample(tasks_of(lake.read("tasks/admitted_tasks")), config.tasks, config.warm_up_share, config.seed)
    lake.write(f"{table}_tasks", tasks_frame(tasks))
    settings = config.model_dump(include={"k", "temperature", "batch", "seed"})
    versions = {"tasks": lake.version(f"{table}_tasks"), "policy": checkpoint.version}
    output = run_folder(lake, table, ROLLOUTS, settings, versions)
    run = RolloutRun(
        output=output,
        tasks=lake.path(f"{table}_tasks"),
        policy=checkpoint.model,
        version=checkpoint.version,
        **settings,
    )
    [episodes] = play(context, trainer, output, [run])
    registry.record_outcomes(outcomes(table, checkpoint, episodes))
    frame = probes_frame(episodes, tasks, config.k)
    context.log.info("%d tasks probed: mean reward %.3f", len(frame), frame["mean"].mean() or 0.0)
    numbers = {
        "episodes": len(episodes),
        "mean_reward": float(np.mean(episodes["reward"].drop_nulls().to_numpy() if len(episodes) else [0.0])),
        "no_result": int((episodes["status"] == "no_result").sum()),
        **{f"region_{k}": v for k, v in frame["region"].value_counts().iter_rows()},
    }
    return materialized(lake, table, frame, numbers=numbers, figures={"regions": regions_figure(frame)})


def outcomes(stage: str, checkpoint: Checkpoint, episodes: pl.DataFrame) -> list[Outcome]:
    """How each attempt ended, for the registry."""
    columns = ("key", "task_id", "attempt", "status", "reward")
    return [
        Outcome(stage, key, task_id, attempt, checkpoint.version, status, reward)
        for key, task_id, attempt, status, reward in episodes.select(columns).iter_rows()
    ]
