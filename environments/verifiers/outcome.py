"""The outcome verifier: veto x outcome, each 0 or 1, with the first thing that failed as its cause.

Outcome: the answer states every required fact and none of the alternatives, takes nothing back, and follows a look at
all that the question turns on (a comparison with one side seen is a guess); the world holds exactly the bookings asked
for; and a refusal is well formed, of the right typed reason, and follows the investigation that justifies it.

Source: pipeline stage 7; AMAP report (reward); tau-bench (state comparison).
"""

import hashlib
import inspect
import json
import re
import sys
from functools import cached_property

from environments.episode import Attempt, Scored
from environments.seeds import stable_hash
from environments.task import Goal
from environments.verifiers import claims as claims_module
from environments.verifiers import state as state_module
from environments.verifiers import veto as veto_module
from environments.verifiers.claims import VERDICT_WORDS, claims, same_value, states
from environments.verifiers.state import state_failure
from environments.verifiers.veto import quoted, unsupported
from environments.world import World

REFUSALS = {
    "no_tool": "I cannot do that with these tools.",
    "missing_origin": "From which city?",
    "not_found": "I cannot find {place}.",
    "not_allowed": "I cannot do that: the policy does not allow it.",
}
"""The typed reasons for not solving a task, and how each is said."""
_REASON = {
    "no_tool": re.compile(r"(?i)\bcannot do (that|this)\b.*\btools?\b"),
    "missing_origin": re.compile(r"(?i)\b(from which|which) (city|place)\b.*\?|\bwhere (are you|do you) .*from.*\?"),
    "not_found": re.compile(r"(?i)\bcannot find (?P<place>[^.]+)"),
    "not_allowed": re.compile(
        r"(?i)\b(?:polic(?:y|ies)|rules?) (?:does|do)(?: not|n't) (?:allow|permit)"
        r"|\b(?:not allowed by|against) (?:the|our) (?:polic(?:y|ies)|rules?)\b"
    ),
}


_OPEN = re.compile(
    r"(?i)\b(?:maybe|perhaps|possibly|might|probably|guess(?:ed|ing)?|unsure|not sure|cannot confirm"
    r"|made (?:it|this|that) up|ignore (?:it|this|that)|(?:is|are|was) (?:false|wrong|untrue|incorrect))\b"
)
_NOT = re.compile(r"(?i)\b(?:not|never)\b|n't\b")


def shown(observation: object) -> list[str]:
    """Digests of what a tool returned: of each entry of a list, of anything else as a whole; none of an error."""
    if isinstance(observation, dict) and "error" in observation:
        return []
    entries = observation if isinstance(observation, list) else [observation]
    return [f"{stable_hash(json.dumps(entry, sort_keys=True, ensure_ascii=False)):016x}" for entry in entries]


def refusal_reasons(answer: str) -> list[str]:
    """The typed reasons that `answer` gives for not solving the task; more than one is hedging."""
    return [reason for reason, pattern in _REASON.items() if pattern.search(answer)]


class OutcomeVerifier:
    """Grades answers, end state and refusals; an `environments.verifier.Verifier`."""

    @cached_property
    def version(self) -> str:
        """Hash of the verifier's own code."""
        modules = (claims_module, state_module, veto_module, sys.modules[__name__])
        source = "".join(inspect.getsource(m) for m in modules)
        return "outcome-" + hashlib.blake2b(source.encode(), digest_size=8).hexdigest()

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Grade one finished attempt; the agent's own exhausted budget is a scored zero."""
        if attempt.answer is None:
            return _zero(attempt.ended or "no_answer", attempt.failure or "")
        goal = attempt.task.goal
        failed = _refusal_failure(attempt) if goal.reason else _answer_failure(attempt)
        failed = failed or state_failure(goal, world)
        vetoed = None if goal.reason and not failed else unsupported(attempt)
        if vetoed is not None:
            span = attempt.answer[vetoed.start : vetoed.end]
            return Scored(0.0, outcome=0.0 if failed else 1.0, vetoed=True, cause="hallucination", evidence=span)
        if failed := failed or _unseen(attempt):
            return _zero(*failed)
        return Scored(1.0, outcome=1.0, vetoed=False, cause="ok")


def _zero(cause: str, evidence: str) -> Scored:
    return Scored(0.0, outcome=0.0, vetoed=False, cause=cause, evidence=evidence)


def _answer_failure(attempt: Attempt) -> tuple[str, str] | None:
    goal, answer = attempt.task.goal, attempt.answer or ""
    if reasons := refusal_reasons(answer):
        return "refused", reasons[0]
    if missing := [f for f in goal.required if not states(answer, f)]:
        return "missing_fact", missing[0].value
    if hedged := [f for f in goal.forbidden if states(answer, f)]:
        return "hedged", hedged[0].value
    if denied := _denial(answer, goal):
        return "hedged", denied
    second = _second_number(answer, goal, attempt.instruction)
    return ("hedged", second) if second else None


def _denial(answer: str, goal: Goal) -> str | None:
    """Words that take the answer back or leave it open; "not" may stand in an answer that says yes or no."""
    verdict = any(f.kind == "word" and f.value in VERDICT_WORDS for f in goal.required)
    found = _OPEN.search(answer) or (None if verdict else _NOT.search(answer))
    return found[0] if found else None


def _unseen(attempt: Attempt) -> tuple[str, str] | None:
    """Whether the tools never showed something that the answer needs."""
    met = {digest for step in attempt.steps for digest in shown(step.observation)}
    missing = [digest for digest in attempt.task.goal.seen if digest not in met]
    evidence = f"{len(missing)} of {len(attempt.task.goal.seen)} results never seen"
    return ("not_investigated", evidence) if missing else None


def _second_number(answer: str, goal: Goal, said: str) -> str | None:
    """A number beside the one asked for, in its unit or in none: two tries at one fact are a hedge."""
    asked = [f for f in goal.required if f.kind == "number"]
    units = {None, *(f.unit for f in asked)}
    for claim in claims(answer) if asked else ():
        rival = claim.kind == "number" and claim.unit in units and not any(same_value(claim, f) for f in asked)
        if rival and not quoted(claim, answer, said):
            return claim.value
    return None


def _refusal_failure(attempt: Attempt) -> tuple[str, str] | None:
    """Why a refusal does not count: wrong or several reasons, claims beside it, or no investigation behind it."""
    goal, answer = attempt.task.goal, attempt.answer or ""
    reasons = refusal_reasons(answer)
    if reasons != [goal.reason]:
        return "wrong_reason", ", ".join(reasons) or "no refusal"
    if goal.evidence_error is None:
        extra = claims(answer)
        return ("claims_beside_refusal", extra[0].value) if extra else None
    met = [s.observation for s in attempt.steps if isinstance(s.observation, dict)]
    named = {f.value.casefold() for f in goal.required if f.kind == "name"}
    errors = [o for o in met if o.get("error") == goal.evidence_error]
    if not any("place" not in o or str(o["place"]).casefold() in named for o in errors):
        return "not_investigated", goal.evidence_error
    if missing := [f.value for f in goal.required if not states(answer, f)]:
        return "missing_fact", missing[0]
    named = {f.value.casefold() for f in goal.required}
    beside = [c for c in claims(answer) if c.kind != "name" or c.value.casefold() not in named]
    return ("claims_beside_refusal", beside[0].value) if beside else None
