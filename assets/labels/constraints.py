"""The typed constraints of a request: cities with roles, day, modes, kind of place, budget, sort, sky, party.

The third part of a label V = <primary leaf, secondary leaf, constraints> (AMAP report), read by rules over the
gazetteer and `lexicon.yaml`, in English and Chinese. Rules, because a world can only check what has one reading; what
looks like a place or a day and has none is listed as unresolved, never guessed.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from assets.labels.amounts import budget_in, party_in
from assets.labels.dates import Day, days_in
from assets.labels.places import Mention, city_at, may_start_city
from assets.labels.roles import Role, Sense, roles_of
from assets.labels.spelling import respelled
from assets.labels.unresolved import Regions, regions_of, unresolved_places
from assets.labels.words import Hit, Words, cut, lexicon, phrases
from environments.worlds.atlas.data_model import TODAY

Mode = Literal["driving", "walking", "bicycling", "transit", "flight", "train"]
Kind = Literal["museum", "cafe", "park", "hotel", "market", "gallery", "restaurant", "library"]
Sort = Literal["cheapest", "best", "fastest", "warmest"]
Sky = Literal["sunny", "cloudy", "rainy", "snowy", "windy", "foggy"]

WORLD_DAY: Final = date.fromisoformat(TODAY)

_NOUN_BEFORE_BOOK: Final = frozenset(
    {
        "a",
        "the",
        "this",
        "that",
        "my",
        "your",
        "his",
        "her",
        "good",
        "new",
        "which",
        "what",
        "any",
        "comic",
        "audio",
        "read",
    }
)

_MARKS: Final = re.compile(r"(?:[,，;；]\s*[^,，;；.?!。？！<>]{0,30})?<[a-z]+>")
"""What the scrub of personal data leaves (`<phone>`), with the half sentence that led up to it."""
_ABLE: Final = frozenset("够能")  # 够买 asks whether the money is enough


class NamedCity(BaseModel):
    """A city as the user wrote it, as the gazetteer knows it, and what the request makes of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    city: str
    role: Role


class NamedDay(BaseModel):
    """A day as the user wrote it and as a tool takes it: ISO date, `today`, `tomorrow` or a weekday."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    value: str


class Constraints(BaseModel):
    """What a request asks for, slot by slot; an empty slot was not mentioned."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cities: tuple[NamedCity, ...] = ()
    date: NamedDay | None = None
    modes: tuple[Mode, ...] = ()
    kind: Kind | None = None
    budget: int | None = None
    sort: Sort | None = None
    sky: Sky | None = None
    write: bool = False
    party: int | None = None
    unresolved: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many constraints the request states: every city and every filled slot is one."""
        slots = (self.date, self.kind, self.budget, self.sort, self.sky, self.party)
        return len(self.cities) + len(self.modes) + sum(slot is not None for slot in slots)


class Reading(NamedTuple):
    """A request as the rules read it: what the constraints, the masking and the annotator's cues are made from."""

    words: Words
    hits: tuple[Hit, ...]
    mentions: tuple[Mention, ...]
    days: tuple[Day, ...]
    signals: frozenset[str]
    """Names under `signals` in the lexicon that some phrase of the request carries."""
    regions: Regions


def read(text: str, *, today: date = WORLD_DAY) -> Reading:
    """Cut `text` into words and find its phrases, cities and days."""
    words = respelled(cut(_MARKS.sub(" ", text)))
    hits, mentions = _walk(words)
    days = tuple(days_in(words, hits, today))
    taken = {i for day in days for i in range(day.start, day.stop)}
    regions = regions_of(words, hits, mentions)
    mentions = [m for m in mentions if m.start not in taken and m not in regions.contradicted]
    signals = frozenset[str]().union(*(hit.meaning.signals for hit in hits))
    return Reading(words, tuple(hits), tuple(mentions), days, signals, regions)


def extract(text: str, *, today: date = WORLD_DAY) -> Constraints:
    """The constraints that `text` states.

    Args:
        text: one request, English or Chinese, any case.
        today: the day on which "June 12" and "in three days" are said; the world's clock by default.
    """
    return constraints_of(read(text, today=today))


def constraints_of(reading: Reading) -> Constraints:
    """The constraints of a request that was read."""
    words, hits = reading.words, reading.hits
    modes = tuple(dict.fromkeys(_values(hits, "modes")))
    kind = next(_values(hits, "kinds"), None)
    cities = _named_cities(reading, modes, kind)
    day = next((day for day in reading.days if day.value is not None), None)
    return Constraints.model_validate(
        {
            "cities": cities,
            "date": None if day is None else NamedDay(text=words.text(day.start, day.stop), value=day.value or ""),
            "modes": modes,
            "kind": kind,
            "budget": budget_in(words, hits),
            "sort": min(_values(hits, "sorts"), key=_rank_of_sort, default=None),
            "sky": next(_values(hits, "skies"), None),
            "write": _writes(words, hits),
            "party": party_in(words, hits),
            "unresolved": tuple(_unresolved(reading, day)),
        }
    )


def _walk(words: Words) -> tuple[list[Hit], list[Mention]]:
    """Every phrase and every city, left to right; of a phrase and a city that begin together, the longer counts."""
    hits: list[Hit] = []
    mentions: list[Mention] = []
    done = 0
    for i, word in enumerate(words.folded):
        if i < done or not (word in phrases().next or may_start_city(word)):
            continue
        hit, city = _phrase_at(words, i), city_at(words, i)
        if city is not None and (hit is None or city.stop >= hit.stop):
            mentions.append(city)
            done = city.stop
        elif hit is not None:
            hits.append(hit)
            done = hit.stop
    return hits, mentions


def _phrase_at(words: Words, start: int) -> Hit | None:
    stop, meanings = phrases().longest(words, start)
    if not meanings:
        return None
    if stop - start == 2 and "roles" in meanings[0].heads and city_at(words, stop - 1):  # 到|达卡, not 到达|卡
        shorter = phrases().next[words.folded[start]].ends
        return Hit(start, start + 1, shorter[0]) if shorter else Hit(start, stop, meanings[0])
    return Hit(start, stop, meanings[0])


def _named_cities(reading: Reading, modes: tuple[str, ...], kind: str | None) -> tuple[NamedCity, ...]:
    words, signals, sorts = reading.words, reading.signals, set(_values(reading.hits, "sorts"))
    sense = Sense(
        moves=bool({"route", "move", "distance"} & signals or modes or ("duration" in signals and kind is None)),
        compares="compare" in signals or bool({"warmest", "best"} & sorts),
        compares_cities="warmest" in sorts or "weather" in signals,
        asks_place=kind is not None and not {"flight", "train"} & set(modes),
    )
    roles = roles_of(words, reading.hits, reading.mentions, sense)
    found: dict[str, NamedCity] = {}
    for mention, role in zip(reading.mentions, roles, strict=True):
        name = mention.city.name
        if name not in found or (found[name].role == "location" and role != "location"):
            found[name] = NamedCity(text=words.text(mention.start, mention.stop), city=name, role=role)
    return tuple(found.values())


def _unresolved(reading: Reading, chosen: Day | None) -> Iterator[str]:
    for day in reading.days:
        if day.value is None or (chosen is not None and day.value != chosen.value):
            yield reading.words.text(day.start, day.stop)
    yield from reading.regions.unresolved
    yield from unresolved_places(reading.words, reading.hits, (*reading.mentions, *reading.regions.contradicted))


def _writes(words: Words, hits: tuple[Hit, ...]) -> bool:
    for hit in hits:
        if hit.value("writes") is None:
            continue
        before = words.folded[hit.start - 1] if hit.start else ""
        if before not in _ABLE and (words.folded[hit.start] != "book" or before not in _NOUN_BEFORE_BOOK):
            return True
    return False


def _values(hits: tuple[Hit, ...], head: str) -> Iterator[str]:
    return (hit.meaning.heads[head] for hit in hits if head in hit.meaning.heads)


@lru_cache(maxsize=8)
def _rank_of_sort(name: str) -> int:
    return list(lexicon()["sorts"]).index(name)
