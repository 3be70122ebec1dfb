"""K attempts at each task by a policy with weights: `python -m training.rollouts plan.toml`; probing and evaluation.

The plan lists run files; each run journals its episodes in its own output folder, and the processes of a plan share the
segments of all runs evenly. Imports torch but not transformers, so that it is up in seconds.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

from environments.verifiers.composed import verifier_for
from environments.world import WorldPool
from environments.worlds.catalogue import world_maker
from training.generation import load_policy
from training.journal import WHOLE, Share, read_segments, run_journalled, segment_count
from training.processes import end_with_parent
from training.reporting import Reporter, reporter
from training.runs import RolloutPlan, RolloutRun
from training.trajectories import read_tasks, signatures_of

EPISODES = "episodes"


def play(run: RolloutRun, report: Reporter, share: Share = WHOLE) -> int:
    """Play the attempts of our share and return how many segments the whole run has."""
    maker = world_maker(run.world, folder=run.world_folder)
    policy = load_policy(run.policy, signatures_of(maker()), temperature=run.temperature, version=run.version)
    tasks = read_tasks(run.tasks)
    run_journalled(
        tasks,
        policy,
        WorldPool(maker),
        verifier_for(tasks),
        run.output / EPISODES,
        k=run.k,
        seed=run.seed,
        batch=run.batch,
        progress=lambda done, total: report.progress("episodes", done, total),
        share=share,
    )
    return segment_count(len(tasks), run.k, run.batch)


def play_share(files: Sequence[Path], threads: int, index: int, of: int, report: Reporter | None = None) -> None:
    """Play one process's share of every run; an even one, also where each run has few segments."""
    torch.set_num_threads(threads)
    offset = 0
    for file in files:
        offset += play(RolloutRun.read(file), report or Reporter(), Share(index, of, offset))


def play_all(plan: RolloutPlan, report: Reporter) -> None:
    """Play the runs of a plan, one after the other, each by all processes of the plan."""
    if plan.workers > 1:
        with ProcessPoolExecutor(plan.workers - 1, get_context("spawn"), end_with_parent) as pool:
            others = [
                pool.submit(play_share, plan.runs, plan.threads, index, plan.workers)
                for index in range(1, plan.workers)
            ]
            play_share(plan.runs, plan.threads, 0, plan.workers, report)
            for other in others:
                other.result()
    else:
        play_share(plan.runs, plan.threads, 0, 1, report)
    for run in map(RolloutRun.read, plan.runs):
        report.say(f"{run.output.name}: {len(read_segments(run.output / EPISODES))} episodes at {run.temperature:g}")
    report.finish({"runs": len(plan.runs)})


def main() -> None:
    """Read the plan named on the command line and play."""
    with reporter() as report:
        play_all(RolloutPlan.read(Path(sys.argv[1])), report)


if __name__ == "__main__":
    main()
