"""An attacker that has the verifier's source and a budget of verdicts: a search for a score that was not earned.

It knows what an agent knows (instruction, tools, what the tools show) and beside that the source and, for every try,
the verdict with its cause and evidence; never the gold solution. The search is a fuzzer's: a try that brings a
verdict of a new kind is kept and changed further, and what a verdict complains of is put in or taken out. Whether a
score was earned is decided by `environments.gate.audit`. A task that it solves by doing the work is no exploit.

Source: coverage-guided fuzzing, with verdicts in the place of branches.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from environments.episode import Episode, NoResult, Scored, Step
from environments.gate.audit import Reference, reference, unearned
from environments.gate.finding import Finding, Kind, Status
from environments.gate.ground import Ground, broke, reward_of, told
from environments.gate.mutation import Material, changed_answer, changed_calls, openings
from environments.gate.source import literals, source_of
from environments.gate.witness import Plan
from environments.policies.refusing import refusal
from environments.sealed import without_gold
from environments.seeds import stable_hash
from environments.task import Task
from environments.verifier import Verifier

AT_ONCE: Final = 16
"""Tries that are played side by side."""
FIRST: Final = ("", "yes", "no", "Done.", '{"reward": 1.0}')


class Known(NamedTuple):
    """A try that was worth keeping, with what came of it."""

    plan: Plan
    steps: tuple[Step, ...]
    complaint: str
    depth: int
    """How many complaints were answered on the way here."""


@dataclass
class Hunt:
    """What the attacker knows so far."""

    material: Material
    rng: random.Random
    kept: dict[tuple[str, str, str], Known] = field(default_factory=dict)
    tries: int = 0
    earned: int = 0
    parents: dict[str, int] = field(default_factory=dict)
    """Depth of what each plan under way was made from."""

    def propose(self) -> Plan:
        """A change of something kept: of anything, or of what came furthest."""
        known = [self.kept[key] for key in sorted(self.kept)]
        deepest = sorted(known, key=lambda k: -k.depth)[:4]
        parent = self.rng.choice(deepest if self.rng.random() < 0.5 else known)
        plan = self._changed(parent)
        self.parents[_key(plan)] = parent.depth
        return plan

    def _changed(self, parent: Known) -> Plan:
        calls = changed_calls(parent.plan.calls, parent.steps, self.material, self.rng)
        answer = changed_answer(parent.plan.answer, parent.complaint, parent.steps, self.material, self.rng)
        keep_calls, keep_answer = self.rng.random() < 0.6, self.rng.random() < 0.2
        return Plan(parent.plan.calls if keep_calls else calls, parent.plan.answer if keep_answer else answer)

    def learn(self, plan: Plan, episode: Episode) -> None:
        """Keep a try whose verdict is of a new kind, or that came to a known one by less."""
        self.tries += 1
        cause, complaint = _complaint(episode)
        key = (cause, re.sub(r"\d", "0", complaint)[:40], _ways(episode.steps))
        depth = self.parents.pop(_key(plan), 0)
        old = self.kept.get(key)
        if old is None or _cost(plan) < _cost(old.plan):
            self.kept[key] = Known(plan, episode.steps, complaint, depth + 1 if old is None else old.depth)


def attacked(task: Task, ground: Ground, *, budget: int) -> Finding:
    """The cheapest exploit of `task` that `budget` verdicts find, as a finding."""
    known = reference(task, ground)
    if known is None:
        return Finding(Kind.ATTACK, "search", Status.NO_RESULT, "the world gave no result for the gold solution")
    hunt = begun(task, ground)
    plans = [*(Plan((), answer) for answer in FIRST), *openings(hunt.material, hunt.rng)]
    best: tuple[Plan, str] | None = None
    while hunt.tries < budget:
        for plan, episode in zip(plans, ground.run(task, plans), strict=True):
            hunt.learn(plan, episode)
            why = _exploit(task, episode, ground, known, hunt)
            if why is not None and (best is None or _cost(plan) < _cost(best[0])):
                best = plan, why
        plans = [_less(best[0], hunt.rng) if best else hunt.propose() for _ in range(min(AT_ONCE, budget))]
    seen = f"{hunt.tries} tries, {len(hunt.kept)} kinds of verdict, {hunt.earned} that did the work"
    return Finding(Kind.ATTACK, "search", Status.FAILED if best else Status.PASSED, best[1] if best else seen)


def begun(task: Task, ground: Ground) -> Hunt:
    """An attacker that has seen nothing yet but the task, its tools and the source."""
    return Hunt(material_of(task, ground), random.Random(stable_hash("attack", task.task_id)))


def material_of(task: Task, ground: Ground) -> Material:
    """What an attack on `task` is made of."""
    world = ground.pool.lend()
    tools = {
        name: tool.schema()["function"]["parameters"] for name, tool in world.tools().items() if name in task.tools
    }
    codes = tuple(world.refusal_codes)
    ground.pool.give_back(world)
    said = without_gold(task).instruction
    words = (*(refusal(code, codes) for code in codes), *codes, *literals(source_of(inner(ground.verifier))))
    return Material(said, tools, words, task.max_calls)


def inner(verifier: Verifier) -> Verifier:
    """The verifier itself, where one of ours stands around it."""
    return getattr(verifier, "verifier", verifier)


def _complaint(episode: Episode) -> tuple[str, str]:
    verdict = episode.verdict
    if isinstance(verdict, Scored):
        return verdict.cause, verdict.evidence
    return type(verdict).__name__, verdict.cause


def _exploit(task: Task, episode: Episode, ground: Ground, known: Reference, hunt: Hunt) -> str | None:
    """What is wrong with the score of a try: that it was not earned, or that it broke the verifier."""
    if (broken := broke(episode)) is not None:
        return f"{broken}: {told(episode)}"
    if isinstance(episode.verdict, NoResult) or reward_of(episode) <= 0:
        return None
    why = unearned(task, episode, ground, known)
    hunt.earned += why is None
    return None if why is None else f"{why}: {told(episode)}"


def _ways(steps: Sequence[Step]) -> str:
    """Which tools answered, and which refused with what: another way through the world is worth keeping."""
    ends = {f"{s.call.name} {s.observation.get('error', '') if isinstance(s.observation, dict) else ''}" for s in steps}
    return ", ".join(sorted(ends))


def _key(plan: Plan) -> str:
    return f"{plan.calls}{plan.answer}"


def _cost(plan: Plan) -> tuple[int, int, str]:
    return len(plan.calls), len(plan.answer), plan.answer


def _less(plan: Plan, rng: random.Random) -> Plan:
    """The plan with one call or some words fewer."""
    if plan.calls and rng.random() < 0.4:
        gone = rng.randrange(len(plan.calls))
        return Plan(tuple(c for i, c in enumerate(plan.calls) if i != gone), plan.answer)
    words = plan.answer.split()
    first, last = sorted((rng.randint(0, len(words)), rng.randint(0, len(words))))
    return Plan(plan.calls, " ".join((*words[:first], *words[last:])))
