"""What the airline's documents hold: users, flights by date, and reservations; and the rules read off them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from environments.tool import ToolRefusal
from environments.worlds.documents import Document
from environments.worlds.tau2_tools import payment_method_of

KEY_FIELDS = {"users": "user_id", "flights": "flight_number", "reservations": "reservation_id"}
KINDS = tuple(KEY_FIELDS)
NOW = "2024-05-15T15:00:00"
"""The policy's current time."""
INSURANCE_PRICE = 30
"""Dollars per passenger."""
BAG_PRICE = 50
"""Dollars for each bag beyond the free ones."""
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = 3221322
"""Number of the first certificate sent; the next ones follow."""
Cabin = Literal["basic_economy", "economy", "business"]
need_payment_method = partial(payment_method_of, argument="payment_id")
"""A payment method from the user's profile, by its id."""
_MORE_IS_LEFT_OUT = ConfigDict(extra="ignore")
"""An agent may hand over a flight as a search showed it."""


@with_config(_MORE_IS_LEFT_OUT)
class Segment(TypedDict):
    """A flight on a date, as an agent names it."""

    flight_number: str
    date: str


@with_config(_MORE_IS_LEFT_OUT)
class Passenger(TypedDict):
    """Who flies."""

    first_name: str
    last_name: str
    dob: str


@with_config(_MORE_IS_LEFT_OUT)
class Payment(TypedDict):
    """What one payment method pays."""

    payment_id: str
    amount: float


def route_of(flight: Document) -> tuple[str, str]:
    """From where to where a flight goes."""
    return flight["origin"], flight["destination"]


def origin_of(flight: Document) -> str:
    """From where a flight goes."""
    return str(flight["origin"])


def offer(flight: Document, date: str) -> Document | None:
    """A flight as a search shows it, where it can be booked on `date`."""
    day = flight["dates"].get(date)
    if day is None or day["status"] != "available":
        return None
    names = ("flight_number", "origin", "destination", "scheduled_departure_time_est", "scheduled_arrival_time_est")
    shown = {name: flight[name] for name in names}
    return {**shown, "status": "available", "available_seats": day["available_seats"], "prices": day["prices"]}


def connects(first: Document, second: Document) -> bool:
    """Whether the second flight leaves after the first one has come in, both on the days on which they are offered."""
    return bool(clock(first["scheduled_arrival_time_est"]) <= clock(second["scheduled_departure_time_est"]))


def clock(time: str) -> str:
    """A time of day that sorts; `01:30:00+1` is on the next day, and a search names that day itself."""
    return time.split("+")[0]


def seat(flight: Document, date: str, cabin: Cabin, passengers: int) -> int:
    """The price of a seat for each of `passengers`.

    Raises:
        ToolRefusal: the flight cannot be booked on that date, or is too full.
    """
    day = flight["dates"].get(date)
    if day is None or day["status"] != "available":
        raise ToolRefusal("flight_not_available", flight_number=flight["flight_number"], date=date)
    if day["available_seats"][cabin] < passengers:
        raise ToolRefusal("not_enough_seats", flight_number=flight["flight_number"], date=date)
    price: int = day["prices"][cabin]
    return price


def booked(flight: Document, date: str, price: float) -> dict[str, Any]:
    """A flight as a reservation holds it."""
    return {
        "flight_number": flight["flight_number"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "date": date,
        "price": price,
    }


def need_amount(method: Document, amount: float) -> None:
    """Whether a gift card or certificate can carry `amount`; a credit card carries anything.

    Raises:
        ToolRefusal: it cannot.
    """
    if method["source"] != "credit_card" and method["amount"] + 1e-9 < amount:
        raise ToolRefusal("balance_too_small", payment_id=method["id"], balance=str(method["amount"]))


def spend(user: Document, payments: Sequence[Payment]) -> bool:
    """Take payments off gift cards, and certificates out of the profile: what is left of one is lost."""
    changed = False
    for payment in payments:
        method = user["payment_methods"][payment["payment_id"]]
        if method["source"] == "certificate":
            del user["payment_methods"][payment["payment_id"]]
        elif method["source"] == "gift_card":
            method["amount"] = round(method["amount"] - payment["amount"], 2)
        changed |= method["source"] != "credit_card"
    return changed


def need_change_method(user: Document, payment_id: str, amount: float) -> Document:
    """The method that pays for a change of a reservation or gets the difference back.

    Raises:
        ToolRefusal: it is a certificate, unknown, or too small.
    """
    method = need_payment_method(user, payment_id)
    if method["source"] == "certificate":
        raise ToolRefusal("no_certificate_here", allowed="a gift card or credit card")
    need_amount(method, amount)
    return method
