"""How a task of desk is solved, and what its verifier must find: an agent that keeps to the policy plays in the world.

It reacts to what it meets as an agent should: a lost call is repeated under the same key, a right that has run out is
asked for again, a list is read to its end, an approval and CRM's figures are waited for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from environments.fault import Fault, FaultKind
from environments.faults.wrapper import PARTIAL, with_faults
from environments.task import Call, Change, Fact, Order, Task, Written
from environments.tool import Effect
from environments.verifiers.outcome import shown
from environments.world import World
from environments.worlds.desk.answers import Language, sentence
from environments.worlds.desk.books import euros
from environments.worlds.desk.data_model import REFUND_LIMIT_CENTS, Customer, Purchase, Row
from environments.worlds.desk.state_faults import rows_of
from environments.worlds.desk.world import DeskWorld

PATIENCE = 12
"""Looks at a thing that is not there yet before the plan is given up."""


class Level(NamedTuple):
    """How hard a task is, axis by axis; a task moves along one of them."""

    depth: int = 0
    """0: the order number is given; 1: what was ordered, by whom; 2: a ticket, which is then answered and closed."""
    entities: int = 0
    """0: nobody shares the customer's name; 1: one does; 2: eight do, over two pages. Told as at depth 1."""
    faults: int = 0
    """0: every call goes well, but for what makes the family; 1: the main call meets a fault; 2: more do."""


@dataclass(frozen=True)
class Case:
    """What a task is about: rows of the world as it starts, and what the customer wants."""

    customer: Customer
    order: Purchase | None = None
    line: Row | None = None
    contract: Row | None = None
    wish: dict[str, str] = field(default_factory=dict)
    """What the customer says beside who they are: a new address, a number of months, a claimed postcode ..."""
    reference: int = 0
    """How the order is told: 0 by its number, 1 by what was ordered and by whom, 2 in the mail of a ticket."""
    ticket: str | None = None
    language: Language = "en"


@dataclass(frozen=True)
class Plan:
    """The solution of a task and what its verifier must find."""

    calls: tuple[Call, ...]
    answer: str
    required: tuple[Fact, ...] = ()
    forbidden: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()
    order: tuple[Order, ...] = ()
    seen: tuple[str, ...] = ()
    reason: str | None = None
    evidence_error: str | None = None
    evidence_about: str | None = None
    writes: tuple[Written, ...] = ()
    """What the ledger holds at its end."""


class Unclear(Exception):
    """The world gives no clear answer for this case."""


class Session:
    """Plays one case by the policy and keeps what it did and what must hold at the end."""

    def __init__(self, case: Case, initial: Task, faults: Sequence[Fault]) -> None:
        """Start in the initial state of a task.

        Args:
            case: what it is about.
            initial: a task with the rows and faults that it starts with.
            faults: the faults on the way to the world.
        """
        inner = _planning_world()
        inner.reset()
        inner.begin(initial)
        self.case = case
        self.world: World = with_faults(inner, faults) if faults else inner
        self.calls: list[Call] = []
        self.changes: list[Change] = []
        self.order: list[Order] = []
        self.seen: list[str] = []
        """Digests of what a refusal turns on."""
        self.must_see: list[str] = []
        """Digests of what every right end turns on."""
        self.others = [code(row["id"]) for fault in faults for row in _doubles(fault)]
        """Keys of what people of the same name have: an answer that gives them beside the right one is a guess."""
        self.error: str | None = None
        """The refusal that the last call met."""

    @property
    def customer_id(self) -> str:
        """Key of the customer whom the case is about."""
        return str(self.case.customer.row["id"])

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Run one call and make good what goes wrong with it."""
        if self.world.tools()[tool].effect is Effect.WRITE:
            arguments["idempotency_key"] = f"{tool}-{sum(c.name == tool for c in self.calls) + 1}"
        shown_ = self._send(tool, arguments)
        for _ in range(PATIENCE):
            self.error = shown_.get("error") if isinstance(shown_, dict) else None
            if self.error == "right_expired":
                self.call("crm_request_right", right=shown_["right"])
                self.changes.append(Change(table="staff_right", key=shown_["right"], columns={}))
            elif self.error != "timeout":
                return shown_
            shown_ = self._send(tool, arguments)
        raise Unclear(f"{tool} never came through")

    def _send(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append(Call(name=name, arguments=dict(arguments)))
        return self.world.call(name, arguments)

    def say(self, which: str, **slots: Any) -> str:
        """A sentence of the answer, in the customer's language."""
        return sentence(which, self.case.language, **slots)

    def look(self, tool: str, /, **arguments: Any) -> Any:
        """A READ call that a refusal turns on: before one, it must have been shown."""
        found = self.call(tool, **arguments)
        self.seen += shown(found)[:1]
        return found

    def rows(self, tool: str, wanted: Callable[[Row], bool], /, **arguments: Any) -> list[Row]:
        """Rows of a list that are `wanted`; all its pages are read."""
        found: list[Row] = []
        page = self.call(tool, **arguments)
        for _ in range(PATIENCE):
            if self.error:
                return []
            found += page["rows"]
            if page["next_cursor"] is None and PARTIAL not in page:
                break
            page = self.call(tool, **arguments, cursor=found[-1]["id"])
        return [row for row in found if wanted(row)]

    def write(self, tool: str, /, *changes: Change, after: Sequence[str] = (), **arguments: Any) -> Any:
        """A WRITE call with the changes that it must make, each of the tools in `after` before it."""
        done = self.call(tool, **arguments)
        if self.error:
            raise Unclear(f"{tool}: {self.error}")
        self.changes += changes
        self.order += [Order(first=first, then=tool, key=self.customer_id) for first in after]
        return done

    def refund(self, order: Row, cents: int, reason: str) -> Any:
        """Pay back, with an approval first where it takes one; None where it was denied."""
        approval = self._approval(order, cents, reason) if cents > REFUND_LIMIT_CENTS else ""
        if approval is None:
            return None
        columns = {"order_id": order["id"], "amount_cents": cents, "reason": reason, "approval_id": approval or None}
        before = ["crm_verify_identity", *(["erp_request_approval"] if approval else [])]
        more = {"approval_id": approval} if approval else {}
        asked = {"order_id": order["id"], "amount": euros(cents), "reason": reason, **more}
        return self.write("erp_issue_refund", Change(table="refund", columns=columns), after=before, **asked)

    def _approval(self, order: Row, cents: int, reason: str) -> str | None:
        """Key of a supervisor's approval, waited for; None where it is denied."""
        columns = {"order_id": order["id"], "amount_cents": cents, "reason": reason}
        asked = {"order_id": order["id"], "amount": euros(cents), "reason": reason}
        change = Change(table="approval", columns=columns)
        made = self.write("erp_request_approval", change, after=["crm_verify_identity"], **asked)
        for _ in range(PATIENCE):
            found = self.call("erp_get_approval", approval_id=made["id"])
            if found["status"] == "denied":
                self.seen += shown(found)[:1]
            if found["status"] != "pending":
                return made["id"] if found["status"] == "approved" else None
        raise Unclear("the approval was never decided")

    def plan(self, answer: str, *required: Fact, forbidden: Sequence[Fact] = ()) -> Plan:
        """The finished plan; a ticket is answered and closed."""
        if self.case.ticket:
            self._close(self.case.ticket, answer, required, None)
        parts = (
            (*forbidden, *self.others),
            tuple(self.changes),
            tuple(self.order),
            tuple(dict.fromkeys(self.must_see)),
        )
        return Plan(tuple(self.calls), answer, required, *parts, writes=self._written())

    def _written(self) -> tuple[Written, ...]:
        """The side effects of the agent's calls so far, identity checks aside."""
        return tuple(
            Written(tool=e.tool, key=e.key)
            for e in self.world.ledger()
            if e.actor == "agent" and e.tool not in HARMLESS
        )

    def refuse(
        self, reason: str, answer: str, *required: Fact, met: str | None = None, about: str | None = None
    ) -> Plan:
        """The finished plan of a refusal: it ends with its code, and a ticket is declined.

        Args:
            reason: code of the policy.
            answer: what is said before the code.
            required: facts that it must state.
            met: error that a tool must have answered before.
            about: whom or what that error must name.
        """
        if self.case.ticket:
            self._close(self.case.ticket, answer, required, reason)
        parts = ((), tuple(self.changes), tuple(self.order), tuple(dict.fromkeys(self.seen)), reason, met, about)
        return Plan(tuple(self.calls), f"{answer} Reason: {reason}", required, *parts, writes=self._written())

    def _close(self, ticket: str, answer: str, required: Sequence[Fact], reason: str | None) -> None:
        main = [c.name for c in self.calls if c.name in _MAIN][-1:]
        mail = {"recipient": self.case.customer.row["email"], "ticket_id": ticket}
        sent = Change(table="mail", columns=mail, states={"body": tuple(required), "subject": ()})
        self.write(
            "mail_send", sent, customer_id=self.customer_id, subject="Your request", body=answer, ticket_id=ticket
        )
        ends = {"status": "declined", "resolution": reason} if reason else {"status": "resolved", "resolution": "done"}
        closed = Change(table="ticket", key=ticket, columns=ends)
        self.write(
            "ticket_close",
            closed,
            after=[*main, "mail_send"] if not reason else ["mail_send"],
            ticket_id=ticket,
            **ends,
        )


HARMLESS = ("crm_verify_identity",)
"""Tools whose entries in the ledger count for nothing: who is asked once more who they are comes to no harm."""
_MAIN = {
    "erp_cancel_order", "erp_change_delivery", "erp_issue_refund", "erp_reship_order", "crm_update_address",
    "crm_renew_contract",
}  # fmt: skip
"""What must be done before a ticket about it is closed."""


def _doubles(fault: Fault) -> list[Row]:
    """Orders and contracts of the people whom a fault puts beside the customer."""
    rows = rows_of(fault) if fault.kind is FaultKind.HOMONYM else {}
    return [*rows.get("purchase", ()), *rows.get("contract", ())]


@cache
def _planning_world() -> DeskWorld:
    return DeskWorld()


def money(cents: int) -> Fact:
    """An amount in euros."""
    return Fact(kind="number", value=str(euros(cents)), unit="euros")


def code(value: str) -> Fact:
    """The key of a row."""
    return Fact(kind="code", value=value)


def name(value: str) -> Fact:
    """Words that the answer must hold as they are."""
    return Fact(kind="name", value=value)
