"""The tools of the shop: look up users, orders and products; cancel, change, return and exchange within the policy.

What the policy has the agent do (find out who is asking, have each change confirmed) is the agent's to do; what it says
of orders, items and payments is refused here when it does not hold. Nothing is written before everything is checked.
"""

from typing import Any, Literal

from environments.tool import Effect, ToolRefusal, tool
from environments.worlds import tau2_tools
from environments.worlds.documents import Document, pairs
from environments.worlds.retail import data_model as shop
from environments.worlds.tau2_tools import Tau2Tools


class RetailTools(Tau2Tools):
    """The tools of one session, over its own state."""

    owned = ("orders", "order_id")

    @tool(Effect.READ)
    def find_user_id_by_email(self, email: str) -> dict[str, str]:
        """The id of the user with an email address."""
        return self._one_user(shop.email_of, email.casefold())

    @tool(Effect.READ)
    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> dict[str, str]:
        """The id of the user with a name and zip code; try the email address where this finds nobody."""
        return self._one_user(shop.name_and_zip_of, (first_name.casefold(), last_name.casefold(), zip))

    @tool(Effect.READ)
    def list_all_product_types(self) -> dict[str, str]:
        """The name and product id of every product."""
        products = (self._state.need("products", key) for key in self._state.base.kinds["products"])
        return dict(sorted((p["name"], p["product_id"]) for p in products))

    @tool(Effect.READ)
    def get_user_details(self, user_id: str) -> Document:
        """A user's name, address, email, payment methods and orders."""
        return self._state.need("users", user_id)

    @tool(Effect.READ)
    def get_order_details(self, order_id: str) -> Document:
        """An order's items, address, status, deliveries and payments; its id starts with '#'."""
        return self._state.need("orders", order_id)

    @tool(Effect.READ)
    def get_product_details(self, product_id: str) -> Document:
        """A product's variants with their options, availability and price; a product id is no item id."""
        return self._state.need("products", product_id)

    @tool(Effect.READ)
    def get_item_details(self, item_id: str) -> Document:
        """One variant of a product: its options, availability and price."""
        product, variant = self._variant(item_id)
        return {**variant, "name": product["name"], "product_id": product["product_id"]}

    @tool(Effect.WRITE)
    def cancel_pending_order(
        self, order_id: str, reason: Literal["no longer needed", "ordered by mistake"]
    ) -> dict[str, Any]:
        """Cancel a pending order and refund it to how it was paid; the user must have confirmed order and reason."""
        order, user = self._with_user(order_id)
        shop.need_status(order, shop.PENDING)
        payments, moved = shop.paid(order), False
        for p in payments:
            moved |= shop.move_balance(shop.need_payment_method(user, p["payment_method_id"]), p["amount"])
        order["payment_history"] += [shop.transaction("refund", p["amount"], p["payment_method_id"]) for p in payments]
        order |= {"status": "cancelled", "cancel_reason": reason}
        return self._written("cancel_pending_order", order, user if moved else None)

    @tool(Effect.WRITE)
    def modify_pending_order_address(
        self, order_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
    ) -> dict[str, Any]:
        """Send a pending order to another address; the user must have confirmed it."""
        order = self._state.need("orders", order_id)
        shop.need_status(order, shop.PENDING, shop.MODIFIED)
        order["address"] = _address(address1, address2, city, state, country, zip)
        return self._written("modify_pending_order_address", order)

    @tool(Effect.WRITE)
    def modify_pending_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> dict[str, Any]:
        """Change items of a pending order to other variants of the same products; possible once, so name all of them.

        The payment method pays the difference or gets it back.
        """
        order, user = self._with_user(order_id)
        shop.need_status(order, shop.PENDING)
        changed = self._replacements(order, item_ids, new_item_ids)
        method = shop.need_payment_method(user, payment_method_id)
        difference = shop.total(new["price"] - line["price"] for line, new in changed)
        shop.need_balance(method, difference)
        for line, new in changed:
            line |= {"item_id": new["item_id"], "price": new["price"], "options": new["options"]}
        if difference:
            kind = "payment" if difference > 0 else "refund"
            order["payment_history"].append(shop.transaction(kind, abs(difference), payment_method_id))
        order["status"] = shop.MODIFIED
        moved = bool(difference) and shop.move_balance(method, -difference)
        return self._written("modify_pending_order_items", order, user if moved else None)

    @tool(Effect.WRITE)
    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> dict[str, Any]:
        """Pay a pending order by another method of the user's; what was paid before is refunded."""
        order, user = self._with_user(order_id)
        shop.need_status(order, shop.PENDING, shop.MODIFIED)
        method, payments = shop.need_payment_method(user, payment_method_id), shop.paid(order)
        if len(order["payment_history"]) != 1:
            raise ToolRefusal("payment_not_single", payments=str(len(order["payment_history"])))
        before, amount = payments[0]["payment_method_id"], payments[0]["amount"]
        if before == payment_method_id:
            raise ToolRefusal("same_payment_method", payment_method_id=payment_method_id)
        shop.need_balance(method, amount)
        order["payment_history"] += [
            shop.transaction("payment", amount, payment_method_id),
            shop.transaction("refund", amount, before),
        ]
        moved = shop.move_balance(method, -amount)
        moved |= shop.move_balance(shop.need_payment_method(user, before), amount)
        return self._written("modify_pending_order_payment", order, user if moved else None)

    @tool(Effect.WRITE)
    def modify_user_address(
        self, user_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
    ) -> dict[str, Any]:
        """Change a user's default address; the user must have confirmed it."""
        user = self._state.need("users", user_id)
        user["address"] = _address(address1, address2, city, state, country, zip)
        return self._state.write("modify_user_address", "users", user_id, user)

    @tool(Effect.WRITE)
    def return_delivered_order_items(
        self, order_id: str, item_ids: list[str], payment_method_id: str
    ) -> dict[str, Any]:
        """Ask to return items of a delivered order; the refund goes to how it was paid or to a gift card."""
        order, user = self._with_user(order_id)
        shop.need_status(order, shop.DELIVERED)
        method = shop.need_payment_method(user, payment_method_id)
        original = {p["payment_method_id"] for p in shop.paid(order)}
        if method["source"] != "gift_card" and payment_method_id not in original:
            raise ToolRefusal("refund_elsewhere", allowed="the original payment method or a gift card")
        shop.need_items(order, item_ids)
        order |= {
            "status": "return requested",
            "return_items": sorted(item_ids),
            "return_payment_method_id": payment_method_id,
        }
        return self._written("return_delivered_order_items", order)

    @tool(Effect.WRITE)
    def exchange_delivered_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> dict[str, Any]:
        """Ask to exchange items of a delivered order for other variants of the same products; possible once.

        The payment method will pay the difference or get it back once the items have come.
        """
        order, user = self._with_user(order_id)
        shop.need_status(order, shop.DELIVERED)
        changed = self._replacements(order, item_ids, new_item_ids)
        difference = shop.total(new["price"] - line["price"] for line, new in changed)
        shop.need_balance(shop.need_payment_method(user, payment_method_id), difference)
        order |= {
            "status": "exchange requested",
            "exchange_items": sorted(item_ids),
            "exchange_new_items": sorted(new_item_ids),
            "exchange_payment_method_id": payment_method_id,
            "exchange_price_difference": difference,
        }
        return self._written("exchange_delivered_order_items", order)

    calculate = tau2_tools.calculate
    transfer_to_human_agents = tau2_tools.transfer_to_human_agents

    def _one_user(self, by: Any, value: Any) -> dict[str, str]:
        found = [user["user_id"] for user in self._state.find("users", by, value)]
        if len(found) != 1:
            raise ToolRefusal("several_users" if found else "user_not_found")
        return {"user_id": found[0]}

    def _variant(self, item_id: str) -> tuple[Document, Document]:
        """The product that an item is a variant of, and the variant."""
        for key in self._state.base.kinds["products"]:
            product = self._state.base.kinds["products"][key]
            if item_id in product["variants"]:
                own = self._state.need("products", key)
                return own, own["variants"][item_id]
        raise ToolRefusal("not_found", kind="item", key=item_id)

    def _replacements(
        self, order: Document, item_ids: list[str], new_item_ids: list[str]
    ) -> list[tuple[Document, Document]]:
        """Each line to change beside the variant that takes its place."""
        both = pairs(item_ids, new_item_ids)
        lines = shop.need_items(order, item_ids)
        changed = []
        for line, (item_id, new_id) in zip(lines, both, strict=True):
            if item_id == new_id:
                raise ToolRefusal("same_item", item_id=item_id)
            changed.append((line, shop.need_variant(self._state.need("products", line["product_id"]), new_id)))
        return changed


def _address(address1: str, address2: str, city: str, state: str, country: str, zip: str) -> dict[str, str]:
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "country": country,
        "state": state,
        "zip": zip,
    }
