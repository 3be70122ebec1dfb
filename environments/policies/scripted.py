"""Policies without weights that know the gold solution: gold itself, and a noisy teacher.

Only scripted policies may look at a task's gold calls and answer. Those that must earn nothing have a file per kind.
"""

import random
import re
from collections.abc import Sequence
from typing import Any

from environments.episode import Attempt
from environments.policies.garbage import Garbage as Garbage
from environments.policies.guessing import OneLook as OneLook
from environments.policies.idle import NoOp as NoOp
from environments.policies.random_tools import RandomTools as RandomTools
from environments.policies.refusing import AlwaysRefuse as AlwaysRefuse
from environments.policies.script import Cheater, Scripted
from environments.policies.stuffing import KeywordStuffer as KeywordStuffer
from environments.policy import Action, Answer
from environments.task import Call, FactKind


def due_saying(attempt: Attempt) -> Answer | None:
    """What the gold solution has to say to the user before it goes on; asks again for what it was not told."""
    task, exchanges = attempt.task, attempt.exchanges
    if task.user is None or len(exchanges) >= task.user.max_replies:
        return None
    if task.gold_says:
        said = len(exchanges)
        due = said < len(task.gold_says) and task.gold_says[said].after <= len(attempt.steps)
        return Answer(task.gold_says[said].text) if due else None
    heard = [exchange.reply for exchange in exchanges]
    missing = [name for name, saying in task.user.facts.items() if not any(saying in reply for reply in heard)]
    if not missing:
        return None
    chinese = re.search(r"[㐀-鿿]", attempt.instruction)
    return Answer(f"请告诉我：{'、'.join(missing)}。" if chinese else f"Please tell me: {', '.join(missing)}.")


class Gold(Scripted):
    """Asks what it has to know, plays the gold calls and says the gold answer."""

    version = "gold-2"

    def next(self, attempt: Attempt) -> Action:
        """What is due: something to say to the user, a gold call, or the gold answer."""
        if saying := due_saying(attempt):
            return saying
        done, task = len(attempt.steps), attempt.task
        return task.gold_calls[done] if done < len(task.gold_calls) else Answer(task.gold_answer)


CHEATERS: tuple[type[Cheater], ...] = (NoOp, AlwaysRefuse, RandomTools, KeywordStuffer, Garbage, OneLook)
"""The plainest of those that must score 0 on every solvable task, and on refusal tasks unless the refusal is right.

All of them: `environments.policies.cheaters`."""


class NoisyTeacher(Scripted):
    """The embedded teacher: the gold solution with seeded slips of the kinds that agents make.

    Swapped ends, another date or mode, a skipped or repeated call, a made-up number, the wrong alternative, and on
    refusal tasks an answer where a refusal is due.
    """

    def __init__(self, noise: float = 0.08) -> None:
        self.noise = noise
        self.version = f"noisy-teacher-2-{noise:g}"
        self._plans: dict[int, list[Action]] = {}

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Draw each attempt's slips."""
        self._plans = {id(a): self._plan(a) for a in attempts}

    def next(self, attempt: Attempt) -> Action:
        """The planned action that is due, once the user has told what there is to know."""
        if saying := due_saying(attempt):
            return saying
        plan = self._plans[id(attempt)]
        return plan[min(len(attempt.steps), len(plan) - 1)]

    def _plan(self, attempt: Attempt) -> list[Action]:
        rng = random.Random(attempt.seed)
        plan: list[Action] = []
        for call in attempt.task.gold_calls:
            if rng.random() < self.noise / 2:
                continue
            slipped = Call(name=call.name, arguments=self._slip(dict(call.arguments), rng))
            plan += [slipped] * (2 if rng.random() < self.noise / 2 else 1)
        return [*plan, Answer(self._misread(attempt, rng))]

    def _slip(self, arguments: dict[str, Any], rng: random.Random) -> dict[str, Any]:
        if rng.random() < self.noise and {"origin", "destination"} <= arguments.keys():
            arguments["origin"], arguments["destination"] = arguments["destination"], arguments["origin"]
        if rng.random() < self.noise and "date" in arguments:
            arguments["date"] = f"2026-06-{rng.randint(10, 25)}"
        if rng.random() < self.noise and "modes" in arguments:
            arguments["modes"] = [rng.choice(("driving", "walking", "bicycling", "transit"))]
        return arguments

    def _misread(self, attempt: Attempt, rng: random.Random) -> str:
        """The gold answer, sometimes with a made-up number or an alternative in place of the fact."""
        goal, answer = attempt.task.goal, attempt.task.gold_answer
        if rng.random() < self.noise:
            answer = re.sub(r"\d+", lambda m: str(rng.randint(10, 99)) if rng.random() < 0.5 else m[0], answer)
        if rng.random() < self.noise and goal.required and goal.forbidden:
            kinds: set[FactKind] = {f.kind for f in goal.required}
            wrong = [f for f in goal.forbidden if f.kind in kinds]
            fact = rng.choice(wrong) if wrong else None
            right = next((f for f in goal.required if fact and f.kind == fact.kind), None)
            if fact and right:
                answer = answer.replace(right.value, fact.value)
        if rng.random() < self.noise and goal.reason:
            answer = "yes."
        return answer
