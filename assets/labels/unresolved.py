"""Words that stand where a place stands and name none that the world knows.

A request with such a word cannot be checked against the world as it is: it is asked about, or left out, but never
quietly answered for another place.
"""

from collections.abc import Sequence
from typing import NamedTuple

from assets.labels.places import Mention, is_ordinary
from assets.labels.words import Hits, Words, is_chinese

_PLACE_BEFORE = frozenset({"in", "from", "to", "near", "for", "at", "around", "into", "leaving"})
_LOWER_CASE_BEFORE = frozenset({"in", "from", "near"})
_NOT_PLACES = frozenset(
    {"i", "i'm", "i'd", "i'll", "i've", "ok", "tv", "pm", "am", "gps", "eta", "usd", "eur", "please", "thanks"}
)


def unresolved_places(words: Words, hits: Hits, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """The words that look like a place and resolve to nothing, as written."""
    before = ("", *words.folded)
    possible = [i for i, raw in enumerate(words.raw) if raw[0].isupper() or before[i] in _PLACE_BEFORE]
    if not possible:
        return ()
    spans = [*((hit.start, hit.stop) for hit in hits.listed), *((city.start, city.stop) for city in mentions)]
    known = {i for start, stop in spans for i in range(start, stop)}
    found: list[str] = []
    stop = 0
    for i in possible:
        if i >= stop and i not in known and _looks_like_place(words, i):
            stop = _unknown_until(words, known, i)
            found.append(words.text(i, stop))
    return tuple(found)


class Regions(NamedTuple):
    """What the countries and states of a request do to its cities."""

    contradicted: tuple[Mention, ...]
    """Cities that the request puts into another country than the gazetteer does ("London, Canada")."""
    unresolved: tuple[str, ...]
    """Those, with their regions, and regions that stand alone, as written."""


def regions_of(words: Words, hits: Hits, mentions: Sequence[Mention]) -> Regions:
    """Read each region of the request against the city before it, if one stands there."""
    ends = {mention.stop: mention for mention in mentions}
    contradicted, unresolved = [], []
    for hit in hits.under("regions"):
        city = ends.get(hit.start) if words.gaps[hit.start] in (" ", ", ", ",", "") else None
        if city is None:
            unresolved.append(words.text(hit.start, hit.stop))
        elif city.city.country not in hit.meaning.heads["regions"].split():
            contradicted.append(city)
            unresolved.append(words.text(city.start, hit.stop))
    return Regions(tuple(contradicted), tuple(unresolved))


def _unknown_until(words: Words, known: set[int], start: int) -> int:
    """Where the unknown name that begins at `start` ends."""
    stop = start + 1
    capital = words.raw[start][0].isupper()
    while (
        stop < len(words.folded)
        and stop not in known
        and words.gaps[stop] in (" ", "-")
        and capital == words.raw[stop][0].isupper()
    ):
        if not capital and is_ordinary(words.folded[stop]):
            break
        stop += 1
    return stop


def _looks_like_place(words: Words, i: int) -> bool:
    """Whether word i, which has a capital or stands after a preposition of place, may name one."""
    word, raw = words.folded[i], words.raw[i]
    before = words.folded[i - 1] if i else ""
    if len(word) < 3 or word in _NOT_PLACES or is_chinese(raw) or word[0].isdigit():
        return False
    if raw[0].isupper() and raw[1:].islower() and i and not words.gaps[i].strip():
        return before in _PLACE_BEFORE or not is_ordinary(word)
    return before in _LOWER_CASE_BEFORE and not is_ordinary(word)
