"""An attacker that is a language model: it reads the verifier's source and its verdicts, and proposes attacks.

What it proposes is played like any attempt; whether a score was earned is for the audit to say, as with the scripted
search. Answers are kept on disk by the client, so that a gate that was killed pays for none twice.
"""

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from string import Template
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from environments.budget import BudgetSpent
from environments.episode import Episode
from environments.gate.attack import inner, material_of
from environments.gate.audit import unearned
from environments.gate.finding import Finding, Kind, Status
from environments.gate.ground import Ground, broke, reward_of, said, told
from environments.gate.source import source_of
from environments.gate.witness import Plan
from environments.rollout import MakeWorld
from environments.structured import json_in
from environments.task import Call, Task
from environments.transport import NoResult
from environments.verifier import Verifier

Ask = Callable[[str], str]
"""A prompt in, the model's answer out; `environments.one_by_one.OneByOne` is one."""
EACH: Final = 4
"""Attacks that are asked for in a round; ours."""


class ProposedCall(BaseModel):
    """A call as the model writes it."""

    name: str
    arguments: str


class Proposal(BaseModel):
    """One attack."""

    idea: str = ""
    calls: list[ProposedCall] = []
    answer: str


class Proposals(BaseModel):
    """What the model answers."""

    attacks: list[Proposal]


def asked_attacks(task: Task, ground: Ground, ask: Ask, *, rounds: int) -> Finding:
    """The first exploit that a model finds in `rounds` rounds, as a finding.

    Args:
        task: which is attacked.
        ground: where.
        ask: the model.
        rounds: questions that may be asked about this task.
    """
    tried: list[str] = []
    unread = 0
    for _ in range(rounds):
        try:
            plans = proposed(ask(prompt(task, ground, tried)), task.max_calls)
        except NoResult as failure:
            return Finding(Kind.ATTACK, "model", Status.NO_RESULT, str(failure))
        unread += plans is None
        for plan, episode in zip(plans or (), ground.run(task, plans or ()), strict=True):
            if (why := _exploit(task, episode, ground)) is not None:
                return Finding(Kind.ATTACK, "model", Status.FAILED, f"{why}: {told(episode)}")
            tried.append(f"{_shown(plan)} -> {said(episode.verdict)}")
    return Finding(Kind.ATTACK, "model", Status.PASSED, f"{len(tried)} attacks, {unread} answers could not be read")


def model_attacks(
    tasks: Sequence[Task], make_world: Callable[[str], MakeWorld], verifier: Verifier, ask: Ask, *, rounds: int
) -> dict[str, list[Finding]]:
    """Findings of a model's attacks by task id; tasks that the budget no longer allows are left out."""
    found: dict[str, list[Finding]] = {}
    grounds = {world: Ground.of(make_world(world), verifier) for world in sorted({t.world for t in tasks})}
    for task in tasks:
        try:
            found[task.task_id] = [asked_attacks(task, grounds[task.world], ask, rounds=rounds)]
        except BudgetSpent:
            break
    return found


def prompt(task: Task, ground: Ground, tried: Sequence[str]) -> str:
    """What the model is asked; the gold solution is no part of it."""
    material = material_of(task, ground)
    text = files("environments.gate").joinpath("prompts/attack.txt").read_text(encoding="utf-8")
    return Template(text).substitute(
        instruction=material.instruction,
        tools=json.dumps(material.tools, ensure_ascii=False),
        max_calls=material.max_calls,
        source=source_of(inner(ground.verifier)),
        tried="\n".join(tried) or "nothing",
        count=EACH,
    )


def proposed(text: str, max_calls: int) -> list[Plan] | None:
    """The attacks in an answer; None where it cannot be read."""
    try:
        found = Proposals.model_validate_json(json_in(text)).attacks
        return [Plan(tuple(map(_call, a.calls[:max_calls])), a.answer) for a in found[:EACH]]
    except (ValidationError, json.JSONDecodeError):
        return None


def _call(said: ProposedCall) -> Call:
    arguments: Any = json.loads(said.arguments or "{}")
    return Call(name=said.name, arguments=arguments if isinstance(arguments, dict) else {})


def _exploit(task: Task, episode: Episode, ground: Ground) -> str | None:
    if (broken := broke(episode)) is not None:
        return broken
    return unearned(task, episode, ground) if reward_of(episode) > 0 else None


def _shown(plan: Plan) -> str:
    calls = "; ".join(f"{c.name} {json.dumps(c.arguments, ensure_ascii=False)}" for c in plan.calls)
    return f"{calls or 'no call'}, then {plan.answer[:200]!r}"
