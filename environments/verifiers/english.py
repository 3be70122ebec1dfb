"""Quantities in English: numbers with units, money, durations, percentages, ordinals and plain numbers."""

import re
from collections.abc import Sequence

from environments.verifiers.claim import Claim, Rule
from environments.verifiers.quantities import (
    GROUPED,
    NUMBER,
    SIGNS,
    SPELLED,
    UNIT_WORDS,
    UNITS,
    digits_value,
    value_in_words,
)

_LOOSE = "day|week|month|year"
"""Units of which "a day", "a week" says how often, not how long."""
_PARTS = {"half": 0.5, "a half": 0.5, "a quarter": 0.25, "three quarters": 0.75}
_UNIT = (
    rf"(?:(?:degrees?\s+|°\s*)?(?:fahrenheit|celsius|f|c)|us dollars?|{UNIT_WORDS})(?![A-Za-z0-9])"
    rf"|[{SIGNS}](?!\s?\d)|[°℃℉%]"
)
_FAR_UNIT = r"(?:nautical\s+miles?|(?:business|working)\s+days?)\b"
_RATING = re.compile(r"(?i)\b(?:rat(?:ed|ing)s?|stars?)(?:\s+(?:is|are|was|of|at|it))*[:\s]*$")
_TIMES = {"k": 1e3, "thousand": 1e3, "million": 1e6, "m": 1e6}


def _unit(said: str | None) -> str | None:
    """The unit spelled `said`: `degrees F` and `°F` are told by their last part."""
    text = " ".join((said or "").lower().split())
    if text.startswith("nautical"):
        return "nautical miles"
    if text.startswith(("business", "working")):
        return "business days"
    last = re.split(r"[\s°]+", text)[-1]
    return UNITS.get(last or text)


def plain(value: float) -> str:
    """A number as a plain decimal without trailing zeros."""
    return f"{value:.10f}".rstrip("0").rstrip(".")


def _quantity(match: re.Match[str]) -> Sequence[Claim] | None:
    sign, said = match["sign"], match["number"]
    unit = _unit(sign or match["unit"])
    if sign and match["unit"] and _unit(match["unit"]) not in (unit, "cents"):
        return None
    if unit is None:
        return None
    value = digits_value(said)
    if times := match["times"]:
        value = plain(float(value) * _TIMES[times.lower()])
    negative = "-" if match["minus"] else ""
    start = match.start("minus") if negative else match.start("number")
    return [
        Claim(
            "number", negative + value, unit, start, match.end("times") if times else match.end("number"), times or ""
        )
    ]


def grouped(match: re.Match[str], unit: str | None) -> Sequence[Claim]:
    """`1 299 euros`: 1299, or where that is nothing known, 299 behind some other number."""
    said = match["number"]
    apart = re.split(r"[ \u2009]", said, maxsplit=1)
    other = digits_value(apart[1]) if len(apart) > 1 else ""
    return [Claim("number", digits_value(said), unit, *match.span("number"), other=other)]


def _decimal_comma(match: re.Match[str]) -> Sequence[Claim]:
    """`152,50 €`."""
    unit = _unit(match["sign"] or match["unit"])
    return [Claim("number", match["number"].replace(",", "."), unit, *match.span("number"))]


def _amount(said: str) -> float:
    """A number in digits or words, with a half or a quarter behind it."""
    said = " ".join(said.lower().split())
    whole, _, part = said.partition(" and a ")
    if whole in ("a", "an", "one"):
        return 1 + _PARTS.get("a " + part, 0.0)
    base = float(whole) if whole[:1].isdigit() else value_in_words(whole)
    return base + _PARTS.get("a " + part, 0.0)


def _mixed(match: re.Match[str]) -> Sequence[Claim] | None:
    """`two and a half hours`, `eleven and a quarter hours`."""
    return [Claim("number", plain(_amount(match["amount"])), _unit(match["unit"]), *match.span())]


def _unit_and_part(match: re.Match[str]) -> Sequence[Claim] | None:
    """`an hour and a half`, `2 hours and a quarter`."""
    value = _amount(match["amount"]) + _PARTS["a " + match["part"].lower()]
    return [Claim("number", plain(value), _unit(match["unit"]), *match.span())]


def _part_of(match: re.Match[str]) -> Sequence[Claim] | None:
    """`half an hour`, `a quarter of an hour`."""
    part = _PARTS[" ".join(match["part"].lower().split())]
    return [Claim("number", plain(part), _unit(match["unit"]), *match.span())]


def _hours_minutes(match: re.Match[str]) -> Sequence[Claim] | None:
    hours, minutes = _amount(match["hours"]), _amount(match["minutes"])
    if minutes >= 60:
        return None
    return [Claim("number", plain(60 * hours + minutes), "minutes", *match.span())]


def _days_hours(match: re.Match[str]) -> Sequence[Claim] | None:
    return [Claim("number", plain(24 * _amount(match["days"]) + _amount(match["hours"])), "hours", *match.span())]


def _in_two(match: re.Match[str]) -> Sequence[Claim]:
    """`4 pounds 75`."""
    return [Claim("number", f"{match['whole']}.{match['part']}", _unit(match["unit"]), *match.span())]


def _one(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("number", "1", _unit(match["unit"]), *match.span())]


def _spelled(match: re.Match[str]) -> Sequence[Claim]:
    """Numbers in words before a unit: "two hundred euros"."""
    value = str(value_in_words(match["number"]))
    return [Claim("number", value, _unit(match["unit"]), *match.span("number"))]


def _counted(match: re.Match[str]) -> Sequence[Claim] | None:
    """Numbers in words before what they count: "three free bags"."""
    return [
        Claim("number", str(value_in_words(match["number"])), "count", *match.span("number"), match["noun"].lower())
    ]


def _ordinal(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("ordinal", match[1], None, *match.span())]


def _number(match: re.Match[str]) -> Sequence[Claim]:
    value, before = digits_value(match["number"]), match.string[max(0, match.start() - 24) : match.start()]
    value = "-" + value if match["minus"] else value
    start = match.start("minus") if match["minus"] else match.start("number")
    rating = _RATING.search(before) or match["noun"] in ("stars", "star")
    unit = "rating" if rating else None
    return [Claim("number", value, unit, start, match.end("number"), "" if rating else (match["noun"] or "").lower())]


_MINUS = r"(?P<minus>(?<![\w.)\x00])-)?"
_AMOUNT = rf"(?:\d+(?:\.\d+)?|{SPELLED}|an?|one)"
_WHOLE = rf"(?:\d+(?:\.\d+)?|{SPELLED})"
_HOURS = r"h(?:ours?|rs?)?"
_MINUTES = r"m(?:in(?:ute)?s?)?"
RULES: tuple[Rule, ...] = (
    (re.compile(r"(?<![\w.,])(?P<whole>\d+) (?P<unit>pounds?|euros?|dollars?) (?:and )?(?P<part>\d\d)\b(?! ?(?:%"
        r"|[a-z]))", re.A), _in_two),
    (
        re.compile(rf"{GROUPED}[ \t\u00a0]{{0,3}}(?P<unit>{_UNIT})", re.I | re.A),
        lambda m: grouped(m, _unit(m["unit"])),
    ),
    (
        re.compile(
            rf"\b(?P<hours>{_WHOLE}|an)[\s-]*{_HOURS}\.?\s*(?:,|and)?\s*(?P<minutes>{_WHOLE})[\s-]*{_MINUTES}\b",
            re.I | re.A,
        ),
        _hours_minutes,
    ),
    (re.compile(r"(?<![\w.])(?P<hours>\d{1,2})h(?P<minutes>[0-5]\d)(?![A-Za-z0-9])", re.A), _hours_minutes),
    (
        re.compile(rf"\b(?P<days>{_WHOLE}|a)\s*days?,?\s*(?:and)?\s*(?P<hours>{_WHOLE})\s*{_HOURS}\b", re.I | re.A),
        _days_hours,
    ),
    (
        re.compile(
            rf"\b(?P<amount>{_WHOLE}|an?)\s+(?P<unit>{UNIT_WORDS})\s+and\s+a\s+(?P<part>half|quarter)\b", re.I | re.A
        ),
        _unit_and_part,
    ),
    (
        re.compile(rf"\b(?P<amount>{_AMOUNT}\s+and\s+a\s+(?:half|quarter))\s+(?P<unit>{UNIT_WORDS})\b", re.I | re.A),
        _mixed,
    ),
    (re.compile(r"\b(?P<part>half|a\s+quarter|three\s+quarters)\s+(?:of\s+)?an?\s+(?P<unit>hour|year"
        r"|day|mile|kilometre|kilometer)\b", re.I | re.A), _part_of),
    (re.compile(r"\b(?:an|one|a\s+single)\s+(?P<unit>hour|minute|week|mile)\b", re.I | re.A), _one),
    (re.compile(rf"(?P<sign>[{SIGNS}]\s?)?(?<![\w.,])(?P<number>\d++,\d{{2}})(?!\d)(?:\s*(?P<unit>€"
        rf"|euros?\b|eur\b))", re.I | re.A), _decimal_comma),
    (
        re.compile(
            rf"(?P<sign>(?:\b(?:US|CA|A))?[{SIGNS}]\s?|\b(?:USD|EUR|GBP|CNY|RMB)\s?)?{_MINUS}(?<![A-Za-z0-9_.])(?P<number>{NUMBER})"
            rf"(?!(?:st|nd|rd|th)\b)(?:\s?(?P<times>(?:thousand|million)\b|k(?![A-Za-z0-9])))?"
            rf"(?:[ \t\u00a0-]{{0,3}}(?P<unit>{_FAR_UNIT}"
        rf"|{_UNIT}))?",
            re.I | re.A,
        ),
        _quantity,
    ),
    (
        re.compile(rf"\b(?P<number>{SPELLED})[\s-]+(?P<unit>{_FAR_UNIT}|(?:percent|{UNIT_WORDS})\b)", re.I | re.A),
        _spelled,
    ),
)  # fmt: skip
TERSE: tuple[Rule, ...] = (*RULES[:2], RULES[-2])
"""The rules that read a terse answer's quantities."""
_DEFINITE = r"(?<!the )(?<!these )(?<!those )(?<!all )(?<!your )(?<!other )(?<!of )(?<!both )"
NUMBERS: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?<![\w-]){_DEFINITE}(?P<number>(?!one\b|zero\b){SPELLED})\s+(?:(?!and\b|or\b|to\b"
        rf"|of\b|in\b|at\b|is\b|was\b)[a-z]+\s+)?(?P<noun>(?!(?:closes|opens|leaves|costs|takes"
        rf"|is|was|has|does|hours|this|its|as|less|plus|times)\b)[a-z]+s|people|children|adults)\b",
            re.I | re.A,
        ),
        _counted,
    ),
    (re.compile(r"(?<![\w.])(\d+)(?:st|nd|rd|th)\b", re.A), _ordinal),
    (
        re.compile(
            rf"{_MINUS}(?<![A-Za-z0-9_.])(?P<number>{NUMBER})(?![A-Za-z0-9_])"
            rf"(?:[\s-]+(?:[a-z]+[ -]){{0,2}}?"
            rf"(?P<noun>(?!(?:plus|makes|is|was|has|gives|equals|minus|less|leaves)\b)[a-z]+s"
        rf"|people|children|person|passenger|seat|night|room|bag)\b)?",
            re.A,
        ),
        _number,
    ),
)  # fmt: skip
