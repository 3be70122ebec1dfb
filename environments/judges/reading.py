"""What a finished attempt says and shows, for rules: numbers, dates, codes, names and the values that tools returned.

Written apart from the veto on purpose: a hole in the one is not a hole in the other.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import combinations
from typing import Any, Final, NamedTuple

from environments.episode import Attempt, Step

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH: Final = "|".join(_MONTHS)
_DATE: Final = re.compile(
    r"(?P<iso>\d{4}-(?P<im>\d{1,2})-(?P<id>\d{1,2}))|(?:\d{4}年)?(?P<zm>\d{1,2})月(?P<zd>\d{1,2})[日号]"
    rf"|(?i:(?P<em>{_MONTH})\s+(?P<ed>\d{{1,2}})(?:st|nd|rd|th)?)(?!\d)(?:,?\s+20\d\d)?"
    rf"|(?i:(?P<fd>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<fm>{_MONTH}))(?:,?\s+20\d\d)?"
)
_TIME: Final = re.compile(r"(?<!\d)(\d{1,2}):(\d{2})(?!\d)")
_CODE: Final = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]+-?\d[\dA-Za-z]*(?:-\d+)*|\d+[A-Z]-\d+)(?![A-Za-z0-9])")
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?|(?<=[^\x00-\x7F])\d+(?:\.\d+)?")
_NAME: Final = re.compile(r"\b[A-Z][a-z'’]+(?:\s+(?:of\s+)?[A-Z][a-z'’]+)*")
_LISTED: Final = re.compile(r"(?m)^\s*\d{1,2}[.)、]\s")
_CLAUSE: Final = re.compile(r"[,;.!?:,;。!?:、\n]+(?=\s|[^\x00-\x7F]|$)")
_SCALES: Final = (1, 60, 1 / 60, 1000, 1 / 1000)
"""Minutes and hours, metres and kilometres."""
_PAIRS_UP_TO: Final = 15
"""More numbers than these, and some pair of them gives anything."""


@cache
def lexicon() -> dict[str, Any]:
    """Phrases by purpose."""
    import yaml

    text = files("environments.judges").joinpath("lexicon.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def says(purpose: str, text: str) -> str | None:
    """The first phrase of `purpose` in `text`."""
    found = re.search(lexicon()[purpose], text, re.IGNORECASE | re.MULTILINE)
    return found[0] if found else None


def plain(text: str) -> str:
    """Full-width forms folded, thousands separators gone."""
    joined = re.sub(r"(?<![A-Za-z0-9_.,])\d{1,3}(?:,\d{3})+(?!\d)", lambda m: m[0].replace(",", ""), text)
    return unicodedata.normalize("NFKC", joined)


def chinese_share(text: str) -> float:
    """Share of the words that are Chinese, two characters to a word; 0 where there are none."""
    chinese, other = len(re.findall(r"[一-鿿]", text)) / 2, len(re.findall(r"[^\W\d_一-鿿]+", text))
    return chinese / (chinese + other) if chinese or other else 0.0


def dates_in(text: str) -> set[str]:
    """Days named in `text` as `MM-DD`."""
    found = set()
    for m in _DATE.finditer(text):
        month = m["im"] or m["zm"] or _MONTHS.index((m["em"] or m["fm"]).lower()) + 1
        found.add(f"{int(month):02d}-{int(m['id'] or m['zd'] or m['ed'] or m['fd']):02d}")
    return found


def times_in(text: str) -> set[str]:
    """Times of day as `HH:MM`."""
    return {f"{int(h):02d}:{m}" for h, m in _TIME.findall(_DATE.sub(" ", text))}


def codes_in(text: str) -> set[str]:
    """Codes and ids that mix letters and digits, case-folded."""
    return {code.casefold() for code in _CODE.findall(_DATE.sub(" ", text))}


class Number(NamedTuple):
    """A number as it is written."""

    value: float
    digits: int
    """After the point."""
    before: str
    """The words right before it."""


def numbers_in(text: str) -> list[Number]:
    """Numbers of `text` that are no part of a date, a time, a code or a list mark."""
    bare = _CODE.sub(" ", _TIME.sub(" ", _DATE.sub(" ", _LISTED.sub("\n", text))))
    return [
        Number(float(m[0]), len(m[0].partition(".")[2]), bare[max(0, m.start() - 16) : m.start()])
        for m in _NUMBER.finditer(bare)
    ]


def names_in(text: str) -> list[str]:
    """Capitalised names inside sentences; the first word of a sentence is none."""
    return [
        name
        for m in _NAME.finditer(text)
        if (name := _without_opening(text, m)) and not re.fullmatch(lexicon()["never_names"], name, re.IGNORECASE)
    ]


def _without_opening(text: str, match: re.Match[str]) -> str:
    opens = re.search(r"(^|[.!?:\n-])[\s\"'(]*$", text[: match.start()]) is not None
    words = match[0].split()
    while words and re.fullmatch(lexicon()["never_names"], words[0], re.IGNORECASE):
        words, opens = words[1:], False
    return " ".join(words[1:] if opens and len(words) < 3 else words)


def clauses(text: str) -> list[str]:
    """The parts between punctuation."""
    return [part.strip() for part in _CLAUSE.split(text) if part.strip()]


def scalars(value: Any) -> Iterator[Any]:
    """Every value in a tool's result that is no container, and the length of each list."""
    if isinstance(value, dict):
        for part in value.values():
            yield from scalars(part)
    elif isinstance(value, list):
        yield len(value)
        for part in value:
            yield from scalars(part)
    elif value is not None and not isinstance(value, bool):
        yield value


def records(value: Any) -> Iterator[list[dict[str, Any]]]:
    """Every list of two or more rows in a tool's result."""
    if isinstance(value, list) and len(value) > 1 and all(isinstance(row, dict) for row in value):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from records(part)


def is_error(step: Step) -> bool:
    """Whether a call was refused or failed."""
    return isinstance(step.observation, dict) and "error" in step.observation


def is_write(step: Step) -> bool:
    """Whether a call looks like one that changes something, by the name of its tool."""
    return says("writing_tool", step.call.name) is not None


@dataclass(frozen=True)
class Seen:
    """An attempt as rules see it."""

    attempt: Attempt

    @cached_property
    def said(self) -> str:
        """All that the user said."""
        return plain(" ".join([self.attempt.instruction, *(e.reply for e in self.attempt.exchanges)]))

    @cached_property
    def answer(self) -> str:
        """All that the agent said to the user, the last words last."""
        spoken = [e.said for e in self.attempt.exchanges if e.said != self.attempt.answer]
        return plain("\n".join([*spoken, self.attempt.answer or ""])).strip()

    @cached_property
    def fine(self) -> list[Step]:
        """Calls that returned something."""
        return [step for step in self.attempt.steps if not is_error(step)]

    @cached_property
    def shown(self) -> list[Any]:
        """Values that tools returned."""
        return [value for step in self.fine for value in scalars(step.observation)]

    @cached_property
    def shown_text(self) -> str:
        """The same as text; what a call that took effect was given counts too."""
        given = [value for step in self.fine if is_write(step) for value in scalars(dict(step.call.arguments))]
        return plain("\n".join(str(value) for value in (*self.shown, *given)))

    @cached_property
    def asked_for(self) -> str:
        """The arguments of all calls that returned something."""
        return plain("\n".join(str(v) for step in self.fine for v in scalars(dict(step.call.arguments))))

    @cached_property
    def known_numbers(self) -> set[float]:
        """Numbers that tools returned, lengths of lists among them."""
        told = {float(v) for v in self.shown if isinstance(v, int | float)}
        return told | {n.value for n in numbers_in(self.shown_text)}

    def backs(self, number: Number) -> bool:
        """Whether the tools, or careful arithmetic on what they returned, back a number of the answer."""
        own = {n.value for n in numbers_in(self.said)}
        if number.value in own and says("own_numbers", number.before):
            return True
        known = self.known_numbers
        if any(
            _reads_as(number, value) for one in known for value in (one, one / 60, one * 60, one / 1000, one * 1000)
        ):
            return True
        every = sorted(known | own)
        if len(every) > _PAIRS_UP_TO:
            return False
        return any(_is_same(number, v) for a, b in combinations(every, 2) if {a, b} & known for v in _derived(a, b))


def _derived(a: float, b: float) -> Iterator[float]:
    yield from (a + b, b - a, a * b, a * b / 100)
    yield from (x / y for x, y in ((a, b), (b, a)) if y)


def _is_same(number: Number, value: float) -> bool:
    return abs(round(value, number.digits) - number.value) < 1e-9


def _reads_as(number: Number, value: float) -> bool:
    """Equal at the precision that is shown, or near where it says so."""
    near = says("about", number.before) is not None and abs(number.value - value) <= 0.05 * abs(value)
    return _is_same(number, value) or near
