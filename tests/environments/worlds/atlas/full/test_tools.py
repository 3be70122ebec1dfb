"""The ten tools of the full form with their whole argument lists: what each argument does, bounds, errors as data."""

import itertools
import math
from typing import Any

import pytest

from environments.tool import Effect
from environments.worlds.atlas.full.data_model import Point, apart, coordinates
from environments.worlds.atlas.world import AtlasWorld

ARGUMENTS = {
    "map_search_places": "query center radius region sort_by min_rating price_min price_max price_category limit",
    "map_compute_routes": (
        "origin destination intermediates modes departure_time arrival_time traffic_aware preference"
    ),
    "map_search_along_route": "query origin destination transport_mode buffer_radius limit",
    "map_search_central_places": "query origins radius sort_by min_rating price_min price_max price_category limit",
    "map_search_ranking_list": "query region max_lists max_items",
    "travel_search_flights": "origin destination date days",
    "travel_search_trains": "origin destination date days",
    "weather_current_conditions": "location",
    "weather_forecast_days": "location date days",
    "web_search": "query",
    "travel_book_ticket": "number date",
}
"""As TravelBench has them, and our own last one."""
DEFAULTS = {
    ("map_search_places", "radius"): 5000, ("map_search_places", "limit"): 10,
    ("map_compute_routes", "modes"): ["driving"], ("weather_forecast_days", "days"): 1,
    ("map_search_central_places", "radius"): 10000, ("map_search_ranking_list", "max_lists"): 5,
    ("map_search_ranking_list", "max_items"): 3, ("travel_search_flights", "days"): 0,
}  # fmt: skip
REQUIRED = {"query", "origin", "destination", "origins", "location", "date", "number"}
WORLD = AtlasWorld(brief=False)


def ask(name: str, **arguments: Any) -> Any:
    return WORLD.call(name, arguments)


def places(**arguments: Any) -> list[dict[str, Any]]:
    found = ask("map_search_places", **arguments)
    assert isinstance(found, list), found
    return found


def route(**arguments: Any) -> dict[str, Any]:
    found = ask("map_compute_routes", **{"origin": "Paris", "destination": "Lyon", **arguments})
    assert isinstance(found, list), found
    first: dict[str, Any] = found[0]
    return first


def test_the_tools_and_their_arguments_are_those_of_travelbench() -> None:
    assert {name: " ".join(tool.arguments.model_fields) for name, tool in WORLD.tools().items()} == ARGUMENTS
    for (name, argument), default in DEFAULTS.items():
        assert WORLD.tools()[name].arguments.model_fields[argument].default == default
    for name, tool in WORLD.tools().items():
        wanted = REQUIRED | ({"region"} if name == "map_search_ranking_list" else set())
        assert set(tool.required) == wanted & set(ARGUMENTS[name].split())
        assert (tool.effect is Effect.WRITE) == (name == "travel_book_ticket")


def test_a_search_keeps_to_radius_region_rating_price_and_limit() -> None:
    wide = places(query="restaurant", center="Lyon", radius=6000, limit=50)
    assert all(p["km"] <= 6 for p in wide)
    close = {p["name"] for p in places(query="restaurant", center="Lyon", radius=3000, limit=50)}
    assert {p["name"] for p in wide if p["km"] < 3} <= close <= {p["name"] for p in wide if p["km"] <= 3}
    inside = places(query="restaurant", region="Lyon", limit=50)
    assert {p["region"] for p in inside} == {"Lyon"}
    assert {p["rating"] >= 7 for p in places(query="restaurant", region="Lyon", min_rating=7.0, limit=50)} == {True}
    priced = places(query="restaurant", region="Lyon", price_min=30, price_max=60, limit=50)
    assert {p["name"] for p in priced} == {p["name"] for p in inside if 30 <= p["price"] <= 60}
    assert ask("map_search_places", query="restaurant", region="Lyon", price_category="price")["error"] == "no_results"
    assert len(places(query="restaurant", region="Lyon", limit=2)) == 2


@pytest.mark.parametrize(
    ("sort_by", "key"),
    [
        ("rating:d", lambda p: -p["rating"]),
        ("price:a", lambda p: p["price"]),
        ("price:d", lambda p: -p["price"]),
        ("distance", lambda p: p["km"]),
    ],
)
def test_a_search_sorts_as_asked(sort_by: str, key: Any) -> None:
    found = places(query="museum", center="Lyon", radius=20000, sort_by=sort_by, limit=50)
    assert [key(p) for p in found] == sorted(key(p) for p in found)


def test_coordinates_stand_for_the_place_that_lies_there() -> None:
    by_name = places(query="museum", center="Lyon", limit=5)
    [lyon] = {ask("map_search_places", query="museum", center=c)[0]["location"] for c in ("Lyon", "里昂")}
    assert by_name[0]["location"] == lyon
    museum = places(query="museum", region="Lyon")[0]
    named, located = f"{museum['name']}, Lyon", museum["location"]
    assert route(destination=named)["minutes"] == route(destination=located)["minutes"]
    assert route(destination=museum["name"]) == route(destination=named), "it has been shown: its name will do"
    assert ask("weather_forecast_days", location="45.7485,4.8467", date="today") == ask(
        "weather_forecast_days", location="Lyon", date="today"
    )
    for bad in ("91,0", "0,181", "1;2", "48.85"):
        assert coordinates(bad) is None
        assert ask("weather_current_conditions", location=bad) == {"error": "unknown_place", "place": bad}


def test_a_bare_name_is_known_only_where_it_has_been_shown_once() -> None:
    world = AtlasWorld(brief=False)
    museum = world.call("map_search_places", {"query": "museum", "region": "Lyon"})[0]
    ends = {"origin": "Paris", "destination": museum["name"]}
    assert "minutes" in world.call("map_compute_routes", ends)[0]
    world.reset()
    assert world.call("map_compute_routes", ends) == {"error": "unknown_place", "place": museum["name"]}


def test_each_mode_has_a_pace_and_each_preference_its_price() -> None:
    ways = {w["mode"]: w for w in ask("map_compute_routes", origin="Paris", destination="Versailles", modes=[
        "driving", "motorcycle", "truck", "bicycling", "walking", "transit"])}  # fmt: skip
    assert ways["motorcycle"]["minutes"] <= ways["driving"]["minutes"] < ways["truck"]["minutes"]
    assert ways["driving"]["minutes"] < ways["bicycling"]["minutes"] < ways["walking"]["minutes"]
    plain = {p: route(origin="Milan", destination="Turin", preference=p) for p in (
        None, "avoid_tolls", "avoid_highways", "avoid_highways+avoid_tolls", "prefer_highways")}  # fmt: skip
    assert plain["avoid_tolls"]["toll"] == plain["avoid_highways+avoid_tolls"]["toll"] == 0
    assert plain["avoid_highways"]["minutes"] > plain[None]["minutes"] >= plain["prefer_highways"]["minutes"] - 8
    assert plain["avoid_highways"]["km"] > plain[None]["km"]


def test_a_way_with_stops_is_the_sum_of_its_legs() -> None:
    way = route(intermediates=["Dijon"])
    assert [(x["from"], x["to"]) for x in way["legs"]] == [("Paris", "Dijon"), ("Dijon", "Lyon")]
    assert math.isclose(sum(x["km"] for x in way["legs"]), way["km"], abs_tol=0.2)
    assert abs(sum(x["minutes"] for x in way["legs"]) - way["minutes"]) <= 1
    assert route(destination="Dijon")["km"] == way["legs"][0]["km"]


def test_who_arrives_by_a_time_leaves_early_enough_and_not_much_too_early() -> None:
    for hour in ("09:30", "12:00", "19:00", "23:55"):
        way = route(arrival_time=f"2026-06-12T{hour}", traffic_aware=True)
        assert way["arrives"] <= f"2026-06-12 {hour}"
        again = route(departure_time=way["departs"].replace(" ", "T"), traffic_aware=True)
        assert (again["arrives"], again["minutes"]) == (way["arrives"], way["minutes"])
        assert f"2026-06-12 {hour[:2]}" in way["arrives"] or way["arrives"] > "2026-06-12 08:00"


def test_traffic_slows_the_rush_hour_of_a_working_day() -> None:
    def minutes(time: str, traffic: bool = True) -> int:
        return int(route(destination="Versailles", departure_time=time, traffic_aware=traffic)["minutes"])

    assert minutes("2026-06-12T08:00") > minutes("2026-06-12T22:00") >= minutes("2026-06-12T08:00", traffic=False)
    assert minutes("2026-06-13T08:00") < minutes("2026-06-12T08:00"), "Saturday"


def test_times_of_a_way_are_local_at_each_end() -> None:
    way = route(origin="Lisbon", destination="Madrid", departure_time="2026-06-12T08:00")
    hours = int(way["arrives"][11:13]) - 8
    assert 0 < hours * 60 - way["minutes"] < 120, "an hour is lost at the border"
    utc = route(origin="Paris", destination="Lyon", departure_time="2026-06-12T06:00+00:00")
    assert utc["departs"] == "2026-06-12 08:00"


def test_places_along_a_way_lie_beside_it_in_the_order_of_passing() -> None:
    found = ask("map_search_along_route", query="charging station", origin="Paris", destination="Reims", limit=50)
    assert [p["km"] for p in found] == sorted(p["km"] for p in found)
    assert all(p["off_route_km"] <= 2.0 for p in found)
    far = ask("map_search_along_route", query="charging station", origin="Paris", destination="Reims",
              buffer_radius=8000, limit=50)  # fmt: skip
    assert 2.0 < max(p["off_route_km"] for p in far) <= 8.0
    ends = [spot.point for spot in map(WORLD.land.spot, ("Paris", "Reims")) if spot is not None]
    for p in found:
        there = coordinates(p["location"])
        assert there is not None
        assert apart(ends[0], there) + apart(there, ends[1]) < apart(*ends) + 4
        assert abs(apart(ends[0], there) - p["km"]) < 2.1
    on_foot = ask("map_search_along_route", query="cafe", origin="Paris", destination="Lyon", transport_mode="walking")
    assert on_foot == {"error": "too_far", "mode": "walking"}


def test_the_most_central_place_is_the_one_that_the_order_says() -> None:
    origins = ["Paris", "Versailles", "Créteil"]
    for sort_by, cost in (("min_max_distance", max), ("total_distance", sum)):
        found = ask("map_search_central_places", query="cafe", origins=origins, sort_by=sort_by, limit=50)
        costs = [round(cost([d["km"] for d in p["distances"]]), 1) for p in found]
        assert costs == sorted(costs)
    assert [d["from"] for d in found[0]["distances"]] == origins
    assert ask("map_search_central_places", query="cafe", origins=["Paris"])["error"] == "bad_arguments"


def test_ranking_lists_rank_by_what_they_are_called() -> None:
    found = ask("map_search_ranking_list", query="museum", region="Lyon", max_lists=3, max_items=4)
    assert [one["list"] for one in found] == [
        f"{n} museum in Lyon" for n in ("Best rated", "Most reviewed", "Most popular")
    ]
    best, reviewed, _ = (one["items"] for one in found)
    assert [p["rank"] for p in best] == [1, 2, 3, 4]
    assert [p["rating"] for p in best] == sorted((p["rating"] for p in best), reverse=True)
    assert [p["reviews"] for p in reviewed] == sorted((p["reviews"] for p in reviewed), reverse=True)
    country = ask("map_search_ranking_list", query="museum", region="France", max_lists=1, max_items=20)
    assert len({p["region"] for p in country[0]["items"]}) > 2
    assert ask("map_search_ranking_list", query="museums", region="里昂", max_lists=3, max_items=4) == found


def test_days_are_as_many_as_asked_and_end_at_the_horizon() -> None:
    week = ask("weather_forecast_days", location="Paris", date="today", days=7)
    assert [d["date"] for d in week] == [f"2026-06-{d}" for d in range(10, 17)]
    assert week[2:3] == ask("weather_forecast_days", location="Paris", date="Friday")
    assert all(d["low"] <= d["temp"] <= d["high"] for d in week)
    flights = ask("travel_search_flights", origin="Paris", destination="Rome", date="2026-06-12", days=2)
    assert [d["date"] for d in flights] == ["2026-06-12", "2026-06-13", "2026-06-14"]
    late = {"error": "bad_days", "last_date": "2026-06-25"}
    assert ask("weather_forecast_days", location="Paris", date="2026-06-24", days=3) == late
    assert ask("travel_search_trains", origin="Paris", destination="Lyon", date="2026-06-25", days=1) == late
    assert ask("weather_forecast_days", location="Paris", date="today", days=16)["error"] == "bad_arguments"


def test_it_is_now_as_the_forecast_of_today_says() -> None:
    for city in ("Paris", "Beijing", "Sydney", "Lima"):
        now = ask("weather_current_conditions", location=city)
        [day] = ask("weather_forecast_days", location=city, date=now["local_time"][:10])
        assert (now["sky"], now["wind_kmh"], now["location"]) == (day["sky"], day["wind_kmh"], city)
        assert day["low"] <= now["temp"] <= day["high"]
    assert ask("weather_current_conditions", location="Beijing")["local_time"] == "2026-06-10 15:00"


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("map_search_places", {"query": "museum"}, "missing_area"),
        ("map_search_places", {"query": "museum", "region": "Nowhereton"}, "unknown_region"),
        ("map_search_places", {"query": "zzz", "region": "Paris"}, "no_results"),
        ("map_search_places", {"query": "museum", "center": "Paris", "radius": 50}, "bad_arguments"),
        ("map_search_places", {"query": "museum", "center": "Paris", "min_rating": 11.0}, "bad_arguments"),
        ("map_search_places", {"query": "museum", "center": "Paris", "sort_by": "rating"}, "bad_arguments"),
        ("map_compute_routes", {"origin": "Paris", "destination": "Paris"}, "same_place"),
        ("map_compute_routes", {"origin": "Paris", "destination": "Lyon", "modes": []}, "bad_arguments"),
        ("map_compute_routes", {"origin": "Paris", "destination": "Lyon", "departure_time": "2026-06-12T08:00",
                                "arrival_time": "2026-06-12T18:00"}, "bad_arguments"),
        ("map_compute_routes", {"origin": "Paris", "destination": "Lyon", "departure_time": "soon"}, "bad_time"),
        ("map_compute_routes", {"origin": "Paris", "destination": "Lyon", "departure_time": "2027-01-01"}, "bad_time"),
        ("map_compute_routes", {"origin": "Paris", "destination": "Tokyo"}, "too_far"),
        ("travel_search_flights", {"origin": "Paris", "destination": "Versailles", "date": "today"}, "no_flights"),
        ("travel_search_trains", {"origin": "Paris", "destination": "Tokyo", "date": "today"}, "no_trains"),
        ("travel_search_trains", {"origin": "Paris", "destination": "Lyon", "date": "yesterday"}, "bad_date"),
        ("web_search", {"query": "?!"}, "no_results"),
        ("travel_book_ticket", {"number": "XX1", "date": "today"}, "unknown_offer"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_code(name: str, arguments: dict[str, Any], error: str) -> None:
    assert ask(name, **arguments)["error"] == error


def test_what_is_shown_can_be_booked_and_a_reset_forgets_it() -> None:
    world = AtlasWorld(brief=False)
    start = world.state_hash()
    days = world.call("travel_search_trains", {"origin": "Paris", "destination": "Lyon", "date": "Friday", "days": 1})
    train = days[1]["trains"][0]
    done = world.call("travel_book_ticket", {"number": train["number"], "date": days[1]["date"]})
    assert done["booked"] == train["number"]
    [booking] = world.bookings()
    assert (booking.kind, booking.origin, booking.destination, booking.date) == ("train", "Paris", "Lyon", "2026-06-13")
    assert world.state.rows("booking")[0]["price"] == train["price"]
    world.reset()
    assert world.state_hash() == start
    assert (
        world.call("travel_book_ticket", {"number": train["number"], "date": days[1]["date"]})["error"]
        == "unknown_offer"
    )


def test_the_middle_of_points_and_the_way_between_them_hold_over_the_date_line() -> None:
    from environments.worlds.atlas.full.finding import beside, centre

    east, west = Point(10.0, 179.0), Point(10.0, -179.0)
    middle = centre([east, west])
    assert abs(abs(middle.longitude) - 180) < 0.01
    assert math.isclose(apart(east, middle), apart(west, middle), rel_tol=1e-3)
    paris = places(query="museum", region="Suva", limit=3)
    assert paris
    assert beside([], east, west, 5.0) == []


def test_names_of_places_of_one_city_are_told_apart() -> None:
    for city in ("Paris", "Lyon", "Shanghai", "Man"):
        for kind in WORLD.land.kinds():
            names = [p.name for p in WORLD.land.places(city, kind)]
            assert len(set(names)) == len(names) >= 3
    every = itertools.chain.from_iterable(WORLD.land.places("Shanghai", k) for k in WORLD.land.kinds())
    for place in every:
        spot = WORLD.land.spot(WORLD.land.address(place))
        assert spot is not None
        assert spot.place == place
