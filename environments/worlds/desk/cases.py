"""Cases of desk: the customers, orders and contracts of the world that a family's task, or its refusal, can be about.

A case takes rows as they stand at the start, so nothing is made up for it but what the customer wants.
"""

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from environments.task import Split
from environments.worlds.desk.data_model import (
    LOST_DAYS,
    REFUND_DAYS,
    REFUND_LIMIT_CENTS,
    Customer,
    Purchase,
    Row,
    days_since,
)
from environments.worlds.desk.plans import Case
from environments.worlds.desk.population import company, customers

Fits = Callable[[Customer, Purchase, Row], bool]


def _delivered_days(order: Purchase) -> int | None:
    parcel = order.shipment
    return days_since(parcel["delivered_on"]) if parcel and parcel["delivered_on"] else None


def _recent(order: Purchase) -> bool:
    days = _delivered_days(order)
    return days is not None and days <= REFUND_DAYS and not order.refunds


def _cost(line: Row) -> int:
    return int(line["price_cents"] * line["quantity"])


def _scan_days(order: Purchase) -> int:
    shipped = order.row["status"] == "shipped" and order.shipment is not None
    return days_since(order.shipment["last_scan_on"]) if shipped and order.shipment else -1


def _in_stock(order: Purchase) -> bool:
    return all(company()["products"][line["sku"]][2] >= line["quantity"] for line in order.lines)


def _small(c: Customer, o: Purchase, line: Row) -> bool:
    return _recent(o) and _cost(line) <= REFUND_LIMIT_CENTS


def _large(c: Customer, o: Purchase, line: Row) -> bool:
    return _recent(o) and _cost(line) > REFUND_LIMIT_CENTS


class Rule(NamedTuple):
    """Which cases a family has, and which of them it refuses for which reason."""

    solved: Fits
    refused: Fits | None = None
    reason: str | None = None
    about: str = "order"
    """`order` or `contract`."""


def _processing(c: Customer, o: Purchase, line: Row) -> bool:
    return bool(o.row["status"] == "processing")


def _under_way(c: Customer, o: Purchase, line: Row) -> bool:
    return bool(o.row["status"] in ("shipped", "delivered"))


def _anything(c: Customer, o: Purchase, line: Row) -> bool:
    return True


RULES: dict[str, Rule] = {
    "order_status": Rule(_under_way, _under_way, "not_found"),
    "refund_status": Rule(lambda c, o, line: len(o.refunds) == 1),
    "contract_terms": Rule(_anything, about="contract"),
    "cancel_order": Rule(_processing, _under_way, "already_shipped"),
    "change_address": Rule(_anything, _anything, "identity_not_verified", about="account"),
    "change_delivery": Rule(_processing, _under_way, "already_shipped"),
    "refund_small": Rule(
        _small, lambda c, o, line: (_delivered_days(o) or 0) > REFUND_DAYS and not o.refunds, "window_closed"
    ),
    "refund_large": Rule(
        lambda c, o, line: _large(c, o, line) and c.row["standing"] != "watch",
        lambda c, o, line: _large(c, o, line) and c.row["standing"] == "watch",
        "approval_denied",
    ),
    "duplicate_charge": Rule(
        lambda c, o, line: len(o.payments) == 2 and c.row["standing"] != "watch" and not o.refunds,
        lambda c, o, line: len(o.payments) == 1 and not o.refunds,
        "nothing_due",
    ),
    "lost_parcel": Rule(
        lambda c, o, line: _scan_days(o) >= LOST_DAYS and _in_stock(o),
        lambda c, o, line: 0 <= _scan_days(o) < LOST_DAYS,
        "too_early",
    ),
    "lost_parcel_refund": Rule(
        lambda c, o, line: _scan_days(o) >= LOST_DAYS and not _in_stock(o) and c.row["standing"] != "watch"
    ),
    "contract_renewal": Rule(
        lambda c, o, line: c.row["standing"] != "hold",
        lambda c, o, line: c.row["standing"] == "hold",
        "account_on_hold",
        about="contract",
    ),
    "ticket_triage": Rule(_anything, about="account"),
    "escalation": Rule(lambda c, o, line: _delivered_days(o) is not None),
    "account_shows": Rule(_small),
    "expired_right": Rule(_small),
    "lost_response": Rule(lambda c, o, line: _large(c, o, line) and c.row["standing"] != "watch"),
    "goodwill": Rule(_under_way, _under_way, "not_permitted"),
}
"""Cases by family."""


@cache
def cases(family: str, split: Split, refused: bool = False) -> tuple[Case, ...]:
    """Every case of `family` on one side of the hidden line: those it solves, or those it refuses."""
    rule = RULES[family]
    fits = rule.refused if refused else rule.solved
    if fits is None:
        return ()
    return tuple(
        Case(customer, order, line, contract)
        for customer in customers()
        if customer.split == split and _alone(customer)
        for order, line, contract in _parts(customer, rule.about)
        if fits(customer, order, line)
    )


def _alone(customer: Customer) -> bool:
    """Whether nobody shares the name: homonyms come in by their axis."""
    return _names()[customer.row["name"]] == 1


@cache
def _names() -> dict[str, int]:
    found: dict[str, int] = {}
    for customer in customers():
        found[customer.row["name"]] = found.get(customer.row["name"], 0) + 1
    return found


def _parts(customer: Customer, about: str) -> Iterator[tuple[Purchase, Row, Row | None]]:
    """The orders with each of their lines; the first where the case is about something else."""
    if about == "contract":
        for contract in customer.contracts:
            yield customer.orders[0], customer.orders[0].lines[0], contract
    elif about == "account":
        yield customer.orders[0], customer.orders[0].lines[0], None
    else:
        for order in customer.orders:
            for line in order.lines:
                yield order, line, None


def new_place(customer: Customer, rng: random.Random) -> dict[str, str]:
    """Another address, in one of the company's cities."""
    city, _, head, digits = rng.choice(company()["cities"])
    street = f"{rng.choice(company()['streets'])} {rng.randint(121, 180)}"
    postcode = head + "".join(str(rng.randint(0, 9)) for _ in range(digits))
    return {"new_street": street, "new_postcode": postcode, "new_city": city}
