"""Tau2's domains through the admission gate, and what the worlds read from them cost.

    python tests/bench/tau2.py [--folder FOLDER]

`--folder` is a tau2-bench checkout or a folder of its domains; by default `tasks/tau2` under LOOPWRIGHT_CORPORA. The
gate's part counts; the other part is CPU time of this process: 1,000 sessions side by side, resets of a session that
changed something, calls. `QUICK=1` takes few of each.
"""

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.bench.table import Row, publish, row

if TYPE_CHECKING:
    from assets.tasks.tau2_gate import Tau2Gate
    from environments.worlds.documents import DocumentWorld

COMMAND = "make bench-tau2"
QUICK = os.environ.get("QUICK") == "1"
NOTHING = {"airline": 23, "retail": 6}
ERRORS = {"airline": 0, "retail": 18}
WRITE = {
    "airline": ("cancel_reservation", {"reservation_id": "EHGLP3"}),
    "retail": ("cancel_pending_order", {"order_id": "#W4817420", "reason": "no longer needed"}),
}
READ = {
    "airline": ("get_reservation_details", {"reservation_id": "EHGLP3"}),
    "retail": ("get_order_details", {"order_id": "#W4817420"}),
}
SEARCH = ("search_onestop_flight", {"origin": "JFK", "destination": "SEA", "date": "2024-05-20"})


def main() -> None:
    """Measure, print and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("LOOPWRIGHT_CORPORA", ".")))
    folder = parser.parse_args().folder
    rows: list[Row] = []
    for name in ("airline", "retail"):
        rows += gate_rows(folder, name)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:  # memory is of one world alone
            rows += fresh.submit(speed_rows, folder, name).result()
    for r in rows:
        print(f"{r['what']}: {r['ours']} {r['unit']}  {'' if r['holds'] is None else r['holds']}")
    publish("tau2-quick" if QUICK else "tau2", rows)


def gate_rows(folder: Path, name: str) -> list[Row]:
    """What the gate found on one domain."""
    from assets.tasks.tau2_gate import gate_tau2
    from environments.verifiers.outcome import OutcomeVerifier

    gate = gate_tau2(folder, name, OutcomeVerifier())
    return [*_before(name, gate), *_became(name, gate), *_after(name, gate)]


def _before(name: str, gate: "Tau2Gate") -> list[Row]:
    """The domain as tau2 scores it."""
    failed, nothing = gate.imported.failed, gate.before.passed_by_nothing()
    named = ", ".join(sorted({f.name for f in failed}, key=int)) or "none"
    paid = [n for n, s in gate.before.no_op.items() if s.paid_without_action]
    unpaid = [n for n, s in gate.before.silent.items() if s.unpaid_with_all_actions]
    return [
        _row(f"{name}: gold actions that fail, of {gate.actions}", len(failed), "actions", ERRORS[name], named),
        _row(f"{name}: tasks that doing nothing passes, as tau2 scores", len(nothing), "tasks", NOTHING[name], nothing),
        _row(f"{name}: of these, with a gold action missing (reward 1)", len(paid), "tasks", None, paid),
        _row(f"{name}: all gold actions, silent (reward 0)", len(unpaid), "tasks", None, unpaid),
        _row(f"{name}: gold arguments of free text that are compared", len(gate.free_text), "arguments", None),
    ]


def _became(name: str, gate: "Tau2Gate") -> list[Row]:
    """What became of each task."""
    by_check: dict[tuple[str, str], list[str]] = {}
    for finding in gate.findings:
        by_check.setdefault((finding.outcome, finding.check), []).append(finding.name)
    return [
        _row(f"{name}: {outcome.replace('_', ' ')}{f' ({check})' if check else ''}", len(names), "tasks", None,
             names if check else ())
        for (outcome, check), names in sorted(by_check.items())
    ]  # fmt: skip


def _after(name: str, gate: "Tau2Gate") -> list[Row]:
    """What is left, and what must earn nothing on it."""
    admitted = gate.examined.admitted
    rows = [
        _row(f"{name}: admitted, twins among them, of {len(gate.imported.tasks)}", len(admitted), "tasks", None),
        _row(f"{name}: cheating policies that scored, of {gate.examined.trials}", gate.examined.exploits, "trials", 0),
        _row(f"{name}: exploit rate, upper bound of 95%", gate.examined.bound, "share", None),
    ]
    return rows + [_row(f"{name}: {p} earns, with twins", value, "reward", 0) for p, value in gate.earned.items()]


def speed_rows(folder: Path, name: str) -> list[Row]:
    """What sessions, resets and calls cost."""
    from psutil import Process

    from environments.worlds.catalogue import world_maker

    maker, many, times = world_maker(name, folder=folder), 50 if QUICK else 1000, 200 if QUICK else 5000
    first: DocumentWorld = maker()  # type: ignore[assignment]
    first.state_hash()
    gc.collect()
    before = Process().memory_info().rss
    started = time.process_time()
    sessions = [maker() for _ in range(many)]
    opened = (time.process_time() - started) / many
    grown = (Process().memory_info().rss - before) / 2**20
    rows = [
        row(f"{name}: memory of {many} sessions beside the first", grown, "MiB", command=COMMAND),
        row(f"{name}: opening a session", opened * 1e3, "ms", command=COMMAND),
        row(
            f"{name}: reading a document", 1 / _seconds(lambda: first.call(*READ[name]), times), "1/s", command=COMMAND
        ),
    ]
    if name == "airline":
        per = 1 / _seconds(lambda: first.call(*SEARCH), times // 10)
        rows.append(row(f"{name}: search over one stop", per, "1/s", command=COMMAND))
    return [*rows, *_reset_rows(name, first, times)] if sessions else rows


def _reset_rows(name: str, world: "DocumentWorld", times: int) -> list[Row]:
    """A write and the reset after it."""
    spent = 0.0
    for _ in range(times // 5):
        world.call(*WRITE[name])
        started = time.process_time()
        world.reset()
        spent += time.process_time() - started
    per = spent / (times // 5) * 1e3
    both = _seconds(lambda: (world.call(*WRITE[name]), world.reset()), times // 5)
    return [
        row(f"{name}: reset after a write", per, "ms", command=COMMAND, aim="< 1", holds=per < 1),
        row(f"{name}: a write and a reset", 1 / both, "1/s", command=COMMAND),
    ]


def _seconds(act: Callable[[], object], times: int) -> float:
    """CPU seconds of one `act`."""
    started = time.process_time()
    for _ in range(times):
        act()
    return (time.process_time() - started) / times


def _row(what: str, ours: float, unit: str, aim: float | None, names: Sequence[str] | str = ()) -> Row:
    """A count with the tasks that it counts."""
    listed = names if isinstance(names, str) else ", ".join(names)
    told = f"{what}: {listed}" if listed else what
    holds = None if aim is None else ours == aim
    return row(told, ours, unit, command=COMMAND, aim="" if aim is None else str(aim), holds=holds)


if __name__ == "__main__":
    main()
