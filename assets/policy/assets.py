"""The policy after online RL on its frontier."""

from typing import Annotated

import dagster as dg
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from assets import keys
from assets.checks import keep_failures
from assets.config import Several, StageConfig
from assets.frontier.probing import frontier_frame, rl_queue
from assets.metadata import materialized
from assets.sft.figures import loss_figure
from assets.tasks.pool import tasks_of
from environments.verifiers.composed import versions_of_judging
from resources.checkpoints import EPISODES, read_checkpoint, run_folder, train
from resources.lake import Lake
from resources.registry import Registry
from resources.trainer import Trainer
from training.code import code_of
from training.journal import read_segments
from training.runs import GrpoRun

TABLE, QUEUE = "policy/rl_policy", "policy/training_queue"
MODULE = "training.grpo"


class RlPolicyConfig(StageConfig, stage=keys.RL_POLICY):
    """GRPO on the frontier of the boundary policy."""

    steps: PositiveInt = 70
    groups: PositiveInt = 16
    """Tasks per step."""
    generations: Several = 8
    """Attempts at each."""
    learning_rate: PositiveFloat = 5e-4
    beta: NonNegativeFloat = 0.0
    """Weight of the KL to the boundary policy; ours, the AMAP report gives no value."""
    importance_sampling: Annotated[str, Field(pattern="^(token|sequence)$")] = "token"
    """`token` is GRPO's ratio, `sequence` GSPO's."""
    loss: Annotated[str, Field(pattern="^(grpo|dapo|dr_grpo)$")] = "dapo"
    """`grpo`, `dapo` or `dr_grpo`."""
    refills: NonNegativeInt = 1
    """Spare groups drawn for each group of a step without variance."""
    save_every: PositiveInt = 20
    seed: int = 0


@dg.asset(
    key=keys.RL_POLICY,
    deps=[keys.BOUNDARY_POLICY, keys.BOUNDARY_PROBES, keys.ADMITTED_TASKS],
    group_name="policy",
    kinds={"pytorch", "huggingface"},
    owners=["team:loopwright"],
    code_version=f"1-{code_of(MODULE)}",
    pool="gpu",
)
def rl_policy(
    context: dg.AssetExecutionContext, config: RlPolicyConfig, lake: Lake, trainer: Trainer, registry: Registry
) -> dg.MaterializeResult:
    """The boundary policy after GRPO, tasks drawn by the variance that its probes let expect."""
    parent = read_checkpoint(lake, "sft/boundary_policy")
    tasks = tasks_of(lake.read("tasks/admitted_tasks"))
    lake.write(QUEUE, rl_queue(frontier_frame(tasks, lake.read("frontier/boundary_probes")), tasks))
    trained = {**config.model_dump(), "threads": trainer.threads}
    inputs = {"queue": lake.version(QUEUE), "parent": parent.version, **versions_of_judging(tasks)}
    output = run_folder(lake, TABLE, MODULE, trained, inputs)
    init = str(parent.model)
    run = GrpoRun(output=output, tasks=lake.path(QUEUE), init=init, **trained)
    frame, checkpoint, numbers = train(context, lake, trainer, registry, TABLE, MODULE, run)
    numbers = {**numbers, **keep_failures(lake, TABLE, read_segments(output / EPISODES))}
    curve = loss_figure(checkpoint.history, value="reward", unit="mean of the step's episodes")
    return materialized(lake, TABLE, frame, numbers=numbers, figures={"reward": curve})
