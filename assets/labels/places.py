"""City names in running text: longest match over the gazetteer, with a guard for names that are everyday words.

"Nice", "Reading" and "Of" are cities; "a nice museum" and "time of day" name none. A doubtful name counts only where
the writing (a capital in a text that has both cases) or its place in the sentence (after "in", "from", "to") speaks
for it.
"""

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from assets.labels.regions import regions, states
from assets.labels.words import Node, Words, cut, fold, is_chinese, lexicon_words, read_yaml
from environments.worlds.atlas.data_model import City, gazetteer

UNDOUBTED_POPULATION = 100_000
"""Ours: below it, a name in lower case with no preposition before it is not read as a city."""

_BEFORE_ZH = frozenset("从到去在至往飞由自和与跟是或离住达来")
_AFTER_ZH = frozenset("到去飞的和与出天有哪还或最往至明后周今市坐开")
_STOPS = frozenset(".!?:;。！？：；\n")


class Mention(NamedTuple):
    """Words `start` to `stop` (exclusive) name `city`."""

    start: int
    stop: int
    city: City


class CityName(NamedTuple):
    """A city by one of its names, and what holds of the name wherever it stands."""

    city: City
    is_chinese: bool
    is_doubtful: bool
    """It is made of everyday words."""
    is_region: bool
    """It says a country or state before it says this city."""
    is_lower_case: bool
    """In lower case after a preposition it is the city all the same."""


def city_at(words: Words, start: int, node: Node[CityName]) -> Mention | None:
    """The city whose name begins with word `start`, at whose node of the names it is, if the guard lets it pass."""
    stop, found = node.longest(words, start) if node.next else (start + 1, node.ends)
    if not found:
        return None
    name = found[0] if len(found) == 1 else _as_written(found, words, start, stop)
    passes = _chinese_passes if name.is_chinese else _latin_passes
    return Mention(start, stop, name.city) if passes(words, start, stop, name) else None


@lru_cache(maxsize=200_000)
def is_ordinary(word: str) -> bool:
    """Whether a folded word is one of everyday language: known whole, in lower case, to the embedder's tokenizer."""
    return word in _everyday() or _stem(word) in _everyday()


def _as_written(found: Sequence[CityName], words: Words, start: int, stop: int) -> CityName:
    """Of cities that fold alike (San Pedro, San-Pédro) the one spelled so, else the most populous."""
    said = words.text(start, stop).casefold()
    return next((name for name in found if name.city.name.casefold() == said), found[0])


def _latin_passes(words: Words, start: int, stop: int, name: CityName) -> bool:
    if name.is_region:
        return False
    if not name.is_doubtful:
        settled = stop - start > 1 or name.city.population >= UNDOUBTED_POPULATION
        return settled or _capital_speaks(words, start) or _preceded(words, start)
    if _capital_speaks(words, start):
        return _preceded(words, start) or _is_choice(words, stop)
    if name.is_lower_case and _preceded(words, start) and _closed(words, stop):
        return True
    return _ends_a_journey(words, start, stop) or _opens_a_choice(words, start, stop)


def _named(folded: list[str], city: City) -> CityName:
    chinese = is_chinese(folded[0])
    doubtful = "".join(folded) in _word_set("chinese_ordinary") if chinese else _is_doubtful(folded, city)
    name = " ".join(folded)
    return CityName(city, chinese, doubtful, _is_region_instead(name, city), name in _word_set("lower_case"))


def _is_doubtful(name: list[str], city: City) -> bool:
    if len(name) > 1 and city.population >= UNDOUBTED_POPULATION:
        return False
    return all(word in _doubtful() for word in name)


def _is_region_instead(name: str, city: City) -> bool:
    """A country or state outweighs a smaller city elsewhere that has its name."""
    if city.population >= 3 * UNDOUBTED_POPULATION:
        return False
    return name in states() or city.country not in regions().get(name, city.country).split()


def _chinese_passes(words: Words, start: int, stop: int, name: CityName) -> bool:
    if name.city.population >= UNDOUBTED_POPULATION and not name.is_doubtful:
        return True
    before = words.folded[start - 1] if start else ""
    after = words.folded[stop] if stop < len(words.folded) else ""
    if name.is_doubtful:
        return before in _BEFORE_ZH or after in {"到", "飞"}
    return before in _BEFORE_ZH or after in _AFTER_ZH or not before or bool(words.gaps[start])


def _capital_speaks(words: Words, start: int) -> bool:
    """A capital counts where it is neither the sentence's first letter nor in a text all of capitals."""
    if not words.raw[start][0].isupper() or start == 0 or _STOPS & set(words.gaps[start]):
        return False
    return any(word[0].islower() for word in words.raw)


def _preceded(words: Words, start: int) -> bool:
    return start > 0 and words.folded[start - 1] in _word_set("before")


def _ends_a_journey(words: Words, start: int, stop: int) -> bool:
    """`from van to hub`: on both sides of a journey even an everyday word is a city."""
    before = words.folded[start - 1] if start else ""
    if before == "from":
        return stop < len(words.folded) and words.folded[stop] == "to"
    return before == "to" and "from" in words.folded and _closed(words, stop)


def _opens_a_choice(words: Words, start: int, stop: int) -> bool:
    """`Nice or Cork?`: the first word of a text, before a connector and another capital."""
    if start or stop + 1 >= len(words.folded) or words.folded[stop] not in {"or", "to", "vs"}:
        return False
    return words.raw[start][0].isupper() and words.raw[stop + 1][0].isupper()


def _is_choice(words: Words, stop: int) -> bool:
    """`Nice or Cork`: a capital name before a connector."""
    return stop < len(words.folded) and words.folded[stop] in {"or", "and", "to", "vs"}


def _closed(words: Words, stop: int) -> bool:
    return stop == len(words.folded) or words.gaps[stop].strip() != "" or words.folded[stop] in _word_set("after")


@cache
def city_words() -> frozenset[str]:
    """Every word that is part of a city's name."""
    return frozenset(word for name in gazetteer() for word in cut(name).folded)


def is_everyday(word: str) -> bool:
    """Whether a folded word is known whole, in lower case, to the embedder's tokenizer."""
    return word in _everyday()


@cache
def city_names() -> Node[CityName]:
    """The trie over every name of every city, aliases among them."""
    root: Node[CityName] = Node()
    known = gazetteer()

    def _add(written: str, city: City) -> None:
        if words := cut(written).folded:
            root.add(words, _named(words, city))

    for alias, name in read_yaml("place_names.yaml")["aliases"].items():
        _add(alias, known[name.casefold()])
    ranked = sorted(known.items(), key=lambda pair: (-pair[1].population, pair[0]))
    for name, city in ranked:
        if len(name) > 1:
            _add(name, city)
    for name, city in ranked:
        if "’" in name or "'" in name:
            _add(name.replace("’", "").replace("'", ""), city)
    return root


@cache
def _doubtful() -> frozenset[str]:
    ordinary = {fold(word) for word in read_yaml("place_names.yaml")["ordinary"]}
    return frozenset(ordinary | _everyday() | lexicon_words())


@cache
def _everyday() -> frozenset[str]:
    """Words that WordLlama's tokenizer has as one token in lower case: about nine thousand, few of them names."""
    path = files("wordllama").joinpath("tokenizers/l2_supercat_tokenizer_config.json")
    vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    return frozenset(word[1:] for word in vocabulary if word[0] == "▁" and word[1:].islower() and word[1:].isascii())


@cache
def _word_set(name: str) -> frozenset[str]:
    return frozenset(read_yaml("place_names.yaml")[name])


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "er", "ly", "s", "d"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word.removesuffix(ending)
    return word
