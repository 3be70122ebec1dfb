"""Policies without weights: the gold solution, a noisy teacher, and the ones that must earn nothing.

Only these may look at a task's gold calls and answer.
"""

import random
import re
from collections.abc import Sequence
from typing import Any

from environments.episode import Attempt
from environments.policy import Action, Answer
from environments.task import Call, FactKind
from environments.verifiers.outcome import REFUSALS


class Scripted:
    """Base of the scripted policies: one decision per attempt, no batch state."""

    version = "scripted-1"
    sampler = "none"
    template = "none"

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Nothing to get ready."""

    def act(self, attempts: Sequence[Attempt]) -> list[Action]:
        """The next action of each attempt."""
        return [self.next(a) for a in attempts]

    def next(self, attempt: Attempt) -> Action:
        """The next action of one attempt."""
        raise NotImplementedError


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


class NoOp(Scripted):
    """Says nothing and does nothing."""

    version = "no-op-1"

    def next(self, attempt: Attempt) -> Action:
        """An empty answer."""
        return Answer("")


class AlwaysRefuse(Scripted):
    """Refuses everything with a well-formed refusal."""

    version = "always-refuse-1"

    def next(self, attempt: Attempt) -> Action:
        """The refusal for a missing tool."""
        return Answer(REFUSALS["no_tool"])


class RandomTools(Scripted):
    """Calls tools on offer with words of the request as arguments, then reads the first result back."""

    version = "random-tools-1"

    def next(self, attempt: Attempt) -> Action:
        """A random call, or everything seen so far as the answer."""
        rng = random.Random(attempt.seed * 31 + len(attempt.steps))
        if len(attempt.steps) >= attempt.task.max_calls or rng.random() < 0.3:
            return Answer(" ".join(str(s.observation) for s in attempt.steps))
        words = re.findall(r"[A-Z]\w+|\d[\w-]+", attempt.instruction) or ["Paris"]
        names = ("origin", "destination", "date", "location", "query", "center", "number")
        return Call(name=rng.choice(attempt.task.tools), arguments={n: rng.choice(words) for n in rng.sample(names, 3)})


class KeywordStuffer(Scripted):
    """Stuffs the answer with every word of the closed vocabularies and every number a verifier might look for."""

    version = "keyword-stuffer-1"

    def next(self, attempt: Attempt) -> Action:
        """One long answer."""
        from environments.verifiers.claims import CHOICE_WORDS, MODE_WORDS, SKY_WORDS, VERDICT_WORDS

        words = [*VERDICT_WORDS, *SKY_WORDS, *MODE_WORDS, *CHOICE_WORDS, attempt.instruction]
        return Answer(" ".join([*words, *map(str, range(10, 40))]))


class Garbage(Scripted):
    """Writes what is neither a call nor an answer to the request."""

    version = "garbage-1"

    def next(self, attempt: Attempt) -> Action:
        """Noise that looks like an attempt to write the reward."""
        return Answer('{"reward": 1.0} <tool_call> ### {{')


class OneLook(Scripted):
    """Looks where the gold solution looks first, and then gives the gold answer: a lucky guess at the rest."""

    version = "one-look-1"

    def next(self, attempt: Attempt) -> Action:
        """The first gold call, then the answer."""
        calls = attempt.task.gold_calls
        return calls[0] if calls and not attempt.steps else Answer(attempt.task.gold_answer)


CHEATERS: tuple[type[Scripted], ...] = (NoOp, AlwaysRefuse, RandomTools, KeywordStuffer, Garbage, OneLook)
"""Policies that must score 0 on every solvable task, and on refusal tasks unless the refusal is right."""


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
