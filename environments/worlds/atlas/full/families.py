"""The task families of the full atlas by name, with the depth and leaf of each, for made and for real places."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from environments.verifiers.outcome import REFUSALS
from environments.worlds.atlas.data_model import gazetteer
from environments.worlds.atlas.full import place_families as places
from environments.worlds.atlas.full import travel_families as travel
from environments.worlds.atlas.full.plans import FullSession
from environments.worlds.atlas.plans import Plan, Slots, name


def _no_origin(s: FullSession) -> Plan | None:
    """A flight from nowhere: asks back."""
    return (
        Plan(answer=REFUSALS["missing_origin"], reason="missing_origin")
        if s.slots["b"].casefold() in gazetteer()
        else None
    )


def _unknown_place(s: FullSession) -> Plan | None:
    """Weather in a city that does not exist: looks, and says so."""
    found = s.world.call("weather_forecast_days", {"location": s.slots["c"], "date": s.date, "days": int(s.slots["n"])})
    s.call("weather_forecast_days", location=s.slots["c"], date=s.date, days=int(s.slots["n"]))
    if found != {"error": "unknown_place", "place": s.slots["c"]}:
        return None
    answer = REFUSALS["not_found"].format(place=s.slots["c"])
    return Plan(tuple(s.calls), answer, (name(s.slots["c"]),), reason="not_found", evidence_error="unknown_place")


@dataclass(frozen=True)
class FullFamily:
    """One kind of task."""

    depth: int
    """0 refuse or ask back, 1 one call, 2 chained or checked, 3 comparison, 4 a write."""
    leaf: str
    slots: str
    """Names of the slots that its wordings fill."""
    build: Callable[[FullSession], Plan | None]
    needs: tuple[str, ...] = ()
    """Tools without which nothing else can answer it: the ones that a twin lacks."""


_TRANSIT = "dynamic_information.realtime_traffic_and_transit"
_SCHEDULES, _FARES = f"{_TRANSIT}.public_transit_schedules_and_routes", f"{_TRANSIT}.public_transit_fares"
_COMPARE = "planning_and_decision.solution_comparison"
_POI = "discovery.poi_search.constrained_poi_search"
_SPATIAL = "discovery.poi_search.spatial_optimized_poi_search"
_FACTS = "discovery.information_query.basic_attributes"
_FEASIBLE = "planning_and_decision.feasibility_assessment"
_PRICING = "dynamic_information.dynamic_pricing_and_availability"
_WEATHER = "dynamic_information.realtime_weather"
_DAY_TRIP = "planning_and_decision.itinerary_planning.short_trip_itinerary"
_FLIGHTS, _TRAINS = ("travel_search_flights",), ("travel_search_trains",)
_FORECAST = ("weather_forecast_days",)
FAMILIES: Mapping[str, FullFamily] = {
    "along_route": FullFamily(1, _SPATIAL, "abk", places.along_route),
    "meeting": FullFamily(2, _SPATIAL, "uvwk", places.meeting),
    "ranking": FullFamily(1, "discovery.information_query.reputation_and_reviews", "ckl", places.ranking),
    "open_best": FullFamily(2, _POI, "ckdh", places.open_best),
    "is_open": FullFamily(2, _FACTS, "udh", places.is_open),
    "within_budget": FullFamily(1, _POI, "ckp", places.within_budget),
    "best_day": FullFamily(3, _WEATHER, "cdnx", travel.best_day, _FORECAST),
    "warmer_now": FullFamily(3, f"{_COMPARE}.destination_comparison", "ab", travel.warmer_now),
    "event_weather": FullFamily(2, _WEATHER, "ce", travel.event_weather, _FORECAST),
    "stopover": FullFamily(1, "planning_and_decision.route_planning", "abcm", travel.stopover, ("map_compute_routes",)),
    "traffic": FullFamily(2, f"{_TRANSIT}.road_traffic_status", "abdh", travel.traffic, ("map_compute_routes",)),
    "train_by": FullFamily(2, _SCHEDULES, "abdh", travel.arrive_by("train"), _TRAINS),
    "flight_by": FullFamily(2, _PRICING, "abdh", travel.arrive_by("flight"), _FLIGHTS),
    "cheapest_flight_day": FullFamily(3, _PRICING, "abdn", travel.cheapest_day("flight"), _FLIGHTS),
    "cheapest_train_day": FullFamily(3, _FARES, "abdn", travel.cheapest_day("train"), _TRAINS),
    "flight_bag": FullFamily(3, "rules_and_policies.travel_policies", "abdq", travel.bag("flight"), _FLIGHTS),
    "train_bag": FullFamily(3, "rules_and_policies.travel_policies", "abdq", travel.bag("train"), _TRAINS),
    "day_trip": FullFamily(3, _DAY_TRIP, "abdnx", travel.day_trip, _TRAINS),
    "book_by": FullFamily(4, "application_interaction.system_control", "abdh", travel.book_by, _TRAINS),
    "no_origin": FullFamily(0, _PRICING, "bdh", _no_origin),
    "unknown_place": FullFamily(0, _WEATHER, "cdnx", _unknown_place),
}  # fmt: skip
"""Over made places."""
REAL_FAMILIES: Mapping[str, FullFamily] = {
    "along_route": FAMILIES["along_route"],
    "meeting": FAMILIES["meeting"],
    "is_open": FAMILIES["is_open"],
    "within_budget": FAMILIES["within_budget"],
    "cheap_near": FullFamily(2, _SPATIAL, "ukrg", places.cheap_near),
    "station": FullFamily(1, _FACTS, "u", places.station),
    "stopover": FAMILIES["stopover"],
    "traffic": FAMILIES["traffic"],
}
"""Over real places."""
REFUSAL_FAMILIES = ("no_origin", "unknown_place", "missing_tool")


def families(places: Path | None) -> Mapping[str, FullFamily]:
    """The families of a land."""
    return FAMILIES if places is None else REAL_FAMILIES


def plan_of(family: str, slots: Slots, places: Path | None = None) -> Plan | None:
    """The solution of `family` for `slots`, or None where the world gives no clear answer."""
    return families(places)[family].build(FullSession(slots, places=places))
