"""Flights and trains by timetable: a pair of cities has services with numbers, weekdays and times; a day has prices.

A service keeps its number and hour from week to week, takes as long as its distance asks, and arrives in the time of
the place it arrives at. Prices follow distance, day of the week, how soon it leaves, and a draw.
"""

import math
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from environments.seeds import stable_hash, unit_hash
from environments.worlds.atlas.data_model import TODAY, City, distance_km
from environments.worlds.atlas.full.data_model import zone

CARRIERS = {
    "flight": {
        "KL": "Keld Air", "LH": "Lohan Air", "AF": "Avenfly", "BA": "Bridge Airways", "IB": "Ibis Lines",
        "SK": "Skerry Air", "TP": "Tapio Airways", "UA": "Umber Air",
    },
    "train": {"IC": "Intercity Rail", "TG": "Tegel Express", "RE": "Regio Rail", "EC": "Eastern Cross"},
}  # fmt: skip
"""Carriers by code; the names are ours."""
_PATTERNS = ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4), (0, 2, 4, 6), (1, 3, 5), (4, 5, 6), (0, 1, 2, 3, 4, 5, 6))
_BASE = {"flight": (42.0, 0.082), "train": (9.0, 0.115)}
_BUSY = (1.0, 0.92, 0.94, 1.02, 1.22, 1.04, 1.18)
"""Price factor by weekday, Monday first."""
MAX_SERVICES = 7


class Service(NamedTuple):
    """A line of a timetable."""

    number: str
    carrier: str
    weekdays: tuple[int, ...]
    departs: int
    """Minutes after midnight, local."""
    minutes: int
    stops: int
    level: float
    """Price level of the service."""


Kind = Literal["flight", "train"]


@lru_cache(maxsize=50_000)
def services(kind: Kind, origin: City, destination: City) -> tuple[Service, ...]:
    """The timetable of a pair of cities, earliest first."""
    km = distance_km(origin, destination)
    size = math.log10(max(1e4, min(origin.population, destination.population))) - 4
    count = min(MAX_SERVICES, 2 + round(1.3 * size + 1.5 * unit_hash(kind, "count", origin.name, destination.name)))
    codes = list(CARRIERS[kind])
    taken: set[int] = set()
    found = []
    for i in range(count):
        draw = stable_hash(kind, "service", origin.name, origin.country, destination.name, destination.country, i)
        code, digits = codes[draw % len(codes)], _free(100 + draw // 8 % 900, taken)
        stops = int(kind == "flight" and (km > 9000 or draw // 10**6 % 100 < 22))
        clock = 5 * 60 + 5 * (draw // 10**9 % 212)
        minutes = _minutes(kind, km, stops, draw // 10**12 % 21)
        pattern = _PATTERNS[draw // 10**4 % len(_PATTERNS)] if i else _PATTERNS[0]
        level = 0.75 + draw // 10**15 % 60 / 100 - 0.12 * stops
        found.append(Service(f"{code}{digits}", CARRIERS[kind][code], pattern, clock, minutes, stops, level))
    return tuple(sorted(found, key=lambda s: (s.departs, s.number)))


def _free(digits: int, taken: set[int]) -> int:
    while digits in taken:
        digits = 100 + (digits - 99) % 900
    taken.add(digits)
    return digits


def _minutes(kind: Kind, km: float, stops: int, extra: int) -> int:
    """Duration: taxiing and climbing or stations and curves, in whole fives."""
    if kind == "flight":
        return 5 * round((38 + km / 830 * 60 + stops * (75 + 4 * extra) + extra / 2) / 5)
    speed = 72 + 95 * (1 - math.exp(-km / 280))
    return 5 * round((8 + km * 1.18 / speed * 60 + extra) / 5)


def departures(kind: Kind, origin: City, destination: City, day: date, per_euro: float) -> list[dict[str, Any]]:
    """What leaves on `day`, earliest first: number, carrier, local times, duration, stops and price."""
    lines = [s for s in services(kind, origin, destination) if day.weekday() in s.weekdays]
    taken: set[int] = set()
    return [_departure(kind, s, origin, destination, day, per_euro, taken) for s in lines]


def _departure(
    kind: Kind, service: Service, origin: City, destination: City, day: date, per_euro: float, taken: set[int]
) -> dict[str, Any]:
    leaves = datetime.combine(day, datetime.min.time(), zone(origin)) + timedelta(minutes=service.departs)
    arrives = datetime.fromtimestamp(leaves.timestamp() + 60 * service.minutes, zone(destination))
    price = _price(kind, service, distance_km(origin, destination), day, origin.name)
    shown = round(price * per_euro)
    while shown in taken:
        shown += 1
    taken.add(shown)
    found = {
        "number": service.number,
        "carrier": service.carrier,
        "departs": leaves.strftime("%H:%M"),
        "arrives": arrives.strftime("%H:%M"),
        "arrives_date": arrives.date().isoformat(),
        "minutes": service.minutes,
        "price": shown,
    }
    return {**found, "stops": service.stops} if kind == "flight" else found


def _price(kind: Kind, service: Service, km: float, day: date, origin: str) -> float:
    fixed, per_km = _BASE[kind]
    ahead = (day - date.fromisoformat(TODAY)).days
    soon = 1.0 + 0.45 * math.exp(-ahead / 4.0)
    luck = 0.85 + 0.35 * unit_hash("fare", kind, service.number, origin, day.isoformat())
    return (fixed + per_km * km) * service.level * _BUSY[day.weekday()] * soon * luck
