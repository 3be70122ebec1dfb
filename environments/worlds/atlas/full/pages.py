"""The small web of the made land: pages about cities, their places and events, and the carriers, from the same facts.

A page says nothing that a tool contradicts: hours, prices and ratings are the places' own, airports and country those
of the gazetteer. What only pages tell: events and their days, and what carriers allow.
"""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cache, lru_cache

from environments.seeds import stable_hash, unit_hash
from environments.worlds.atlas.data_model import HORIZON_DAYS, TODAY, City, cities, fold
from environments.worlds.atlas.full.data_model import WEEKDAYS, Page, zone
from environments.worlds.atlas.full.made import HABITS, city_called, places_of
from environments.worlds.atlas.full.timetables import CARRIERS

MAX_CITIES = 4
"""A search is read for so many cities."""
EVENTS = {
    "Jazz Festival": "爵士音乐节", "Food Festival": "美食节", "Book Fair": "书展", "Marathon": "马拉松",
    "Lantern Night": "灯会", "Film Week": "电影周", "Street Theatre Day": "街头戏剧日", "Flower Show": "花展",
}  # fmt: skip
"""Kinds of events with their Chinese names."""
_SIGHTS = ("museum", "gallery", "park", "market", "library")


def pages_about(query: str) -> Sequence[Page]:
    """The carriers' pages, and those of every city that `query` names."""
    return (*carrier_pages(), *(page for name in named_cities(query) for page in city_pages(name)))


@lru_cache(maxsize=4096)
def named_cities(query: str) -> tuple[str, ...]:
    """Cities named in a text, longer names first: by up to three Latin words, or two to six Chinese signs."""
    found: list[str] = []
    words = re.findall(r"[^\W\d_][\w'’.-]*", query)
    runs = [" ".join(words[i : i + n]) for n in (3, 2, 1) for i in range(len(words) - n + 1)]
    for run in re.findall(r"[㐀-鿿]{2,}", query):
        runs += [run[i : i + n] for n in range(6, 1, -1) for i in range(len(run) - n + 1)]
    used: set[str] = set()
    for run in runs:
        plain = fold(run)
        city = city_called(plain) or city_called(plain.removesuffix("'s").removesuffix("’s"))
        if city and city.name not in found and not any(plain in longer for longer in used) and _is_name(run):
            found.append(city.name)
            used.add(plain)
    return tuple(found[:MAX_CITIES])


def _is_name(run: str) -> bool:
    """Whether a run of words is written as a name, so that `of` or `nice` is no city."""
    return not run.isascii() or run[:1].isupper()


@lru_cache(maxsize=2048)
def city_pages(name: str) -> tuple[Page, ...]:
    """Everything about one city."""
    city = cities()[fold(name)]
    kinds = [_kind_page(city, kind) for kind in HABITS]
    return (_overview(city), *kinds, *_events(city))


def _overview(city: City) -> Page:
    airport = f"The nearest airport is {city.airport}." if city.airport else "There is no airport within reach."
    text = (
        f"{city.name} ({city.country}) has {city.population:,} inhabitants and keeps the time of {zone(city).key}. "
        f"{airport} Museums, galleries, parks, markets and libraries are listed with their hours."
    )
    more = f"{city.zh or ''} 城市 人口 机场 旅游 攻略 travel guide airport population time zone"
    return Page(f"Visiting {city.name}", _url(city, "guide"), text, more, _called(city))


def _kind_page(city: City, kind: str) -> Page:
    told = []
    for p in places_of(city, kind):
        price = "free" if p.price == 0 else f"{p.price} euros"
        told.append(f"{p.name}: {p.hours.text() if p.hours else 'hours unknown'}; {price}; rated {p.rating}.")
    title = f"Opening hours and prices: {kind} in {city.name}"
    more = f"{HABITS[kind].spoken} 开放时间 营业时间 门票 价格 几点 关门 闭馆 季节 closed open season winter"
    return Page(title, _url(city, kind.replace(" ", "-")), " ".join(told), more, _called(city))


def event_of(city: City, kind: str) -> tuple[date, str] | None:
    """Day and scene of a city's event of one kind in the time that the forecast reaches; None where it has none."""
    if unit_hash("event", city.name, city.country, kind) >= 0.3:
        return None
    draw = stable_hash("event day", city.name, city.country, kind)
    scene = places_of(city, _SIGHTS[draw % len(_SIGHTS)])
    return date.fromisoformat(TODAY) + timedelta(days=1 + draw // 8 % HORIZON_DAYS), scene[
        draw // 999 % len(scene)
    ].name


def _events(city: City) -> list[Page]:
    found = []
    for kind, zh in EVENTS.items():
        if event := event_of(city, kind):
            day, scene = event
            fee = 5 * (stable_hash("event fee", city.name, kind) % 6)
            price = f"Tickets cost {fee} euros." if fee else "Admission is free."
            text = f"The {city.name} {kind} is on {WEEKDAYS[day.weekday()]}, {day.isoformat()}, at {scene}. {price}"
            more = f"{zh} 什么时候 哪天 日期 活动 when date event"
            found.append(
                Page(
                    f"{city.name} {kind}",
                    _url(city, kind.lower().replace(" ", "-")),
                    text,
                    more,
                    _called(city),
                    str(day),
                )
            )
    return found


def baggage_kg(code: str) -> int:
    """Weight of the bag that a carrier takes along without a fee."""
    return 8 + 5 * (stable_hash("bag", code) % 5)


def change_fee(code: str) -> int:
    """Euros that a carrier asks for changing a ticket."""
    return 10 * (stable_hash("change", code) % 7)


@cache
def carrier_pages() -> tuple[Page, ...]:
    """What each carrier allows."""
    return tuple(_carrier(code, name, kind) for kind, named in CARRIERS.items() for code, name in named.items())


def _carrier(code: str, name: str, kind: str) -> Page:
    early = 40 if kind == "flight" else 5
    fee = change_fee(code)
    change = f"Tickets can be changed for {fee} euros" if fee else "Tickets can be changed without a fee"
    pets = "Small pets travel in the cabin." if unit_hash("pets", code) < 0.5 else "Pets are not allowed."
    text = (
        f"{name} ({code}): one bag of up to {baggage_kg(code)} kg is included. {change} until the day before. "
        f"Boarding closes {early} minutes before departure. {pets}"
    )
    more = "行李 公斤 免费 改签 退票 宠物 规定 政策 baggage luggage allowance policy change cancel pets rules fee bag"
    numbered = f"{code} {'航班 航空公司 airline' if kind == 'flight' else '火车 列车 铁路 railway'}"
    title = f"{name} ({code}) conditions of carriage"
    return Page(title, f"https://{code.lower()}.example/conditions", text, more, numbered)


def _called(city: City) -> str:
    return f"{city.name} {city.zh or ''}".strip()


def _url(city: City, page: str) -> str:
    return f"https://{re.sub('[^a-z0-9]+', '-', fold(city.name)).strip('-') or 'city'}.example/{page}"
