"""The hallucination veto: a fact without evidence makes the reward 0, whatever else was good.

Evidence has classes: tool output; derivation from tool output (sum, difference or rounding within one unit); and the
user's turn, which grounds only what is quoted back as the user's ("your 300 euros") and the names the user asked about.
Repeating a premise the user believes is a claim about the world and needs a tool.

Source: AMAP report (hallucination hard veto); TravelBench judge checklist.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from environments.episode import Attempt, Step
from environments.verifiers.claims import CHOICE_WORDS, VERDICT_WORDS, Claim, claims

UNIT_OF = {"price": "euros", "temp": "degrees", "km": "km", "minutes": "minutes", "rating": "rating"}
"""Unit of each numeric field that tools return."""
_SEARCH_OF = {"flight": "travel_search_flights", "train": "travel_search_trains"}


@dataclass
class Evidence:
    """What the tools of one episode have returned, by type."""

    numbers: dict[str, set[float]] = field(default_factory=dict)
    """Unit -> values."""
    texts: set[str] = field(default_factory=set)
    """Every string value, case-folded."""
    searched: set[str] = field(default_factory=set)
    """Tools that returned a result."""

    def derived(self, unit: str) -> Iterable[float]:
        """Sums and differences of two values of `unit`."""
        for a, b in combinations(sorted(self.numbers.get(unit, ())), 2):
            yield a + b
            yield b - a


def evidence_of(steps: Sequence[Step]) -> Evidence:
    """Collect what the tools returned; the agent's own arguments are no evidence, nor is an error that echoes them."""
    found = Evidence()
    for step in steps:
        if isinstance(step.observation, dict) and "error" in step.observation:
            continue
        found.searched.add(step.call.name)
        for key, value in _leaves(step.observation, ""):
            if isinstance(value, bool):
                continue
            if isinstance(value, int | float):
                found.numbers.setdefault(UNIT_OF.get(key, ""), set()).add(float(value))
            else:
                found.texts.add(str(value).casefold())
    return found


def unsupported(attempt: Attempt) -> Claim | None:
    """The first claim of the answer that has no evidence, or None."""
    answer = attempt.answer or ""
    evidence = evidence_of(attempt.steps)
    return next((c for c in claims(answer) if not _supported(c, answer, attempt, evidence)), None)


def _supported(claim: Claim, answer: str, attempt: Attempt, evidence: Evidence) -> bool:
    if claim.kind == "number":
        return _number_supported(claim, answer, attempt.instruction, evidence)
    if claim.kind == "word":
        if claim.value in VERDICT_WORDS:
            return True
        if claim.value in CHOICE_WORDS:
            return _SEARCH_OF[claim.value] in evidence.searched
        return claim.value in evidence.texts
    if claim.kind == "name" and _names(attempt.instruction, claim.value):
        return True
    return claim.value.casefold() in evidence.texts


def _number_supported(claim: Claim, answer: str, said: str, evidence: Evidence) -> bool:
    value = float(claim.value)
    units = [claim.unit] if claim.unit else list(evidence.numbers)
    for unit in units:
        known = evidence.numbers.get(unit, set())
        if value in known or (value.is_integer() and any(round(v) == value for v in known)):
            return True
        if claim.unit and value in set(evidence.derived(unit)):
            return True
    return quoted(claim, answer, said)


def quoted(claim: Claim, answer: str, said: str) -> bool:
    """Whether a number is quoted back as the user's own: `your 300 euros`, of somebody who said 300."""
    as_theirs = re.search(r"\byour\s+[€$£¥]?$", answer[: claim.start], re.I) is not None
    return as_theirs and re.search(rf"(?<![\d.]){re.escape(claim.value)}(?!\d|\.\d)", said) is not None


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) is not None


def _leaves(value: Any, key: str) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        for k, v in value.items():
            yield from _leaves(v, k)
    elif isinstance(value, list):
        for v in value:
            yield from _leaves(v, key)
    elif value is not None:
        yield key, value
