"""K attempts at each task by a policy with weights: `python -m training.rollouts run.toml`; probing and evaluation.

Imports torch but not transformers, so that it is up in seconds.
"""

import sys
from pathlib import Path

import torch

from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.catalogue import world_maker
from training.generation import load_policy
from training.journal import run_journalled
from training.reporting import Reporter, reporter
from training.runs import RolloutRun
from training.trajectories import read_tasks, signatures_of

EPISODES = "episodes"


def play(run: RolloutRun, report: Reporter) -> Path:
    """Run every attempt and return the folder of episode segments."""
    torch.set_num_threads(run.threads)
    maker = world_maker(run.world)
    policy = load_policy(run.policy, signatures_of(maker()), temperature=run.temperature, version=run.version)
    tasks = read_tasks(run.tasks)
    episodes = run_journalled(
        tasks,
        policy,
        WorldPool(maker),
        OutcomeVerifier(),
        run.output / EPISODES,
        k=run.k,
        seed=run.seed,
        batch=run.batch,
        progress=lambda done, total: report.progress("episodes", done, total),
    )
    scored = episodes["reward"].drop_nulls()
    mean = scored.mean() if len(scored) else 0.0
    report.finish({"episodes": len(episodes), "no_result": len(episodes) - len(scored), "mean_reward": float(mean)})  # type: ignore[arg-type]
    return run.output / EPISODES


def main() -> None:
    """Read the run file named on the command line and play."""
    with reporter() as report:
        play(RolloutRun.read(Path(sys.argv[1])), report)


if __name__ == "__main__":
    main()
