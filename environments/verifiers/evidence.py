"""What an episode has shown by a given moment: numbers by dimension, dates, times, words, rows, and where each stood.

Tool output is evidence: every field, numbers inside of strings, JSON inside of strings. The agent's own arguments are
none. Of an error only numbers count that the call did not bring along, since errors echo what they were asked.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from environments.episode import Step
from environments.task import Call
from environments.verifiers.claim import Claim
from environments.verifiers.claims import claims, shared
from environments.verifiers.folding import folded
from environments.verifiers.quantities import comparable, measured, unit_of_field

_WORD = re.compile(r"[^\W_]+")
_NUMERAL = re.compile(r"[\d零一二两三四五六七八九十百千万半]|hundred|percent|hour|week")
_LETTER = re.compile(r"[^\W\d_]{2}|[^\W\d_]\d|\d[^\W\d_]|[\u4e00-\u9fff]")
_MONEY_BEFORE = re.compile(r"(?i)\b(?:price|total|amount|paid|balance|cost|refund|fee|charged?)\b[^.,;]{0,16}$")
_PLAIN_CODE = re.compile(r"[A-Za-z]{1,3}\d{1,4}")
_SUM = re.compile(r"[\d\s.+*/()-]+")
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A number, date or time that is evidence."""

    dimension: str
    """As `quantities.Measure`; `any` for a bare result without a field's name."""
    value: float
    shown: str
    """Where it stands, for a reader: `price 152 (search_flights)`."""
    row: int = 0
    """Which entry of a list it belongs to, 0 for none."""
    exact: bool = False
    """Whether it is a whole number, which nothing rounds to."""
    raw: float | None = None
    """The number as it stands there, in its own unit."""


@dataclass
class Evidence:
    """What the tools of one episode have returned so far, with the policy document."""

    units: Mapping[str, str] = field(default_factory=dict)
    """Unit of each numeric field by name, as the world gives it."""
    numbers: dict[str, list[Known]] = field(default_factory=dict)
    """By dimension."""
    dates: dict[str, str] = field(default_factory=dict)
    """ISO date -> where it stands."""
    days: list[Known] = field(default_factory=list)
    """The same dates with the rows they stand in; `dimension` is the ISO date."""
    times: list[Known] = field(default_factory=list)
    """Minutes since midnight."""
    searched: set[str] = field(default_factory=set)
    """Tools that returned a result."""
    asked: list[str] = field(default_factory=list)
    """Texts in the arguments of calls that succeeded: what a result is about."""
    lengths: dict[int, str] = field(default_factory=dict)
    """Lengths of lists that tools returned, with where."""
    groups: dict[int, str] = field(default_factory=dict)
    """How many rows of a list share a value, with which."""
    columns: list[list[Known]] = field(default_factory=list)
    """Values of one field over the rows of one list."""
    owners: dict[str, set[int]] = field(default_factory=dict)
    """Text value -> the rows that hold it."""
    parents: dict[int, int] = field(default_factory=dict)
    """Row -> the row that it lies in, 0 for none."""
    conditions: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Field, value, row and step of every text under a field that tells a state."""
    calls: list[str] = field(default_factory=list)
    """Names of the calls that succeeded, in order."""
    texts: list[str] = field(default_factory=list)
    """Every text value, in order."""
    keys: list[str] = field(default_factory=list)
    """Every field's name."""
    _joined: tuple[int, str, str] = (0, " ", "")

    def add(self, step: Step) -> None:
        """Take in one call's result."""
        seen = _unpacked(step.observation)
        if _failed(seen):
            self._add_error(step.call, seen)
            return
        if isinstance(seen, float | int | str) and not self._sum_is_grounded(step.call):
            return
        self.searched.add(step.call.name)
        self.calls.append(step.call.name)
        self.asked += [str(v) for _, v in leaves(step.call.arguments)]
        self._walk(seen, (), step.call.name, 0)

    def add_policy(self, policy: str) -> None:
        """Take in the document that says what is allowed."""
        for claim in shared(policy):
            said = f"{policy[claim.start : claim.end]} {claim.note}".strip()
            self._add_claim(claim, ("",), "policy", 0, said)
        if policy:
            self.texts.append(policy)

    def of(self, dimension: str) -> list[Known]:
        """Numbers that a claim in `dimension` may be about."""
        found = list(self.numbers.get(dimension, ()))
        for other, known in self.numbers.items():
            if other != dimension and (other == "any" or comparable(dimension, other)):
                found += known
        return found

    def everything(self) -> list[Known]:
        """Every number."""
        return [known for found in self.numbers.values() for known in found]

    def has_words(self, said: str) -> bool:
        """Whether `said` stands in something the tools or the policy said, as whole words."""
        _, words, _ = self._text()
        wanted = " ".join(_WORD.findall(said.casefold()))
        return bool(wanted) and f" {wanted} " in words

    def has_text(self, said: str) -> bool:
        """Whether `said` stands anywhere in it, letter by letter: for Chinese, which has no spaces."""
        return said in self._text()[2]

    def _text(self) -> tuple[int, str, str]:
        if self._joined[0] != len(self.texts):
            raw = folded("\n".join([*self.texts, *self.keys]))
            words = " ".join(_WORD.findall(raw.casefold()))
            self._joined = (len(self.texts), f" {words} ", raw)
        return self._joined

    def _add_error(self, call: Call, seen: Any) -> None:
        """Numbers of an error, less those that the call brought along."""
        brought = {c.value for _, text in leaves(call.arguments) for c in claims(str(text)) if c.kind == "number"}
        for path, value in leaves(seen):
            for claim in claims(str(value)):
                if claim.kind == "number" and claim.value not in brought and path[-1:] != ("error",):
                    self._add_number(claim, path or ("",), f"{call.name}, refused", 0, str(value))

    def _sum_is_grounded(self, call: Call) -> bool:
        """A calculator's result is worth no more than the numbers that went in."""
        given = [str(v) for _, v in leaves(call.arguments)]
        if len(given) != 1 or not _SUM.fullmatch(given[0]) or not re.search(r"\d", given[0]):
            return True
        known = {abs(k.value) for k in self.everything()}
        numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", given[0])]
        return all(n in known or (n.is_integer() and n <= 12) or n in (0.01, 100) for n in numbers)

    def _walk(self, value: Any, path: Path, source: str, row: int) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                self.keys.append(str(key))
                self._walk(inner, (*path, str(key)), source, row)
        elif isinstance(value, list):
            self._walk_list(value, path, source, row)
        elif value is not None and not isinstance(value, bool):
            self._add_leaf(value, path, source, row)

    def _walk_list(self, values: list[Any], path: Path, source: str, row: int) -> None:
        where = f"{'.'.join(path) or 'rows'} ({source})"
        self.lengths.setdefault(len(values), f"{len(values)} {where}")
        columns: dict[Path, list[Known]] = {}
        before = {dimension: len(found) for dimension, found in self.numbers.items()}
        alike: dict[tuple[str, str], int] = {}
        for value in values:
            own = row
            if isinstance(value, dict):
                own = len(self.parents) + 1
                self.parents[own] = row
                for key, inner in value.items():
                    if isinstance(inner, str | bool):
                        alike[key, str(inner)] = alike.get((key, str(inner)), 0) + 1
            self._walk(value, path, source, own)
        for (key, value), count in alike.items():
            self.groups.setdefault(count, f"{count} rows with {key} {value} ({source})")
        for dimension, found in self.numbers.items():
            for known in found[before.get(dimension, 0) :]:
                columns.setdefault((known.shown.split(" ")[0], dimension), []).append(known)
        self.columns += [c for c in columns.values() if len(c) > 1]

    def _add_leaf(self, value: Any, path: Path, source: str, row: int) -> None:
        key = path[-1] if path else ""
        if not isinstance(value, str):
            claim = Claim("number", str(value), None, 0, 0)
            self._add_number(claim, path, source, row, str(value))
            if isinstance(value, int):
                self.texts.append(str(value))
            return
        self.texts.append(value)
        if row and 1 < len(value) <= 60 and _LETTER.search(value):
            self.owners.setdefault(value.casefold(), set()).add(row)
        if re.search(r"(?i)status|state\b|状态", key):
            self.conditions.append((key, value, row, len(self.calls)))
        if _NUMERAL.search(value) and not _PLAIN_CODE.fullmatch(value):
            for claim in shared(value):
                self._add_claim(claim, path, source, row, value)

    def _add_claim(self, claim: Claim, path: Path, source: str, row: int, text: str) -> None:
        if claim.kind == "number":
            whole = claim.unit is None and claim.end - claim.start == len(text.strip())
            self._add_number(claim, path if whole else ("",), source, row, text)
        elif claim.kind == "time":
            hour, minute = claim.value.split(":")
            self.times.append(Known("clock", 60.0 * int(hour) + int(minute), _shown(path, text, source), row))
        elif claim.kind == "date" and claim.value and not claim.value.startswith(("+", "-")):
            shown = _shown(path, text, source)
            for reading in claim.readings:
                self.dates.setdefault(reading, shown)
                self.days.append(Known(reading, 0.0, shown, row))
        elif claim.kind == "ordinal":
            self._add_number(claim, ("",), source, row, text)

    def _add_number(self, claim: Claim, path: Path, source: str, row: int, text: str) -> None:
        unit = claim.unit if claim.unit not in (None, "count") else unit_of_field(path, self.units)
        if not unit and claim.end and _MONEY_BEFORE.search(text[: claim.start]):
            unit = "money"
        if not path and claim.unit is None:
            unit = "any"
        found = measured(float(claim.value), unit)
        exact = float(claim.value).is_integer()
        known = Known(found.dimension, found.value, _shown(path, text, source), row, exact, float(claim.value))
        self.numbers.setdefault(found.dimension, []).append(known)


def evidence_of(steps: Sequence[Step], units: Mapping[str, str] | None = None, policy: str = "") -> Evidence:
    """What `steps` have shown, together with the policy."""
    found = Evidence(units or {})
    found.add_policy(policy)
    for step in steps:
        found.add(step)
    return found


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of nested JSON that is no container, with the keys that lead to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, str(key)))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    elif value is not None:
        yield path, value


def _shown(path: Path, text: str, source: str) -> str:
    return f"{'.'.join(p for p in path if p) or 'text'} {text if len(text) <= 80 else text[:79] + '…'} ({source})"


def _failed(seen: Any) -> bool:
    return (isinstance(seen, dict) and "error" in seen) or (isinstance(seen, str) and seen.lower().startswith("error"))


def _unpacked(seen: Any) -> Any:
    """JSON that came as a string, as what it holds."""
    if isinstance(seen, str) and seen[:1] in ("{", "["):
        try:
            return json.loads(seen)
        except (ValueError, RecursionError):
            return seen
    return seen


def tokens_of(texts: Iterable[str]) -> str:
    """Texts as one line of whole words between spaces, folded."""
    return " " + " ".join(word for text in texts for word in _WORD.findall(text.casefold())) + " "
