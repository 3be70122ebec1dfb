"""What an answer claims: numbers with units, codes, names and closed-vocabulary words, by type.

A number is compared as a number with its unit and a name as whole words, so "41 degrees" never satisfies "4 degrees"
and an answer cannot pass by containing a digit somewhere.
"""

import re
from dataclasses import dataclass

from environments.task import Fact, FactKind

SKY_WORDS = ("sunny", "cloudy", "rainy", "snowy", "windy", "foggy")
MODE_WORDS = ("driving", "walking", "bicycling", "transit")
CHOICE_WORDS = ("flight", "train")
VERDICT_WORDS = ("yes", "no")
OTHER_SKIES = ("storm", "storms", "stormy", "hail", "sleet", "thunder", "thunderstorm", "thunderstorms", "blizzard")
"""Weather that no tool reports: whoever claims it made it up."""
_WORDS = frozenset((*SKY_WORDS, *OTHER_SKIES, *MODE_WORDS, *CHOICE_WORDS, *VERDICT_WORDS))
_SPELLINGS = {
    "euros": "euro euros eur €",
    "degrees": "degree degrees celsius c °",
    "km": "km kilometre kilometres kilometer kilometers",
    "minutes": "minute minutes min mins",
    "dollars": "dollar dollars usd $",
    "pounds": "pound pounds gbp £",
    "yuan": "yuan cny yen jpy ¥",
    "fahrenheit": "fahrenheit f",
    "miles": "mile miles mi",
    "metres": "metre metres meter meters m",
    "hours": "hour hours hr hrs h",
    "seconds": "second seconds sec s",
    "days": "day days",
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}
"""Units by spelling; the ones that no tool returns are here so that "152 dollars" is not taken for 152 euros."""
_UNIT_WORDS = "|".join(sorted(filter(str.isalpha, _UNITS), key=len, reverse=True))
_NOT_NAMES = frozenset(
    [
        "I",
        "It",
        "The",
        "A",
        "An",
        "In",
        "On",
        "At",
        "From",
        "To",
        "For",
        "By",
        "Of",
        "And",
        "Or",
        "Is",
        "Are",
        "Yes",
        "No",
        "Sorry",
        "Booked",
        "Which",
        "Your",
        "You",
        "There",
        "This",
        "That",
        "Where",
        "What",
        "When",
        "How",
        "Why",
        "Please",
        "We",
        "He",
        "She",
        "They",
        "My",
        "Our",
        "But",
        "With",
        "Do",
        "Can",
        "Could",
        "Would",
        "Will",
    ]
)
_TOKEN = re.compile(
    r"(?P<code>\b(?i:[A-Z]{1,3})\d{1,4}\b)"
    r"|(?P<sign>[€$£¥]\s?)?(?P<number>(?<![\w.])-?\d++(?:\.\d++)?+)(?!(?:st|nd|rd|th)\b)"
    rf"(?:\s*(?P<unit>(?i:(?:degrees?\s+|°\s*)?(?:fahrenheit|celsius|f|c)|{_UNIT_WORDS})\b|[€$£¥°]))?"
    r"|(?P<name>\b[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)"
    r"|(?P<word>\b[a-z]+\b)"
)


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMERALS = {w: i for i, w in enumerate(_ONES.split())} | {w: 20 + 10 * i for i, w in enumerate(_TENS.split())}
_NUMERAL = "|".join([*_NUMERALS, "hundred", "thousand"])
_SPELLED = re.compile(
    rf"(?i)\b(?P<number>(?:{_NUMERAL})(?:[\s-]+(?:and\s+)?(?:{_NUMERAL}))*)\s+(?P<unit>{_UNIT_WORDS})\b"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim with the place in the answer where it stands."""

    kind: FactKind
    value: str
    unit: str | None
    start: int
    end: int


def claims(answer: str) -> list[Claim]:
    """Every claim in `answer`, in order."""
    found = [claim for match in _TOKEN.finditer(answer) for claim in _claims_of(match, answer)]
    return sorted([*found, *_spelled_out(answer)], key=lambda claim: claim.start)


def _spelled_out(answer: str) -> list[Claim]:
    """Numbers in words before a unit: "two hundred euros"."""
    found = []
    for match in _SPELLED.finditer(answer):
        value = _value_of(re.split(r"[\s-]+", match["number"].lower().strip()))
        found.append(Claim("number", str(value), _unit(match["unit"]), *match.span("number")))
    return found


def _value_of(words: list[str]) -> int:
    total = part = 0
    for word in words:
        if word == "thousand":
            total, part = total + max(1, part) * 1000, 0
        elif word == "hundred":
            part = max(1, part) * 100
        else:
            part += _NUMERALS.get(word, 0)
    return total + part


def _claims_of(match: re.Match[str], answer: str) -> list[Claim]:
    span = (match.start(), match.end())
    if code := match["code"]:
        return [Claim("code", code.upper(), None, *span)]
    if number := match["number"]:
        unit = _unit(match["sign"] or match["unit"])
        if unit is None and re.search(r"rat(ed|ing)\s*(of\s*)?$", answer[: match.start()], re.I):
            unit = "rating"
        return [Claim("number", number, unit, *match.span("number"))]
    if name := match["name"]:
        words = [w for w in name.split() if w not in _NOT_NAMES]
        closed = [c for w in name.split() for c in _words(w.lower(), match.start())]
        named = words and not all(w.lower() in _WORDS for w in words)
        return ([Claim("name", " ".join(words), None, *span)] if named else []) + closed
    return _words(match["word"], match.start())


def _unit(said: str | None) -> str | None:
    """The unit spelled `said`: `degrees F` and `°F` are told by their last part."""
    parts = re.split(r"[\s°]+", (said or "").strip().lower())
    return _UNITS.get(parts[-1] or (said or "").strip())


def _words(word: str, start: int) -> list[Claim]:
    return [Claim("word", word, None, start, start + len(word))] if word in _WORDS else []


def states(answer: str, fact: Fact) -> bool:
    """Whether `answer` states `fact`: same value and unit for numbers, whole words for names, exact codes and words."""
    if fact.kind == "name":
        return re.search(rf"(?<!\w){re.escape(fact.value)}(?!\w)", answer, re.I) is not None
    return any(c.kind == fact.kind and same_value(c, fact) for c in claims(answer))


def same_value(claim: Claim, fact: Fact) -> bool:
    """Typed equality of a claim and a fact; a claim without a unit does not contradict one."""
    if fact.kind == "number":
        same = abs(float(claim.value) - float(fact.value)) < 1e-9
        return same and (claim.unit is None or fact.unit is None or claim.unit == fact.unit)
    return claim.value == fact.value
