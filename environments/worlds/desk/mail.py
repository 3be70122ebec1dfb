"""Mail and tickets of desk: the desk's mailbox, every customer's, and the tickets between them."""

from typing import Any, Literal

from environments.tool import Effect, ToolRefusal, tool
from environments.worlds.desk.books import PAGE, Books, Write, view
from environments.worlds.desk.crm import Limit
from environments.worlds.desk.data_model import DESK_MAILBOX, Category, Priority, Queue, iso


class MailTools:
    """Tools over mail and tickets."""

    books: Books

    @tool(Effect.READ)
    def ticket_list(self, customer_id: str, cursor: str = "", limit: Limit = PAGE) -> dict[str, Any]:
        """Tickets of a customer, past and open; next_cursor tells of more pages."""
        self.books.get("customer", customer_id)
        return self.books.page(self.books.find("ticket", customer_id=customer_id), cursor, limit)

    @tool(Effect.READ)
    def ticket_get(self, ticket_id: str) -> dict[str, Any]:
        """A ticket with the keys and subjects of its mails."""
        ticket = self.books.get("ticket", ticket_id)
        mails = [{k: m[k] for k in ("id", "sender", "subject")} for m in self.books.find("mail", ticket_id=ticket_id)]
        return {**view(ticket), "mails": mails}

    @tool(Effect.READ)
    def mail_list(self, customer_id: str, cursor: str = "", limit: Limit = PAGE) -> dict[str, Any]:
        """Mails to and from a customer's address, without their texts; next_cursor tells of more pages."""
        address = self.books.get("customer", customer_id)["email"]
        found = [*self.books.find("mail", sender=address), *self.books.find("mail", recipient=address)]
        rows = [
            {k: v for k, v in mail.items() if k != "body"} for mail in sorted(found, key=lambda mail: str(mail["id"]))
        ]
        return self.books.page(rows, cursor, limit)

    @tool(Effect.READ)
    def mail_read(self, mail_id: str) -> dict[str, Any]:
        """A mail that the desk has received or sent."""
        return view(self.books.get("mail", mail_id))

    @tool(Effect.WRITE)
    def mail_send(
        self, customer_id: str, subject: str, body: str, ticket_id: str = "", idempotency_key: str = ""
    ) -> dict[str, Any]:
        """Send a mail to the address on a customer's account, in a ticket where it belongs to one."""

        def make() -> list[Write]:
            """The mail."""
            if ticket_id:
                self.books.get("ticket", ticket_id)
            if not body.strip():
                raise ToolRefusal("bad_arguments", arguments="body")
            key = self.books.new_key("mail")
            return [("mail", {"id": key, "sender": DESK_MAILBOX, **asked, "sent_on": iso(0)})]

        customer = self.books.get("customer", customer_id)
        asked = {"recipient": customer["email"], "subject": subject, "body": body, "ticket_id": ticket_id or None}
        sent = self.books.once("mail_send", customer_id, idempotency_key, asked, make)
        return {k: v for k, v in sent.items() if k not in ("subject", "body")}

    @tool(Effect.WRITE)
    def ticket_create(
        self, customer_id: str, category: Category, queue: Queue, priority: Priority, order_id: str = "",
        idempotency_key: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Open a ticket for a customer, about an order where there is one."""

        def make() -> list[Write]:
            """The ticket."""
            self.books.get("customer", customer_id)
            if order_id:
                self.books.get("purchase", order_id)
            more = {"status": "open", "resolution": None, "opened_on": iso(0)}
            return [("ticket", {"id": self.books.new_key("ticket"), **asked, **more})]

        asked = {
            "customer_id": customer_id, "order_id": order_id or None, "category": category, "queue": queue,
            "priority": priority,
        }  # fmt: skip
        return self.books.once("ticket_create", customer_id, idempotency_key, asked, make)

    @tool(Effect.WRITE)
    def ticket_route(
        self, ticket_id: str, category: Category, queue: Queue, priority: Priority, idempotency_key: str = ""
    ) -> dict[str, Any]:
        """Set the category, queue and priority of a ticket."""

        def make() -> list[Write]:
            """The routed ticket."""
            return [("ticket", {**ticket, **asked})]

        ticket = self.books.get("ticket", ticket_id)
        asked = {"id": ticket_id, "category": category, "queue": queue, "priority": priority}
        return self.books.once("ticket_route", ticket["customer_id"], idempotency_key, asked, make)

    @tool(Effect.WRITE)
    def ticket_close(
        self, ticket_id: str, status: Literal["resolved", "declined"], resolution: str, idempotency_key: str = ""
    ) -> dict[str, Any]:
        """Close a ticket: resolved with what was done in a word, or declined with the reason code of the policy."""

        def make() -> list[Write]:
            """The closed ticket."""
            return [("ticket", {**ticket, **asked})]

        ticket = self.books.get("ticket", ticket_id)
        asked = {"id": ticket_id, "status": status, "resolution": resolution}
        return self.books.once("ticket_close", ticket["customer_id"], idempotency_key, asked, make)
