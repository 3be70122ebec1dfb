"""The rows that desk starts with: how many, how they hang together, and which side of the hidden line they stand on."""

import re
from collections import Counter

from environments.worlds.desk.data_model import PREFIX, side_of
from environments.worlds.desk.population import customers, population


def test_there_are_many_customers_some_of_whom_share_a_name() -> None:
    names = Counter(c.row["name"] for c in customers())
    assert len(customers()) >= 150
    assert sum(count > 1 for count in names.values()) >= 25
    assert sum(re.search("[一-鿿]", name) is not None for name in names) >= 80
    assert len(population()["purchase"]) >= 400
    assert len({c.row["email"] for c in customers()}) > 0.97 * len(customers())


def test_people_of_one_name_have_different_addresses() -> None:
    by_name: dict[str, list[str]] = {}
    for c in customers():
        by_name.setdefault(c.row["name"], []).append(c.row["email"])
    assert all(len(set(mails)) == len(mails) for mails in by_name.values())


def test_rows_refer_to_rows_that_are_there() -> None:
    rows = population()
    keys = {table: {row["id"] for row in some} for table, some in rows.items()}
    assert all(len(keys[table]) == len(rows[table]) for table in rows)
    owner = {"customer_id": "customer", "order_id": "purchase", "sku": "product", "ticket_id": "ticket"}
    for table, some in rows.items():
        for column, other in owner.items():
            assert {row[column] for row in some if row.get(column)} <= keys[other], (table, column)
    assert all(re.fullmatch(PREFIX[t] + r"\d{4}", key) for t in PREFIX for key in keys[t])


def test_the_sums_add_up() -> None:
    for customer in customers():
        for order in customer.orders:
            assert order.row["total_cents"] == sum(line["price_cents"] * line["quantity"] for line in order.lines)
            assert {p["amount_cents"] for p in order.payments} == {order.row["total_cents"]}
            assert sum(r["amount_cents"] for r in order.refunds) <= order.row["total_cents"]


def test_no_customer_has_ordered_a_product_twice() -> None:
    for customer in customers():
        skus = [line["sku"] for order in customer.orders for line in order.lines]
        assert len(set(skus)) == len(skus)


def test_days_come_in_the_order_in_which_things_happen() -> None:
    for customer in customers():
        for order in customer.orders:
            parcel = order.shipment
            assert (parcel is None) == (order.row["status"] == "processing")
            if parcel:
                days = [order.row["ordered_on"], parcel["shipped_on"], parcel["last_scan_on"]]
                assert days == sorted(days)


def test_people_of_one_name_stand_on_one_side_and_every_side_has_many() -> None:
    sides = Counter(c.split for c in customers())
    assert all(c.split == side_of(c.row["name"]) for c in customers())
    assert sides["train"] > sides["dev"] >= 40
    assert sides["hidden"] >= 40
