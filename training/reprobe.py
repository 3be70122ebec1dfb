"""A night of probing by a policy with weights: `python -m training.reprobe run.toml`.

One process loads the policy once, learns from it the result key, chooses what to try from the ledger under that key,
and plays K attempts at each chosen task, numbered from the last one on record. Episodes are journalled as they
finish; the same night started again repeats none.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import torch

from environments.episode import Attempt
from environments.rollout import result_key, rollout
from environments.seeds import stable_hash
from environments.task import Task
from environments.verifiers.composed import verifier_for
from environments.world import WorldPool
from environments.worlds.catalogue import world_maker
from training.durable import replace_durably
from training.generation import load_policy
from training.journal import claim, is_whole, write_segment
from training.reporting import Reporter, reporter
from training.reprobing import NightRun, kin_rows, night_plan, own_rows
from training.rollouts import EPISODES
from training.trajectories import read_tasks, signatures_of

PLAN = "plan.parquet"


def probe(run: NightRun, report: Reporter) -> None:
    """Spend the night's budget; leaves the plan and the episodes in the run's folder."""
    torch.set_num_threads(run.threads)
    maker = world_maker(run.world, folder=run.world_folder)
    policy = load_policy(run.policy, signatures_of(maker()), temperature=run.temperature, version=run.version)
    pool = WorldPool(maker)
    tasks, ledger = read_tasks(run.tasks), pl.read_parquet(run.ledger)
    verifier = verifier_for(tasks)
    key = result_key(policy, pool, verifier)
    budget = run.model_dump(include={"attempts", "k", "watch", "kin_weight"})
    plan = night_plan(tasks, own_rows(ledger, key), kin_rows(ledger, key), **budget)
    plan.write_parquet(run.output / f"{PLAN}.tmp")
    replace_durably(run.output / f"{PLAN}.tmp", run.output / PLAN)
    attempts = numbered({t.task_id: t for t in tasks}, plan, run.k, run.seed)
    folder, per = run.output / EPISODES, max(1, run.batch // run.k) * run.k
    listed = f"{stable_hash(plan.select('task_id', 'first').rows()):016x}"
    claim(folder, {"key": key.model_dump(), "plan": listed, "k": run.k, "seed": run.seed, "batch": run.batch})
    for number, start in enumerate(range(0, len(attempts), per)):
        if not is_whole(folder / f"part-{number:05d}.parquet"):
            write_segment(folder, number, rollout(attempts[start : start + per], policy, pool, verifier, key))
        report.progress("episodes", min(start + per, len(attempts)), len(attempts))
    report.finish({"episodes": len(attempts), "tasks": len(plan), "result_key": key.digest})


def numbered(tasks: dict[str, Task], plan: pl.DataFrame, k: int, seed: int) -> list[Attempt]:
    """`k` attempts at each planned task; number and seed go on from the last attempt on record."""
    return [
        Attempt(tasks[task_id], number, seed=stable_hash("attempt", seed, task_id, number) % 2**31)
        for task_id, first in plan.select("task_id", "first").iter_rows()
        for number in range(first, first + k)
    ]


def main(arguments: Sequence[str]) -> None:
    """Read the run named on the command line and play."""
    with reporter() as report:
        probe(NightRun.read(Path(arguments[0])), report)


if __name__ == "__main__":
    main(sys.argv[1:])
