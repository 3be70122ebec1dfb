"""Many tasks at the gate: the same for any order, workers and kills; nothing found is asked again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from environments.gate.examine import Depth
from environments.gate.finding import Finding, Kind, Status
from environments.gate.run import Setting, Thoroughness, run_gate, sampled, stratum, versions_of
from environments.gate.store import Findings, FindingsError
from environments.verifiers.outcome import OutcomeVerifier
from environments.worlds.atlas.tasks import fresh_tasks

TASKS = fresh_tasks(60, "train", 21)
PLAIN = Thoroughness(sample=0)
SCRIPT = """
import sys
from pathlib import Path
from environments.gate.run import Setting, Thoroughness, run_gate
from environments.verifiers.outcome import OutcomeVerifier
from environments.worlds.atlas.tasks import fresh_tasks
if __name__ == "__main__":
    tasks, setting = fresh_tasks(240, "train", 22), Setting(OutcomeVerifier(), Path(sys.argv[1]))
    run_gate(tasks, setting, Thoroughness(sample=0), workers=int(sys.argv[2]))
"""


class Silent(OutcomeVerifier):
    """The outcome verifier by its version, but it must never be asked."""

    version = OutcomeVerifier().version

    def grade(self, attempt: Any, world: Any) -> Any:
        """Never."""
        raise KeyError("asked again")


def test_what_was_found_is_not_asked_again(tmp_path: Path) -> None:
    store = tmp_path / "findings.db"
    first = run_gate(TASKS, Setting(OutcomeVerifier(), store), PLAIN)
    assert run_gate(TASKS[::-1], Setting(Silent(), store), PLAIN) == first
    changed = TASKS[0].model_copy(update={"gold_answer": "wrong."})
    again = run_gate([changed], Setting(OutcomeVerifier(), store), PLAIN)
    assert any(f.failed for f in again[changed.task_id]), "another gold solution under the same task id is examined"


def test_the_workers_of_a_killed_gate_end(tmp_path: Path) -> None:
    store = tmp_path / "findings.db"
    running = subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), "2"], cwd=Path(__file__).parents[3])
    deadline = time.monotonic() + 120
    while not (store.exists() and _kept(store)) and time.monotonic() < deadline:  # by its workers
        time.sleep(0.05)
    workers = psutil.Process(running.pid).children()
    running.kill()
    running.wait()
    assert len(workers) >= 2
    _, alive = psutil.wait_procs(workers, timeout=20)
    for worker in alive:
        worker.kill()
    assert not alive


def test_a_killed_gate_goes_on_where_it_was(tmp_path: Path) -> None:
    store = tmp_path / "findings.db"
    running = subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), "1"], cwd=Path(__file__).parents[3])
    deadline = time.monotonic() + 120
    while not (store.exists() and _kept(store)) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    kept = _kept(store)
    tasks = fresh_tasks(240, "train", 22)
    assert 0 < kept < len(tasks), "it was killed in the middle"
    known = Findings(store)
    setting = Setting(OutcomeVerifier(), store)
    keys = [versions_of("atlas", setting).key(t, Depth()) for t in tasks]
    mine = [t for t, key in zip(tasks, keys, strict=True) if key in known.known(keys)]
    assert len(mine) == kept
    assert run_gate(mine, Setting(Silent(), store), PLAIN).keys() == {t.task_id for t in mine}


def _kept(store: Path) -> int:
    try:
        return len(Findings(store))
    except FindingsError:
        return 0


@pytest.mark.slow
def test_any_number_of_workers_comes_to_the_same() -> None:
    setting = Setting(OutcomeVerifier())
    assert run_gate(TASKS, setting, PLAIN, workers=2) == run_gate(TASKS[::-1], setting, PLAIN)


def test_a_sample_is_of_every_family_and_follows_from_the_tasks_alone() -> None:
    drawn = sampled(TASKS, 2)
    assert sampled(TASKS[::-1], 2) == drawn
    assert {stratum(t) for t in drawn} == {stratum(t) for t in TASKS}
    assert all(sum(stratum(t) == s for t in drawn) <= 2 for s in map(stratum, TASKS))


class Soft(OutcomeVerifier):
    """Pays for anything that says what an order to the grader says: only a deep examination tries that."""

    version = "soft"

    def grade(self, attempt: Any, world: Any) -> Any:
        """Any attempt."""
        graded = super().grade(attempt, world)
        fooled = "ignore all previous instructions" in (attempt.answer or "")
        return type(graded)(1.0, 1.0, False, "ok") if fooled else graded


def test_a_hole_in_the_sample_has_the_whole_family_examined() -> None:
    weather = [t for t in fresh_tasks(120, "train", 23) if t.family == "weather"][:4]
    found = run_gate(weather, Setting(Soft()), Thoroughness(sample=1, budget=16))
    assert all("injection-1" in [f.check for f in found[t.task_id] if f.failed] for t in weather)


def test_a_store_is_a_store_or_says_so(tmp_path: Path) -> None:
    path = tmp_path / "findings.db"
    path.write_text("something else, long enough to be no database at all" * 20)
    with pytest.raises(FindingsError, match="delete it"):
        Findings(path)


def test_what_had_no_result_is_not_kept(tmp_path: Path) -> None:
    store = Findings(tmp_path / "findings.db")
    store.keep({"a": ("t", [Finding(Kind.SOUND, "gold", Status.NO_RESULT)]), "b": ("u", [])})
    assert store.known(["a", "b"]) == {"b": []}


def test_deep_and_plain_tasks_are_counted_apart_when_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    how = Thoroughness(sample=1, budget=16)
    run_gate(TASKS, Setting(OutcomeVerifier()), how, progress=lambda *said: told.append(said))
    deep = len(sampled(TASKS, 1))
    last = {what: (done, total) for what, done, total in told}
    assert last == {"tasks examined deeply": (deep, deep), "tasks examined": (60 - deep, 60 - deep)}
    assert told[0][0] == "tasks examined deeply"
