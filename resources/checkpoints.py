"""Training and rollout runs as assets see them: folders named by their inputs, so that only the same run resumes.

The folder's name is the hash of settings and input versions: a run that was killed finds its own state there, and a
run on other rows or settings gets another folder. The lake's table of a checkpoint asset is one row that says where the
model lies.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import dagster as dg
import polars as pl

from environments.episode import ResultKey
from resources.lake import Lake
from resources.registry import Consumed, Registry
from resources.trainer import Trainer
from training.checkpoint import MODEL, content_version, read_manifest
from training.code import code_of
from training.journal import FINGERPRINT, read_segments
from training.runs import RolloutPlan, RolloutRun, Run

ROLLOUTS = "training.rollouts"
LEDGER, HISTORY, EPISODES = "consumed.json", "history.json", "episodes"
FURTHEST_FIRST: Final = ("policy/rl_policy", "sft/boundary_policy", "sft/seed_policy")
"""The stages that leave a policy, the one that has learned most first."""
SERVED: Final = {"sft/seed_policy": "trajectories/seed_trajectories", "sft/boundary_policy": "sft/boundary_mixture"}
"""The supervised policies, each trained on from the one before, and the table whose rows its loader serves."""


class Checkpoint(NamedTuple):
    """A published model."""

    version: str
    model: Path
    manifest: Mapping[str, Any]

    @property
    def history(self) -> list[dict[str, float]]:
        """What the trainer logged, step by step."""
        path = self.model / HISTORY
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


class Ended(NamedTuple):
    """A finished run."""

    output: Path
    numbers: Mapping[str, Any]


def run_folder(lake: Lake, table: str, module: str, settings: Mapping[str, Any], inputs: Mapping[str, str]) -> Path:
    """Where the run of `module` as it is now, with these settings on these inputs, lies."""
    return lake.folder(table) / "runs" / content_version(code_of(module), dict(settings), dict(inputs))


def start(context: dg.AssetExecutionContext, trainer: Trainer, module: str, run: Run) -> Ended:
    """Write the run file, run the module in a process of its own, and return what it reported."""
    file = run.write(run.output / "run.toml")
    finished = trainer.run(context, module, file)
    return Ended(run.output, finished.numbers)


class Trained(NamedTuple):
    """A policy that a run has made, as the lake and the registry know it."""

    frame: pl.DataFrame
    """Its one row."""
    checkpoint: Checkpoint
    numbers: Mapping[str, float | int | str]
    """What the run reported."""


def train(
    context: dg.AssetExecutionContext,
    lake: Lake,
    trainer: Trainer,
    registry: Registry,
    table: str,
    module: str,
    run: Run,
) -> Trained:
    """Train a policy in a process of its own, and make it and the rows that it consumed known."""
    ended = start(context, trainer, module, run)
    frame = checkpoint_frame(lake, ended.output)
    lake.write(table, frame)
    checkpoint = read_checkpoint(lake, table)
    record_consumed(registry, checkpoint)
    numbers = {k: v for k, v in ended.numbers.items() if isinstance(v, int | float | str)}
    return Trained(frame, checkpoint, numbers)


def play(
    context: dg.AssetExecutionContext, trainer: Trainer, plan: Path, runs: Sequence[RolloutRun]
) -> list[pl.DataFrame]:
    """Play rollout runs in a process of their own, or several; returns the episodes of each.

    Args:
        context: of the asset.
        trainer: starts the process.
        plan: folder in which the plan and its log get a folder of their own.
        runs: what to play; what is finished already is read back.
    """
    files = [run.write(run.output / "run.toml") for run in runs]
    each = max(1, trainer.threads // trainer.rollout_workers)
    whole = RolloutPlan(output=plan / "plan", runs=files, threads=each, workers=trainer.rollout_workers)
    start(context, trainer, ROLLOUTS, whole)
    return [read_segments(run.output / EPISODES) for run in runs]


def checkpoint_frame(lake: Lake, output: Path) -> pl.DataFrame:
    """The one row that makes a published model known to the stages after it."""
    manifest = read_manifest(output / MODEL)
    return pl.DataFrame(
        {
            "version": [manifest["version"]],
            "parent": [manifest["parent"]],
            "kind": [manifest["kind"]],
            "consumed": [manifest["consumed"]],
            "model": [str((output / MODEL).relative_to(lake.root))],
        }
    )


def read_checkpoint(lake: Lake, table: str) -> Checkpoint:
    """The current model of a checkpoint asset.

    Raises:
        FileNotFoundError: it was never materialized, or its folder is gone.
    """
    row = lake.read(table).row(0, named=True)
    model = Path(lake.root) / row["model"]
    return Checkpoint(row["version"], model, read_manifest(model))


def trained_on(lake: Lake, policy: str) -> set[str]:
    """The tasks that a supervised policy was trained on: those of every row in its ledger and in those before.

    Args:
        lake: with the policies and the tables that they were trained from.
        policy: a key of `SERVED`.

    Raises:
        ValueError: the table is not the one that a policy was trained from.
    """
    found: set[str] = set()
    for stage in list(SERVED)[: list(SERVED).index(policy) + 1]:
        steps: list[list[str]] = json.loads((read_checkpoint(lake, stage).model / LEDGER).read_text(encoding="utf-8"))
        tasks = dict(lake.read(SERVED[stage], columns=["trajectory_id", "task_id"]).iter_rows())
        served = {row for step in steps for row in step}
        if strangers := served - tasks.keys():
            raise ValueError(
                f"{stage} consumed {len(strangers)} rows that {SERVED[stage]} has no more, so it cannot be told which "
                f"tasks it was trained on: materialize {stage} again first"
            )
        found |= {tasks[row] for row in served}
    return found


def newest_policy(lake: Lake, registry: Registry) -> tuple[str, Checkpoint] | None:
    """The policy that has learned most among those that the registry knows, and its stage; None where there is none.

    Read from the registry, not over an asset edge: a policy that is being made, or that nobody registered, does not
    count.
    """
    for table in FURTHEST_FIRST:
        if lake.exists(table) and registry.artefact(table, lake.version(table)) is not None:
            return table, read_checkpoint(lake, table)
    return None


def key_of(output: Path) -> ResultKey:
    """The key under which a rollout run scored, as its journal states it."""
    stated = json.loads((output / EPISODES / FINGERPRINT).read_text(encoding="utf-8"))
    return ResultKey.model_validate(stated["key"])


def record_consumed(registry: Registry, checkpoint: Checkpoint, window: int = 100) -> int:
    """Copy the sealed ledger of a checkpoint into the registry, in windows of steps; returns how many were new."""
    steps: list[list[str]] = json.loads((checkpoint.model / LEDGER).read_text(encoding="utf-8"))
    windows = []
    for first in range(0, len(steps), window):
        rows = [row for step in steps[first : first + window] for row in step]
        last = min(first + window, len(steps)) - 1
        windows.append(Consumed(checkpoint.version, first, last, rows, content_version(rows)))
    return registry.record_consumed(windows)
