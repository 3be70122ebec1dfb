"""Sandboxes: what a question to a kept worker, a restore and a start cost; episodes with kept and fresh containers.

    make bench-sandbox          # needs a Docker engine: DOCKER_HOST, or its usual place

Episodes are the gold solutions of `workspace` tasks, played one after another. Fresh means that every episode and
every grading starts containers of its own; kept, that both have one for all. `QUICK=1` takes a few repetitions.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from environments.policies.scripted import Gold
from environments.rollout import rollouts
from environments.sandboxes.containers import DockerSandboxes
from environments.task import Task
from environments.verifiers.hidden_cases import HiddenCases
from environments.world import WorldPool
from environments.worlds.workspace.tasks import FAMILIES, make_tasks
from environments.worlds.workspace.world import WorkspaceWorld
from tests.bench.table import Row, publish, row

COMMAND = "make bench-sandbox"


def milliseconds(times: int, operation: Callable[[], object]) -> float:
    """The median of some repetitions."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        operation()
        took.append(1000 * (time.perf_counter() - started))
    return statistics.median(took)


def worker_rows(made: DockerSandboxes, times: int) -> list[Row]:
    """One kept container, and the start of others."""
    sandbox = made.open()
    sandbox.restore({})
    files = {f"folder{i % 5}/file{i}.py": b"x = 1\n" * 200 for i in range(50)}
    container_starts = milliseconds(max(3, times // 20), lambda: (sandbox.close(), sandbox.restore({})))
    operations: dict[str, Callable[[], object]] = {
        "worker round trip (list a folder)": lambda: sandbox.names(),
        "shell command (true)": lambda: sandbox.run("true"),
        "Python command (python3 -c pass)": lambda: sandbox.run("python3 -c pass"),
        "restore an empty work folder": lambda: sandbox.restore({}),
        "restore 50 files": lambda: sandbox.restore(files),
        "collect 50 files": lambda: sandbox.collect(),
    }
    rows = [row(what, milliseconds(times, done), "ms", command=COMMAND) for what, done in operations.items()]
    sandbox.close()
    return [*rows, row("remove a container, start another", container_starts, "ms", command=COMMAND)]


def episodes_per_s(made: DockerSandboxes, tasks: list[Task], *, kept: bool) -> float:
    """Gold episodes in a row, with grading."""
    pool, verifier = WorldPool(lambda: WorkspaceWorld(made)), HiddenCases(made, fresh=not kept)
    started, solved = time.perf_counter(), 0
    for task in tasks:
        [[episode]] = list(rollouts([task], Gold(), pool, verifier, k=1, seed=0, batch=1))
        solved += getattr(episode.verdict, "success", False)
        if not kept:
            world = pool.lend()
            assert isinstance(world, WorkspaceWorld)
            world.close()
            pool = WorldPool(lambda: WorkspaceWorld(made))
    took = time.perf_counter() - started
    verifier.close()
    assert solved == len(tasks), f"{solved} of {len(tasks)} gold episodes solved"
    return len(tasks) / took


def main() -> None:
    """Measure and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    made = DockerSandboxes()
    rows = worker_rows(made, 20 if args.quick else 200)
    each = 1 if args.quick else 8
    tasks = [task for family in sorted(FAMILIES) for task in make_tasks(family, range(each))]
    kept, fresh = (episodes_per_s(made, tasks, kept=kept) for kept in (True, False))
    rows.append(
        row(f"{len(tasks)} gold episodes, kept containers", kept, "episodes/s", command=COMMAND,
            peer="fresh containers", peer_value=fresh)
    )  # fmt: skip
    for measured in rows:
        print(f"{measured['what']}: {measured['ours']} {measured['unit']} {measured['peer_value'] or ''}")
    publish("sandbox-quick" if args.quick else "sandbox", rows)


if __name__ == "__main__":
    main()
