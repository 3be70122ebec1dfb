"""Searches for places: what lies near, along a way or between several people, filtered, ordered and as ranking lists.

Source: the argument lists and their meaning follow TravelBench's map tools.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from environments.worlds.atlas.data_model import fold
from environments.worlds.atlas.full.data_model import EARTH_KM, Category, Land, Place, Point, apart

SortBy = Literal["weight", "distance", "rating:d", "price:a", "price:d"]
CentralSort = Literal["balanced", "min_max_distance", "total_distance"]
_HAN = re.compile("[一-鿿]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a place must meet."""

    min_rating: float = 0.0
    price_min: int | None = None
    price_max: int | None = None
    price_category: Category | None = None

    def met_by(self, place: Place) -> bool:
        """Whether `place` does; one without a rating or a price meets no bound on it."""
        if self.min_rating > 0 and (place.rating is None or place.rating < self.min_rating):
            return False
        if self.price_category and place.category != self.price_category:
            return False
        if self.price_min is None and self.price_max is None:
            return True
        low, high = self.price_min or 0, math.inf if self.price_max is None else self.price_max
        return place.price is not None and low <= place.price <= high


class Found(NamedTuple):
    """A place with its distance from what was asked about, in km."""

    place: Place
    km: float


def weight(place: Place) -> float:
    """How prominent a place is: its rating, drawn towards 6 where few have rated it."""
    if place.rating is None:
        return 0.0
    reviews = place.reviews if place.reviews is not None else 100
    return (place.rating * reviews + 6.0 * 60) / (reviews + 60)


def asked_for(query: str, words: Mapping[str, str]) -> tuple[str | None, str]:
    """The kind of place that a search names by the last word for one in it, and what else it says, folded."""
    said = fold(query)
    inside = [w for w in words if (w in said if _HAN.search(w) else re.search(rf"(?<!\w){re.escape(w)}(?!\w)", said))]
    if not inside:
        return None, said
    word = max(inside, key=lambda w: (said.rfind(w) + len(w), len(w)))
    at = said.rfind(word)
    return words[word], " ".join(f"{said[:at]} {said[at + len(word) :]}".strip(" 的").split())


def candidates(land: Land, query: str, regions: Sequence[str]) -> list[Place]:
    """The places in `regions` that a search means: those whose names or tags hold what it says beside a kind.

    Where none does, the words are taken for praise (`a good museum`) and all of the kind are meant.
    """
    kind, rest = asked_for(query, land.words)
    kinds = land.kinds() if kind is None else (kind,)
    every = [place for region in regions for k in kinds for place in land.places(region, k)]
    named = [p for p in every if rest and any(rest in fold(n) for n in (p.name, *p.names, *p.tags))]
    return named or (every if kind is not None else [])


def ordered(found: Iterable[Found], sort_by: SortBy) -> list[Found]:
    """Results in the order asked for; those that lack the value come last, names break ties."""
    keys: dict[str, Callable[[Found], float]] = {
        "weight": lambda f: -weight(f.place),
        "distance": lambda f: f.km,
        "rating:d": lambda f: -f.place.rating if f.place.rating is not None else math.inf,
        "price:a": lambda f: f.place.price if f.place.price is not None else math.inf,
        "price:d": lambda f: -f.place.price if f.place.price is not None else math.inf,
    }
    return sorted(found, key=lambda f: (keys[sort_by](f), f.place.name, f.place.region))


def near(places: Iterable[Place], center: Point, km: float) -> list[Found]:
    """Those within `km` of a point."""
    found = (Found(place, apart(center, place.point)) for place in places)
    return [f for f in found if f.km <= km]


class Beside(NamedTuple):
    """A place beside a way: km from its start, and off it."""

    place: Place
    along: float
    off: float


def beside(places: Iterable[Place], start: Point, end: Point, km: float) -> list[Beside]:
    """Those within `km` of the great circle from `start` to `end`, in the order in which one passes them."""
    whole, course = apart(start, end), _bearing(start, end)
    found = []
    for place in places:
        far = apart(start, place.point) / EARTH_KM
        turn = _bearing(start, place.point) - course
        off = math.asin(max(-1.0, min(1.0, math.sin(far) * math.sin(turn))))
        along = math.atan2(math.sin(far) * math.cos(turn), math.cos(far)) * EARTH_KM
        if abs(off) * EARTH_KM <= km and 0.0 <= along <= whole:
            found.append(Beside(place, along, abs(off) * EARTH_KM))
    return sorted(found, key=lambda b: (b.along, b.place.name))


def _bearing(a: Point, b: Point) -> float:
    la, lb, lo = math.radians(a.latitude), math.radians(b.latitude), math.radians(b.longitude - a.longitude)
    return math.atan2(
        math.sin(lo) * math.cos(lb), math.cos(la) * math.sin(lb) - math.sin(la) * math.cos(lb) * math.cos(lo)
    )


def centre(points: Sequence[Point]) -> Point:
    """The middle of several points, on the sphere."""
    x = y = z = 0.0
    for latitude, longitude in points:
        la, lo = math.radians(latitude), math.radians(longitude)
        x, y, z = x + math.cos(la) * math.cos(lo), y + math.cos(la) * math.sin(lo), z + math.sin(la)
    return Point(round(math.degrees(math.atan2(z, math.hypot(x, y))), 4), round(math.degrees(math.atan2(y, x)), 4))


class Central(NamedTuple):
    """A place with its distance from each of several people, in km to one decimal."""

    place: Place
    km: tuple[float, ...]

    def cost(self, sort_by: CentralSort) -> float:
        """What is to be small: the longest way, the sum, or both with the spread (`balanced`)."""
        if sort_by == "min_max_distance":
            return max(self.km)
        if sort_by == "total_distance":
            return round(sum(self.km), 1)
        return sum(self.km) / len(self.km) + (max(self.km) - min(self.km))


def between(places: Iterable[Place], origins: Sequence[Point], km: float, sort_by: CentralSort) -> list[Central]:
    """Those within `km` of the middle of `origins`, the most central first."""
    middle = centre(origins)
    inside = (p for p in places if apart(middle, p.point) <= km)
    found = [Central(p, tuple(round(apart(o, p.point), 1) for o in origins)) for p in inside]
    return sorted(found, key=lambda c: (c.cost(sort_by), c.place.name, c.place.region))


_LISTS: tuple[tuple[str, Callable[[Place], float | None]], ...] = (
    ("Best rated", lambda p: p.rating),
    ("Most reviewed", lambda p: p.reviews),
    ("Most popular", lambda p: weight(p) if p.rating is not None else None),
    ("Best value", lambda p: p.rating / (p.price + 5) if p.rating is not None and p.price is not None else None),
    ("Cheapest", lambda p: -p.price if p.price is not None else None),
    ("Most exclusive", lambda p: p.price),
    ("Hidden gems", lambda p: p.rating if p.rating is not None and (p.reviews or 1000) < 200 else None),
)
"""Ranking lists: name, and what puts a place ahead (None keeps it off the list)."""


def ranking_lists(
    places: Sequence[Place], title: str, max_lists: int, show: Callable[[Place], dict[str, Any]], max_items: int
) -> list[dict[str, Any]]:
    """Ranking lists of `places`; a list that none of them qualifies for is left out."""
    made = []
    for name, score in _LISTS:
        ranked = sorted(
            ((score(p), p) for p in places if score(p) is not None),
            key=lambda r: (-(r[0] or 0.0), r[1].name, r[1].region),
        )
        items = [{"rank": i + 1, **show(p)} for i, (_, p) in enumerate(ranked[:max_items])]
        if items:
            made.append({"list": f"{name} {title}", "items": items})
    return made[:max_lists]
