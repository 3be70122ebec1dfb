"""What happened in an episode, read off the world itself: for checks that do not trust the verifier.

Episodes are played by the one engine, with a verifier that grades nothing and writes down what it is shown.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from environments.episode import Attempt, Scored, Step
from environments.policies.script import Scripted
from environments.policy import Action, Answer
from environments.task import Call
from environments.world import World


@dataclass(frozen=True)
class Testimony:
    """One episode as the world saw it."""

    steps: tuple[Step, ...]
    changes: tuple[str, ...]
    """Each changed row as text: table, values before and after."""
    effects: Counter[str] = field(default_factory=Counter)
    """How often each tool wrote something else than what was there."""


class Witness:
    """Writes down what each attempt did to its world; an `environments.verifier.Verifier` that grades nothing."""

    version = "witness-1"

    def __init__(self) -> None:
        self.heard: list[Testimony] = []

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Note the steps, the rows changed and the side effects."""
        rows = sorted(_text(change._asdict()) for change in world.changes())
        wrote = Counter(effect.tool for effect in world.ledger() if effect.before != effect.after)
        self.heard.append(Testimony(tuple(attempt.steps), tuple(rows), wrote))
        return Scored(0.0, 0.0, vetoed=False, cause="witnessed")


class Plan(NamedTuple):
    """What an episode is to do: these calls, then this answer."""

    calls: tuple[Call, ...]
    answer: str


class Planned(Scripted):
    """Plays a plan per attempt, in the order of the attempts."""

    version = "planned-1"

    def __init__(self, plans: Sequence[Plan]) -> None:
        """Play `plans`, one in each attempt."""
        self.plans = plans
        self._of: dict[int, Plan] = {}

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Give each attempt its plan."""
        self._of = {id(a): plan for a, plan in zip(attempts, self.plans, strict=True)}

    def next(self, attempt: Attempt) -> Action:
        """The call that is due, or the answer."""
        plan, done = self._of[id(attempt)], len(attempt.steps)
        return plan.calls[done] if done < len(plan.calls) else Answer(plan.answer)


def entries(observation: object) -> Iterator[str]:
    """What a tool showed, entry by entry; nothing of an error."""
    if isinstance(observation, dict) and "error" in observation:
        return
    for entry in observation if isinstance(observation, list) else [observation]:
        yield _text(entry)


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
