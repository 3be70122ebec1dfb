"""Gold actions of a tau2 task replayed in our world: what came back, what failed, and the goal they reach."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from environments.episode import Step
from environments.task import Call, Change, Fact, Task
from environments.tool import Effect
from environments.verifiers.outcome import REFUSALS
from environments.world import RowChange
from environments.worlds.documents import DocumentWorld

FEWEST_CALLS = 30
"""Budget of a task in calls, or twice its gold solution where that is more."""


class FailedAction(NamedTuple):
    """A gold action that fails when it is replayed."""

    name: str
    """Tau2's id of the task."""
    call: Call
    error: str
    writes: bool


class Played(NamedTuple):
    """A replay: what came back, and what was left changed."""

    steps: list[Step]
    changes: list[RowChange]

    def failed(self) -> list[Step]:
        """The calls that came back with an error."""
        return [step for step in self.steps if is_error(step)]


def play(world: DocumentWorld, start: Task, calls: Sequence[Call]) -> Played:
    """Make the calls in a fresh world as the task starts."""
    world.reset()
    world.begin(start)
    steps = [Step(call, world.call(call.name, call.arguments)) for call in calls]
    return Played(steps, list(world.changes()))


def is_error(step: Step) -> bool:
    """Whether a call came back with an error."""
    return isinstance(step.observation, dict) and "error" in step.observation


def writes(world: DocumentWorld, call: Call) -> bool:
    """Whether a call may change something."""
    return world.tools()[call.name].effect is Effect.WRITE


def failures(name: str, world: DocumentWorld, played: Played) -> list[FailedAction]:
    """The gold actions of task `name` that failed."""
    return [FailedAction(name, s.call, json.dumps(s.observation), writes(world, s.call)) for s in played.failed()]


def goal_changes(played: Played, key_fields: Mapping[str, str]) -> tuple[Change, ...]:
    """The documents that must have changed, whole; one whose key the world makes up is known by the rest."""
    return tuple(_change(change, key_fields) for change in played.changes)


def _change(change: RowChange, key_fields: Mapping[str, str]) -> Change:
    if change.before is not None or change.after is None:
        return Change(table=change.table, key=change.key, columns=change.after)
    rest = {name: value for name, value in change.after.items() if name != key_fields[change.table]}
    return Change(table=change.table, columns=rest)


def solution(world: DocumentWorld, played: Played, facts: Sequence[Fact], reason: str | None) -> dict[str, Any]:
    """The gold solution as fields of a task, with what follows from it; a call that fails is no part of it."""
    calls = tuple(step.call for step in played.steps if not is_error(step))
    written = sorted({c.name for c in calls if writes(world, c)}) if played.changes else []
    said = "; ".join(_said(fact) for fact in facts)
    answer = f"here is what you asked for: {said}." if said else "it is done."
    return {
        "family": "refusal" if reason else "+".join(written) or "question",
        "depth": 0 if reason else 4 if written else min(len(calls), 2),
        "gold_calls": calls,
        "gold_answer": REFUSALS[reason] if reason else answer,
        "max_calls": max(FEWEST_CALLS, 2 * len(calls)),
    }


def _said(fact: Fact) -> str:
    """A fact as the gold answer states it; amounts of money go without their unit."""
    return f"{fact.value} {fact.unit}" if fact.unit not in (None, "dollars") else fact.value


def about(call: Call) -> str:
    """A call in a few words: its tool and its first argument."""
    return f"{call.name} {next(iter(call.arguments.values()), '')}".strip()
