"""K attempts at each task by a policy with weights: `python -m training.rollouts plan.toml`; probing and evaluation.

The plan lists run files; each run journals its episodes in its own output folder. Imports torch but not transformers,
so that it is up in seconds.
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
from training.runs import RolloutPlan, RolloutRun
from training.trajectories import read_tasks, signatures_of

EPISODES = "episodes"


def play(run: RolloutRun, report: Reporter) -> Path:
    """Run every attempt and return the folder of episode segments."""
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
    report.say(f"{run.output.name}: {len(episodes)} episodes, temperature {run.temperature:g}")
    return run.output / EPISODES


def play_all(plan: RolloutPlan, report: Reporter) -> None:
    """Play the runs of a plan, one after the other."""
    torch.set_num_threads(plan.threads)
    for file in plan.runs:
        play(RolloutRun.read(file), report)
    report.finish({"runs": len(plan.runs)})


def main() -> None:
    """Read the plan named on the command line and play."""
    with reporter() as report:
        play_all(RolloutPlan.read(Path(sys.argv[1])), report)


if __name__ == "__main__":
    main()
