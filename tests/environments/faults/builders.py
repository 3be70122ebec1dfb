"""A small shop on SQLite: tickets with and without idempotency keys, refunds behind an approval, a list to page."""

from collections.abc import Sequence
from typing import Any

from environments.episode import Episode
from environments.fault import Fault, FaultKind
from environments.policies.scripted import Scripted
from environments.rollout import rollouts
from environments.state import SqliteState, SqliteWorld, image_of
from environments.task import Call, Change, Goal, Order, Task, UserGoal
from environments.tool import Effect, ToolRefusal, tool
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool

SCHEMA = """
CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT, amount INTEGER);
CREATE TABLE approval (number INTEGER PRIMARY KEY, order_id TEXT);
CREATE TABLE ticket (number INTEGER PRIMARY KEY, order_id TEXT, idempotency_key TEXT);
"""
ORDERS = [{"id": i, "status": "paid", "amount": n} for n, i in enumerate("ABCDE", 1)]
IMAGE = image_of(SCHEMA, {"orders": ORDERS})


class ShopTools:
    """What can be done in the shop."""

    def __init__(self, state: SqliteState) -> None:
        self.state = state

    @tool(Effect.READ)
    def list_orders(self) -> list[dict[str, Any]]:
        """Every order."""
        return self.state.rows("orders")

    @tool(Effect.READ)
    def list_tickets(self) -> dict[str, Any]:
        """Every ticket, with their number."""
        tickets = self.state.rows("ticket")
        return {"count": len(tickets), "tickets": tickets}

    @tool(Effect.READ)
    def get_order(self, order_id: str) -> dict[str, Any]:
        """One order."""
        row = self.state.row("orders", order_id)
        if row is None:
            raise ToolRefusal("unknown_order", order_id=order_id)
        return row

    @tool(Effect.WRITE)
    def set_status(self, order_id: str, status: str) -> dict[str, Any]:
        """Give an order another status."""
        before = self.get_order(order_id)["status"]
        self.state.connection.execute("UPDATE orders SET status = ? WHERE id = ?", (status, order_id))
        self.state.record("set_status", order_id, before, status)
        return {"order_id": order_id, "status": status}

    @tool(Effect.WRITE)
    def delete_order(self, order_id: str) -> dict[str, Any]:
        """Delete an order."""
        before = self.get_order(order_id)["status"]
        self.state.connection.execute("DELETE FROM orders WHERE id = ?", (order_id,))
        self.state.record("delete_order", order_id, before, None)
        return {"deleted": order_id}

    @tool(Effect.WRITE)
    def approve(self, order_id: str) -> dict[str, Any]:
        """Approve the refund of an order."""
        self.get_order(order_id)
        self.state.connection.execute("INSERT INTO approval (order_id) VALUES (?)", (order_id,))
        self.state.record("approve", order_id, None, "approved")
        return {"approved": order_id}

    @tool(Effect.WRITE)
    def refund(self, order_id: str, idempotency_key: str = "") -> dict[str, Any]:
        """Refund an order with a ticket; the same key again gives the same ticket."""
        self.get_order(order_id)
        done = "SELECT number FROM ticket WHERE idempotency_key = ?"
        known = self.state.connection.execute(done, (idempotency_key,)).fetchone() if idempotency_key else None
        if known:
            return {"ticket": known[0]}
        made = self.state.connection.execute(
            "INSERT INTO ticket (order_id, idempotency_key) VALUES (?, ?)", (order_id, idempotency_key or None)
        )
        self.state.record("refund", order_id, None, str(made.lastrowid), idempotency_key=idempotency_key or None)
        return {"ticket": made.lastrowid}


class Shop(SqliteWorld):
    """One session of the shop."""

    name = "shop"
    version = "shop-1"
    units = {"amount": "euros"}

    def __init__(self) -> None:
        state = SqliteState(IMAGE)
        super().__init__(state, ShopTools(state))


def fault(kind: str, tool: str, nth: int = 1, size: int = 1) -> Fault:
    """A fault by the name of its kind."""
    return Fault(kind=FaultKind(kind), tool=tool, nth=nth, size=size)


def do(name: str, **arguments: Any) -> Call:
    """A call."""
    return Call(name=name, arguments=arguments)


GOLD = (do("approve", order_id="A"), do("refund", order_id="A", idempotency_key="k1"))


def shop_task(
    *faults: Fault, gold: Sequence[Call] = GOLD, max_calls: int = 6, user: UserGoal | None = None, **more: Any
) -> Task:
    """Refund order A: one approval, then exactly one ticket."""
    changes = (Change(table="approval", columns={"order_id": "A"}), Change(table="ticket", columns={"order_id": "A"}))
    goal = Goal(changes=changes, order=(Order(first="approve", then="refund", key="A"),))
    return Task(
        world="shop", family="refund", depth=4, instruction="Refund order A, please.", goal=goal, faults=faults,
        gold_calls=tuple(gold), tools=tuple(Shop().tools()), gold_answer="settled.", max_calls=max_calls, user=user,
        **more,
    )  # fmt: skip


def played(tasks: Sequence[Task], policy: Scripted, **how: Any) -> list[Episode]:
    """Episodes of `policy` in the shop."""
    chosen = {"k": 1, "seed": 0, **how}
    found = rollouts(tasks, policy, chosen.pop("pool", None) or WorldPool(Shop), OutcomeVerifier(), **chosen)
    return [episode for part in found for episode in part]
