"""The facts of atlas: continuous weather, routes, time tables, places, and which days there are."""

import math
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.worlds.atlas.data_model import City, cities, neighbours, speakable
from environments.worlds.atlas.geography import (
    MODES,
    SKIES,
    departures,
    places,
    resolve_date,
    route,
    weather,
)

WEDNESDAY = date(2026, 6, 10)
CITY = st.sampled_from(speakable())
DAY = st.integers(0, 15).map(lambda n: WEDNESDAY + timedelta(days=n))


def at(latitude: float, longitude: float) -> City:
    return City("Here", "XX", latitude, longitude, 1, None, None, "train")


@settings(max_examples=60, deadline=None)
@given(latitude=st.floats(-60, 60), longitude=st.floats(-170, 170), day=DAY)
def test_weather_is_continuous_over_place_and_time(latitude: float, longitude: float, day: date) -> None:
    temperature = weather(at(latitude, longitude), day)[1]
    for near in (at(latitude + 0.1, longitude), at(latitude, longitude + 0.1)):
        assert abs(weather(near, day)[1] - temperature) <= 2
    assert abs(weather(at(latitude, longitude), day + timedelta(days=1))[1] - temperature) <= 16


def test_neighbouring_cities_share_their_sky_far_more_often_than_distant_ones() -> None:
    chosen = speakable()[:300]
    near = [(c, neighbours(c.name, 1)[0]) for c in chosen]
    apart = list(zip(chosen, chosen[150:] + chosen[:150], strict=True))
    agreeing = [sum(weather(a, WEDNESDAY)[0] == weather(b, WEDNESDAY)[0] for a, b in pairs) for pairs in (near, apart)]
    assert agreeing[0] > 0.6 * len(chosen) > 1.5 * agreeing[1]


def test_the_sky_of_one_place_does_not_jump_from_day_to_day() -> None:
    days = [WEDNESDAY + timedelta(days=n) for n in range(16)]
    same, pairs = 0, 0
    for city in speakable()[:200]:
        skies = [weather(city, day)[0] for day in days]
        same += sum(a == b for a, b in pairwise(skies))
        pairs += len(days) - 1
    assert same / pairs > 0.5


@given(CITY, DAY)
def test_weather_is_of_the_vocabulary_and_snow_needs_frost(city: City, day: date) -> None:
    sky, temperature = weather(city, day)
    assert sky in SKIES
    assert -9 <= temperature <= 44
    if sky == "snowy":
        assert temperature <= 1
    if sky == "rainy":
        assert temperature > 1


def test_every_sky_but_snow_comes_up_in_june() -> None:
    seen = {weather(c, WEDNESDAY + timedelta(days=n))[0] for c in speakable() for n in range(0, 16, 5)}
    assert seen >= set(SKIES) - {"snowy"}


def test_june_is_summer_in_the_north_and_winter_in_the_south() -> None:
    def mean(low: float, high: float) -> float:
        found = [weather(c, WEDNESDAY)[1] for c in speakable() if low <= c.latitude <= high]
        return sum(found) / len(found)

    assert mean(35, 45) > mean(-45, -35) + 5
    assert mean(-10, 25) > mean(50, 65)


@given(st.floats(1, 3000), st.sampled_from(MODES))
def test_a_road_is_longer_than_the_crow_flies_and_takes_its_time(km: float, mode: str) -> None:
    there, back = route("A", "B", km, mode), route("B", "A", km, mode)
    assert there["km"] == back["km"] >= math.floor(km)
    assert there["mode"] == mode
    assert there["minutes"] > 0


def test_walking_is_slower_than_riding_and_riding_slower_than_driving() -> None:
    paces = {m: sum(route(f"A{i}", f"B{i}", 50, m)["minutes"] for i in range(60)) for m in MODES}
    assert paces["walking"] > 2 * paces["bicycling"] > 4 * paces["transit"] > 4 * paces["driving"]


@settings(max_examples=60)
@given(CITY, CITY, DAY, st.sampled_from(["flight", "train"]))
def test_departures_differ_in_number_and_price_and_the_cheapest_comes_first(
    a: City, b: City, day: date, kind: str
) -> None:
    first, second = departures(kind, a, b, day)  # type: ignore[arg-type]
    assert first["price"] < second["price"]
    assert first["number"] != second["number"]
    assert 100 <= first["price"] < 10_000
    assert "05:00" <= first["departs"] <= "22:00"
    assert departures(kind, a, b, day) == [first, second]  # type: ignore[arg-type]


def test_farther_is_dearer_and_the_way_back_has_departures_of_its_own() -> None:
    paris, rome, tokyo = (cities()[n] for n in ("paris", "rome", "tokyo"))
    days = [WEDNESDAY + timedelta(days=n) for n in range(16)]
    near, far = ([departures("flight", paris, c, d)[0]["price"] for d in days] for c in (rome, tokyo))
    assert sum(far) > 2 * sum(near)
    assert departures("flight", paris, rome, days[0]) != departures("flight", rome, paris, days[0])


@settings(max_examples=60)
@given(CITY, st.sampled_from(["museum", "cafe", "park", "hotel", "market", "gallery", "restaurant", "library"]))
def test_places_of_a_kind_differ_in_rating_and_the_best_comes_first(city: City, kind: str) -> None:
    found = places(city, kind)
    ratings = [p["rating"] for p in found]
    assert len(found) >= 2
    assert ratings == sorted(set(ratings), reverse=True)
    assert all(p["name"].endswith(f" {kind.title()}") and 6 <= p["rating"] <= 10 for p in found)


def test_the_names_of_places_differ_between_the_sides_of_the_hidden_line() -> None:
    named = {
        side: {p["name"].split()[0] for c in speakable() if c.split == side for p in places(c, "museum")}
        for side in ("train", "dev", "hidden")
    }
    assert not named["train"] & named["hidden"]
    assert not named["train"] & named["dev"]
    assert not named["dev"] & named["hidden"]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("today", 10), ("Tomorrow", 11), ("Thursday", 11), ("friday", 12), ("SUNDAY", 14), ("monday", 15),
        ("Wednesday", 17), ("2026-06-10", 10), ("2026-06-25", 25),
    ],
)  # fmt: skip
def test_days_that_exist(text: str, day: int) -> None:
    assert resolve_date(text, WEDNESDAY, 15) == date(2026, 6, day)


@pytest.mark.parametrize(
    "text", ["2026-06-09", "2026-06-26", "2026-06-31", "yesterday", "June 12", "on Friday", "", "12", "next week"]
)
def test_days_that_do_not(text: str) -> None:
    assert resolve_date(text, WEDNESDAY, 15) is None


@given(DAY, st.text(max_size=12))
def test_a_day_found_is_within_the_horizon(today: date, text: str) -> None:
    found = resolve_date(text, today, 15)
    assert found is None or today <= found <= today + timedelta(days=15)
