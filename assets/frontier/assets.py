"""The frontier: what the current policy solves sometimes, measured by K attempts at each probed task."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from assets import keys
from assets.checks import keep_failures
from assets.config import Several, Share, StageConfig
from assets.frontier.figures import regions_figure
from assets.frontier.nightly import (
    DOUBTED,
    DOUBTED_SCHEMA,
    MOVES,
    Night,
    attempts_frame,
    ledger_frame,
    moves_frame,
    night_of,
)
from assets.frontier.nightly import TABLE as NIGHTLY
from assets.frontier.probing import frontier_frame, probe_sample, probes_frame
from assets.metadata import materialized
from assets.tasks.pool import tasks_of
from environments.task import Task
from environments.verifiers.composed import versions_of_judging
from resources.checkpoints import (
    EPISODES,
    ROLLOUTS,
    Checkpoint,
    key_of,
    newest_policy,
    play,
    read_checkpoint,
    run_folder,
    start,
    trained_on,
)
from resources.lake import Lake
from resources.registry import Outcome, Registry
from resources.trainer import Trainer
from training.code import code_of
from training.journal import read_segments
from training.reprobing import NightRun
from training.runs import RolloutRun
from training.trajectories import tasks_frame

REPROBE = "training.reprobe"


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


class NightlyProbesConfig(StageConfig, stage=keys.NIGHTLY_PROBES):
    """What a night may spend, and on what."""

    attempts: PositiveInt = 400
    """Budget of the night."""
    k: Several = 8
    """Attempts at each task that is tried."""
    temperature: PositiveFloat = 1.0
    """Of the sampler; another one has a ledger of its own."""
    batch: PositiveInt = 192
    watch: Share = 0.25
    """Share of the budget for tasks that are known, evenly over families: what an alarm stands on."""
    kin_weight: NonNegativeFloat = 2.0
    """Attempts that the probes of the newest other policy are worth where the budget is shared out; never more."""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.001
    """Chance of an alarm on a night on which nothing moved."""
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


@dg.asset(
    key=keys.NIGHTLY_PROBES,
    deps=[keys.ADMITTED_TASKS],
    group_name="frontier",
    kinds={"pytorch", "parquet"},
    owners=["team:loopwright"],
    code_version=f"1-{code_of(REPROBE)}",
    pool="gpu",
    output_required=False,
)
def nightly_probes(
    context: dg.AssetExecutionContext, config: NightlyProbesConfig, lake: Lake, trainer: Trainer, registry: Registry
) -> Iterator[dg.MaterializeResult]:
    """Where every training task stands for the newest registered policy, after one more night of probing."""
    found = newest_policy(lake, registry)
    if found is None:
        context.log.warning("no policy is registered yet: nothing to probe. Make one first: loopwright demo")
        return
    stage, policy = found
    tasks = [t for t in tasks_of(lake.read("tasks/admitted_tasks")) if t.split == "train"]
    output, episodes = _play_night(context, config, lake, trainer, registry, policy, tasks)
    key = key_of(output)
    registry.record_result_key(key)
    registry.record_outcomes(outcomes(NIGHTLY, policy, episodes))
    attempts = attempts_frame(registry.outcomes(result_key=key.digest))
    doubted = lake.read(DOUBTED) if lake.exists(DOUBTED) else pl.DataFrame(schema=DOUBTED_SCHEMA)
    tonight = episodes.select("task_id", "attempt", result_key="key")
    night = night_of(tasks, attempts, tonight, doubted, level=config.level)
    lake.write(DOUBTED, night.doubted)
    lake.write(MOVES, moves_frame(night.moves))
    context.log.info("%s %s: %d attempts, %d on record", stage, policy.version, len(episodes), len(attempts))
    frame = night.table.with_columns(policy=pl.lit(policy.version), key=pl.lit(key.digest))
    numbers = night_numbers(night, episodes, len(attempts)) | {"stage": stage, "policy": policy.version}
    numbers |= keep_failures(lake, NIGHTLY, episodes)
    figures = {"regions": regions_figure(frame)}
    yield materialized(lake, NIGHTLY, frame, numbers=numbers, figures=figures)


def _play_night(
    context: dg.AssetExecutionContext,
    config: NightlyProbesConfig,
    lake: Lake,
    trainer: Trainer,
    registry: Registry,
    policy: Checkpoint,
    tasks: list[Task],
) -> tuple[Path, pl.DataFrame]:
    """Let one process choose and play; a night that was killed before it was recorded goes on where it was."""
    tasks_table, ledger_table = f"{NIGHTLY}_tasks", f"{NIGHTLY}_ledger"
    lake.write(tasks_table, tasks_frame(tasks))
    lake.write(ledger_table, ledger_frame(registry.ledger()))
    settings = config.model_dump(exclude={"level"})
    versions = {"tasks": lake.version(tasks_table), "ledger": lake.version(ledger_table), "policy": policy.version}
    versions |= versions_of_judging(tasks)
    output = run_folder(lake, NIGHTLY, REPROBE, settings, versions)
    run = NightRun(
        output=output,
        tasks=lake.path(tasks_table),
        ledger=lake.path(ledger_table),
        policy=policy.model,
        version=policy.version,
        threads=trainer.threads,
        **settings,
    )
    start(context, trainer, REPROBE, run)
    return output, read_segments(output / EPISODES)


def night_numbers(night: Night, episodes: pl.DataFrame, recorded: int) -> dict[str, float | int | str]:
    """What the catalogue plots from night to night."""
    return {
        "episodes": len(episodes),
        "no_result": int((episodes["status"] == "no_result").sum()),
        "on_record": recorded,
        "tasks_tried": night.table["tonight"].sum(),
        "tasks_moved": len(night.table) - night.table["moved_from"].null_count(),
        "alarms": len(night.moves),
        **{f"region_{k}": v for k, v in night.table["region"].value_counts().iter_rows()},
    }


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
    admitted, trained = tasks_of(lake.read("tasks/admitted_tasks")), trained_on(lake, checkpoint_table)
    tasks = probe_sample(admitted, config.tasks, config.warm_up_share, config.seed, trained)
    lake.write(f"{table}_tasks", tasks_frame(tasks))
    settings = config.model_dump(include={"k", "temperature", "batch", "seed"})
    versions = {"tasks": lake.version(f"{table}_tasks"), "policy": checkpoint.version}
    versions |= versions_of_judging(tasks)
    output = run_folder(lake, table, ROLLOUTS, settings, versions)
    run = RolloutRun(
        output=output,
        tasks=lake.path(f"{table}_tasks"),
        policy=checkpoint.model,
        version=checkpoint.version,
        **settings,
    )
    [episodes] = play(context, trainer, output, [run])
    registry.record_result_key(key_of(output))
    registry.record_outcomes(outcomes(table, checkpoint, episodes))
    frame = probes_frame(episodes, tasks, config.k)
    context.log.info("%d tasks probed: mean reward %.3f", len(frame), frame["mean"].mean() or 0.0)
    numbers = {
        "episodes": len(episodes),
        "mean_reward": float(np.mean(episodes["reward"].drop_nulls().to_numpy() if len(episodes) else [0.0])),
        "no_result": int((episodes["status"] == "no_result").sum()),
        **keep_failures(lake, table, episodes),
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
