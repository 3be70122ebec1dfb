"""The tools of atlas: five READ tools after TravelBench's schemas, shortened, and one WRITE tool.

Names and arguments follow TravelBench (`travelbench/tools`); where a result or an argument list was shortened, the
decision record on the ten tools says how the full form fits.
"""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field

from environments.state import SqliteState
from environments.tool import Effect, ToolRefusal, tool
from environments.worlds.atlas import geography
from environments.worlds.atlas.data_model import (
    HORIZON_DAYS,
    PLACE_KINDS,
    TODAY,
    City,
    distance_km,
    fold,
    gazetteer,
    unit_hash,
)


class AtlasTools:
    """The tools of one session, over its own state; `brief` leaves out what a nano policy cannot carry."""

    def __init__(self, state: SqliteState, *, brief: bool = True) -> None:
        self._state = state
        self._brief = brief
        self.offers: dict[tuple[str, str], dict[str, Any]] = {}
        """What this session has been shown and may book: (number, ISO date) -> offer."""

    @tool(Effect.READ)
    def map_search_places(
        self, query: str, center: str, min_rating: float = 0.0, limit: Annotated[int, Field(ge=1)] = 2
    ) -> list[dict[str, Any]]:
        """Places of a kind (museum, cafe, park, hotel, market, gallery, restaurant, library), best rated first."""
        city = _city(center)
        if fold(query) not in PLACE_KINDS:
            raise ToolRefusal("unknown_kind", query=query)
        found = [p for p in geography.places(city, fold(query)) if p["rating"] >= min_rating][:limit]
        shown = ("name", "rating") if self._brief else ("name", "rating", "price", "hours")
        return [{k: p[k] for k in shown} for p in found]

    @tool(Effect.READ)
    def map_compute_routes(
        self, origin: str, destination: str, modes: list[Literal["driving", "walking", "bicycling", "transit"]]
    ) -> list[dict[str, Any]]:
        """Length (km) and duration (minutes) between two cities, or from a city to a place in it, for each mode."""
        start = _city(origin)
        km = self._km(start, destination)
        if not modes:
            raise ToolRefusal("bad_arguments", arguments="modes")
        if far := [m for m in modes if km > geography.MAX_KM[m]]:
            raise ToolRefusal("too_far", mode=far[0])
        return [geography.route(start.name, fold(destination), km, m) for m in modes]

    @tool(Effect.READ)
    def travel_search_flights(self, origin: str, destination: str, date: str) -> list[dict[str, Any]]:
        """Flights between two cities on a date, cheapest first."""
        a, b, day = _city(origin), _city(destination), _day(date)
        if without := [c.name for c in (a, b) if c.airport is None]:
            raise ToolRefusal("no_airport", place=without[0])
        if a.airport == b.airport or distance_km(a, b) < geography.MIN_FLIGHT_KM:
            raise ToolRefusal("no_flights")
        return self._offer("flight", a, b, day)

    @tool(Effect.READ)
    def travel_search_trains(self, origin: str, destination: str, date: str) -> list[dict[str, Any]]:
        """Trains between two cities on a date, cheapest first."""
        a, b, day = _city(origin), _city(destination), _day(date)
        if a == b or distance_km(a, b) > geography.TRAIN_REACH_KM:
            raise ToolRefusal("no_trains")
        return self._offer("train", a, b, day)

    @tool(Effect.READ)
    def weather_forecast_days(self, location: str, date: str) -> dict[str, Any]:
        """Sky and temperature (degrees Celsius) of a city on a date."""
        sky, degrees = geography.weather(_city(location), _day(date))
        return {"sky": sky, "temp": degrees}

    @tool(Effect.WRITE)
    def travel_book_ticket(self, number: str, date: str) -> dict[str, Any]:
        """Book a flight or train that a search in this session has returned."""
        day = _day(date).isoformat()
        offer = self.offers.get((number, day))
        if offer is None:
            raise ToolRefusal("unknown_offer", number=number)
        code = self._free_code(number, day)
        values = (code, offer["kind"], number, offer["origin"], offer["destination"], day, offer["price"])
        self._state.connection.execute("INSERT INTO booking VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self._state.record("travel_book_ticket", code, None, number)
        return {"booked": number, "code": code}

    def _free_code(self, number: str, day: str) -> str:
        """A booking code that no booking of this session has yet."""
        taken = {code for (code,) in self._state.connection.execute("SELECT code FROM booking")}
        digits = 10 + int(90 * unit_hash("code", number, day, len(taken)))
        while f"QX{digits}" in taken:
            digits += 1
        return f"QX{digits}"

    def _offer(self, kind: Literal["flight", "train"], a: City, b: City, day: date) -> list[dict[str, Any]]:
        found = geography.departures(kind, a, b, day)
        for o in found:
            self.offers[o["number"], day.isoformat()] = {**o, "kind": kind, "origin": a.name, "destination": b.name}
        shown = ("number", "price") if self._brief else ("number", "departs", "price")
        return [{k: o[k] for k in shown} for o in found]

    def _km(self, start: City, destination: str) -> float:
        """Distance from `start` to a city, or to one of its own places."""
        end = gazetteer().get(fold(destination))
        if end is not None:
            if end == start:
                raise ToolRefusal("same_place", place=end.name)
            return distance_km(start, end)
        kind = fold(destination).rpartition(" ")[2]
        inside = geography.places(start, kind) if kind in PLACE_KINDS else ()
        for place in inside:
            if fold(place["name"]) == fold(destination):
                return float(place["km"])
        raise ToolRefusal("unknown_place", place=destination)


def _city(name: str) -> City:
    city = gazetteer().get(fold(name))
    if city is None:
        raise ToolRefusal("unknown_place", place=name)
    return city


def _day(text: str) -> date:
    day = geography.resolve_date(text, date.fromisoformat(TODAY), HORIZON_DAYS)
    if day is None:
        raise ToolRefusal("bad_date", date=text)
    return day
