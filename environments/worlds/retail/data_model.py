"""What the shop's documents hold: users, products with their variants, and orders; and the rules read off them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from environments.tool import ToolRefusal
from environments.worlds.documents import Document
from environments.worlds.tau2_tools import payment_method_of

KEY_FIELDS = {"users": "user_id", "products": "product_id", "orders": "order_id"}
KINDS = tuple(KEY_FIELDS)
PENDING, MODIFIED, DELIVERED = "pending", "pending (item modified)", "delivered"
need_payment_method = partial(payment_method_of, argument="payment_method_id")
"""A payment method from the user's profile, by its id."""


def email_of(user: Document) -> str:
    """A user's address for mail, in small letters."""
    return str(user["email"]).casefold()


def name_and_zip_of(user: Document) -> tuple[str, str, str]:
    """What tells a user who has forgotten the rest: first name, last name, zip code."""
    name = user["name"]
    return name["first_name"].casefold(), name["last_name"].casefold(), user["address"]["zip"]


def need_status(order: Document, *allowed: str) -> None:
    """Whether the order is in a state in which it may be changed so.

    Raises:
        ToolRefusal: it is not; `wrong_status` with the state it is in.
    """
    if order["status"] not in allowed:
        raise ToolRefusal("wrong_status", status=order["status"], allowed=allowed[0])


def need_balance(method: Document, amount: float) -> None:
    """Whether a gift card can carry `amount`; the other methods carry anything.

    Raises:
        ToolRefusal: it cannot.
    """
    if method["source"] == "gift_card" and method["balance"] + 1e-9 < amount:
        raise ToolRefusal("gift_card_too_small", balance=f"{method['balance']:.2f}", needed=f"{amount:.2f}")


def move_balance(method: Document, amount: float) -> bool:
    """Add `amount` to a gift card; whether there was one."""
    if method["source"] != "gift_card":
        return False
    method["balance"] = round(method["balance"] + amount, 2)
    return True


def need_items(order: Document, item_ids: Sequence[str]) -> list[Document]:
    """The lines of the order with these items, one line for each mention.

    Raises:
        ToolRefusal: the order has none, or fewer than asked for; or nothing was asked for.
    """
    if not item_ids:
        raise ToolRefusal("no_items")
    held = Counter(line["item_id"] for line in order["items"])
    if missing := [i for i, n in Counter(item_ids).items() if n > held[i]]:
        raise ToolRefusal("item_not_in_order", item_id=missing[0])
    lines: dict[str, list[Document]] = {}
    for line in order["items"]:
        lines.setdefault(line["item_id"], []).append(line)
    return [lines[i].pop(0) for i in item_ids]


def need_variant(product: Document, item_id: str) -> Document:
    """An available variant of a product.

    Raises:
        ToolRefusal: it is another product's, or is not available.
    """
    variant: Document | None = product["variants"].get(item_id)
    if variant is None:
        raise ToolRefusal("other_product", item_id=item_id, product=product["name"])
    if not variant["available"]:
        raise ToolRefusal("not_available", item_id=item_id)
    return variant


def paid(order: Document) -> list[Document]:
    """The payments of an order, refunds left out."""
    return [p for p in order["payment_history"] if p["transaction_type"] == "payment"]


def transaction(kind: str, amount: float, payment_method_id: str) -> dict[str, Any]:
    """A line of an order's payment history."""
    return {"transaction_type": kind, "amount": round(amount, 2), "payment_method_id": payment_method_id}


def total(prices: Iterable[float]) -> float:
    """A sum of money, to the cent."""
    return round(sum(prices), 2)
