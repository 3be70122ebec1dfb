"""Task families of atlas: from slots to gold calls, gold answer and goal; the verifier's side comes first.

Each family is one function from slots to a `Plan`, or None where the world does not give a clear answer for these slots
(an error, a tie, a difference too small to argue about). Depth grows one step at a time: one call; two chained or
checked calls; comparisons; a write.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from environments.task import Fact
from environments.verifiers.claims import CHOICE_WORDS, MODE_WORDS, SKY_WORDS
from environments.verifiers.outcome import REFUSALS
from environments.worlds.atlas.data_model import gazetteer
from environments.worlds.atlas.plans import Plan, Session, Slots, code, mode_argument, name, number, word

MIN_PRICE_GAP, MIN_DEGREES_GAP, MIN_MINUTES_GAP = 5, 2, 5


def _others(value: str, vocabulary: tuple[str, ...]) -> tuple[Fact, ...]:
    return tuple(word(w) for w in vocabulary if w != value)


def _offer(offers: Any) -> tuple[str, tuple[Fact, ...], tuple[Fact, ...]]:
    """The cheapest offer as text, its facts, and the other offers' codes."""
    best, rest = offers[0], offers[1:]
    text = f"{best['number']} for {best['price']} euros"
    return text, (code(best["number"]), number(best["price"], "euros")), tuple(code(o["number"]) for o in rest)


def _weather(s: Session) -> Plan | None:
    w = s.weather("c")
    if s.failed:
        return None
    facts = (word(w["sky"]), number(w["temp"], "degrees"))
    return s.plan(f"{w['sky']}, {w['temp']} degrees.", *facts, forbidden=_others(w["sky"], SKY_WORDS))


def _route(s: Session) -> Plan | None:
    mode = mode_argument(s.slots["m"])
    found = s.call("map_compute_routes", origin=s.slots["a"], destination=s.slots["b"], modes=[mode])
    if s.failed:
        return None
    way = found[0]
    facts = (number(way["km"], "km"), number(way["minutes"], "minutes"))
    return s.plan(f"{way['km']} km, {way['minutes']} minutes.", *facts)


def _fare(kind: str) -> Callable[[Session], Plan | None]:
    def build(s: Session) -> Plan | None:
        """Plan of one task."""
        offers = s.fares(kind, s.slots["a"], s.slots["b"])
        if s.failed:
            return None
        text, facts, others = _offer(offers)
        return s.plan(f"{text}.", *facts, forbidden=others)

    return build


def _place(s: Session) -> Plan | None:
    found = s.call("map_search_places", query=s.slots["k"], center=s.slots["c"])
    if s.failed:
        return None
    best, rest = found[0], found[1:]
    facts = (name(best["name"]), number(best["rating"], "rating"))
    others = tuple(name(p["name"]) for p in rest)
    return s.plan(f"{best['name']}, rated {best['rating']}.", *facts, forbidden=others)


def _flight_weather(s: Session) -> Plan | None:
    offers = s.fares("flight", s.slots["a"], s.slots["b"])
    w = s.weather("b")
    if s.failed:
        return None
    text, facts, others = _offer(offers)
    sky = (word(w["sky"]), number(w["temp"], "degrees"))
    forbidden = others + _others(w["sky"], SKY_WORDS)
    return s.plan(f"{text}; {w['sky']}, {w['temp']} degrees.", *facts, *sky, forbidden=forbidden)


def _place_route(s: Session) -> Plan | None:
    found = s.call("map_search_places", query=s.slots["k"], center=s.slots["c"])
    if s.failed:
        return None
    best, rest = found[0], found[1:]
    mode = mode_argument(s.slots["m"])
    way = s.call("map_compute_routes", origin=s.slots["c"], destination=best["name"], modes=[mode])
    if s.failed:
        return None
    facts = (name(best["name"]), number(way[0]["minutes"], "minutes"))
    others = tuple(name(p["name"]) for p in rest)
    return s.plan(f"{best['name']}, {way[0]['minutes']} minutes.", *facts, forbidden=others)


def _budget(s: Session) -> Plan | None:
    offers = s.fares("flight", s.slots["a"], s.slots["b"])
    if s.failed or abs(offers[0]["price"] - int(s.slots["p"])) < MIN_PRICE_GAP:
        return None
    text, facts, others = _offer(offers)
    said, unsaid = ("yes", "no") if offers[0]["price"] < int(s.slots["p"]) else ("no", "yes")
    return s.plan(f"{said}, {text}.", word(said), *facts, forbidden=(word(unsaid), *others))


def _warmer_city(s: Session) -> tuple[str, str, Any] | None:
    a, b = s.weather("a"), s.weather("b")
    if s.failed or abs(a["temp"] - b["temp"]) < MIN_DEGREES_GAP:
        return None
    ranked = ("a", "b", a) if a["temp"] > b["temp"] else ("b", "a", b)
    return s.slots[ranked[0]], s.slots[ranked[1]], ranked[2]


def _warmer(s: Session) -> Plan | None:
    if (found := _warmer_city(s)) is None:
        return None
    warm, cold, w = found
    return s.plan(f"{warm}, {w['temp']} degrees.", name(warm), number(w["temp"], "degrees"), forbidden=(name(cold),))


def _faster(s: Session) -> Plan | None:
    modes = [mode_argument(s.slots["m"]), mode_argument(s.slots["n"])]
    found = s.call("map_compute_routes", origin=s.slots["a"], destination=s.slots["b"], modes=modes)
    if s.failed or modes[0] == modes[1] or abs(found[0]["minutes"] - found[1]["minutes"]) < MIN_MINUTES_GAP:
        return None
    best = min(found, key=lambda w: int(w["minutes"]))
    facts = (word(best["mode"]), number(best["minutes"], "minutes"))
    return s.plan(f"{best['mode']}, {best['minutes']} minutes.", *facts, forbidden=_others(best["mode"], MODE_WORDS))


def _fly_or_train(s: Session) -> Plan | None:
    ends = (s.slots["a"], s.slots["b"])
    flights, trains = s.fares("flight", *ends), s.fares("train", *ends)
    if s.failed or abs(flights[0]["price"] - trains[0]["price"]) < MIN_PRICE_GAP:
        return None
    kind, dear, cheap = (
        ("flight", trains, flights) if flights[0]["price"] < trains[0]["price"] else ("train", flights, trains)
    )
    text, facts, others = _offer(cheap)
    forbidden = (*_others(kind, CHOICE_WORDS), *others, *(code(o["number"]) for o in dear))
    if cheap[0]["number"] in {o["number"] for o in dear}:
        return None
    return s.plan(f"{kind}, {text}.", word(kind), *facts, forbidden=forbidden)


def _warm_flight(s: Session) -> Plan | None:
    if (found := _warmer_city(s)) is None:
        return None
    warm, cold, _ = found
    offers = s.fares("flight", s.slots["c"], warm)
    if s.failed:
        return None
    text, facts, others = _offer(offers)
    return s.plan(f"{warm}; {text}.", name(warm), *facts, forbidden=(name(cold), *others))


def _book(kind: str) -> Callable[[Session], Plan | None]:
    def build(s: Session) -> Plan | None:
        """Plan of one task."""
        offers = s.fares(kind, s.slots["a"], s.slots["b"])
        if s.failed:
            return None
        text, facts, others = _offer(offers)
        done = s.call("travel_book_ticket", number=offers[0]["number"], date=s.date)
        if s.failed:
            return None
        plan = s.plan(f"booked {text}, code {done['code']}.", *facts, code(done["code"]), forbidden=others)
        return replace(plan, bookings=tuple(s.world.bookings()))

    return build


def _premise(s: Session) -> Plan | None:
    w = s.weather("c")
    if s.failed:
        return None
    said, unsaid = ("yes", "no") if w["sky"] == s.slots["s"] else ("no", "yes")
    facts = (word(said), word(w["sky"]), number(w["temp"], "degrees"))
    forbidden = (word(unsaid), *_others(w["sky"], SKY_WORDS))
    return s.plan(f"{said}, {w['sky']}, {w['temp']} degrees.", *facts, forbidden=forbidden)


def _no_origin(s: Session) -> Plan | None:
    if s.slots["b"].casefold() not in gazetteer():
        return None
    return Plan(answer=REFUSALS["missing_origin"], reason="missing_origin")


def _unknown_place(s: Session) -> Plan | None:
    seen = s.weather("c")
    if seen != {"error": "unknown_place", "place": s.slots["c"]}:
        return None
    answer = REFUSALS["not_found"].format(place=s.slots["c"])
    return Plan(tuple(s.calls), answer, (name(s.slots["c"]),), reason="not_found", evidence_error="unknown_place")


def _out_of_scope(s: Session) -> Plan | None:
    return Plan(answer=REFUSALS["no_tool"], reason="no_tool")


@dataclass(frozen=True)
class Family:
    """One kind of task."""

    depth: int
    leaf: str
    build: Callable[[Session], Plan | None]


_DYNAMIC = "dynamic_information"
_COMPARE = "planning_and_decision.solution_comparison"
_PRICING = f"{_DYNAMIC}.dynamic_pricing_and_availability"
_WEATHER = f"{_DYNAMIC}.realtime_weather"
_POI = "discovery.poi_search.constrained_poi_search"
_BOOK = "application_interaction.system_control"
FAMILIES: dict[str, Family] = {
    "weather": Family(1, _WEATHER, _weather),
    "route": Family(1, "planning_and_decision.route_planning", _route),
    "flight": Family(1, _PRICING, _fare("flight")),
    "train": Family(1, f"{_DYNAMIC}.realtime_traffic_and_transit.public_transit_fares", _fare("train")),
    "place": Family(1, _POI, _place),
    "flight_weather": Family(2, _PRICING, _flight_weather),
    "place_route": Family(2, _POI, _place_route),
    "budget": Family(2, "planning_and_decision.feasibility_assessment", _budget),
    "premise": Family(2, _WEATHER, _premise),
    "warmer": Family(3, f"{_COMPARE}.destination_comparison", _warmer),
    "faster": Family(3, f"{_COMPARE}.transportation_mode_comparison", _faster),
    "fly_or_train": Family(3, f"{_COMPARE}.transportation_mode_comparison", _fly_or_train),
    "warm_flight": Family(3, f"{_COMPARE}.destination_comparison", _warm_flight),
    "book_flight": Family(4, _BOOK, _book("flight")),
    "book_train": Family(4, _BOOK, _book("train")),
    "no_origin": Family(0, _PRICING, _no_origin),
    "unknown_place": Family(0, _WEATHER, _unknown_place),
    "out_of_scope": Family(0, "irrelevant", _out_of_scope),
}
"""Every family by name."""
REFUSAL_FAMILIES = ("no_origin", "unknown_place", "out_of_scope", "missing_tool")


def plan_of(family: str, slots: Slots) -> Plan | None:
    """The solution of `family` for `slots`, or None where the world gives no clear answer."""
    return FAMILIES[family].build(Session(slots))
