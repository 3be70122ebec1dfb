"""What a request is about, as a key: two requests whose keys differ are never near copies of each other.

Letters and embeddings both put "from Paris to Rome on Friday" beside "from Rome to Paris on Sunday". Cities with their
roles, day, modes, kind of place, amounts and every other number must agree before similarity is even asked; numbers
that differ (FM 1506, FM 1507) keep both. Each half of the policy can be switched off.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

from assets.labels.constraints import Constraints, Reading, constraints_of, read

SEPARATOR = "\x1f"
_FINER: Final = re.compile(
    r"(?<![\w.])-\d[\d.]*"  # below zero
    r"|(?<!\d)\d++\s*+[ap]\.?m\b"  # half of the day
    r"|(?<![a-z0-9.])\d+[a-z](?![a-z0-9])"  # 12a
    r"|\b(?=[ivx]{3})x{0,3}(?:ix|iv|v?i{0,3})\b"
    r"|(?:凌晨|清晨|早上|上午|中午|下午|傍晚|晚上|夜里|半夜)(?=[零〇一二两三四五六七八九十\d])"
    r"|(?<![零〇一二两三四五六七八九十百千])(?:一(?=[号號路楼樓月日元块塊度岁歲])"
    r"|(?!一[^零〇一二两三四五六七八九十百千])[零〇一二两三四五六七八九十百千]++(?=[号號路楼樓月日元块塊度岁歲点點天次人位间間晚层層]))"
)
"""What else is a number, or says which one is meant: signs, halves of the day, house numbers with a letter, Roman
numbers of three letters and more, Chinese numbers before a unit. 便宜一点 counts nothing."""
_BLANKS: Final = re.compile(r"[\s.]")


@cache
def rules_version() -> str:
    """Hash of the lexicons that the rules read: other words may mean other facts."""
    listed = sorted((f.name, f.read_bytes()) for f in files("assets.labels").iterdir() if f.name.endswith(".yaml"))
    return hashlib.blake2b(repr(listed).encode(), digest_size=8).hexdigest()


class Told(NamedTuple):
    """Requests as the rules read them."""

    slots: list[str]
    """Cities, days, modes and the other slots of each."""
    numbers: list[str]
    """Numbers of each that are no part of a day, in order."""
    words: list[str]
    """Folded words only, slips of the finger undone, marks of the scrub gone: what is embedded, so that `fligth` has
    no place of its own in the space. A request without words stays as it is."""


def read_requests(texts: Sequence[str]) -> Told:
    """Read each text once; in any language."""
    found = [_read_once(text) for text in texts]
    return Told([f.slots for f in found], [f.numbers for f in found], [f.words for f in found])


class _Found(NamedTuple):
    """What the layers want to know of one request."""

    slots: str
    numbers: str
    words: str


@lru_cache(maxsize=1 << 18)
def _read_once(text: str) -> _Found:
    """Reading a request costs more than all else that the layers do with it, and each layer of a process asks again."""
    reading = read(text)
    slots = SEPARATOR.join(_slots(constraints_of(reading)))
    finer = (_BLANKS.sub("", said) for said in _FINER.findall(text.casefold()))
    numbers = SEPARATOR.join(("#", *_loose_numbers(reading), *finer))
    return _Found(slots, numbers, " ".join(reading.words.folded) or text)


def facts_of(texts: Sequence[str], *, numbers: bool = True, names: bool = True) -> list[str]:
    """One key per text: what must be equal for two requests to be near copies.

    Args:
        texts: requests, in any language.
        numbers: whether numbers that differ keep both requests.
        names: whether cities, days, modes and the other slots that differ keep both.
    """
    told = read_requests(texts)
    parts = [*([told.slots] if names else []), *([told.numbers] if numbers else [])]
    return [SEPARATOR.join(said) for said in zip(*parts, strict=True)] if parts else [""] * len(texts)


def as_read(texts: Sequence[str]) -> list[str]:
    """The words of each text; see `read_requests`."""
    return read_requests(texts).words


def _slots(found: Constraints) -> list[str]:
    alone = len(found.cities) == 1
    cities = sorted(city.city if alone else f"{city.role}:{city.city}" for city in found.cities)
    day = found.date.value if found.date is not None else ""
    slots = (day, found.kind, found.budget, found.sort, found.sky, found.write, found.party)
    return [*cities, "|", *sorted(found.modes), "|", *map(str, slots), *(word.casefold() for word in found.unresolved)]


def _loose_numbers(reading: Reading) -> list[str]:
    """Numbers that are not part of a day, in order: "12 June" and "on 2026-06-12" say the same."""
    in_days = {i for day in reading.days if day.value is not None for i in range(day.start, day.stop)}
    return [reading.words.folded[i] for i in reading.words.numbers if i not in in_days]
