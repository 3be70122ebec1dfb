"""The gate that every task must pass before anything is sampled from it.

`environments.gate` examines each task on its own; here it is seen among the others: twins, leakage, copies. A task
whose right end is a refusal is kept and not quarantined: it stands beside its solvable twin and is scored together with
it, so that refusing everything earns nothing. What fails goes to quarantine with the evidence and is never a negative
sample; what could not be examined for a fault of ours waits there for the next run.

Source: pipeline stage 6; tau2-bench's tasks that a do-nothing agent solves are what this gate is for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from assets.tasks.novelty import leakage
from environments.gate.finding import Bound, Finding, Kind, Status, broke_the_verifier, exploits_among, first_failure
from environments.gate.labelled import Known
from environments.gate.run import Progress, Setting, Thoroughness, run_gate, silent
from environments.task import Task

QUARANTINE, ADMISSION_REPORT = "tasks/quarantine", "tasks/admission_report"
HONEYPOTS, GATE_KNOWN = "tasks/honeypots", "tasks/gate_known"
WAITS = "no_result"
"""The check under which a task stands in quarantine whose examination we failed at."""


class Rejection(NamedTuple):
    """One task that failed the gate, or waits before it."""

    task_id: str
    check: str
    """`gold`, `reset`, `twin` ... or the version of the cheating policy."""
    evidence: str


class Admission(NamedTuple):
    """Who passed, who did not and why, and how often cheating paid."""

    admitted: list[Task]
    rejected: list[Rejection]
    findings: dict[str, list[Finding]]
    """Every check of every task, by task id."""

    @property
    def exploits(self) -> Bound:
        """(task, way to cheat) pairs in which cheating paid, over all tasks that came to the gate."""
        return exploits_among(f for found in self.findings.values() for f in found)

    @property
    def exploits_left(self) -> Bound:
        """The same over the admitted tasks: none, and the bound says how sure that is."""
        return exploits_among(f for t in self.admitted for f in self.findings[t.task_id])

    @property
    def broke_the_verifier(self) -> int:
        """How many tasks had a check over which the verifier stumbled: it has a fault, or the task's goal has."""
        return sum(bool(broke_the_verifier(found)) for found in self.findings.values())

    def number(self, kind: Kind) -> int:
        """How many tasks had a check of this kind."""
        return sum(any(f.kind is kind for f in found) for found in self.findings.values())


def admit(
    tasks: Sequence[Task],
    setting: Setting,
    how: Thoroughness = Thoroughness(),  # noqa: B008
    *,
    workers: int = 1,
    progress: Progress = silent,
    attacks: Callable[[Sequence[Task]], Mapping[str, list[Finding]]] | None = None,
) -> Admission:
    """Run the gate over `tasks`; order-free, the same for any number of workers and kills in between.

    Args:
        tasks: compiled or imported tasks, twins included.
        setting: verifier that will grade them in training, store of findings, worlds.
        how: which tasks are examined deeply.
        workers: processes side by side.
        progress: told what is done of how much.
        attacks: what else is tried on tasks that pass so far: a language model's attacks, where there is one.
    """
    found = run_gate(tasks, setting, how, workers=workers, progress=progress)
    passing = [t for t in tasks if rejection(t.task_id, found[t.task_id]) is None]
    more = attacks(passing) if attacks is not None else {}
    among = leakage(tasks)
    findings = {t.task_id: [*found[t.task_id], *more.get(t.task_id, ()), *among[t.task_id]] for t in tasks}
    for task_id, orphan in _orphans(tasks, findings).items():
        findings[task_id].append(orphan)
    rejected = [r for t in tasks if (r := rejection(t.task_id, findings[t.task_id])) is not None]
    out = {r.task_id for r in rejected}
    return Admission([t for t in tasks if t.task_id not in out], sorted(rejected), findings)


def rejection(task_id: str, findings: Sequence[Finding]) -> Rejection | None:
    """Why a task does not pass, if it does not."""
    bad = first_failure(findings)
    if bad is not None:
        return Rejection(task_id, bad.check, bad.evidence)
    open_ = next((f for f in findings if f.status is Status.NO_RESULT), None)
    return None if open_ is None else Rejection(task_id, WAITS, f"{open_.check}: {open_.evidence}")


def _orphans(tasks: Sequence[Task], findings: Mapping[str, Sequence[Finding]]) -> dict[str, Finding]:
    """Tasks whose twin does not pass, those whose twin is one of them included, and refusals that name none."""
    by_id = {t.task_id: t for t in tasks}
    out = {t.task_id for t in tasks if rejection(t.task_id, findings[t.task_id]) is not None}
    found: dict[str, Finding] = {}
    while True:
        lost = [t for t in tasks if t.task_id not in out and _is_alone(t, by_id, out)]
        if not lost:
            return found
        for task in lost:
            evidence = f"its twin {task.twin} was not admitted" if task.twin else "a refusal without a solvable twin"
            found[task.task_id] = Finding(Kind.POOL, "twin", Status.FAILED, evidence)
            out.add(task.task_id)


def _is_alone(task: Task, by_id: Mapping[str, Task], out: set[str]) -> bool:
    if task.twin is None:
        return task.goal.reason is not None
    return task.twin in out or task.twin not in by_id


QUARANTINED = {"task_id": pl.String, "check": pl.String, "evidence": pl.String, "world": pl.String, "family": pl.String,
               "split": pl.String, "instruction": pl.String}  # fmt: skip
REPORTED = {"task_id": pl.String, "world": pl.String, "family": pl.String, "kind": pl.String, "check": pl.String,
            "status": pl.String, "evidence": pl.String}  # fmt: skip


def quarantine_frame(tasks: Sequence[Task], rejected: Sequence[Rejection]) -> pl.DataFrame:
    """What was turned down, with what it was and why."""
    by_id = {t.task_id: t for t in tasks}
    shown = [
        (by_id[r.task_id].world, by_id[r.task_id].family, by_id[r.task_id].split, by_id[r.task_id].instruction)
        for r in rejected
    ]
    return pl.DataFrame([(*r, *s) for r, s in zip(rejected, shown, strict=True)], schema=QUARANTINED, orient="row")


def report_frame(tasks: Sequence[Task], findings: Mapping[str, Sequence[Finding]]) -> pl.DataFrame:
    """One row per task and check."""
    ordered = sorted(tasks, key=lambda t: t.task_id)
    rows = [(t, f) for t in ordered for f in findings[t.task_id]]
    return pl.DataFrame(
        {
            "task_id": [t.task_id for t, _ in rows],
            "world": [t.world for t, _ in rows],
            "family": [t.family for t, _ in rows],
            "kind": [f.kind.value for _, f in rows],
            "check": [f.check for _, f in rows],
            "status": [f.status.value for _, f in rows],
            "evidence": [f.evidence for _, f in rows],
        },
        schema=REPORTED,
    )


def known_frame(gate: Known) -> pl.DataFrame:
    """What gate and verifier got wrong of the labelled set: good things turned down, broken ones let through."""
    rows = [("turned down", d.what, d.text, d.verdict) for d in gate.turned_down]
    rows += [("let through", kind, "", "") for kind in gate.missed]
    schema = {"mistake": pl.String, "what": pl.String, "text": pl.String, "verdict": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def gate_numbers(result: Admission, gate: Known) -> dict[str, float]:
    """What the catalogue plots of an admission."""
    compiled, waiting = len(result.findings), sum(r.check == WAITS for r in result.rejected)
    return {
        "compiled": compiled,
        "quarantined": len(result.rejected),
        "waiting": waiting,
        "admission_yield": len(result.admitted) / max(1, compiled),
        "exploit_rate": result.exploits.rate,
        "exploit_rate_upper_95": result.exploits.upper,
        "exploit_rate_admitted_upper_95": result.exploits_left.upper,
        "ways_to_cheat_tried": result.exploits.trials,
        "broke_the_verifier": result.broke_the_verifier,
        "attacked": result.number(Kind.ATTACK),
        "false_rejection_rate": gate.false_rejections.rate,
        "false_rejection_rate_upper_95": gate.false_rejections.upper,
        "broken_caught": gate.caught.rate,
    }
