"""The typed constraints of a request: cities with roles, day, modes, kind of place, budget, sort, sky, party.

The third part of a label V = <primary leaf, secondary leaf, constraints> (AMAP report), read by rules over the
gazetteer and `lexicon.yaml`, in English and Chinese. Rules, because a world can only check what has one reading; what
looks like a place or a day and has none is listed as unresolved, never guessed.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from json.encoder import encode_basestring as quoted
from typing import Any, Final, Literal, NamedTuple

from pydantic import TypeAdapter

from assets.labels.amounts import budget_in, party_in
from assets.labels.dates import Day, days_in
from assets.labels.places import CityName, Mention, city_at, city_names
from assets.labels.roles import Role, Sense, roles_of
from assets.labels.spelling import cut_as_meant
from assets.labels.unresolved import Regions, regions_of, unresolved_places
from assets.labels.words import Hit, Hits, Meaning, Node, Words, lexicon, phrases
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


class NamedCity(NamedTuple):
    """A city as the user wrote it, as the gazetteer knows it, and what the request makes of it."""

    text: str
    city: str
    role: Role


class NamedDay(NamedTuple):
    """A day as the user wrote it and as a tool takes it: ISO date, `today`, `tomorrow` or a weekday."""

    text: str
    value: str


class Constraints(NamedTuple):
    """What a request asks for, slot by slot; an empty slot was not mentioned."""

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
    def stated(self) -> int:
        """How many constraints the request states: every city and every filled slot is one."""
        slots = (self.date, self.kind, self.budget, self.sort, self.sky, self.party)
        return len(self.cities) + len(self.modes) + len(slots) - slots.count(None)

    def as_json(self) -> str:
        """One JSON object, slot by slot; written by hand because a log has millions of them."""
        cities = ",".join(f'{{"text":{quoted(c.text)},"city":{quoted(c.city)},"role":"{c.role}"}}' for c in self.cities)
        day = self.date and f'{{"text":{quoted(self.date.text)},"value":"{self.date.value}"}}'
        return (
            f'{{"cities":[{cities}],"date":{day or "null"},"modes":{_listed(self.modes)},"kind":{_or_null(self.kind)},'
            f'"budget":{_or_null(self.budget)},"sort":{_or_null(self.sort)},"sky":{_or_null(self.sky)},'
            f'"write":{"true" if self.write else "false"},"party":{_or_null(self.party)},'
            f'"unresolved":{_listed(self.unresolved)}}}'
        )

    @classmethod
    def from_json(cls, text: str) -> "Constraints":
        """What `as_json` wrote.

        Raises:
            pydantic.ValidationError: the text is something else.
        """
        return _reader().validate_json(text)


def _listed(words: Sequence[str]) -> str:
    return f"[{','.join(map(quoted, words))}]"


def _or_null(slot: str | int | None) -> str:
    return "null" if slot is None else quoted(slot) if isinstance(slot, str) else str(slot)


@cache
def _reader() -> TypeAdapter[Constraints]:
    return TypeAdapter(Constraints)


class Said(NamedTuple):
    """What the phrases of a request say by themselves, wherever they stand in it."""

    signals: frozenset[str]
    """Names under `signals` in the lexicon that some phrase carries."""
    modes: tuple[Mode, ...]
    kind: Kind | None
    sorts: tuple[Sort, ...]
    """As the lexicon orders them."""
    sky: Sky | None
    sense: Sense


class Reading(NamedTuple):
    """A request as the rules read it: what the constraints, the masking and the annotator's cues are made from."""

    words: Words
    hits: Hits
    mentions: tuple[Mention, ...]
    days: tuple[Day, ...]
    said: Said
    regions: Regions


def read(text: str, *, today: date = WORLD_DAY) -> Reading:
    """Cut `text` into words and find its phrases, cities and days."""
    words = cut_as_meant(_MARKS.sub(" ", text) if "<" in text else text)
    hits, mentions = _walk(words)
    days = tuple(days_in(words, hits, today))
    regions = regions_of(words, hits, mentions)
    if days or regions.contradicted:
        taken = {i for day in days for i in range(day.start, day.stop)}
        mentions = [m for m in mentions if m.start not in taken and m not in regions.contradicted]
    said = _said(tuple([hit.meaning for hit in hits.listed]))
    return Reading(words, hits, tuple(mentions), days, said, regions)


@lru_cache(maxsize=50_000)
def _said(meanings: tuple[Meaning, ...]) -> Said:
    def _names(head: str) -> list[Any]:
        return list(dict.fromkeys(meaning.heads[head] for meaning in meanings if head in meaning.heads))

    signals = frozenset[str]().union(*(meaning.signals for meaning in meanings))
    modes, sorts = _names("modes"), sorted(_names("sorts"), key=list(lexicon()["sorts"]).index)
    kind, sky = (next(iter(_names(head)), None) for head in ("kinds", "skies"))
    sense = Sense(
        moves=bool({"route", "move", "distance"} & signals or modes or ("duration" in signals and kind is None)),
        compares="compare" in signals or bool({"warmest", "best"} & set(sorts)),
        compares_cities="warmest" in sorts or "weather" in signals,
        asks_place=kind is not None and not {"flight", "train"} & set(modes),
    )
    return Said(signals, tuple(modes), kind, tuple(sorts), sky, sense)


def extract(text: str, *, today: date = WORLD_DAY) -> Constraints:
    """The constraints that `text` states.

    Args:
        text: one request, English or Chinese, any case.
        today: the day on which "June 12" and "in three days" are said; the world's clock by default.
    """
    return constraints_of(read(text, today=today))


def constraints_of(reading: Reading) -> Constraints:
    """The constraints of a request that was read."""
    words, hits, said = reading.words, reading.hits, reading.said
    day = next((day for day in reading.days if day.value is not None), None)
    return Constraints(
        cities=_named_cities(reading) if reading.mentions else (),
        date=None if day is None else NamedDay(words.text(day.start, day.stop), day.value or ""),
        modes=said.modes,
        kind=said.kind,
        budget=budget_in(words, hits),
        sort=said.sorts[0] if said.sorts else None,
        sky=said.sky,
        write=_writes(words, hits),
        party=party_in(words, hits),
        unresolved=tuple(_unresolved(reading, day)),
    )


def _walk(words: Words) -> tuple[Hits, list[Mention]]:
    """Every phrase and every city, left to right; of a phrase and a city that begin together, the longer counts."""
    hits: list[Hit] = []
    mentions: list[Mention] = []
    done = 0
    for i, start in enumerate(map(_starts().get, words.folded)):
        if start is None or i < done:
            continue
        hit = _phrase_at(words, i, start.phrases) if start.phrases is not None else None
        city = city_at(words, i, start.cities) if start.cities is not None else None
        if city is not None and (hit is None or city.stop >= hit.stop):
            mentions.append(city)
            done = city.stop
        elif hit is not None:
            hits.append(hit)
            done = hit.stop
    return Hits.of(hits), mentions


class _Start(NamedTuple):
    """What may begin with a word."""

    phrases: Node[Meaning] | None
    cities: Node[CityName] | None


@cache
def _starts() -> dict[str, _Start]:
    """Every folded word with which a phrase or a city's name begins: one look-up settles most words."""
    listed, cities = phrases().next, city_names().next
    return {word: _Start(listed.get(word), cities.get(word)) for word in listed.keys() | cities.keys()}


def _phrase_at(words: Words, start: int, node: Node[Meaning]) -> Hit | None:
    stop, meanings = node.longest(words, start) if node.next else (start + 1, node.ends)
    if not meanings:
        return None
    if stop - start == 2 and "roles" in meanings[0].heads and node.ends:
        after = _starts().get(words.folded[stop - 1])
        if after is not None and after.cities is not None and city_at(words, stop - 1, after.cities):
            return Hit(start, start + 1, node.ends[0])  # 到|达卡, not 到达|卡
    return Hit(start, stop, meanings[0])


def _named_cities(reading: Reading) -> tuple[NamedCity, ...]:
    words = reading.words
    roles = roles_of(words, reading.hits, reading.mentions, reading.said.sense)
    found: dict[str, NamedCity] = {}
    for mention, role in zip(reading.mentions, roles, strict=True):
        name = mention.city.name
        if name not in found or (found[name].role == "location" and role != "location"):
            found[name] = NamedCity(words.text(mention.start, mention.stop), name, role)
    return tuple(found.values())


def _unresolved(reading: Reading, chosen: Day | None) -> Iterator[str]:
    for day in reading.days:
        if day.value is None or (chosen is not None and day.value != chosen.value):
            yield reading.words.text(day.start, day.stop)
    yield from reading.regions.unresolved
    yield from unresolved_places(reading.words, reading.hits, (*reading.mentions, *reading.regions.contradicted))


def _writes(words: Words, hits: Hits) -> bool:
    for hit in hits.under("writes"):
        before = words.folded[hit.start - 1] if hit.start else ""
        if before not in _ABLE and (words.folded[hit.start] != "book" or before not in _NOUN_BEFORE_BOOK):
            return True
    return False
