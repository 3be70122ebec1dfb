"""Tasks, trajectories, tiny policies and tiny runs for the tests of training."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import torch
from tokenizers import Tokenizer

from environments.episode import Episode
from environments.policies.scripted import Gold
from environments.rollout import rollouts
from environments.task import Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from training.llama import LlamaDecoder, LlamaShape
from training.runs import Run, SftRun
from training.tiny import build_model, initialise
from training.trajectories import Trajectory, read_trajectories, signatures_of

torch.set_num_threads(1)  # two of them wait for each other on a busy machine

ROOT = Path(__file__).parents[2]
TINY: dict[str, Any] = {"hidden": 32, "layers": 2, "heads": 2, "vocabulary": 400, "precision": "fp32", "threads": 1}
"""A policy of a few thousand weights: every code path, no skill."""
SIGNATURES = signatures_of(AtlasWorld())


def gold_episodes(tasks: Sequence[Task], k: int = 1) -> list[Episode]:
    """The gold solution of each task, played and graded."""
    batches = rollouts(tasks, Gold(), WorldPool(AtlasWorld), OutcomeVerifier(), k=k, seed=0)
    return [episode for batch in batches for episode in batch]


def trajectory_rows(tasks: Sequence[Task]) -> pl.DataFrame:
    """Gold trajectories of `tasks` as the table that SFT reads."""
    tools = {t.task_id: list(t.tools) for t in tasks}
    rows = [
        {
            "trajectory_id": e.episode_id,
            "task_id": e.task_id,
            "instruction": e.instruction,
            "tools": tools[e.task_id],
            "steps": e.row()["steps"],
            "answer": e.answer,
        }
        for e in gold_episodes(tasks)
    ]
    return pl.DataFrame(rows)


def trajectory_file(path: Path, tasks: Sequence[Task]) -> Path:
    """`trajectory_rows` as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    trajectory_rows(tasks).write_parquet(path)
    return path


@cache
def some_tasks() -> tuple[Task, ...]:
    """Forty training tasks of every depth."""
    return tuple(fresh_tasks(40, "train", 0))


@cache
def some_trajectories() -> tuple[Trajectory, ...]:
    """Their gold trajectories."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return tuple(read_trajectories(trajectory_file(Path(folder) / "t.parquet", some_tasks())))


@cache
def tiny_tokenizer() -> Tokenizer:
    """A tokenizer learned from them."""
    from training.sft import tokenizer_for

    return tokenizer_for(some_trajectories(), SIGNATURES, 400)


def tiny_model(seed: int = 0, **changes: Any) -> Any:
    """A fresh model for that tokenizer."""
    model = build_model(tiny_tokenizer().get_vocab_size(), **{"hidden": 32, "layers": 2, "heads": 2, **changes})
    initialise(model, tiny_tokenizer(), seed)
    return model.eval()


def decoder_of(model: Any) -> LlamaDecoder:
    """The in-process forward pass over a model's own weights."""
    return LlamaDecoder(dict(model.named_parameters()), LlamaShape.of(model.config.to_dict()))


@torch.no_grad()
def reference_logprobs(model: Any, ids: Sequence[int], temperature: float = 1.0) -> torch.Tensor:
    """Log-probabilities of every next token by transformers' own forward pass, shape (len(ids) - 1, V)."""
    logits = model(torch.tensor([list(ids)])).logits[0, :-1]
    return torch.log_softmax(logits / temperature, -1)


def tiny_sft(folder: Path, tasks: Sequence[Task], **settings: Any) -> SftRun:
    """A supervised run over the gold trajectories of `tasks`."""
    file = trajectory_file(folder / "trajectories.parquet", tasks)
    return SftRun(output=folder / "run", trajectories=file, **{**TINY, **settings})


KILLER = """
import importlib, json, os, signal, sys
from pathlib import Path
import training.runs
from training.reporting import Reporter

module, kind, file, steps = sys.argv[1], sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4])
train, run = importlib.import_module(module).train, getattr(training.runs, kind).read(file)

class Killer(Reporter):
    def __init__(self, step):
        super().__init__()
        self.step = step
    def progress(self, what, done, total, note=""):
        if done == self.step:
            os.kill(os.getpid(), signal.SIGKILL)

for step in steps:
    child = os.fork()
    if child == 0:
        train(run, Killer(step))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == -signal.SIGKILL, f"ended with {code} before step {step}"
"""


def killed_at(steps: Sequence[int], module: str, run: Run, file: Path) -> None:
    """Train `run` again and again, each time in a process killed outright as it finishes the next of `steps`."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    arguments = [module, type(run).__name__, str(run.write(file)), json.dumps(list(steps))]
    command = [sys.executable, "-W", "ignore", "-c", KILLER, *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def ledger(model: Path) -> list[list[str]]:
    """The rows of every step, as sealed beside a published model."""
    steps: list[list[str]] = json.loads((model / "consumed.json").read_text())
    return steps
