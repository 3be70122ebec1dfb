"""What the gate says of desk's tasks at large: every family at every level of every axis, over many seeds.

    python tests/bench/desk_gate.py [FOLDER] [--seeds N] [--sample N] [--everything]

Prints the yield, the families that lose tasks, and an example of each kind of rejection; what was found stays in
FOLDER, so that a killed run goes on where it was. QUICK=1 takes one seed and examines one task of each family deeply.
"""

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.bench.table import publish
from tests.bench.table import row as stamped

if TYPE_CHECKING:
    from assets.tasks.admission import Admission
    from environments.task import Task

row = partial(stamped, command="make bench-desk_gate")
QUICK = os.environ.get("QUICK") == "1"


def main() -> None:
    """Compile, examine, print and publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(tempfile.gettempdir()) / "desk_gate")
    parser.add_argument("--seeds", type=int, default=1 if QUICK else 6)
    parser.add_argument("--sample", type=int, default=1 if QUICK else 10)
    parser.add_argument("--everything", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    from assets.tasks.admission import admit
    from environments.gate.run import Setting, Thoroughness
    from environments.verifiers.outcome import OutcomeVerifier

    tasks = compiled(args.seeds)
    print(f"{len(tasks)} tasks of {len({t.family for t in tasks})} families", flush=True)
    setting = Setting(OutcomeVerifier(), args.folder / "findings.db")
    found = admit(
        tasks, setting, Thoroughness(args.sample, args.everything), workers=args.workers,
        progress=lambda done, of: print(f"{done} of {of}", flush=True),
    )  # fmt: skip
    tell(tasks, found)
    exploits = found.exploits
    rows = [
        row(f"desk: tasks at the gate, {args.seeds} seeds", len(tasks), "tasks"),
        row("desk: of these admitted", len(found.admitted) / len(tasks), "share"),
        row("desk: cheating that paid", exploits.times, f"of {exploits.trials} trials", aim="0",
            holds=exploits.times == 0),
    ]  # fmt: skip
    publish("desk_gate-quick" if QUICK else "desk_gate", rows, beside_others=True)


def compiled(seeds: int) -> "list[Task]":
    """Every family at every level of every axis on each side of the hidden line in turn, and refusals with twins."""
    import random

    from environments.worlds.desk.families import FAMILIES
    from environments.worlds.desk.plans import Level
    from environments.worlds.desk.tasks import REFUSALS, draw_case, levels, make_task, pair

    made: list[Task] = []
    for seed in range(seeds):
        side = ("train", "dev", "hidden")[seed % 3]
        for family in FAMILIES:
            grid = dict.fromkeys(level for axis in Level._fields for level in levels(family, axis))
            for number, level in enumerate(grid):
                rng = random.Random(f"{family} {seed} {number}")
                case = draw_case(family, side, rng)
                task = case and make_task(family, case, level, side, rng)
                made += [task] if task and task.goal.reason is None else []
        for family in sorted(REFUSALS):
            made += pair(family, side, seed)
    return list({task.task_id: task for task in made}.values())


def tell(tasks: "list[Task]", found: "Admission") -> None:
    """Print the yield by family, and each kind of rejection with an example."""
    by_id = {t.task_id: t for t in tasks}
    out: dict[str, list[str]] = defaultdict(list)
    lost: dict[str, int] = defaultdict(int)
    for r in found.rejected:
        task = by_id[r.task_id]
        lost[task.family] += 1
        out[r.check].append(f"{r.task_id} {task.family}, {task.instruction[:160]!r}: {r.evidence[:400]}")
    for family in sorted({t.family for t in tasks}):
        of = sum(t.family == family for t in tasks)
        print(f"{family}: {of - lost[family]} of {of}")
    for check, examples in sorted(out.items(), key=lambda item: -len(item[1])):
        print(f"{len(examples)} x {check}\n  {examples[0]}")
    print(f"{len(found.admitted)} of {len(tasks)} admitted")


if __name__ == "__main__":
    main()
