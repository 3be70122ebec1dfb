"""The tools of the full atlas: TravelBench's ten READ tools with their whole argument lists, and our WRITE tool.

Wherever a place is asked for, `latitude,longitude` will do.

Source: TravelBench, `travelbench/tools`: names, arguments, defaults and bounds.
"""

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from environments.state import SqliteState
from environments.tool import Effect, ToolRefusal, tool
from environments.worlds.atlas.data_model import City, distance_km
from environments.worlds.atlas.full import conditions, finding, search, timetables
from environments.worlds.atlas.full.data_model import (
    WEEKDAYS,
    Category,
    Land,
    Place,
    Spot,
    apart,
    days_from,
    moment_of,
)
from environments.worlds.atlas.full.finding import CentralSort, SortBy, Wanted, candidates
from environments.worlds.atlas.full.roads import MAX_KM, Mode, Preference, route
from environments.worlds.atlas.geography import MIN_FLIGHT_KM, TRAIN_REACH_KM
from environments.worlds.atlas.tools import AtlasTools

Radius = Annotated[int, Field(ge=100, le=20_000)]
Limit = Annotated[int, Field(ge=1, le=50)]
Rating = Annotated[float, Field(ge=0, le=10)]
Price = Annotated[int, Field(ge=0)]
Modes = Annotated[list[Mode], Field(min_length=1)]
BY_CAR: list[Mode] = ["driving"]
NOWHERE: list[str] = []
MAX_PAGES = 5


class FullAtlasTools:
    """The tools of one session over a land and its own state."""

    def __init__(self, state: SqliteState, land: Land) -> None:
        self._land = land
        self._desk = AtlasTools(state)
        self.offers = self._desk.offers
        """What this session has been shown and may book: (number, ISO date) -> offer."""
        self.shown: dict[str, dict[str, Place]] = {}
        """Places that this session has been shown, by name and region: a bare name then means the one shown."""

    @tool(Effect.READ)
    def map_search_places(
        self, query: str, center: str | None = None, radius: Radius = 5000, region: str | None = None,
        sort_by: SortBy = "weight", min_rating: Rating = 0.0, price_min: Price | None = None,
        price_max: Price | None = None, price_category: Category | None = None, limit: Limit = 10,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Places by kind or name within radius (m) of a center, in a region, or both, by weight, rating, price ..."""
        if center is None and region is None:
            raise ToolRefusal("missing_area", arguments="center, region")
        spot = self._spot(center) if center is not None else None
        regions = self._regions(region) if region is not None else None
        if spot is not None:
            close = self._land.regions_near(spot.point, radius / 1000)
            regions = close if regions is None else [r for r in regions if r in close]
        found = candidates(self._land, query, regions or ())
        wanted = Wanted(min_rating, price_min, price_max, price_category)
        kept = [f for f in self._measured(found, spot, radius) if wanted.met_by(f.place)]
        if not kept:
            raise ToolRefusal("no_results", query=query)
        rows = finding.ordered(kept, sort_by)[:limit]
        return [self._row(f.place, km=round(f.km, 1)) if spot else self._row(f.place) for f in rows]

    @tool(Effect.READ)
    def map_compute_routes(
        self, origin: str, destination: str, intermediates: list[str] = NOWHERE, modes: Modes = BY_CAR,
        departure_time: str | None = None, arrival_time: str | None = None, traffic_aware: bool = False,
        preference: Preference | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Length (km), minutes and toll of the way through intermediates, for each mode; times are ISO 8601, local."""
        if departure_time is not None and arrival_time is not None:
            raise ToolRefusal("bad_arguments", arguments="departure_time, arrival_time")
        stops = [self._spot(text) for text in (origin, *intermediates, destination)]
        if same := [b.label for a, b in pairwise(stops) if a.point == b.point]:
            raise ToolRefusal("same_place", place=same[0])
        leaves = moment_of(departure_time, stops[0].city) if departure_time is not None else None
        arrives = moment_of(arrival_time, stops[-1].city) if arrival_time is not None else None
        return [self._way(stops, m, preference, traffic_aware, leaves, arrives) for m in dict.fromkeys(modes)]

    @tool(Effect.READ)
    def map_search_along_route(
        self, query: str, origin: str, destination: str, transport_mode: Literal["driving", "walking"] = "driving",
        buffer_radius: Radius | None = None, limit: Limit = 10,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Places within buffer_radius (m; 2000 driving, 500 walking) of the way, in the order of passing them."""
        start, end = self._spot(origin), self._spot(destination)
        if apart(start.point, end.point) > MAX_KM[transport_mode]:
            raise ToolRefusal("too_far", mode=transport_mode)
        km = (buffer_radius or (2000 if transport_mode == "driving" else 500)) / 1000
        regions = self._land.regions_along(start.point, end.point, km)
        found = finding.beside(candidates(self._land, query, regions), start.point, end.point, km)
        if not found:
            raise ToolRefusal("no_results", query=query)
        return [self._row(b.place, km=round(b.along, 1), off_route_km=round(b.off, 1)) for b in found[:limit]]

    @tool(Effect.READ)
    def map_search_central_places(
        self, query: str, origins: Annotated[list[str], Field(min_length=2, max_length=10)], radius: Radius = 10_000,
        sort_by: CentralSort = "balanced", min_rating: Rating = 0.0, price_min: Price | None = None,
        price_max: Price | None = None, price_category: Category | None = None, limit: Limit = 10,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Places within radius (m) of the middle of several origins, most central first, with each distance."""
        spots = [self._spot(text) for text in origins]
        middle = finding.centre([s.point for s in spots])
        every = candidates(self._land, query, self._land.regions_near(middle, radius / 1000))
        wanted = Wanted(min_rating, price_min, price_max, price_category)
        kept = [p for p in every if wanted.met_by(p)]
        found = finding.between(kept, [s.point for s in spots], radius / 1000, sort_by)
        if not found:
            raise ToolRefusal("no_results", query=query)
        return [
            self._row(c.place, distances=[{"from": s.label, "km": km} for s, km in zip(spots, c.km, strict=True)])
            for c in found[:limit]
        ]

    @tool(Effect.READ)
    def map_search_ranking_list(
        self, query: str, region: str, max_lists: Annotated[int, Field(ge=1, le=10)] = 5,
        max_items: Annotated[int, Field(ge=1, le=20)] = 3,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Ranking lists of a kind of place in a city, district or country: best rated, most reviewed, best value ..."""
        regions = self._regions(region)
        places = candidates(self._land, query, regions)
        if not places:
            raise ToolRefusal("no_results", query=query)
        kind, rest = finding.asked_for(query, self._land.words)
        title = f"{' '.join(w for w in (rest, kind) if w)} in {self._land.called(region)}"
        return finding.ranking_lists(places, title, max_lists, self._row, max_items)

    @tool(Effect.READ)
    def travel_search_flights(
        self, origin: str, destination: str, date: str, days: Annotated[int, Field(ge=0, le=15)] = 0
    ) -> list[dict[str, Any]]:
        """Flights between two cities on a date and the `days` days after it, by departure; times are local."""
        a, b = self._city(origin), self._city(destination)
        if without := [c.name for c in (a, b) if c.airport is None]:
            raise ToolRefusal("no_airport", place=without[0])
        if a.airport == b.airport or distance_km(a, b) < MIN_FLIGHT_KM:
            raise ToolRefusal("no_flights")
        ends = {"from": a.airport, "to": b.airport}
        return [{**ends, **self._offer("flight", a, b, day)} for day in days_from(date, days + 1)]

    @tool(Effect.READ)
    def travel_search_trains(
        self, origin: str, destination: str, date: str, days: Annotated[int, Field(ge=0, le=15)] = 0
    ) -> list[dict[str, Any]]:
        """Trains between two cities on a date and the `days` days after it, by departure; times are local."""
        a, b = self._city(origin), self._city(destination)
        if a == b or distance_km(a, b) > TRAIN_REACH_KM:
            raise ToolRefusal("no_trains")
        return [self._offer("train", a, b, day) for day in days_from(date, days + 1)]

    @tool(Effect.READ)
    def weather_current_conditions(self, location: str) -> dict[str, Any]:
        """What the weather is right now: local time, sky, temperature (Celsius), humidity and wind."""
        return conditions.current(self._spot(location).city)

    @tool(Effect.READ)
    def weather_forecast_days(
        self, location: str, date: str, days: Annotated[int, Field(ge=1, le=15)] = 1
    ) -> list[dict[str, Any]]:
        """Forecast of one or more days from a date on: sky, temperature (Celsius), low, high, rain and wind."""
        city = self._spot(location).city
        return [conditions.forecast(city, day) for day in days_from(date, days)]

    @tool(Effect.READ)
    def web_search(self, query: str) -> list[dict[str, Any]]:
        """Pages about places, opening hours, seasons, events and the conditions of carriers, best match first."""
        found = search.ranked(query, self._land.pages(query), MAX_PAGES)
        if not found:
            raise ToolRefusal("no_results", query=query)
        return [{"title": p.title, "url": p.url, "text": p.text, **({"date": p.day} if p.day else {})} for p in found]

    @tool(Effect.WRITE)
    def travel_book_ticket(self, number: str, date: str) -> dict[str, Any]:
        """Book a flight or train that a search in this session has returned."""
        return self._desk.travel_book_ticket(number, date)

    def _spot(self, text: str) -> Spot:
        seen = self.shown.get(text.strip())
        if seen is not None and len(seen) > 1:
            raise ToolRefusal("ambiguous_place", place=text, options="; ".join(sorted(seen)))
        spot = self._land.spot(next(iter(seen)) if seen else text)
        if spot is None:
            raise ToolRefusal("unknown_place", place=text)
        return spot

    def _city(self, text: str) -> City:
        return self._spot(text).city

    def _regions(self, text: str) -> Sequence[str]:
        regions = self._land.region(text)
        if regions is None:
            raise ToolRefusal("unknown_region", region=text)
        return regions

    def _measured(self, places: Sequence[Place], spot: Spot | None, radius: int) -> list[finding.Found]:
        """Places with their distances: those within the radius of a center, or all where there is none."""
        if spot is None:
            return [finding.Found(p, 0.0) for p in places]
        return [f for f in finding.near(places, spot.point, radius / 1000) if f.place is not spot.place]

    def _way(
        self, stops: Sequence[Spot], mode: Mode, preference: Preference | None, traffic: bool, leaves: Any, arrives: Any
    ) -> dict[str, Any]:
        found = route(stops, mode, preference=preference, traffic=traffic, leaves=leaves, arrives=arrives)
        if "toll" in found:
            found["toll"] = round(found["toll"] * self._land.per_euro)
        first, last = stops[0].place, stops[-1].place
        if mode == "transit" and first and last and first.station and last.station:
            found |= {"from_station": first.station, "to_station": last.station}
        return found

    def _row(self, place: Place, **more: Any) -> dict[str, Any]:
        """A place as the agent sees it; what is not known of it is left out."""
        self.shown.setdefault(place.name, {})[self._land.address(place)] = place
        known: dict[str, Any] = {
            "name": place.name, "other_name": next((n for n in place.names if n.isascii()), None), "kind": place.kind,
            "region": place.region, "location": str(place.point), "address": place.address or None,
            "rating": place.rating, "reviews": place.reviews, "price": place.price,
            "price_category": place.category if place.price is not None else None,
            "hours": place.hours.text() if place.hours else place.hours_text or None,
            "metro_station": place.station or None, "visit_minutes": list(place.visit) if place.visit else None,
        }  # fmt: skip
        return {**{k: v for k, v in known.items() if v is not None}, **more}

    def _offer(self, kind: Literal["flight", "train"], a: City, b: City, day: date) -> dict[str, Any]:
        """One day of a timetable; what it shows may be booked."""
        found = timetables.departures(kind, a, b, day, self._land.per_euro)
        for o in found:
            self.offers[o["number"], day.isoformat()] = {
                "kind": kind, "origin": a.name, "destination": b.name, "price": o["price"]
            }  # fmt: skip
        return {"date": day.isoformat(), "weekday": WEEKDAYS[day.weekday()], f"{kind}s": found}
