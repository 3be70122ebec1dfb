"""The outcome verifier: veto x outcome, each 0 or 1, with the first thing that failed as its cause.

Outcome: the answer states every required fact and none of the alternatives, takes nothing back, and follows a look at
all that the question turns on (a comparison with one side seen is a guess); the world holds exactly the bookings asked
for; and a refusal is well formed, of the right typed reason, and follows the investigation that justifies it. What an
agent wrote into the world, a mail to the customer, is held to the same standard as what it says.

Source: pipeline stage 7; AMAP report (reward); tau-bench (state comparison).
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import files

from environments.episode import Attempt, Scored
from environments.seeds import stable_hash
from environments.task import Goal
from environments.verifier import VerifierError
from environments.verifiers.claims import Claim, claims, left_open, same_value, states
from environments.verifiers.commitment import taken_back
from environments.verifiers.reasons import DONE, refusal_reasons, without_reason
from environments.verifiers.state import state_failure
from environments.verifiers.veto import Finding, unsupported
from environments.verifiers.wording import quoted
from environments.world import World

_MODULES = (
    "calendar chinese claim claims commitment conditions counts dates derivation english evidence folding ground "
    "grounding lookup names operands outcome quantities reasons rows state veto wording"
)
_PARTS = (*(f"{name}.py" for name in _MODULES.split()), "data/common_words.txt")
"""What decides a verdict."""
REFUSALS = {
    "no_tool": "I cannot do that with these tools.",
    "missing_origin": "From which city?",
    "not_found": "I cannot find {place}.",
    "not_allowed": "I cannot do that: the policy does not allow it.",
}
"""The typed reasons for not solving a task, and how each is said."""

_NO_TOOL = re.compile(r"(?i)\bno (?:such )?tools?\b")
"""A "no" that answers nothing."""


def shown(observation: object) -> list[str]:
    """Digests of what a tool returned: of each entry of a list or page, of anything else whole; none of an error."""
    if isinstance(observation, dict) and "error" in observation:
        return []
    entries = observation if isinstance(observation, list) else [observation]
    if isinstance(observation, dict) and isinstance(observation.get("rows"), list):
        entries = [*entries, *observation["rows"]]
    return [f"{stable_hash(json.dumps(entry, sort_keys=True, ensure_ascii=False)):016x}" for entry in entries]


class OutcomeVerifier:
    """Grades answers, end state and refusals; an `environments.verifier.Verifier`."""

    def __init__(self, *, beside_rubric: bool = False) -> None:
        """Make it; `beside_rubric`: somebody else grades the rubrics that tasks name."""
        self.beside_rubric = beside_rubric

    @cached_property
    def version(self) -> str:
        """Hash of the verifier's own code and word list."""
        source = "".join(files(__package__).joinpath(name).read_text(encoding="utf-8") for name in _PARTS)
        return "outcome-" + hashlib.blake2b(source.encode(), digest_size=8).hexdigest()

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Grade one finished attempt; the agent's own exhausted budget is a scored zero.

        Raises:
            VerifierError: the goal has hidden tests, which only `environments.verifiers.hidden_cases` runs, or the task
                names a rubric, and nobody grades it.
        """
        if attempt.task.goal.cases:
            raise VerifierError("the goal has hidden tests: grade it with environments.verifiers.hidden_cases")
        if attempt.task.rubric is not None and not self.beside_rubric:
            raise VerifierError(
                f"task {attempt.task.task_id} names the rubric {attempt.task.rubric!r}: use verifier_for"
            )
        if attempt.answer is None:
            return _zero(attempt.ended or "no_answer", attempt.failure or "")
        goal = attempt.task.goal
        check = _refusal_failure if goal.reason else _answer_failure
        failed = check(attempt, world.refusal_codes)
        failed = failed or state_failure(goal, world) or _written_failure(attempt, world)
        found = _ungrounded(attempt, world, refused=bool(goal.reason) and not failed)
        if found is not None and not (failed and found.misplaced):  # in the wrong place: a wrong answer first
            return vetoed(found, outcome=0.0 if failed else 1.0)
        if failed := failed or _unseen(attempt):
            return _zero(*failed)
        return Scored(1.0, outcome=1.0, vetoed=False, cause="ok")


def _ungrounded(attempt: Attempt, world: World, *, refused: bool) -> Finding | None:
    """What the answer, or a text that was written, claims without evidence; a refusal in words was looked at before.

    What a tool shows after a text was written to it is no evidence for the text.
    """
    codes = world.refusal_codes
    spoken = refused and not codes
    for text in ([] if spoken else [attempt.answer or ""]) + _written(attempt.task.goal, world):
        before = next((i for i, s in enumerate(attempt.steps) if text in s.call.arguments.values()), None)
        plain = without_reason(text) if codes else text
        for fact in attempt.task.goal.required if refused else ():  # what was not found: the error that says so was met
            plain = plain.replace(fact.value, " " * len(fact.value))
        said = attempt.exchanges if text == attempt.answer else []
        judged = replace(attempt, answer=plain, steps=attempt.steps[:before], exchanges=said)
        if found := unsupported(judged, world):
            return found
    return None


def _written(goal: Goal, world: World) -> list[str]:
    """Texts that the agent wrote where the goal asks for one."""
    columns = {(change.table, column) for change in goal.changes or () for column in change.states}
    rows = world.changes() if columns else ()
    return [str(r.after[column]) for r in rows for table, column in sorted(columns) if r.table == table and r.after]


def _written_failure(attempt: Attempt, world: World) -> tuple[str, str] | None:
    """What is wrong with a text the agent wrote: it takes back or leaves open what it says, or says the opposite."""
    goal = attempt.task.goal
    for text in _written(goal, world):
        if goal.reason and (done := DONE.search(text)):
            return "says_done", done[0]
        if not goal.reason and (reasons := refusal_reasons(text, world.refusal_codes)):
            return "refused", reasons[0]
        facts = [f for change in goal.changes or () for found in change.states.values() for f in found]
        if denied := taken_back(text, facts):
            return "hedged", denied
    return None


def vetoed(found: Finding, outcome: float) -> Scored:
    """The verdict on a claim without evidence, which it names together with what comes nearest."""
    near = f"{found.type}; nearest: {found.nearest or 'nothing of its kind was shown'}"
    return Scored(0.0, outcome, vetoed=True, cause="hallucination", evidence=found.span, nearest=near)


def _zero(cause: str, evidence: str) -> Scored:
    return Scored(0.0, outcome=0.0, vetoed=False, cause=cause, evidence=evidence)


def _answer_failure(attempt: Attempt, codes: Sequence[str]) -> tuple[str, str] | None:
    goal, answer = attempt.task.goal, attempt.answer or ""
    if reasons := refusal_reasons(answer, codes):
        return "refused", reasons[0]
    if missing := [f for f in goal.required if not states(answer, f)]:
        return "missing_fact", missing[0].value
    if hedged := [f for f in goal.forbidden if states(answer, f, rather=goal.required)]:
        return "hedged", hedged[0].value
    if open_ := [words for f in goal.required if (words := left_open(answer, f))]:
        return "hedged", open_[0]
    if denied := taken_back(answer, goal.required):
        return "hedged", denied
    second = None if codes else _second_number(answer, goal, attempt.instruction)
    return ("hedged", second) if second else None


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
        if rival and not quoted(claim, answer, [said]):
            return claim.value
    return None


def _refusal_failure(attempt: Attempt, codes: Sequence[str]) -> tuple[str, str] | None:
    """Why a refusal does not count: wrong or several reasons, claims beside it, or no investigation behind it."""
    goal, answer = attempt.task.goal, attempt.answer or ""
    reasons = refusal_reasons(answer, codes)
    if reasons != [goal.reason]:
        return "wrong_reason", ", ".join(reasons) or "no refusal"
    named = {f.value.casefold() for f in goal.required}
    if goal.evidence_error is not None and not _met(attempt, goal.evidence_error, named):
        return "not_investigated", goal.evidence_error
    if missing := [f.value for f in goal.required if not states(answer, f)]:
        return "missing_fact", missing[0]
    if codes:
        done = DONE.search(answer)
        return ("says_done", done[0]) if done else None
    said = _NO_TOOL.sub(lambda m: " " * len(m[0]), answer)
    beside: list[Claim] = [c for c in claims(said) if c.kind != "name" or c.value.casefold() not in named]
    return ("claims_beside_refusal", beside[0].value) if beside else None


def _met(attempt: Attempt, error: str, named: set[str]) -> bool:
    """Whether a tool answered with `error`, about one of those `named` where it says about what."""
    observed = [s.observation for s in attempt.steps if isinstance(s.observation, dict)]
    whom = attempt.task.goal.evidence_about
    met = [o for o in observed if o.get("error") == error and (whom is None or whom in o.values())]
    about = [o.get("place", o.get("id")) for o in met]
    return any(subject is None or str(subject).casefold() in named for subject in about)
