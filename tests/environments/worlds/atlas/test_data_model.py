"""The geography: names, splits, airports, distances."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.worlds.atlas.data_model import (
    AIRPORT_REACH_KM,
    cities,
    distance_km,
    fold,
    gazetteer,
    great_circle_km,
    neighbours,
    speakable,
    surnames,
)

PARIS, LONDON, SYDNEY = cities()["paris"], cities()["london"], cities()["sydney"]
PLACES = st.tuples(st.floats(-90, 90), st.floats(-180, 180))


@pytest.mark.parametrize(
    ("name", "city", "country"),
    [("paris", "Paris", "FR"), ("london", "London", "GB"), ("巴黎", "Paris", "FR"), ("北京", "Beijing", "CN"),
     ("new york city", "New York City", "US"), ("são paulo", "São Paulo", "BR")],
)  # fmt: skip
def test_a_name_in_either_language_finds_the_most_populous_city_that_bears_it(
    name: str, city: str, country: str
) -> None:
    found = gazetteer()[name]
    assert (found.name, found.country) == (city, country)


def test_every_name_is_looked_up_folded() -> None:
    assert fold("  New   YORK city ") == "new york city"
    assert all(fold(name) == name for name in gazetteer())


def test_a_city_is_on_one_side_of_the_hidden_line_in_the_planned_shares() -> None:
    sides = Counter(c.split for c in cities().values())
    shares = {side: count / sides.total() for side, count in sides.items()}
    assert shares == pytest.approx({"train": 0.8, "dev": 0.1, "hidden": 0.1}, abs=0.01)


def test_the_cities_users_name_stand_on_every_side_too() -> None:
    sides = Counter(c.split for c in speakable())
    assert set(sides) == {"train", "dev", "hidden"}
    assert min(sides.values()) > 150
    assert all(re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)?", c.name) for c in speakable())


@pytest.mark.parametrize(
    ("a", "b", "km"), [(PARIS, LONDON, 344), (PARIS, SYDNEY, 16_960), (LONDON, SYDNEY, 16_994), (PARIS, PARIS, 0)]
)
def test_distances_are_those_of_the_globe(a: object, b: object, km: float) -> None:
    assert distance_km(a, b) == pytest.approx(km, rel=0.01, abs=0.01)  # type: ignore[arg-type]


@given(PLACES, PLACES)
def test_distance_is_symmetric_and_at_most_half_way_round(a: tuple[float, float], b: tuple[float, float]) -> None:
    there, back = great_circle_km(*a, *b), great_circle_km(*b, *a)
    assert there == pytest.approx(back, abs=1e-6)
    assert 0 <= there <= 20_016


def test_a_city_has_an_airport_exactly_where_one_is_near() -> None:
    import airportsdata

    airports = airportsdata.load("IATA")
    with_one = [c for c in speakable() if c.airport]
    for city in with_one[:200]:
        row = airports[city.airport]
        assert great_circle_km(city.latitude, city.longitude, row["lat"], row["lon"]) <= AIRPORT_REACH_KM
    lonely = next(c for c in speakable() if c.airport is None)
    near = [
        a for a in airports.values()
        if re.search(r"airport|international", a["name"], re.I) and abs(a["lon"] - lonely.longitude) < 30
        and great_circle_km(lonely.latitude, lonely.longitude, a["lat"], a["lon"]) <= AIRPORT_REACH_KM - 1
    ]  # fmt: skip
    assert near == []


def test_neighbours_are_near_of_the_same_side_and_never_oneself() -> None:
    for name in ("paris", "tokyo"):
        here, near = cities()[name], neighbours(name, 10)
        assert len(near) == 10
        assert {c.split for c in near} == {here.split}
        assert here not in near
        distances = [distance_km(here, c) for c in near]
        assert distances == sorted(distances)
        others = [c for c in speakable() if c.split == here.split and c not in (*near, here)]
        assert all(distance_km(here, c) >= distances[-1] - 1e-6 for c in others)


def test_places_are_not_named_after_cities() -> None:
    assert len(surnames()) > 300
    assert not {fold(s) for s in surnames()} & cities().keys()
