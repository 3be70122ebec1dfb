"""What an answer claims: quantities, dates, times, codes, names and closed-vocabulary words, by type.

A number is compared as a number with its unit and a name as whole words, so "41 degrees" never satisfies "4 degrees"
and an answer cannot pass by containing a digit somewhere. Each kind is read by rules in a fixed order, and what one of
them has read is blanked out before the next looks: the 12 of "June 12" is no number and neither is the 05 of "14:05".
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from itertools import pairwise, zip_longest

from environments.task import Fact
from environments.verifiers import chinese, dates, english, names
from environments.verifiers.claim import (
    BLANK,
    CHOICE_WORDS,
    HAN,
    MODE_WORDS,
    SKY_WORDS,
    VERDICT_WORDS,
    Claim,
    Rule,
)
from environments.verifiers.folding import folded
from environments.verifiers.quantities import NUMERAL, measured

__all__ = [
    "CHOICE_WORDS",
    "MODE_WORDS",
    "SKY_WORDS",
    "VERDICT_WORDS",
    "Claim",
    "claims",
    "left_open",
    "places",
    "same_value",
    "shared",
    "states",
]

_LATIN = (*names.FIRST, *dates.ENGLISH, *english.RULES, *names.CODES, *english.NUMBERS, *names.NAMES)
_TERSE = (*english.TERSE, *names.CODES, *english.NUMBERS[-1:], *names.NAMES)
_RICH = re.compile(
    r"(?i)\n|://|@|24/7|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)"
    r"|\bto(?:day|night|morrow)|yesterday"
    r"|noon|midday|midnight|clock|\d\s?[ap]\.?m\b|\d[-/:]\d|\d\.\d+\.\d|\d(?:st|nd|rd|th)\b|,\d\d\s?(?:€|eur)|yyyy"
    rf"|\b(?:half|quarter|an?|option|flight \d|step|choice|leg|segment|passenger|part|item|answer|{NUMERAL})\b"
    r"|\d\s?h|hours?\b|days?\b"
)
"""What only the longer list of rules reads; a terse answer has none of it, and is read by the few others."""
_HAN = (
    *names.FIRST, *dates.CHINESE, *dates.ENGLISH, *chinese.RULES, *english.RULES, *names.CODES, *chinese.NUMBERS,
    *english.NUMBERS, *chinese.NAMES, *names.NAMES,
)  # fmt: skip


@lru_cache(maxsize=16384)
def claims(answer: str) -> tuple[Claim, ...]:
    """Every claim in `answer`, in order."""
    found: list[Claim] = []
    rest = answer = folded(answer)
    for rule in _rules(answer):
        rest = _read(rule, rest, found)
    return tuple(sorted(found, key=lambda claim: (claim.start, claim.end)))


def _rules(answer: str) -> Sequence[Rule]:
    if HAN.search(answer):
        return _HAN
    return _LATIN if len(answer) > 200 or _RICH.search(answer) else _TERSE


_RANGE = re.compile(r"\s*(?:-|–|~|to|and|or|到|至|或)\s*[€$£¥]?\s*")


@lru_cache(maxsize=16384)
def shared(text: str) -> tuple[Claim, ...]:
    """The claims of `text`; in a range the first number has the unit of the second: 14-16 degrees."""
    text = folded(text)
    found = claims(text)
    return tuple(_with_unit(c, b, text) for c, b in zip_longest(found, found[1:]) if c is not None)


def _with_unit(claim: Claim, behind: Claim | None, text: str) -> Claim:
    if behind is None or not claim.kind == behind.kind == "number" or claim.unit or not behind.unit:
        return claim
    joined = _RANGE.fullmatch(text[claim.end : behind.start])
    return replace(claim, unit=behind.unit, note="") if joined else claim


def _read(rule: Rule, rest: str, found: list[Claim]) -> str:
    """Add what one rule reads to `found`; returns the text with what was used up blanked out."""
    pattern, read = rule
    for match in pattern.finditer(rest):
        made = read(match)
        if made is not None:
            found += made
            start, end = match.span()
            rest = rest[:start] + BLANK * (end - start) + rest[end:]
    return rest


_HAN_SIGN = re.compile("[\u4e00-\u9fff]")


def states(answer: str, fact: Fact, *, rather: Sequence[Fact] = ()) -> bool:
    """Whether `answer` states `fact`: same value and unit for numbers, whole words for names, exact codes and words.

    Args:
        answer: what is said.
        fact: which is looked for.
        rather: facts that a date or time with two readings (12/06/2026, "at 5:30") is taken for first.
    """
    if fact.kind == "name":
        return re.search(_as_whole_words(folded(fact.value)), folded(answer), re.I) is not None
    found = [c for c in claims(answer) if c.kind == fact.kind and same_value(c, fact)]
    return any(len(c.readings) == 1 or not any(same_value(c, other) for other in rather) for c in found)


def places(answer: str, fact: Fact) -> list[tuple[int, int]]:
    """Where `answer` states `fact`: the span of each claim, or of the name."""
    if fact.kind == "name":
        return [m.span() for m in re.finditer(_as_whole_words(folded(fact.value)), folded(answer), re.I)]
    return [(c.start, c.end) for c in claims(answer) if c.kind == fact.kind and same_value(c, fact)]


_OR = re.compile(r"(?i)[\s,(]*(?:\bor\b|/|或者?|还是)[\s,]*(?:(?:on|at|maybe|perhaps|alternatively|也许|可能)\s*)*")
"""A range ("from June 10 to June 12", "9:00-17:30") offers no choice."""


def left_open(answer: str, fact: Fact) -> str | None:
    """Where `answer` offers another date or time beside the one asked for, "June 12 or June 13": its words."""
    same = [c for c in claims(answer) if c.kind == fact.kind] if fact.kind in ("date", "time") else []
    text = folded(answer)
    for one, next_ in pairwise(same):
        asked = text[next_.end :].lstrip().startswith(("?", "？"))  # by the user, and answered behind it
        if (
            same_value(one, fact) != same_value(next_, fact)
            and _OR.fullmatch(text[one.end : next_.start])
            and not asked
        ):
            return text[one.start : next_.end]
    return None


def _as_whole_words(name: str) -> str:
    """A pattern for `name` as no part of a longer word; Chinese sets no blanks, so there it may stand anywhere."""
    before = "" if _HAN_SIGN.match(name) else r"(?<![^\W\u4e00-\u9fff])"
    after = "" if _HAN_SIGN.match(name[-1:]) else r"(?![^\W\u4e00-\u9fff])"
    return before + re.escape(name) + after


def same_value(claim: Claim, fact: Fact) -> bool:
    """Typed equality of a claim and a fact; a claim without a unit contradicts none, a converted one is equal."""
    if claim.kind != "number" or fact.kind != "number":
        return claim.kind == fact.kind and any(_means(claim, reading, fact.value) for reading in claim.readings)
    if claim.unit is None or fact.unit is None:
        return abs(float(claim.value) - float(fact.value)) < 1e-9
    said, wanted = measured(float(claim.value), claim.unit), measured(float(fact.value), fact.unit)
    return said.dimension == wanted.dimension and abs(said.value - wanted.value) < 1e-6


def _means(claim: Claim, reading: str, value: str) -> bool:
    """Whether a reading is the value asked for; a date may leave out the year, and its weekday must be right."""
    if claim.kind != "date" or not reading:
        return reading == value
    right = claim.note in ("", str(date.fromisoformat(value).weekday()))
    return right and len(reading) >= len("06-12") and value.endswith(reading)
