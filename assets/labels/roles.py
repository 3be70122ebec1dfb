"""What a request makes of each city it names: where it starts, where it goes, where it is, what it chooses between.

Three passes. A word just before a city proposes a role ("from", "to", "in", 从, 到). What stands between two cities
binds them ("A to B", "A or B", "A和B哪个"). What is still open is settled by whether anyone moves: a bare city beside
"flight to Rome" is where that flight starts, a bare city beside "weather" is where it is asked for.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from assets.labels.places import Mention
from assets.labels.words import Hit, Hits, Words, cut, is_chinese, lexicon

Role = Literal["origin", "destination", "location", "option"]
Relation = Literal["to", "or", "and", "next", "apart"]

_ARROWS = frozenset({"-", "–", "—", "->", "→", ">", "=>", "~", "至"})
_LISTS = frozenset({",", "、", "，", "/", "&", "|", ", "})
_SKIPPED = frozenset({"the", "city", "downtown", "central"})
_LEAVING = frozenset(
    {"leave", "leaving", "leaves", "depart", "departing", "bound", "headed", "heading", "off", "start"}
)


class Sense(NamedTuple):
    """What the rest of the request says that bears on roles."""

    moves: bool
    """Somebody goes from one place to another."""
    compares: bool
    """Something is weighed against something else."""
    compares_cities: bool
    """What is weighed is how it is there: warmth, weather."""
    asks_place: bool
    """A place inside a city is looked for."""


def roles_of(words: Words, hits: Hits, mentions: Sequence[Mention], sense: Sense) -> list[Role]:
    """One role per mention, in order."""
    heads = [_proposed(words, hits.under("roles"), mention) for mention in mentions]
    for i in range(len(mentions) - 1):
        relation = _relation(words, mentions[i], mentions[i + 1], sense)
        heads[i], heads[i + 1] = _bound(heads[i], heads[i + 1], relation, sense)
    names = [mention.city.name for mention in mentions]
    return _settled(heads, names, sense)


def _proposed(words: Words, proposing: Sequence[Hit], mention: Mention) -> str | None:
    stop = mention.start
    while stop and words.folded[stop - 1] in _SKIPPED:
        stop -= 1
    before = next((hit for hit in proposing if hit.stop == stop), None)
    head = before.value("roles") if before is not None and not words.gaps[stop].strip(" (\"'“") else None
    if head == "for":
        return "destination" if _LEAVING & set(words.folded[max(0, stop - 5) : stop]) else "for"
    if head is None and _sets_out(words, mention.stop):
        return "origin"
    return head


def _sets_out(words: Words, stop: int) -> bool:
    """`北京出发`: the word that makes a city the origin may follow it."""
    return "".join(words.folded[stop : stop + 2]) == "出发"


def _relation(words: Words, left: Mention, right: Mention, sense: Sense) -> Relation:
    between = words.folded[left.stop : right.start]
    gaps = {gap.strip() for gap in words.gaps[left.stop : right.start + 1]}
    if not between:
        gap = words.gaps[right.start].strip()
        return "to" if gap in _ARROWS else "and" if gap in _LISTS else "next" if not gap else "apart"
    if gaps & {".", "?", "。", "？", ";", "；"} or len(between) > 6:
        return "apart"
    said = "".join(between) if is_chinese(between[0]) else " ".join(w for w in between if w not in _SKIPPED)
    exact = _relations().get(said)
    if exact is not None:
        return exact
    return "or" if sense.compares and _weighs(between) else "apart"


def _weighs(between: Sequence[str]) -> bool:
    """`is A warmer than B`, `A比B暖和`, `是A暖和还是B暖和`."""
    return bool({"than", "or", "vs", "versus", "比"} & set(between)) or "还是" in "".join(between)


def _bound(left: str | None, right: str | None, relation: Relation, sense: Sense) -> tuple[str | None, str | None]:
    if relation == "and" and left == "between" and sense.moves and not sense.compares_cities:
        return "origin", "destination"
    if relation == "or" or (relation == "and" and sense.compares and left != "origin"):
        return "option", "option"
    if relation == "and":
        return left, right or left
    if relation == "to" and left in (None, "for", "origin", "location", "between"):
        return "origin", "destination"
    if relation == "next" and left in (None, "for", "origin") and right is None:
        return _neighbours(left, sense)
    return left, right


def _neighbours(left: str | None, sense: Sense) -> tuple[str | None, str | None]:
    """`flight london paris`, `巴黎罗马哪里更暖和`."""
    if sense.compares and not (sense.moves or left == "origin"):
        return "option", "option"
    return ("origin", "destination") if sense.moves or left == "origin" else (left, left)


def _settled(heads: list[str | None], names: Sequence[str], sense: Sense) -> list[Role]:
    if sense.moves and not (sense.asks_place and len(set(names)) == 1):
        _settle_ends(heads, names)
    else:
        heads[:] = [head if head == "option" else "location" for head in heads]
    return [_role(head) for head in heads]


def _settle_ends(heads: list[str | None], names: Sequence[str]) -> None:
    """Give the ends of a journey that are still missing to the cities that are still open."""
    taken = {name for name, head in zip(names, heads, strict=True) if head in ("origin", "destination", "option")}
    bare = [i for i, head in enumerate(heads) if head in (None, "for", "between")]
    placed = [i for i, head in enumerate(heads) if head == "location"]
    free = [i for i in sorted({*bare, *placed}) if names[i] not in taken]
    if not {"destination", "option"} & set(heads):
        goal = _goal(free, bare, has_origin="origin" in heads)
        if goal is not None:
            heads[goal] = "destination"
            free = [i for i in free if names[i] != names[goal]]
    if "origin" not in heads and {"destination", "option"} & set(heads) and free:
        heads[free[0]] = "origin"


def _goal(free: Sequence[int], bare: Sequence[int], *, has_origin: bool) -> int | None:
    if has_origin:
        return free[0] if free else None
    if len(free) > 1:
        return free[1]
    return free[0] if free and free[0] in bare else None


def _role(head: str | None) -> Role:
    match head:
        case "origin" | "destination" | "option":
            return head
        case _:
            return "location"


@cache
def _relations() -> dict[str, Relation]:
    found: dict[str, Relation] = {}
    for relation, said in lexicon()["relations"].items():
        for phrase in said:
            folded = cut(phrase).folded
            found["".join(folded) if is_chinese(phrase) else " ".join(folded)] = relation
    return found
