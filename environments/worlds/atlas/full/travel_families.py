"""Task families about travel and weather: days and departures to choose among, stops, traffic, bags, events."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Literal

from environments.task import Fact
from environments.verifiers.claims import SKY_WORDS, VERDICT_WORDS
from environments.worlds.atlas.data_model import fold, gazetteer
from environments.worlds.atlas.full.data_model import WEEKDAYS
from environments.worlds.atlas.full.pages import baggage_kg, event_of
from environments.worlds.atlas.full.plans import FullSession, Plan
from environments.worlds.atlas.plans import code, name, number, word

DEGREES_GAP, PRICE_GAP, TRAFFIC_GAP, BAG_GAP = 1, 3, 5, 2
Kind = Literal["flight", "train"]


def _other_days(s: FullSession, day: str, rows: list[dict[str, Any]]) -> tuple[Fact, ...]:
    return tuple(name(s.weekday(r["weekday"])) for r in rows if r["weekday"] != day)


def _fares(
    s: FullSession, kind: Kind, days: int = 0, start: str | None = None
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Offers with their day, cheapest first."""
    found = s.call(
        f"travel_search_{kind}s", origin=s.slots["a"], destination=s.slots["b"], date=start or s.date,
        **({"days": days} if days else {}),
    )  # fmt: skip
    offers = [(day, offer) for day in found for offer in day[f"{kind}s"]]
    return sorted(offers, key=lambda o: (o[1]["price"], o[0]["date"], o[1]["number"]))


def _offer_plan(s: FullSession, offer: dict[str, Any], others: set[str], *more: Fact, text: str = "") -> Plan:
    """A plan that states an offer's code and price."""
    price, fact = s.price(offer["price"])
    forbidden = tuple(code(n) for n in sorted(others - {offer["number"]}))
    return s.plan(f"{text}{offer['number']} for {price}.", code(offer["number"]), fact, *more, forbidden=forbidden)


def _clear(offers: list[Any]) -> bool:
    """Whether the first of several offers is cheapest by a clear step."""
    return bool(offers) and (len(offers) == 1 or offers[1][1]["price"] - offers[0][1]["price"] >= PRICE_GAP)


def _in_time(s: FullSession, kind: Kind) -> tuple[dict[str, Any], set[str]] | None:
    """The cheapest departure that arrives on its day before the hour asked for, and every number of the day."""
    offers = _fares(s, kind)
    early = [o for o in offers if o[1]["arrives_date"] == s.date and o[1]["arrives"] < s.slots["h"]]
    if s.failed or not early or len(early) == len(offers) or not _clear(early):
        return None
    if any(o[1]["arrives"] == s.slots["h"] for o in offers):
        return None
    return early[0][1], {o[1]["number"] for o in offers}


def arrive_by(kind: Kind) -> Callable[[FullSession], Plan | None]:
    """The cheapest departure that arrives before an hour."""

    def build(s: FullSession) -> Plan | None:
        """Plan of one task."""
        found = _in_time(s, kind)
        return _offer_plan(s, *found) if found else None

    return build


def book_by(s: FullSession) -> Plan | None:
    """Book the cheapest train that arrives before an hour."""
    found = _in_time(s, "train")
    if found is None:
        return None
    done = s.call("travel_book_ticket", number=found[0]["number"], date=s.date)
    plan = _offer_plan(s, *found, code(done["code"]))
    text = plan.answer.removesuffix(".")
    return replace(plan, answer=f"booked {text}, code {done['code']}.", bookings=tuple(s.world.bookings()))


def cheapest_day(kind: Kind) -> Callable[[FullSession], Plan | None]:
    """The cheapest departure of several days, and its weekday."""

    def build(s: FullSession) -> Plan | None:
        """Plan of one task."""
        offers = _fares(s, kind, days=int(s.slots["n"]) - 1)
        if s.failed or not _clear(offers) or len({o[0]["date"] for o in offers}) < 2:
            return None
        day, best = offers[0]
        plan = _offer_plan(
            s,
            best,
            {o[1]["number"] for o in offers},
            name(s.weekday(day["weekday"])),
            text=f"{s.weekday(day['weekday'])}, ",
        )
        days = [
            {"weekday": WEEKDAYS[(date.fromisoformat(s.date) + timedelta(days=i)).weekday()]}
            for i in range(int(s.slots["n"]))
        ]
        return replace(plan, forbidden=plan.forbidden + _other_days(s, day["weekday"], days))

    return build


def _extreme_day(s: FullSession, city: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    """The warmest (or coldest) of several days in a city, with all of them."""
    days = s.call("weather_forecast_days", location=city, date=s.date, days=int(s.slots["n"]))
    sign = -1 if s.slots["x"] == "warmest" else 1
    ranked = sorted(days, key=lambda d: sign * int(d["temp"]))
    if s.failed or abs(ranked[0]["temp"] - ranked[1]["temp"]) < DEGREES_GAP:
        return None
    return ranked[0], days


def best_day(s: FullSession) -> Plan | None:
    """The warmest or coldest of several days."""
    if (found := _extreme_day(s, s.slots["c"])) is None:
        return None
    best, days = found
    weekday = s.weekday(best["weekday"])
    facts = (name(weekday), number(best["temp"], "degrees"))
    return s.plan(f"{weekday}, {best['temp']} degrees.", *facts, forbidden=_other_days(s, best["weekday"], days))


def day_trip(s: FullSession) -> Plan | None:
    """The cheapest train on the warmest of several days at the destination."""
    if (found := _extreme_day(s, s.slots["b"])) is None:
        return None
    best, days = found
    offers = _fares(s, "train", start=best["date"])
    if s.failed or not _clear(offers):
        return None
    plan = _offer_plan(
        s,
        offers[0][1],
        {o[1]["number"] for o in offers},
        name(s.weekday(best["weekday"])),
        text=f"{s.weekday(best['weekday'])}, ",
    )
    return replace(plan, forbidden=plan.forbidden + _other_days(s, best["weekday"], days))


def warmer_now(s: FullSession) -> Plan | None:
    """In which of two cities it is warmer right now."""
    here, there = (s.call("weather_current_conditions", location=s.slots[slot]) for slot in ("a", "b"))
    if s.failed or abs(here["temp"] - there["temp"]) < 2:
        return None
    warm, cold, now = ("a", "b", here) if here["temp"] > there["temp"] else ("b", "a", there)
    facts = (name(s.city(warm)), number(now["temp"], "degrees"))
    return s.plan(f"{s.city(warm)}, {now['temp']} degrees.", *facts, forbidden=(name(s.city(cold)),))


def event_weather(s: FullSession) -> Plan | None:
    """The weather on the day of an event, which a page tells."""
    city = gazetteer()[fold(s.slots["c"])]
    event = event_of(city, s.slots["e"])
    pages = s.call("web_search", query=f"{city.name} {s.slots['e']}")
    page = next((p for p in pages if p["title"] == f"{city.name} {s.slots['e']}"), None)
    if event is None or page is None:
        return None
    s.see(page)
    [day] = s.call("weather_forecast_days", location=city.name, date=page["date"]) or [None]
    if day is None:
        return None
    facts = (word(day["sky"]), number(day["temp"], "degrees"))
    others = tuple(word(sky) for sky in SKY_WORDS if sky != day["sky"])
    return s.plan(f"{day['sky']}, {day['temp']} degrees.", *facts, forbidden=others)


def stopover(s: FullSession) -> Plan | None:
    """Length and duration of a way with a stop."""
    found = s.call(
        "map_compute_routes", origin=s.slots["a"], destination=s.slots["b"], intermediates=[s.slots["c"]],
        **({} if s.slots["m"] == "driving" else {"modes": [s.slots["m"]]}),
    )  # fmt: skip
    if s.failed:
        return None
    way = found[0]
    return s.plan(
        f"{way['km']} km, {way['minutes']} minutes.", number(way["km"], "km"), number(way["minutes"], "minutes")
    )


def traffic(s: FullSession) -> Plan | None:
    """How long a drive takes in the traffic of an hour."""
    ends = {"origin": s.slots["a"], "destination": s.slots["b"]}
    found = s.call("map_compute_routes", **ends, departure_time=f"{s.date}T{s.slots['h']}", traffic_aware=True)
    if s.failed:
        return None
    plain = s.world.call("map_compute_routes", ends)[0]["minutes"]
    minutes = found[0]["minutes"]
    if minutes - plain < TRAFFIC_GAP:
        return None
    return s.plan(f"{minutes} minutes.", number(minutes, "minutes"))


def bag(kind: Kind) -> Callable[[FullSession], Plan | None]:
    """Whether a bag goes along for nothing on the cheapest departure, which its carrier's page tells."""

    def build(s: FullSession) -> Plan | None:
        """Plan of one task."""
        offers = _fares(s, kind)
        if s.failed or not _clear(offers):
            return None
        best = offers[0][1]
        carrier = str(re.sub(r"\d", "", best["number"]))
        pages = s.call("web_search", query=f"{best['carrier']} {carrier} baggage")
        page = next((p for p in pages if p["title"].startswith(f"{best['carrier']} ({carrier})")), None)
        allowed, weight = baggage_kg(carrier), int(s.slots["q"])
        if page is None or abs(allowed - weight) < BAG_GAP:
            return None
        s.see(page)
        said, unsaid = VERDICT_WORDS if weight <= allowed else VERDICT_WORDS[::-1]
        plan = _offer_plan(s, best, {o[1]["number"] for o in offers}, word(said), text=f"{said}, ")
        return replace(plan, forbidden=(*plan.forbidden, word(unsaid)))

    return build
