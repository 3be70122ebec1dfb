"""Whether the constraints read off a request are all that it asks: no word is left over, and none turns them round.

A request becomes a task only if every word is part of a constraint or belongs to the family's wordings. Words alone do
not say in which direction they point ("more than 300 euros", "no flight under 300", "book two flights"), so words that
can turn a request round must stand between the same neighbours as in one of those wordings.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise, product

from assets.labels.constraints import Constraints
from environments.worlds.atlas.tasks import wordings

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_TOKEN = re.compile(r"\x00|[a-z]+(?:'[a-z]+)?|\d+")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = "\x00"
"""Stands for the filling of a slot, whatever it is."""
_FUNCTION = """
a an the is are was be it i me my we you to of in on at for from by and or so as do does will would can could what which
how where when there this that please s re m ll ve d
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())
_FILLINGS = (
    "by public transport", "by car", "on foot", "by bike", "driving", "walking", "museum", "cafe", "park", "hotel",
    "market", "gallery", "restaurant", "library", "sunny", "cloudy", "rainy", "snowy", "windy", "foggy",
)  # fmt: skip
_MORE_WORDS = "euros euro today tomorrow"
_TURNS = """
more less no not never without nor or except least most worst worse dear dearer expensive longer slower colder cooler
two three four five six both all either neither return twice again instead but than over above any
"""
TURNING = frozenset(_TURNS.split())
"""Words that negate, compare, count or offer a choice."""


def unexplained(text: str, family: str, constraints: Constraints) -> list[str]:
    """Words and numbers of `text` that are neither part of a constraint nor in any wording of the family."""
    known = _lexicon(family) | _FUNCTION_WORDS | {str(constraints.budget)}
    return [w for w in _WORD.findall(_emptied(text, constraints).replace(_SLOT, " ")) if w not in known]


def turned(text: str, family: str, constraints: Constraints) -> list[str]:
    """Pairs of neighbours in `text`, one of which can turn a request round, that no wording of the family has."""
    rest = _emptied(text, constraints)
    if constraints.budget is not None:
        rest = re.sub(rf"(?<!\d){constraints.budget}(?!\d)", _SLOT, rest)
    return [" ".join(pair).replace(_SLOT, "...") for pair in _turning_pairs(rest) if pair not in _pairs(family)]


def _emptied(text: str, constraints: Constraints) -> str:
    """`text` in lower case with a mark in place of every city and day."""
    rest = text.casefold()
    spans = [*constraints.unresolved, *(c.text for c in constraints.cities)]
    spans += [constraints.date.text] if constraints.date else []
    for span in sorted(spans, key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(span.casefold())}(?!\w)", _SLOT, rest)
    return rest


def _turning_pairs(text: str) -> Iterator[tuple[str, str]]:
    words = ["^", *_TOKEN.findall(_filled_in(text)), "$"]
    return (pair for pair in pairwise(words) if any(w in TURNING or w.endswith("n't") for w in pair))


def _filled_in(text: str) -> str:
    """`text` with a mark in place of modes, kinds of place and skies, of which any may stand there."""
    return re.sub(rf"(?<!\w)(?:{'|'.join(_FILLINGS)})s?(?!\w)", _SLOT, text)


@cache
def _pairs(family: str) -> frozenset[tuple[str, str]]:
    """Neighbours in the wordings of `family`, every alternative written out."""
    said: Mapping[str, tuple[str, ...]] = wordings()[family]
    found: set[tuple[str, str]] = set()
    for template in (t for templates in said.values() for t in templates):
        for text in _written_out(template):
            found.update(_turning_pairs(re.sub(r"\{\w\}", _SLOT, text.casefold())))
    return frozenset(found)


def _written_out(template: str) -> Iterator[str]:
    """Every sentence that a template stands for, before its slots are filled."""
    parts = _CHOICE.split(template)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return ("".join(chosen) for chosen in product(*choices))


@cache
def _lexicon(family: str) -> frozenset[str]:
    """Every lower-case word that the wordings of `family` use, with the words that fill its slots."""
    said: Mapping[str, tuple[str, ...]] = wordings()[family]
    plain = " ".join(re.sub(r"\{\w\}", " ", t) for templates in said.values() for t in templates)
    return frozenset(_WORD.findall(f"{plain} {' '.join(_FILLINGS)} {_MORE_WORDS}".casefold()))
