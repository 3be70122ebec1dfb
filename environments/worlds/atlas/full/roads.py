"""Ways between two points: length, minutes, tolls and traffic for six modes, and when one leaves or arrives.

All of it follows from the coordinates, so a place has one way to another whatever name it is called by. Traffic slows
cars down where and when people drive to work; transit does not run in the small hours.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

from environments.seeds import unit_hash
from environments.tool import ToolRefusal
from environments.worlds.atlas.full.data_model import NOW, Point, Spot, apart, zone

Mode = Literal["driving", "walking", "bicycling", "transit", "motorcycle", "truck"]
Preference = Literal[
    "prefer_highways", "avoid_highways", "avoid_tolls", "prefer_main_roads", "avoid_highways+avoid_tolls"
]
MAX_KM = {
    "driving": 3000.0,
    "motorcycle": 3000.0,
    "truck": 3000.0,
    "walking": 60.0,
    "bicycling": 250.0,
    "transit": 3000.0,
}
ON_HIGHWAYS = ("driving", "motorcycle", "truck")
_KMH = {"walking": 4.8, "bicycling": 16.0}
_HIGHWAY_KMH = {"driving": 108.0, "motorcycle": 112.0, "truck": 80.0}
_STREET_KMH = {"driving": 42.0, "motorcycle": 46.0, "truck": 33.0}
_TOLL = {"driving": 0.09, "motorcycle": 0.055, "truck": 0.21}
"""Euros per km of toll road."""
_RUSH = ((7 * 60, 9 * 60 + 30, 0.55), (16 * 60, 19 * 60, 0.65), (11 * 60 + 30, 13 * 60, 0.15))
_FIRST_TRANSIT, _LAST_TRANSIT = 5 * 60, 23 * 60 + 30


def leg(start: Point, end: Point, mode: Mode, preference: Preference | None = None) -> dict[str, float]:
    """Length, minutes without traffic and toll of one way.

    Raises:
        ToolRefusal: it is too far for the mode.
    """
    straight = apart(start, end)
    if straight > MAX_KM[mode]:
        raise ToolRefusal("too_far", mode=mode)
    ends = sorted((str(start), str(end)))
    km = straight * (1.15 + 0.25 * unit_hash("bends", *ends))
    if mode in ON_HIGHWAYS:
        return _road(km, ends, mode, preference)
    pace = 0.9 + 0.25 * unit_hash("pace", *ends, mode)
    if mode == "transit":
        speed = 24.0 + 52.0 * (1 - math.exp(-km / 60.0))
        return {"km": km * 1.04, "minutes": km / speed * 60 * pace + 9, "toll": 0.0}
    return {"km": km * 0.97, "minutes": km / _KMH[mode] * 60 * pace + 1, "toll": 0.0}


def _road(km: float, ends: Sequence[str], mode: Mode, preference: Preference | None) -> dict[str, float]:
    """A way by road: part of it on highways, of which some take toll."""
    fast = (1 - math.exp(-km / 45.0)) * (0.7 + 0.25 * unit_hash("highway", *ends))
    tolled = 0.35 + 0.5 * unit_hash("toll", *ends) if unit_hash("toll road", *ends) < 0.6 else 0.0
    if preference in ("avoid_highways", "avoid_highways+avoid_tolls"):
        km, fast = km * 1.06, fast * 0.08
    elif preference == "avoid_tolls":
        km, fast, tolled = km * (1 + 0.05 * tolled), fast * (1 - 0.5 * tolled), 0.0
    elif preference == "prefer_highways":
        km, fast = km * 1.03, min(0.97, fast * 1.12)
    elif preference == "prefer_main_roads":
        km, fast = km * 1.01, fast * 0.6
    if preference == "avoid_highways+avoid_tolls":
        tolled = 0.0
    pace = 0.92 + 0.2 * unit_hash("pace", *ends)
    minutes = 60 * pace * (km * fast / _HIGHWAY_KMH[mode] + km * (1 - fast) / _STREET_KMH[mode]) + 3
    return {"km": km, "minutes": minutes, "toll": km * fast * tolled * _TOLL[mode]}


def delay(minutes: float, km: float, mode: Mode, leaves: datetime) -> float:
    """Minutes added by traffic (on a road) or by waiting for the first service (transit), leaving at a local moment."""
    at = leaves.hour * 60 + leaves.minute
    if mode == "transit":
        return float((_FIRST_TRANSIT - at) if at < _FIRST_TRANSIT else (29 * 60 - at) if at >= _LAST_TRANSIT else 0)
    if mode not in ON_HIGHWAYS:
        return 0.0
    crowd = 0.0 if leaves.weekday() >= 5 else 1.0
    load = max((extra for start, end, extra in _RUSH if start <= at < end), default=0.04) * crowd + 0.05
    return min(minutes, 75.0 if km > 40 else minutes) * load


def route(
    stops: Sequence[Spot], mode: Mode, *, preference: Preference | None, traffic: bool, leaves: datetime | None,
    arrives: datetime | None,
) -> dict[str, Any]:  # fmt: skip
    """One way through `stops`, with its legs where there are several and its times where one is given."""
    parts = [leg(a.point, b.point, mode, preference) for a, b in pairwise(stops)]
    plain, km = sum(p["minutes"] for p in parts), sum(p["km"] for p in parts)
    start = leaves.astimezone(zone(stops[0].city)) if leaves else NOW.astimezone(zone(stops[0].city))
    if arrives is not None:
        start = _latest(plain, km, mode, arrives, stops[0], traffic=traffic)
    late = delay(plain, km, mode, start) if traffic or (mode == "transit" and (leaves or arrives)) else 0.0
    minutes = max(1, round(plain + late))
    found: dict[str, Any] = {"mode": mode, "km": round(km, 1), "minutes": minutes}
    if mode in ON_HIGHWAYS:
        found["toll"] = round(sum(p["toll"] for p in parts))
    if leaves or arrives:
        found["departs"] = _shown(start, stops[0])
        found["arrives"] = _shown(start + timedelta(minutes=minutes), stops[-1])
    if len(parts) > 1:
        ends = zip(stops, stops[1:], parts, strict=False)
        found["legs"] = [
            {"from": a.label, "to": b.label, "km": round(p["km"], 1), "minutes": round(p["minutes"])}
            for a, b, p in ends
        ]
    return found


def _latest(plain: float, km: float, mode: Mode, arrives: datetime, start: Spot, *, traffic: bool) -> datetime:
    """The latest moment, to five minutes, at which one may leave and be there in time."""
    leaves = (arrives - timedelta(minutes=max(1, round(plain)))).astimezone(zone(start.city))
    leaves -= timedelta(minutes=leaves.minute % 5)
    for _ in range(12 * 24):
        late = delay(plain, km, mode, leaves) if traffic or mode == "transit" else 0.0
        if leaves + timedelta(minutes=max(1, round(plain + late))) <= arrives:
            return leaves
        leaves -= timedelta(minutes=5)
    raise ToolRefusal("bad_time", time=arrives.isoformat(timespec="minutes"))


def _shown(moment: datetime, spot: Spot) -> str:
    return moment.astimezone(zone(spot.city)).strftime("%Y-%m-%d %H:%M")
