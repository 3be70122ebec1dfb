"""Time tables: numbers and hours from week to week, durations by distance, arrivals in the time of the place."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.worlds.atlas.data_model import City, cities, distance_km, gazetteer, speakable
from environments.worlds.atlas.full.data_model import zone
from environments.worlds.atlas.full.timetables import Kind, departures, services

CITIES = st.sampled_from([c for c in speakable()[:400] if c.airport])
DAYS = st.integers(0, 15).map(lambda d: date(2026, 6, 10) + timedelta(days=d))


def city(name: str) -> City:
    return gazetteer()[name]


@settings(max_examples=60)
@given(CITIES, CITIES, DAYS)
def test_who_leaves_arrives_as_much_later_as_it_takes_whatever_the_clocks_say(a: City, b: City, day: date) -> None:
    if a == b:
        return
    for o in departures("flight", a, b, day, 1.0):
        left = datetime.fromisoformat(f"{day}T{o['departs']}").replace(tzinfo=zone(a))
        there = datetime.fromisoformat(f"{o['arrives_date']}T{o['arrives']}").replace(tzinfo=zone(b))
        assert there.timestamp() - left.timestamp() == 60 * o["minutes"]


@settings(max_examples=60)
@given(CITIES, CITIES, DAYS)
def test_no_flight_is_faster_than_aircraft_are_and_no_price_is_shared(a: City, b: City, day: date) -> None:
    found = departures("flight", a, b, day, 1.0) if a != b else []
    km = distance_km(a, b)
    for o in found:
        assert 30 + km / 900 * 60 <= o["minutes"] + 3 <= 80 + km / 800 * 60 + o["stops"] * 200
    assert len({o["price"] for o in found}) == len({o["number"] for o in found}) == len(found)


def test_a_train_takes_longer_the_farther_it_goes() -> None:
    ends = [city(n) for n in ("versailles", "lyon", "marseille")]
    lasts = [min(s.minutes for s in services("train", city("paris"), end)) for end in ends]
    assert lasts == sorted(lasts)
    assert lasts[0] < 45
    assert 150 < lasts[1] < 300


@pytest.mark.parametrize("kind", ["flight", "train"])
def test_a_service_keeps_its_hour_and_its_weekdays_from_week_to_week(kind: Kind) -> None:
    one, week_later = (departures(kind, city("paris"), city("rome"), date(2026, 6, d), 1.0) for d in (12, 19))
    assert [(o["number"], o["departs"], o["minutes"]) for o in one] == [
        (o["number"], o["departs"], o["minutes"]) for o in week_later
    ]
    assert [o["price"] for o in one] != [o["price"] for o in week_later]
    numbers = [{o["number"] for o in departures(kind, city("paris"), city("rome"), date(2026, 6, d), 1.0)}
               for d in range(10, 17)]  # fmt: skip
    assert all(numbers), "one service runs every day"
    assert len({frozenset(n) for n in numbers}) > 1, "not every service runs every day"


def test_a_flight_over_the_date_line_arrives_on_another_day() -> None:
    found = departures("flight", city("tokyo"), city("los angeles"), date(2026, 6, 12), 1.0)
    assert any(o["arrives_date"] == "2026-06-12" and o["arrives"] < o["departs"] for o in found)
    back = departures("flight", city("los angeles"), city("tokyo"), date(2026, 6, 12), 1.0)
    assert all(o["arrives_date"] > "2026-06-12" for o in back)


def test_prices_grow_with_distance_and_follow_the_currency() -> None:
    def mean(end: str, per_euro: float = 1.0) -> float:
        prices = [o["price"] for d in range(10, 24) for o in departures(
            "train", city("paris"), city(end), date(2026, 6, d), per_euro)]  # fmt: skip
        return sum(prices) / len(prices)

    assert mean("versailles") < mean("lyon") < mean("marseille")
    assert 7.5 < mean("lyon", 7.8) / mean("lyon") < 8.1


def test_every_city_has_a_time_zone() -> None:
    assert {zone(c).key for c in list(cities().values())[::97]} > {"Asia/Shanghai"}
