"""What a task of the full atlas is about: slots drawn so that they make sense together, and how users say them.

Slots are kept as tools take them (English names, ISO dates, HH:MM); what is said differs by language. Cities and the
people in them stand on one side of the hidden line, real places on the side of their own names.
"""

import random
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Literal

from environments.seeds import unit_hash
from environments.task import Split
from environments.worlds.atlas.data_model import City, cities, distance_km, fold, neighbours, speakable
from environments.worlds.atlas.full.data_model import WEEKDAYS, Place
from environments.worlds.atlas.full.families import families
from environments.worlds.atlas.full.folder import CITY, FolderLand, land_of
from environments.worlds.atlas.full.made import HABITS, places_of
from environments.worlds.atlas.full.pages import EVENTS, event_of
from environments.worlds.atlas.full.plans import WEEKDAYS_ZH, plain_name
from environments.worlds.atlas.plans import Slots

Language = Literal["en", "zh"]
LISTS = ("Best rated", "Most reviewed", "Best value")
_MODES = ("driving", "bicycling", "motorcycle", "transit")
_SAID: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "en": {
        "driving": ("by car", "driving"), "bicycling": ("by bike",), "motorcycle": ("by motorcycle",),
        "transit": ("by public transport",), "warmest": ("warmest",), "coldest": ("coldest",),
        "Best rated": ("best rated",), "Most reviewed": ("most reviewed",), "Best value": ("best value",),
    },
    "zh": {
        "driving": ("开车",), "bicycling": ("骑车",), "motorcycle": ("骑摩托车",), "transit": ("坐公交",),
        "warmest": ("最暖和",), "coldest": ("最冷",), "Best rated": ("评分最高",), "Most reviewed": ("评论最多",),
        "Best value": ("性价比最高",),
    },
}  # fmt: skip
_KINDS_ZH = {
    "museum": "博物馆", "cafe": "咖啡馆", "park": "公园", "hotel": "酒店", "market": "市场", "gallery": "画廊",
    "restaurant": "餐厅", "library": "图书馆", "bakery": "面包店", "pharmacy": "药店", "charging station": "充电站",
    "attraction": "景点",
}  # fmt: skip
_COUNTS = {"en": ("", "one", "two", "three", "four", "five", "six"), "zh": ("", "一", "两", "三", "四", "五", "六")}


def draw_slots(family: str, split: Split, language: Language, rng: random.Random, places: Path | None = None) -> Slots:
    """Slots of one task of `family`, as tools take them."""
    slots = {**_common(rng), "z": language}
    if places is not None:
        return {**slots, **_real_slots(family, split, language, land_of(places), rng)}
    a, b, c = _near_cities(family, split, language, rng)
    slots |= {"a": a.name, "b": b.name, "c": c.name, "k": rng.choice([k for k in HABITS if k != "hotel"])}
    if family == "within_budget":
        slots["k"] = rng.choice(("hotel", "restaurant", "cafe", "museum"))
        low, high = HABITS[slots["k"]].price
        slots["p"] = str(rng.randint(low + (high - low) // 3, high))
    if "e" in families(None)[family].slots:
        slots["e"] = rng.choice([e for e in EVENTS if event_of(c, e)] or list(EVENTS))
    if "u" in families(None)[family].slots:
        slots |= _people(c, slots["k"], rng)
    if family == "is_open":
        slots["u"] = _paid_with_hours(c, rng) or slots["u"]
    return slots


def _common(rng: random.Random) -> dict[str, str]:
    day, count = rng.randint(10, 20), rng.randint(3, 6)
    return {
        "d": f"2026-06-{day:02d}", "n": str(count), "h": f"{rng.randint(8, 21):02d}:00",
        "x": rng.choice(("warmest", "coldest")), "l": rng.choice(LISTS), "m": rng.choice(_MODES),
        "q": str(rng.choice((10, 12, 15, 20, 25))),
    }  # fmt: skip


def _near_cities(family: str, split: Split, language: Language, rng: random.Random) -> tuple[City, City, City]:
    """Three different cities near each other, with Chinese names where those are spoken."""
    pool = _cities(split, language)
    while True:
        first = rng.choice(pool)
        near = [c for c in neighbours(first.name, 60) if c.zh or language == "en"]
        if family in ("along_route", "stopover", "traffic"):
            near = [c for c in near if distance_km(first, c) < 240]
        if len(near) >= 2:
            second, third = rng.sample(near, 2)
            return first, second, third


@lru_cache(maxsize=8)
def _cities(split: Split, language: Language) -> tuple[City, ...]:
    return tuple(c for c in speakable() if c.split == split and (c.zh or language == "en"))


def _people(city: City, kind: str, rng: random.Random) -> dict[str, str]:
    """Two or three places in a city where people are, none of the kind that they look for."""
    every = [p for k in HABITS if k != kind for p in places_of(city, k)]
    names = [p.name for p in every]
    chosen = rng.sample([p for p in every if names.count(p.name) == 1], 3 if rng.random() < 0.6 else 2)
    return {slot: f"{p.name}, {p.region}" for slot, p in zip("uvw", chosen, strict=False)}


def _paid_with_hours(city: City, rng: random.Random) -> str | None:
    """A place that costs something and closes at times."""
    every = [p for k in HABITS if k not in ("hotel", "charging station") for p in places_of(city, k) if p.price]
    place = rng.choice(every) if every else None
    return f"{place.name}, {place.region}" if place else None


def _real_slots(family: str, split: Split, language: Language, land: FolderLand, rng: random.Random) -> dict[str, str]:
    known = _real_places(land, split, language)
    spots = rng.sample([p for p in known if p.kind == "attraction"], 3)
    slots = dict(zip("uvw", (p.name for p in spots), strict=True))
    slots |= {"a": spots[0].name, "b": spots[1].name, "c": spots[2].name, "k": rng.choice(("restaurant", "hotel"))}
    slots |= {"r": str(rng.randint(2, 5)), "g": rng.choice(("4.5", "4.6", "4.7")), "m": rng.choice(_MODES)}
    if family == "along_route":
        slots["k"] = "attraction"
    elif family == "is_open":
        slots["u"] = rng.choice([p for p in known if p.hours is not None]).name
        slots["c"] = CITY
    elif family == "station":
        slots["u"] = rng.choice([p for p in known if p.station]).name
        slots["c"] = CITY
    elif family == "within_budget":
        slots["k"], slots["c"] = "hotel", rng.choice(land.regions)
        slots["p"] = str(rng.randint(20, 80) * 10)
    return slots


@lru_cache(maxsize=16)
def _real_places(land: FolderLand, split: Split, language: Language) -> tuple[Place, ...]:
    """Places whose names users can say in a language, on one side of the hidden line."""
    found = []
    for place in (p for region in land.regions for kind in land.kinds() for p in land.places(region, kind)):
        side = unit_hash("split", place.name)
        here: Split = "train" if side < 0.8 else "dev" if side < 0.9 else "hidden"
        english = land.romanised(place.name) != place.name
        if here == split and plain_name(place.name) and (language == "zh" or english):
            found.append(place)
    return tuple(found)


def spoken(slots: Slots, language: Language, rng: random.Random, places: Path | None = None) -> dict[str, str]:
    """The slots as users say them."""
    said = dict(slots)
    for slot in "abcuvw":
        if slot in slots:
            said[slot] = _name(slots[slot], language, places)
    said["k"] = _KINDS_ZH[slots["k"]] if language == "zh" and "k" in slots else slots.get("k", "")
    for slot in "mxl":
        if slot in slots:
            said[slot] = rng.choice(_SAID[language][slots[slot]])
    said |= {"d": _day(slots["d"], language, rng), "h": _hour(slots["h"], language, rng)} if "d" in slots else {}
    said["money"] = {"en": ("euros", "yuan"), "zh": ("欧元", "元")}[language][places is not None]
    said["n"] = _COUNTS[language][int(slots["n"])] if "n" in slots else ""
    if "e" in slots and language == "zh":
        said["e"] = EVENTS[slots["e"]]
    if "w" in slots:
        said["v"] = f"{said['v']}以及{said['w']}" if language == "zh" else f"{said['v']} as well as {said['w']}"
    return said


def _name(text: str, language: Language, places: Path | None) -> str:
    if places is not None:
        return land_of(places).romanised(text) if language == "en" else text
    if language == "en":
        return text
    title, comma, region = text.rpartition(", ")
    city = cities().get(fold(region))
    zh = city.zh if city and city.zh else region
    return f"{zh}的{title}" if comma else zh


def _day(text: str, language: Language, rng: random.Random) -> str:
    """A day as users say it, with its preposition in English."""
    day = date.fromisoformat(text)
    ahead = day.day - 10
    if language == "zh":
        near = ("今天", "明天", "后天")[ahead] if ahead < 3 else ""
        weekday = f"{rng.choice(('周', '星期'))}{WEEKDAYS_ZH[day.weekday()]}" if 1 <= ahead <= 4 else ""
        return rng.choice([w for w in (near, weekday, f"6月{day.day}日", f"6月{day.day}号") if w])
    near = {0: "today", 1: "tomorrow"}.get(ahead, "")
    weekday = f"on {WEEKDAYS[day.weekday()]}" if 1 <= ahead <= 7 else ""
    return rng.choice([w for w in (near, weekday, f"on June {day.day}", f"on {text}") if w])


def _hour(text: str, language: Language, rng: random.Random) -> str:
    hour = int(text[:2])
    if language == "zh":
        part = "早上" if hour < 12 else "中午" if hour == 12 else "下午" if hour < 18 else "晚上"
        return rng.choice((f"{part}{hour if hour <= 12 else hour - 12}点", f"{hour}点", text))
    half = "am" if hour < 12 else "pm"
    return rng.choice((f"{hour if hour <= 12 else hour - 12} {half}", text))
