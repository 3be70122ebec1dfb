"""The rows that desk starts with: people, orders in every state, contracts and a mailbox, from stable seeds."""

import random
from functools import cache
from importlib.resources import files
from typing import Any

from environments.seeds import stable_hash
from environments.worlds.desk.data_model import DESK_MAILBOX, PREFIX, RIGHTS, Customer, Purchase, Row, iso

CUSTOMERS = 400
_STATES = {"processing": 22, "moving": 13, "lost": 13, "recent": 28, "old": 24}
"""Shares of the states of an order; ours."""
_STANDINGS = {"good": 60, "hold": 19, "watch": 21}


@cache
def company() -> dict[str, Any]:
    """What the company is made of."""
    import yaml

    text = files("environments.worlds.desk").joinpath("data/company.yaml").read_text(encoding="utf-8")
    made: dict[str, Any] = yaml.safe_load(text)
    return made


class _Books:
    """Rows by table, with the next free key of each."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {name: [] for name in (*PREFIX, "product", "staff_right")}

    def add(self, table: str, first: int = 1001, **columns: Any) -> Row:
        """Add a row under the next key."""
        row = {"id": f"{PREFIX[table]}{first + len(self.rows[table])}", **columns}
        self.rows[table].append(row)
        return row


@cache
def population() -> dict[str, list[Row]]:
    """Every initial row by table."""
    rng = random.Random(stable_hash("desk", "population"))
    books = _Books()
    for sku, (name, cents, stock) in company()["products"].items():
        books.rows["product"].append({"id": sku, "name": name, "price_cents": cents, "stock": stock})
    for right in RIGHTS:
        books.rows["staff_right"].append(_right(right))
    for name in _names(rng):
        _settle(books, name, rng)
    _mailbox(books, rng)
    return books.rows


def _right(right: str) -> Row:
    """A right of the desk's role; goodwill is the supervisors' and is never granted."""
    own = right != "goodwill"
    limit = 15000 if right == "refund" else None
    valid = iso(180) if own else iso(-400)
    return {"id": right, "role": "desk_agent", "limit_cents": limit, "valid_until": valid, "grantable": int(own)}


def _names(rng: random.Random) -> list[str]:
    """Names of customers in random order; about one in five is shared by two or three people."""
    parts = company()
    english = [f"{given} {family}" for given in parts["given_en"] for family in parts["family_en"]]
    chinese = [family + given for family in parts["family_zh"] for given in parts["given_zh"]]
    names = rng.sample(english, 200) + rng.sample(chinese, 120)
    shared = rng.sample(names, 52)
    names += shared + shared[:28]
    rng.shuffle(names)
    return names[:CUSTOMERS]


def person(name: str, number: int, rng: random.Random) -> Row:
    """A customer of that name, without a key."""
    parts = company()
    city, country, head, digits = rng.choice(parts["cities"])
    return {
        "name": name,
        "email": f"{_mail_name(name)}{number}@{rng.choice(('mailbox', 'postino', 'inbox'))}.example",
        "street": f"{rng.choice(parts['streets'])} {rng.randint(1, 120)}",
        "postcode": head + "".join(str(rng.randint(0, 9)) for _ in range(digits)),
        "city": city,
        "country": country,
        "standing": rng.choices(list(_STANDINGS), list(_STANDINGS.values()))[0],
        "since": iso(-rng.randint(200, 2600)),
    }


def _mail_name(name: str) -> str:
    pinyin = company()["pinyin"]
    return pinyin[name[0]] if name[0] in pinyin else name.lower().replace(" ", ".")


def _settle(books: _Books, name: str, rng: random.Random) -> None:
    """One customer with orders and perhaps a contract; no two orders of one customer hold the same product."""
    customer = books.add("customer", **person(name, rng.randint(2, 99), rng))
    products = list(company()["products"].items())
    rng.shuffle(products)
    for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5))):
        state = rng.choices(list(_STATES), list(_STATES.values()))[0]
        picked = [products.pop() for _ in range(rng.choice((1, 1, 2)))]
        _order(books, customer, state, picked, rng)
    if rng.random() < 0.85:
        plan, cents = rng.choice(list(company()["plans"].items()))
        ends = rng.randint(5, 60)
        months = rng.choice((12, 24))
        terms = {"plan": plan, "monthly_cents": cents, "starts": iso(ends - 30 * months), "ends": iso(ends)}
        books.add("contract", customer_id=customer["id"], **terms, status="active")


def _order(books: _Books, customer: Row, state: str, picked: list[Any], rng: random.Random) -> None:
    quantities = [1 if item[1] > 9000 else rng.choice((1, 1, 2)) for _, item in picked]
    total = sum(n * item[1] for n, (_, item) in zip(quantities, picked, strict=True))
    status = {"processing": "processing", "moving": "shipped", "lost": "shipped"}.get(state, "delivered")
    delivered = {"recent": -rng.randint(2, 24), "old": -rng.randint(45, 200)}.get(state, 0)
    scanned = {"moving": -rng.randint(0, 4), "lost": -rng.randint(13, 24)}.get(state, delivered)
    shipped = scanned - rng.randint(2, 6)
    ordered = shipped - rng.randint(1, 3) if status != "processing" else -rng.randint(0, 3)
    place = {k: customer[k] for k in ("street", "postcode", "city")}
    order = books.add(
        "purchase", 4001, customer_id=customer["id"], ordered_on=iso(ordered), status=status, total_cents=total, **place
    )
    for n, (sku, item) in zip(quantities, picked, strict=True):
        books.add("purchase_line", order_id=order["id"], sku=sku, product=item[0], quantity=n, price_cents=item[1])
    if status != "processing":
        carrier = rng.choice(company()["carriers"])
        seen = {"shipped_on": iso(shipped), "last_scan_on": iso(scanned)}
        arrived = iso(delivered) if status == "delivered" else None
        where = {"status": "delivered" if arrived else "in_transit", "delivered_on": arrived}
        books.add("shipment", **{"order_id": order["id"], "carrier": carrier, **seen, **where})
    _pay(books, order, ordered, rng, refunded=state == "old" and rng.random() < 0.5)


def _pay(books: _Books, order: Row, ordered: int, rng: random.Random, *, refunded: bool) -> None:
    """The payment of an order, sometimes twice; some old orders were refunded in part."""
    times = 2 if rng.random() < 0.15 else 1
    method = rng.choice(("card", "transfer", "wallet"))
    for _ in range(times):
        paid = iso(min(0, ordered + rng.randint(0, 1)))
        books.add("payment", order_id=order["id"], amount_cents=order["total_cents"], paid_on=paid, method=method)
    if refunded and times == 1:
        line = next(r for r in books.rows["purchase_line"] if r["order_id"] == order["id"])
        paid_back = {"amount_cents": line["price_cents"], "booked_on": iso(-rng.randint(1, 12))}
        books.add("refund", order_id=order["id"], reason="damaged", approval_id=None, **paid_back)


_CLOSED_SUBJECTS = {
    "delivery": ("Where is my parcel", "The parcel has arrived after all, thank you for looking into it."),
    "refund": ("Refund", "The money is back on my account. Nothing else to do, many thanks."),
    "billing": ("Question about the bill", "I found the bill in my other mailbox, please close this."),
    "account": ("New address", "I have moved; your colleague has changed it already."),
    "complaint": ("Scratched lid", "The lid had a scratch, the new one is fine."),
}


def _mailbox(books: _Books, rng: random.Random) -> None:
    """Past tickets with the mail that opened each."""
    for customer in rng.sample(books.rows["customer"], 110):
        category = rng.choice(list(_CLOSED_SUBJECTS))
        subject, body = _CLOSED_SUBJECTS[category]
        opened = iso(-rng.randint(15, 300))
        ticket = books.add(
            "ticket", 2001, customer_id=customer["id"], order_id=None, category=category, queue="front",
            priority=rng.choice(("low", "normal")), status="resolved", resolution="answered", opened_on=opened,
        )  # fmt: skip
        addresses = {"sender": customer["email"], "recipient": DESK_MAILBOX}
        books.add("mail", **addresses, subject=subject, body=body, sent_on=opened, ticket_id=ticket["id"])


def _grouped(table: str, by: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in population()[table]:
        found.setdefault(row[by], []).append(row)
    return found


@cache
def customers() -> tuple[Customer, ...]:
    """Every customer with what is theirs, by key."""
    lines, parcels = _grouped("purchase_line", "order_id"), _grouped("shipment", "order_id")
    payments, refunds = _grouped("payment", "order_id"), _grouped("refund", "order_id")
    orders, contracts = _grouped("purchase", "customer_id"), _grouped("contract", "customer_id")

    def whole(order: Row) -> Purchase:
        """An order with its parts."""
        key = order["id"]
        parts = (tuple(rows.get(key, ())) for rows in (lines, parcels, payments, refunds))
        own_lines, own_parcels, own_payments, own_refunds = parts
        return Purchase(order, own_lines, own_parcels[0] if own_parcels else None, own_payments, own_refunds)

    return tuple(
        Customer(c, tuple(map(whole, orders.get(c["id"], ()))), tuple(contracts.get(c["id"], ())))
        for c in population()["customer"]
    )
