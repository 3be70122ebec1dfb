"""The airline: seats, prices, balances and refunds, on a handful of flights."""

from pathlib import Path
from typing import Any

import pytest

from environments.worlds.airline.world import AirlineWorld
from tests.environments.tau2_folders import airline_tasks, small_tau2

BOOKING = airline_tasks()[1]["evaluation_criteria"]["actions"][0]["arguments"]
CHANGE = {"reservation_id": "AAA111", "cabin": "economy", "payment_id": "gift_card_7"}
KEPT = {"flight_number": "HAT901", "date": "2024-05-20"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_tau2(tmp_path_factory.mktemp("tau2"))


@pytest.fixture
def world(folder: Path) -> AirlineWorld:
    world = AirlineWorld(folder)
    world.state.begin()
    return world


def user(world: AirlineWorld) -> dict[str, Any]:
    found: dict[str, Any] = world.call("get_user_details", {"user_id": "ada_byron_1001"})
    return found


def test_a_booking_is_paid_to_the_dollar_and_uses_up_a_certificate(world: AirlineWorld) -> None:
    made = world.call("book_reservation", BOOKING)
    assert (made["reservation_id"], made["created_at"]) == ("HATHAT", "2024-05-15T15:00:00")
    assert made["flights"] == [{**KEPT, "origin": "BOS", "destination": "JFK", "price": 100}]
    assert user(world)["reservations"] == ["AAA111", "HATHAT"]
    assert "certificate_9" not in user(world)["payment_methods"]
    assert world.call("get_reservation_details", {"reservation_id": "HATHAT"}) == made
    paid = {"payment_methods": [{"payment_id": "credit_card_1", "amount": 100}]}
    assert world.call("book_reservation", {**BOOKING, **paid})["reservation_id"] == "HATHAU"


def test_bags_and_insurance_are_part_of_the_price(world: AirlineWorld) -> None:
    more = {"nonfree_baggages": 2, "total_baggages": 3, "insurance": "yes"}
    short = world.call("book_reservation", {**BOOKING, **more})
    assert (short["error"], short["price"]) == ("payment_does_not_add_up", "230")
    paid = [{"payment_id": "credit_card_1", "amount": 80}, {"payment_id": "gift_card_7", "amount": 150}]
    world.call("book_reservation", {**BOOKING, **more, "payment_methods": paid})
    assert user(world)["payment_methods"]["gift_card_7"]["amount"] == 0


def test_a_flight_that_stays_keeps_its_price_and_a_new_cabin_has_todays(world: AirlineWorld) -> None:
    flight = world.state.need("flights", "HAT901")
    flight["dates"]["2024-05-20"]["prices"] = {"basic_economy": 10, "economy": 500, "business": 900}
    world.state.put("flights", "HAT901", flight)
    same = world.call("update_reservation_flights", {**CHANGE, "flights": [KEPT]})
    assert (same["flights"][0]["price"], len(same["payment_history"])) == (100, 1)
    down = world.call("update_reservation_flights", {**CHANGE, "cabin": "basic_economy", "flights": [KEPT]})
    assert (down["cabin"], down["flights"][0]["price"]) == ("basic_economy", 10)
    assert down["payment_history"][1] == {"payment_id": "gift_card_7", "amount": -90}
    assert user(world)["payment_methods"]["gift_card_7"]["amount"] == 240


def test_bags_are_paid_for_beyond_those_paid_already(world: AirlineWorld) -> None:
    asked = {"reservation_id": "AAA111", "payment_id": "gift_card_7"}
    made = world.call("update_reservation_baggages", {**asked, "total_baggages": 2, "nonfree_baggages": 1})
    assert (made["total_baggages"], made["payment_history"][-1]["amount"]) == (2, 50)
    more = world.call("update_reservation_baggages", {**asked, "total_baggages": 3, "nonfree_baggages": 1})
    assert len(more["payment_history"]) == 2


def test_a_cancelled_reservation_gives_back_what_was_paid_later(world: AirlineWorld) -> None:
    made = world.call("cancel_reservation", {"reservation_id": "AAA111"})
    assert (made["status"], [p["amount"] for p in made["payment_history"]]) == ("cancelled", [100, -100])
    assert user(world)["payment_methods"]["gift_card_7"]["amount"] == 150
    assert world.call("cancel_reservation", {"reservation_id": "AAA111"})["error"] == "already_cancelled"


def test_searches_show_what_can_be_booked_and_connections_that_are_met(world: AirlineWorld) -> None:
    day = {"origin": "BOS", "destination": "JFK", "date": "2024-05-20"}
    [found] = world.call("search_direct_flight", day)
    assert (found["flight_number"], found["prices"]["economy"]) == ("HAT901", 100)
    assert world.call("search_direct_flight", {**day, "date": "2024-05-14"}) == []
    pairs = world.call("search_onestop_flight", {**day, "destination": "SEA"})
    assert [[f["flight_number"] for f in pair] for pair in pairs] == [["HAT901", "HAT902"]]


def test_a_flight_over_midnight_is_met_on_the_next_day(world: AirlineWorld) -> None:
    flight = world.state.need("flights", "HAT901")
    flight |= {"scheduled_departure_time_est": "22:00:00", "scheduled_arrival_time_est": "00:30:00+1"}
    world.state.put("flights", "HAT901", flight)
    pairs = world.call("search_onestop_flight", {"origin": "BOS", "destination": "SEA", "date": "2024-05-20"})
    assert {pair[1]["flight_number"]: pair[1]["date"] for pair in pairs} == dict.fromkeys(
        ("HAT902", "HAT903"), "2024-05-21"
    )


def test_certificates_have_numbers_of_their_own(world: AirlineWorld) -> None:
    ids = [world.call("send_certificate", {"user_id": "ada_byron_1001", "amount": 50})["id"] for _ in range(2)]
    assert ids == ["certificate_3221322", "certificate_3221323"]
    assert ids[1] in user(world)["payment_methods"]


def test_airports_have_cities_and_flights_a_status(world: AirlineWorld) -> None:
    assert {"code": "BOS", "city": "Boston"} in world.call("list_all_airports", {})
    assert world.call("get_flight_status", {"flight_number": "HAT901", "date": "2024-05-14"}) == {"status": "landed"}


def paid_by(payment_id: str, amount: int) -> dict[str, Any]:
    return {**BOOKING, "payment_methods": [{"payment_id": payment_id, "amount": amount}]}


REFUSED = [
    ("get_reservation_details", {"reservation_id": "ZZZ"}, "not_found"),
    ("get_flight_status", {"flight_number": "HAT901", "date": "2030-01-01"}, "not_found"),
    ("book_reservation", {**BOOKING, "cabin": "first"}, "bad_arguments"),
    ("book_reservation", {**BOOKING, "cabin": "business"}, "not_enough_seats"),
    ("book_reservation", {**BOOKING, "flights": []}, "nothing_to_book"),
    ("book_reservation", {**BOOKING, "flights": [{**KEPT, "date": "2024-05-14"}]}, "flight_not_available"),
    ("book_reservation", paid_by("x", 100), "unknown_payment_method"),
    ("book_reservation", paid_by("gift_card_7", 151), "balance_too_small"),
    ("book_reservation", {**BOOKING, "payment_methods": []}, "payment_does_not_add_up"),
    ("update_reservation_flights", {**CHANGE, "flights": []}, "nothing_to_book"),
    ("update_reservation_flights", {**CHANGE, "flights": [KEPT], "payment_id": "certificate_9"}, "no_certificate_here"),
    ("update_reservation_passengers", {"reservation_id": "AAA111", "passengers": []}, "other_number_of_passengers"),
    ("search_onestop_flight", {"origin": "BOS", "destination": "SEA", "date": "tomorrow"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "code"), REFUSED)
def test_what_does_not_hold_is_refused_by_name_and_changes_nothing(
    world: AirlineWorld, tool: str, arguments: dict[str, Any], code: str | None
) -> None:
    before = world.state_hash()
    found = world.call(tool, arguments)
    assert found == [] if code is None else found["error"] == code
    assert world.state_hash() == before


def test_a_flight_as_a_search_showed_it_can_be_handed_over(world: AirlineWorld) -> None:
    whole = {**KEPT, "origin": "BOS", "destination": "JFK", "price": 3}
    assert world.call("update_reservation_flights", {**CHANGE, "flights": [whole]})["flights"][0]["price"] == 100
