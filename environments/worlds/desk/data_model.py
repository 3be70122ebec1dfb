"""What exists in desk: the tables of its three systems, what the policy's numbers are, and which side a name stands on.

CRM holds customers, contracts, identity checks and the agent's rights; ERP orders, shipments, payments, refunds and
approvals; mail the mailboxes (the desk's and each customer's) and the tickets. Money is kept in whole cents.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from environments.seeds import unit_hash
from environments.task import Split

TODAY = date(2026, 6, 10)
"""The world's date; within a session time passes in tool calls."""
DELAY_CALLS = 2
"""What ERP writes reaches CRM this many calls later, where the task says nothing else."""
DECISION_CALLS = 2
"""A supervisor decides on an approval this many calls after it was asked for."""
REFUND_LIMIT_CENTS = 15000
"""Above it a refund needs an approval."""
REFUND_DAYS = 30
"""How long after delivery goods can be refunded."""
LOST_DAYS = 10
"""A parcel without a scan for this many days is lost."""
REFUSAL_CODES = (
    "missing_information", "not_found", "identity_not_verified", "already_shipped", "window_closed", "nothing_due",
    "approval_denied", "not_permitted", "too_early", "account_on_hold",
)  # fmt: skip
"""Why a request is not fulfilled, as the policy names it."""
DESK_MAILBOX = "desk@hollinpark.example"

SCHEMA = """
CREATE TABLE customer (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, street TEXT NOT NULL, postcode TEXT NOT NULL,
    city TEXT NOT NULL, country TEXT NOT NULL, standing TEXT NOT NULL, since TEXT NOT NULL
);
CREATE INDEX customer_name ON customer (name);
CREATE TABLE contract (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, plan TEXT NOT NULL, monthly_cents INTEGER NOT NULL,
    starts TEXT NOT NULL, ends TEXT NOT NULL, status TEXT NOT NULL
);
CREATE INDEX contract_customer ON contract (customer_id);
CREATE TABLE staff_right (
    id TEXT PRIMARY KEY, role TEXT NOT NULL, limit_cents INTEGER, valid_until TEXT NOT NULL, grantable INTEGER NOT NULL
);
CREATE TABLE verification (id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, method TEXT NOT NULL);
CREATE TABLE product (id TEXT PRIMARY KEY, name TEXT NOT NULL, price_cents INTEGER NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE purchase (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, ordered_on TEXT NOT NULL, status TEXT NOT NULL,
    total_cents INTEGER NOT NULL, street TEXT NOT NULL, postcode TEXT NOT NULL, city TEXT NOT NULL
);
CREATE INDEX purchase_customer ON purchase (customer_id);
CREATE TABLE purchase_line (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, sku TEXT NOT NULL, product TEXT NOT NULL,
    quantity INTEGER NOT NULL, price_cents INTEGER NOT NULL
);
CREATE INDEX line_order ON purchase_line (order_id);
CREATE TABLE shipment (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, carrier TEXT NOT NULL, status TEXT NOT NULL,
    shipped_on TEXT NOT NULL, last_scan_on TEXT NOT NULL, delivered_on TEXT
);
CREATE INDEX shipment_order ON shipment (order_id);
CREATE TABLE payment (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount_cents INTEGER NOT NULL, paid_on TEXT NOT NULL,
    method TEXT NOT NULL
);
CREATE INDEX payment_order ON payment (order_id);
CREATE TABLE approval (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount_cents INTEGER NOT NULL, reason TEXT NOT NULL,
    decision TEXT NOT NULL, ready_at INTEGER NOT NULL
);
CREATE TABLE refund (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount_cents INTEGER NOT NULL, reason TEXT NOT NULL,
    approval_id TEXT, booked_on TEXT NOT NULL
);
CREATE INDEX refund_order ON refund (order_id);
CREATE TABLE ticket (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, order_id TEXT, category TEXT NOT NULL, queue TEXT NOT NULL,
    priority TEXT NOT NULL, status TEXT NOT NULL, resolution TEXT, opened_on TEXT NOT NULL
);
CREATE INDEX ticket_customer ON ticket (customer_id);
CREATE TABLE mail (
    id TEXT PRIMARY KEY, sender TEXT NOT NULL, recipient TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL,
    sent_on TEXT NOT NULL, ticket_id TEXT
);
CREATE INDEX mail_recipient ON mail (recipient);
CREATE INDEX mail_sender ON mail (sender);
CREATE INDEX mail_ticket ON mail (ticket_id);
"""
"""Keys look like CU1001: letters of the table, then a number."""

PREFIX = {
    "customer": "CU", "contract": "CT", "verification": "VF", "purchase": "SO", "purchase_line": "LN", "shipment": "SH",
    "payment": "PY", "approval": "AP", "refund": "RF", "ticket": "TK", "mail": "ML",
}  # fmt: skip
STATES = ("processing", "shipped", "delivered", "cancelled")
"""Of an order, in ERP's words."""
RIGHTS = ("refund", "cancel", "address", "reship", "contract", "goodwill")
RefundReason = Literal["damaged", "unwanted", "duplicate_payment", "lost_parcel", "goodwill"]
Category = Literal["delivery", "refund", "billing", "contract", "account", "complaint", "safety"]
Queue = Literal["front", "billing", "logistics", "contracts", "supervisor", "safety"]
Priority = Literal["low", "normal", "high", "urgent"]
Row = dict[str, Any]


def iso(days: int) -> str:
    """The date `days` after the world's date; negative for before."""
    return (TODAY + timedelta(days=days)).isoformat()


def days_since(day: str) -> int:
    """How many days ago `day` was."""
    return (TODAY - date.fromisoformat(day)).days


def side_of(name: str) -> Split:
    """Which side of the hidden line a customer stands on; people of one name stand together (pipeline law 7)."""
    side = unit_hash("desk", "split", name)
    return "train" if side < 0.7 else "dev" if side < 0.85 else "hidden"


def add_months(day: str, months: int) -> str:
    """The same day `months` later; the 28th where that month could lack it."""
    start = date.fromisoformat(day)
    month = start.month - 1 + months
    return date(start.year + month // 12, month % 12 + 1, min(start.day, 28)).isoformat()


@dataclass(frozen=True)
class Customer:
    """A customer with everything of theirs, as it stands at the start of a session."""

    row: Row
    orders: tuple["Purchase", ...]
    contracts: tuple[Row, ...]

    @property
    def split(self) -> Split:
        """Side of the hidden line."""
        return side_of(self.row["name"])


@dataclass(frozen=True)
class Purchase:
    """An order with its lines, shipment and payments."""

    row: Row
    lines: tuple[Row, ...]
    shipment: Row | None
    payments: tuple[Row, ...]
    refunds: tuple[Row, ...]
