"""Every check of one task on its own: what the gate knows of a task before it looks at the pool around it.

A verifier or a world that raises what it should not is caught here, task by task: it is a finding about the task like
any other, and the other tasks go on.
"""

import hashlib
import inspect
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

import environments.gate as gate_package
import environments.policies as policies_package
from environments.gate.attack import attacked
from environments.gate.changes import changed
from environments.gate.cheating import cheating
from environments.gate.finding import Finding, Kind, Status
from environments.gate.ground import Ground
from environments.gate.soundness import soundness
from environments.policies.cheaters import cheaters
from environments.task import Task

BUDGET = 150
"""Verdicts that the scripted attacker may spend on a task; ours."""
BREAKAGES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What broken code of a verifier or a world raises; not what says that the machine is at its end."""


class Depth(NamedTuple):
    """How thoroughly a task is examined."""

    deep: bool = False
    """Also what attacks all tasks of a family alike: harness, search, metamorphic checks."""
    budget: int = BUDGET
    """Verdicts that the scripted attacker may spend."""

    @property
    def label(self) -> str:
        """For keys and reports."""
        return f"deep-{self.budget}" if self.deep else "plain"


@cache
def gate_version() -> str:
    """Hash of all code of the gate and of its policies: other checks are asked anew."""
    digest = hashlib.blake2b(digest_size=8)
    for package in (gate_package, policies_package):
        for found in sorted(iter_modules(package.__path__), key=lambda m: m.name):
            digest.update(inspect.getsource(import_module(f"{package.__name__}.{found.name}")).encode())
    return f"gate-{digest.hexdigest()}"


def examined(tasks: Sequence[Task], ground: Ground, depth: Depth) -> dict[str, list[Finding]]:
    """Findings of each task, in the order in which they were made; each task counts once, however often it comes."""
    distinct = list({t.task_id: t for t in tasks}.values())
    try:
        return _examined(distinct, ground, depth)
    except BREAKAGES as error:  # of one task: the others go on
        if len(distinct) == 1:
            crash = Finding(Kind.SOUND, "crash", Status.FAILED, f"{type(error).__name__}: {error}"[:400])
            return {distinct[0].task_id: [crash]}
    fresh = (Ground.of(ground.make_world, ground.verifier, ground.user) for _ in distinct)
    return {i: f for task, own in zip(distinct, fresh, strict=True) for i, f in examined([task], own, depth).items()}


def _examined(tasks: Sequence[Task], ground: Ground, depth: Depth) -> dict[str, list[Finding]]:
    found = soundness(tasks, ground)
    world = ground.pool.lend()
    policies = [p for p in cheaters(world.tools(), world.refusal_codes) if depth.deep or p.everywhere]
    ground.pool.give_back(world)
    for task_id, more in cheating(tasks, policies, ground).items():
        found[task_id] += more
    for task in tasks if depth.deep else ():
        if not any(f.failed for f in found[task.task_id]):
            found[task.task_id] += [*changed(task, ground), attacked(task, ground, budget=depth.budget)]
    return found
