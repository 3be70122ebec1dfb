"""The CRM of desk: customers, identity checks, contracts and the rights of the desk's role."""

from typing import Annotated, Any

from pydantic import Field

from environments.tool import Effect, ToolRefusal, tool
from environments.worlds.desk.books import PAGE, Books, Write, view
from environments.worlds.desk.data_model import Row, add_months, iso

Limit = Annotated[int, Field(ge=1, le=20)]


class CrmTools:
    """Tools over customers, contracts and rights."""

    books: Books

    @tool(Effect.READ)
    def crm_find_customers(self, name: str, cursor: str = "", limit: Limit = PAGE) -> dict[str, Any]:
        """Customers of exactly this full name: several people can share one; next_cursor tells of more pages."""
        found = self.books.find("customer", name=name)
        if not found:
            raise ToolRefusal("not_found", name=name)
        shown = ("id", "name", "email", "city")
        return self.books.page([{k: row[k] for k in shown} for row in found], cursor, limit)

    @tool(Effect.READ)
    def crm_get_customer(self, customer_id: str) -> dict[str, Any]:
        """A customer's record and the account as CRM shows it; what ERP wrote may arrive some calls later."""
        customer = self.books.get("customer", customer_id)
        orders = self.books.arrived("purchase", self.books.find("purchase", customer_id=customer_id))
        refunds = [r for o in orders for r in self.books.find("refund", order_id=o["id"])]
        account = {
            "orders": len(orders),
            "open_orders": sum(o["status"] in ("processing", "shipped") for o in orders),
            "refunded_cents": sum(r["amount_cents"] for r in self.books.arrived("refund", refunds)),
        }
        return {**view({k: v for k, v in customer.items() if k != "postcode"}), "account": view(account)}

    @tool(Effect.READ)
    def crm_list_contracts(self, customer_id: str) -> dict[str, Any]:
        """Contracts of a customer: plan, price per month in euros, start, end, status."""
        self.books.get("customer", customer_id)
        return self.books.page(self.books.find("contract", customer_id=customer_id), "", 20)

    @tool(Effect.READ)
    def crm_list_rights(self) -> dict[str, Any]:
        """The rights of your role: what you may do, up to which amount in euros, and until when each is valid."""
        return {"rows": [view(row) for row in self.books.state.rows("staff_right")], "next_cursor": None}

    @tool(Effect.WRITE)
    def crm_verify_identity(
        self, customer_id: str, email: str, postcode: str, idempotency_key: str = ""
    ) -> dict[str, Any]:
        """Check e-mail and postcode that the customer gave against the record; a match is kept for this session."""

        def make() -> list[Write]:
            """The record of the match."""
            customer = self.books.get("customer", customer_id)
            given = (email.strip().casefold(), postcode.strip())
            if given != (customer["email"].casefold(), customer["postcode"]):
                raise ToolRefusal("identity_mismatch", customer_id=customer_id)
            row = {"id": self.books.new_key("verification"), "customer_id": customer_id, "method": "email_postcode"}
            return [("verification", row)]

        asked = {"customer_id": customer_id}
        return self.books.once("crm_verify_identity", customer_id, idempotency_key, asked, make)

    @tool(Effect.WRITE)
    def crm_request_right(self, right: str, idempotency_key: str = "") -> dict[str, Any]:
        """Ask for a right of your role that has run out: refund, cancel, address, reship or contract."""

        def make() -> list[Write]:
            """The right, valid again."""
            held = self.books.get("staff_right", right)
            if not held["grantable"]:
                raise ToolRefusal("right_denied", right=right)
            return [("staff_right", {**held, "valid_until": iso(30)})]

        return self.books.once("crm_request_right", right, idempotency_key, {"id": right}, make)

    @tool(Effect.WRITE)
    def crm_update_address(
        self, customer_id: str, street: str, postcode: str, city: str, idempotency_key: str = ""
    ) -> dict[str, Any]:
        """Change the address on a customer's account; orders already placed keep theirs."""
        place = {"street": street, "postcode": postcode, "city": city}
        return self._update("crm_update_address", customer_id, place, idempotency_key)

    @tool(Effect.WRITE)
    def crm_update_email(self, customer_id: str, email: str, idempotency_key: str = "") -> dict[str, Any]:
        """Change the e-mail address on a customer's account."""
        return self._update("crm_update_email", customer_id, {"email": email}, idempotency_key)

    @tool(Effect.WRITE)
    def crm_renew_contract(self, contract_id: str, months: int, idempotency_key: str = "") -> dict[str, Any]:
        """Renew a contract by 12 or 24 months from its end, at its price."""

        def make() -> list[Write]:
            """The contract with its new end."""
            self.books.demand_right("contract")
            if months not in (12, 24):
                raise ToolRefusal("bad_months", months=str(months))
            return [("contract", {**contract, "ends": add_months(contract["ends"], months)})]

        contract = self.books.get("contract", contract_id)
        return self.books.once(
            "crm_renew_contract", contract["customer_id"], idempotency_key, {"id": contract_id}, make
        )

    def _update(self, name: str, customer_id: str, columns: Row, key: str) -> dict[str, Any]:
        def make() -> list[Write]:
            """The customer with the new values."""
            self.books.demand_right("address")
            if empty := [column for column, value in columns.items() if not value.strip()]:
                raise ToolRefusal("bad_arguments", arguments=empty[0])
            return [("customer", {**self.books.get("customer", customer_id), **columns})]

        return self.books.once(name, customer_id, key, {"id": customer_id, **columns}, make)
