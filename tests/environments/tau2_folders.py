"""A small folder of tau2's shape: a shop and an airline with a handful of documents, and three tasks each."""

import json
from pathlib import Path
from typing import Any

Document = dict[str, Any]
ADDRESS = {
    "address1": "1 High Street", "address2": "", "city": "Boston", "country": "USA", "state": "MA", "zip": "02101",
}  # fmt: skip
NOW = "The current time is 2024-05-15 15:00:00 EST."


def small_tau2(folder: Path) -> Path:
    """Write both domains under `folder`; returns it."""
    for name, documents, tasks in (("retail", shop(), shop_tasks()), ("airline", airline(), airline_tasks())):
        home = folder / name
        home.mkdir(parents=True)
        (home / "policy.md").write_text(f"# The policy of the {name}\nDo what is allowed.\n{NOW}\n")
        for file, content in (("db", documents), ("tasks", tasks), ("split_tasks", splits(tasks))):
            (home / f"{file}.json").write_text(json.dumps(content))
    return folder


def splits(tasks: list[Document]) -> dict[str, list[str]]:
    """The last task is tau2's test."""
    ids = [task["id"] for task in tasks]
    return {"train": ids[:-1], "test": ids[-1:], "base": ids}


def user(user_id: str, first: str, last: str, methods: list[Document], **more: Any) -> Document:
    """A user of either domain."""
    name = {"first_name": first, "last_name": last}
    known = {"user_id": user_id, "name": name, "address": ADDRESS, "email": f"{first.lower()}@example.com"}
    return {**known, "payment_methods": {m["id"]: m for m in methods}, **more}


def card(number: str = "1") -> Document:
    """A credit card."""
    return {"source": "credit_card", "id": f"credit_card_{number}", "brand": "visa", "last_four": "0001"}


def variant(item_id: str, price: float, *, available: bool = True, **options: str) -> Document:
    """A variant of a product."""
    return {"item_id": item_id, "options": options, "available": available, "price": price}


def order(order_id: str, status: str, lines: list[tuple[str, str, float]], paid_by: str) -> Document:
    """An order of the first user; lines are product, item and price."""
    items = [
        {"name": "Lamp" if p == "10" else "Mug", "product_id": p, "item_id": i, "price": price, "options": {}}
        for p, i, price in lines
    ]
    payment = {"transaction_type": "payment", "amount": sum(x[2] for x in lines), "payment_method_id": paid_by}
    about = {"order_id": order_id, "user_id": "ada_byron_1001", "address": ADDRESS, "items": items, "status": status}
    return {**about, "fulfillments": [], "payment_history": [payment]}


def shop() -> dict[str, dict[str, Document]]:
    """Two users, two products, four orders."""
    gift = {"source": "gift_card", "id": "gift_card_7", "balance": 20.0}
    users = [
        user("ada_byron_1001", "Ada", "Byron", [card(), gift], orders=["#W1", "#W2", "#W3", "#W4"]),
        user("bob_stone_1002", "Bob", "Stone", [card("2")], orders=[]),
    ]
    lamp = [
        variant("101", 30.0, color="red"), variant("102", 34.5, color="blue"),
        variant("103", 90.0, color="gold"), variant("104", 10.0, available=False, color="grey"),
    ]  # fmt: skip
    products = [
        {"name": "Lamp", "product_id": "10", "variants": {v["item_id"]: v for v in lamp}},
        {"name": "Mug", "product_id": "20", "variants": {"201": variant("201", 8.25, color="white")}},
    ]
    orders = [
        order("#W1", "pending", [("10", "101", 30.0), ("20", "201", 8.25)], "gift_card_7"),
        order("#W2", "delivered", [("10", "101", 30.0), ("10", "101", 30.0)], "credit_card_1"),
        order("#W3", "cancelled", [("20", "201", 8.25)], "credit_card_1"),
        order("#W4", "pending", [("10", "102", 34.5)], "credit_card_1"),
    ]
    keyed = ((users, "user_id"), (products, "product_id"), (orders, "order_id"))
    return dict(zip(("users", "products", "orders"), ({d[k]: d for d in found} for found, k in keyed), strict=True))


def flight(number: str, origin: str, destination: str, leaves: str, lands: str, price: int) -> Document:
    """A flight that can be booked on two days and has flown on one."""
    seats = {"basic_economy": 9, "economy": 2, "business": 0}
    prices = {"basic_economy": price, "economy": 2 * price, "business": 5 * price}
    open_day = {"status": "available", "available_seats": seats, "prices": prices}
    about = {"flight_number": number, "origin": origin, "destination": destination}
    times = {"scheduled_departure_time_est": leaves, "scheduled_arrival_time_est": lands}
    days = {"2024-05-14": {"status": "landed"}, "2024-05-20": open_day, "2024-05-21": open_day}
    return {**about, **times, "dates": days}


def airline() -> dict[str, dict[str, Document]]:
    """One user, three flights, one reservation."""
    methods = [
        card(),
        {"source": "gift_card", "id": "gift_card_7", "amount": 150.0},
        {"source": "certificate", "id": "certificate_9", "amount": 100.0},
    ]
    more = {"dob": "1815-12-10", "saved_passengers": [], "membership": "silver", "reservations": ["AAA111"]}
    flights = [
        flight("HAT901", "BOS", "JFK", "08:00:00", "09:00:00", 50),
        flight("HAT902", "JFK", "SEA", "10:00:00", "13:00:00", 60),
        flight("HAT903", "JFK", "SEA", "08:30:00", "11:30:00", 40),
    ]
    leg = {"flight_number": "HAT901", "origin": "BOS", "destination": "JFK", "date": "2024-05-20", "price": 100}
    reservation = {
        "reservation_id": "AAA111", "user_id": "ada_byron_1001", "origin": "BOS", "destination": "JFK",
        "flight_type": "one_way", "cabin": "economy", "flights": [leg],
        "passengers": [{"first_name": "Ada", "last_name": "Byron", "dob": "1815-12-10"}],
        "payment_history": [{"payment_id": "gift_card_7", "amount": 100}], "created_at": "2024-05-01T10:00:00",
        "total_baggages": 0, "nonfree_baggages": 0, "insurance": "no",
    }  # fmt: skip
    return {
        "users": {"ada_byron_1001": user("ada_byron_1001", "Ada", "Byron", methods, **more)},
        "flights": {f["flight_number"]: f for f in flights},
        "reservations": {"AAA111": reservation},
    }


def raw(name: str, reason: str, actions: list[tuple[str, Document]], *, say: tuple[str, ...] = ()) -> Document:
    """A task as tau2 writes it."""
    known = "You are Ada Byron. Your user id is ada_byron_1001."
    sections = {"reason_for_call": reason, "known_info": known, "unknown_info": None, "task_instructions": "Be brief."}
    done = [
        {"action_id": f"{name}_{n}", "name": tool, "arguments": arguments, "info": None}
        for n, (tool, arguments) in enumerate(actions)
    ]
    criteria = {"actions": done, "communicate_info": list(say), "nl_assertions": None}
    return {
        "id": name,
        "description": {"purpose": "test", "relevant_policies": None, "notes": None},
        "user_scenario": {"persona": None, "instructions": {"domain": "test", **sections}},
        "initial_state": None,
        "evaluation_criteria": {**criteria, "reward_basis": ["DB", "COMMUNICATE"]},
        "annotations": None,
    }


def shop_tasks() -> list[Document]:
    """A cancellation with a sum to say, a refusal, and one whose gold write fails."""
    look = ("get_order_details", {"order_id": "#W1"})
    cancel = ("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})
    wrong = ("cancel_pending_order", {"order_id": "#W2", "reason": "no longer needed"})
    return [
        raw("r1", "You want to cancel your order #W1.", [("get_order_details", {"order_id": "#W9"}), look, cancel],
            say=("38.25",)),
        raw("r2", "You want to cancel order #W3 again.", [("get_order_details", {"order_id": "#W3"})]),
        raw("r3", "You want to cancel order #W2.", [wrong]),
    ]  # fmt: skip


def airline_tasks() -> list[Document]:
    """A cancellation, a booking, and a number of one digit to say."""
    booking = {
        "user_id": "ada_byron_1001", "origin": "BOS", "destination": "JFK", "flight_type": "one_way",
        "cabin": "economy", "flights": [{"flight_number": "HAT901", "date": "2024-05-20"}],
        "passengers": [{"first_name": "Ada", "last_name": "Byron", "dob": "1815-12-10"}],
        "payment_methods": [{"payment_id": "certificate_9", "amount": 100}],
        "total_baggages": 1, "nonfree_baggages": 0, "insurance": "no",
    }  # fmt: skip
    look = ("get_reservation_details", {"reservation_id": "AAA111"})
    return [
        raw("a1", "You want to cancel AAA111.", [look, ("cancel_reservation", {"reservation_id": "AAA111"})]),
        raw("a2", "You want to book a flight.", [("book_reservation", booking)]),
        raw("a3", "You want to know how many bags you may bring.", [look], say=("2",)),
    ]
