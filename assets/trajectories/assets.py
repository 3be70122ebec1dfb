"""Verified trajectories: best-of-K on the warm-up set, then by learnability."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import dagster as dg
import polars as pl
from pydantic import Field, PositiveInt

from assets import keys
from assets.checks import keep_failures
from assets.config import Share, StageConfig
from assets.metadata import materialized
from assets.partitions import LEAVES, ONE_RUN
from assets.tasks.pool import tasks_of
from assets.trajectories.figures import yield_figure
from assets.trajectories.selection import adaptive_plan, not_held_back, warm_up
from assets.trajectories.synthesis import Synthesis, synthesise
from assets.versions import reported_by_leaf
from environments.policies.scripted import NoisyTeacher
from environments.seeds import stable_hash
from environments.task import Task
from environments.verifiers.composed import verifier_for, versions_of_judging
from environments.world import WorldPool
from environments.worlds.catalogue import world_maker
from resources.lake import Lake

SEED, ADAPTIVE = "trajectories/seed_trajectories", "trajectories/adaptive_trajectories"


class SeedTrajectoriesConfig(StageConfig, stage=keys.SEED_TRAJECTORIES):
    """The warm-up set and its teacher."""

    share: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Random share of the training tasks. The AMAP report's 10% warms up a pretrained model; nano has none."""
    k: PositiveInt = 8
    """Attempts at each task."""
    noise: Share = 0.08
    """How often the embedded teacher slips."""
    batch: PositiveInt = 512
    """Attempts side by side."""
    seed: int = 0


class AdaptiveTrajectoriesConfig(StageConfig, stage=keys.ADAPTIVE_TRAJECTORIES):
    """The teacher's budget after probing."""

    tasks: PositiveInt = 8000
    """How many learnable tasks the teacher is asked to solve."""
    k_max: PositiveInt = 8
    """Most attempts at one task."""
    held_back: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the task groups that are left out, so that the policy after the second SFT can be probed on tasks of
    every family that it was not trained on. Ours."""
    noise: Share = 0.08
    batch: PositiveInt = 512
    seed: int = 1


@dg.asset(
    key=keys.SEED_TRAJECTORIES,
    deps=[keys.ADMITTED_TASKS],
    group_name="trajectories",
    kinds={"python", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
    partitions_def=LEAVES,
    backfill_policy=ONE_RUN,
)
def seed_trajectories(
    context: dg.AssetExecutionContext, config: SeedTrajectoriesConfig, lake: Lake
) -> Iterator[dg.MaterializeResult]:
    """Best of K attempts at a random share of the training tasks, perfect in every dimension or not kept."""
    admitted = lake.read("tasks/admitted_tasks").filter(pl.col("split") == "train")
    tasks = warm_up(tasks_of(admitted), config.share)
    budgets = {t.task_id: config.k for t in tasks}
    found = _synthesise(
        context, lake, SEED, tasks, budgets, NoisyTeacher(config.noise), seed=config.seed, batch=config.batch
    )
    rows = found.trajectories.join(admitted.select("task_id", of="leaf"), on="task_id", how="left")
    yield from reported_by_leaf(context, lake, _report(lake, SEED, tasks, found), rows, "of")


@dg.asset(
    key=keys.ADAPTIVE_TRAJECTORIES,
    deps=[keys.REGIONS, keys.ADMITTED_TASKS, keys.SEED_TRAJECTORIES],
    group_name="trajectories",
    kinds={"python", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def adaptive_trajectories(
    context: dg.AssetExecutionContext, config: AdaptiveTrajectoriesConfig, lake: Lake
) -> dg.MaterializeResult:
    """The teacher's attempts at new tasks, learnable and rather certain; more attempts the more learnable."""
    unseen = lake.read("frontier/regions").join(lake.read(SEED), on="task_id", how="anti")
    wanted = adaptive_plan(not_held_back(unseen, config.held_back), config.tasks, config.k_max, config.seed)
    tasks = [t for t in tasks_of(lake.read("tasks/admitted_tasks")) if t.task_id in wanted]
    teacher = NoisyTeacher(config.noise)
    found = _synthesise(context, lake, ADAPTIVE, tasks, wanted, teacher, seed=config.seed, batch=config.batch)
    return _report(lake, ADAPTIVE, tasks, found)


def _synthesise(
    context: dg.AssetExecutionContext,
    lake: Lake,
    table: str,
    tasks: Sequence[Task],
    budgets: Mapping[str, int],
    teacher: NoisyTeacher,
    *,
    seed: int,
    batch: int,
) -> Synthesis:
    pool, verifier = WorldPool(world_maker("atlas")), verifier_for(tasks)
    graded = (verifier.version, *versions_of_judging(tasks).values())
    inputs = (teacher.version, *graded, seed, batch, *(f"{t.task_id}:{budgets[t.task_id]}" for t in tasks))
    folder = lake.folder(table) / "runs" / f"{stable_hash(*inputs):016x}"
    told = {"last": 0}

    def progress(done: int, total: int) -> None:
        """A line for every tenth."""
        if done * 10 // max(1, total) > told["last"]:
            told["last"] = done * 10 // max(1, total)
            context.log.info("%s: %d of %d attempts", table, done, total)

    return synthesise(tasks, budgets, teacher, pool, verifier, folder, seed=seed, batch=batch, progress=progress)


def _report(lake: Lake, table: str, tasks: Sequence[Task], found: Synthesis) -> dg.MaterializeResult:
    numbers = {
        "tasks": len(tasks),
        "attempts": found.attempts,
        "kept": len(found.trajectories),
        "without_perfect_attempt": len(found.without),
        "yield": found.yield_,
        **keep_failures(lake, table, found.episodes),
    }
    figures = {"yield by family": yield_figure(found.trajectories)}
    return materialized(lake, table, found.trajectories, numbers=numbers, figures=figures)
