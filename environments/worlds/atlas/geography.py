"""The facts of atlas as pure functions of place and time: weather, distances, time tables, places to visit.

Weather is value noise over a five-degree grid and three-day knots, so that neighbouring cities and days agree.
Prices and times follow distance; what varies beyond it is drawn from a hash of the names.
"""

import math
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Literal

from environments.seeds import stable_hash, unit_hash
from environments.worlds.atlas.data_model import City, Split, distance_km, surnames

MODES = ("driving", "walking", "bicycling", "transit")
SKIES = ("sunny", "cloudy", "rainy", "snowy", "windy", "foggy")
MAX_KM = {"driving": 3000.0, "walking": 60.0, "bicycling": 250.0, "transit": 3000.0}
TRAIN_REACH_KM = 1500.0
MIN_FLIGHT_KM = 100.0

_SPEED_KMH = {"driving": 78.0, "walking": 4.8, "bicycling": 16.0, "transit": 62.0}
_CARRIERS = {"flight": ("KL", "LH", "AF", "BA", "IB", "SK", "TP", "UA"), "train": ("IC", "TG", "RE", "EC")}
_FARE = {"flight": (150.0, 0.085), "train": (110.0, 0.12)}


@lru_cache(maxsize=400_000)
def _corner(*lattice: int | str) -> float:
    return unit_hash("noise", *lattice)


def _smooth(x: float) -> float:
    return x * x * (3 - 2 * x)


def _noise(field: str, latitude: float, longitude: float, day: int) -> float:
    """Value noise in [0, 1], continuous over place and time."""
    position = (latitude / 5.0, longitude / 5.0, day / 3.0)
    low = [math.floor(p) for p in position]
    share = [_smooth(p - f) for p, f in zip(position, low, strict=True)]
    total = 0.0
    for corner in range(8):
        bits = (corner & 1, corner >> 1 & 1, corner >> 2 & 1)
        weight = math.prod(s if b else 1 - s for b, s in zip(bits, share, strict=True))
        total += weight * _corner(field, low[0] + bits[0], low[1] + bits[1], low[2] + bits[2])
    return total


@lru_cache(maxsize=200_000)
def weather(city: City, day: date) -> tuple[str, int]:
    """Sky and temperature (degrees Celsius) of `city` on `day`."""
    where = (city.latitude, city.longitude, day.toordinal())
    season = 23.5 * math.sin(2 * math.pi * (day.timetuple().tm_yday - 80) / 365.25)
    base = 29.0 - 0.0075 * (city.latitude - 0.65 * season) ** 2
    wet = _noise("wet", *where)
    temperature = round(base + 22 * (_noise("warm", *where) - 0.5) - 4 * (wet - 0.5))
    temperature = max(-9, min(44, temperature))
    if _noise("wind", *where) > 0.68:
        return "windy", temperature
    if wet > 0.56:
        return ("snowy" if temperature <= 1 else "rainy"), temperature
    if wet > 0.5:
        return ("foggy" if _noise("fog", *where) > 0.5 else "cloudy"), temperature
    return ("sunny" if wet < 0.44 else "cloudy"), temperature


def route(origin: str, destination: str, km: float, mode: str) -> dict[str, Any]:
    """Length and duration of a way of `km` as the crow flies."""
    length = km * (1.15 + 0.25 * unit_hash("bends", *sorted((origin, destination))))
    pace = 0.75 + 0.6 * unit_hash("pace", origin, destination, mode)
    waiting = 12 if mode == "transit" else 2
    minutes = round(length / _SPEED_KMH[mode] * 60 * pace + waiting)
    return {"mode": mode, "km": max(1, round(length)), "minutes": minutes}


def departures(kind: Literal["flight", "train"], origin: City, destination: City, day: date) -> list[dict[str, Any]]:
    """The day's two departures, cheapest first; numbers, times and prices (euros) all differ."""
    base, per_km = _FARE[kind]
    km = distance_km(origin, destination)
    taken: set[Any] = set()
    found = []
    for i in range(2):
        draw = stable_hash(kind, origin.name, destination.name, day.isoformat(), i)
        number = _CARRIERS[kind][draw % len(_CARRIERS[kind])] + str(_free(10 + draw // 8 % 90, taken, 10, 100))
        price = _free(round((base + per_km * km) * (0.7 + 0.9 * (draw // 1000 % 1000) / 1000)), taken, 100, 10_000)
        clock = 5 * 60 + draw // 10**7 % (17 * 12) * 5
        found.append({"number": number, "departs": f"{clock // 60:02d}:{clock % 60:02d}", "price": price})
    return sorted(found, key=lambda x: int(x["price"]))


def _free(value: int, taken: set[Any], low: int, high: int) -> int:
    """`value`, or the next one in [low, high) that nobody has taken."""
    value = max(low, value)
    while value in taken:
        value = low + (value + 1 - low) % (high - low)
    taken.add(value)
    return value


@lru_cache(maxsize=8)
def _surnames_of(split: Split) -> tuple[str, ...]:
    sides = {"train": (0.0, 0.8), "dev": (0.8, 0.9), "hidden": (0.9, 1.0)}
    low, high = sides[split]
    return tuple(s for s in surnames() if low <= unit_hash("split", s) < high)


@lru_cache(maxsize=100_000)
def places(city: City, kind: str) -> tuple[dict[str, Any], ...]:
    """The places of one kind in `city`, best rated first: name, rating (0..10), price (euros), hours, distance (km)."""
    words = _surnames_of(city.split)
    found: dict[str, dict[str, Any]] = {}
    ratings: set[Any] = set()
    for i in range(3):
        draw = stable_hash("place", city.name, city.country, kind, i)
        name = f"{words[draw % len(words)]} {kind.title()}"
        rating = _free(60 + draw // 10**4 % 39, ratings, 60, 100) / 10
        opens = 7 + draw // 10**7 % 4
        found[name] = {
            "name": name,
            "rating": rating,
            "price": 4 + draw // 10**8 % 60,
            "hours": f"{opens:02d}:00-{opens + 8 + draw // 10**9 % 5:02d}:00",
            "km": 1 + draw // 10**10 % 90 / 10,
        }
    return tuple(sorted(found.values(), key=lambda p: (-float(p["rating"]), str(p["name"]))))


def resolve_date(text: str, today: date, horizon_days: int) -> date | None:
    """An ISO date, `today`, `tomorrow` or a weekday name, as a date within the horizon; None for anything else."""
    word = text.casefold()
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    if word in ("today", "tomorrow"):
        return today + timedelta(days=int(word == "tomorrow"))
    if word in names:
        return today + timedelta(days=(names.index(word) - today.weekday() - 1) % 7 + 1)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if today <= day <= today + timedelta(days=horizon_days) else None
