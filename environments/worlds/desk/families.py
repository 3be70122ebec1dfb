"""Task families of desk: for a case, what an agent that keeps to the policy does and says; the verifier's side with it.

Each family is one function from a session to a plan. It decides as the policy does, so the same function solves a task
and refuses its twin.
"""

from collections.abc import Callable
from dataclasses import dataclass

from environments.fault import Fault, FaultKind
from environments.task import Change
from environments.verifiers.outcome import shown
from environments.worlds.desk.data_model import LOST_DAYS, REFUND_DAYS, STATES, Row, add_months, days_since
from environments.worlds.desk.finding import account, found_order, proven
from environments.worlds.desk.plans import Plan, Session, Unclear, code, money, name
from environments.worlds.desk.population import company
from environments.worlds.desk.state_faults import RIGHT_OF

Solve = Callable[[Session], Plan]


def _order_status(s: Session) -> Plan:
    order = found_order(s)
    if order is None:
        missing = s.case.wish["order"]
        return s.refuse("not_found", s.say("no_order", order=missing), code(missing), met="not_found", about=missing)
    parcel = s.call("erp_get_shipments", order_id=order["id"])["rows"][-1]
    others = [name(c) for c in company()["carriers"] if c != parcel["carrier"]]
    wrong = [name(state) for state in STATES if state != order["status"]]
    facts = {"status": order["status"], "carrier": parcel["carrier"], "parcel": parcel["id"]}
    said = s.say("order_status", order=order["id"], **facts)
    return s.plan(said, name(order["status"]), name(parcel["carrier"]), code(parcel["id"]), forbidden=[*others, *wrong])


def _refund_status(s: Session) -> Plan:
    order = _there(found_order(s))
    [made] = s.rows("erp_get_payments", lambda row: row["kind"] == "refund", order_id=order["id"])
    said = s.say("refund_status", refund=made["id"], order=order["id"], amount=made["amount"])
    return s.plan(said, code(made["id"]), money(round(made["amount"] * 100)))


def _contract_terms(s: Session) -> Plan:
    customer = account(s)
    [held] = s.rows("crm_list_contracts", lambda _: True, customer_id=customer)
    said = s.say("contract_terms", contract=held["id"], plan=held["plan"], monthly=held["monthly"])
    others = [name(plan) for plan in company()["plans"] if plan != held["plan"]]
    return s.plan(said, code(held["id"]), name(held["plan"]), money(round(held["monthly"] * 100)), forbidden=others)


def _cancel_order(s: Session) -> Plan:
    order = found_order(s)
    if order is None:
        return s.refuse("missing_information", s.say("which_customer"))
    if order["status"] != "processing":
        return _too_late(s, order)
    if refused := proven(s):
        return refused
    done = Change(table="purchase", key=order["id"], columns={"status": "cancelled"})
    s.write("erp_cancel_order", done, after=["crm_verify_identity"], order_id=order["id"])
    return s.plan(s.say("cancelled", order=order["id"]), code(order["id"]))


def _too_late(s: Session, order: Row) -> Plan:
    return s.refuse("already_shipped", s.say("shipped_already", order=order["id"], status=order["status"]))


def _place(s: Session) -> dict[str, str]:
    return {part: s.case.wish[f"new_{part}"] for part in ("street", "postcode", "city")}


def _change_address(s: Session) -> Plan:
    customer = account(s)
    if refused := proven(s):
        return refused
    place = _place(s)
    done = Change(table="customer", key=customer, columns=place)
    s.write("crm_update_address", done, after=["crm_verify_identity"], customer_id=customer, **place)
    return s.plan(s.say("address_changed", city=place["city"]), name(place["city"]))


def _change_delivery(s: Session) -> Plan:
    order = _there(found_order(s))
    if order["status"] != "processing":
        return _too_late(s, order)
    if refused := proven(s):
        return refused
    place = _place(s)
    done = Change(table="purchase", key=order["id"], columns=place)
    s.write("erp_change_delivery", done, after=["crm_verify_identity"], order_id=order["id"], **place)
    return s.plan(
        s.say("delivery_changed", order=order["id"], city=place["city"]), code(order["id"]), name(place["city"])
    )


def _refund_goods(s: Session) -> Plan:
    order = _there(found_order(s))
    parcels = s.look("erp_get_shipments", order_id=order["id"])["rows"]
    arrived = parcels[-1].get("delivered_on") if parcels else None
    if arrived is None:
        raise Unclear("not delivered")
    if days_since(arrived) > REFUND_DAYS:
        return s.refuse("window_closed", s.say("window_closed", order=order["id"]))
    assert s.case.line is not None
    return _pay_back(s, order, s.case.line["price_cents"] * s.case.line["quantity"], s.case.wish["cause"])


def _pay_back(s: Session, order: Row, cents: int, reason: str) -> Plan:
    """The end of every family that pays back to somebody who has proven who they are, or does so now."""
    return proven(s) or _paid_back(s, order, cents, reason)


def _paid_back(s: Session, order: Row, cents: int, reason: str) -> Plan:
    """The refund itself, with the approval that it needs."""
    made = s.refund(order, cents, reason)
    if made is None:
        return s.refuse("approval_denied", s.say("denied", order=order["id"]))
    said = s.say("refunded", refund=made["id"], amount=made["amount"], order=order["id"])
    return s.plan(said, code(made["id"]), money(cents))


def _duplicate_charge(s: Session) -> Plan:
    order = _there(found_order(s))
    booked = s.rows("erp_get_payments", lambda _: True, order_id=order["id"])
    paid = [row for row in booked if row["kind"] == "payment"]
    if len(paid) < 2 or len(paid) < len(booked):
        s.seen += [digest for row in paid for digest in shown(row)]
        return s.refuse("nothing_due", s.say("paid_once", order=order["id"], method=paid[0]["method"]))
    return _pay_back(s, order, round(paid[-1]["amount"] * 100), "duplicate_payment")


def _lost_parcel(s: Session) -> Plan:
    order = _there(found_order(s))
    [parcel] = s.look("erp_get_shipments", order_id=order["id"])["rows"]
    if days_since(parcel["last_scan_on"]) < LOST_DAYS:
        return s.refuse("too_early", s.say("on_its_way", parcel=parcel["id"], carrier=parcel["carrier"]))
    if refused := proven(s):
        return refused
    stock = {line["sku"]: s.call("erp_check_stock", sku=line["sku"])["stock"] for line in order["lines"]}
    if any(stock[line["sku"]] < line["quantity"] for line in order["lines"]):
        return _paid_back(s, order, round(order["total"] * 100), "lost_parcel")
    taken = [
        Change(table="product", key=line["sku"], columns={"stock": stock[line["sku"]] - line["quantity"]})
        for line in order["lines"]
    ]
    sent = Change(table="shipment", columns={"order_id": order["id"]})
    made = s.write("erp_reship_order", sent, *taken, after=["crm_verify_identity"], order_id=order["id"])
    said = s.say("sent_again", order=order["id"], carrier=made["carrier"], parcel=made["id"])
    return s.plan(said, code(made["id"]), name(made["carrier"]))


def _contract_renewal(s: Session) -> Plan:
    customer = account(s)
    record = s.look("crm_get_customer", customer_id=customer)
    [held] = s.rows("crm_list_contracts", lambda _: True, customer_id=customer)
    if record["standing"] == "hold":
        return s.refuse("account_on_hold", s.say("on_hold", contract=held["id"]))
    if refused := proven(s):
        return refused
    months = int(s.case.wish["months"])
    done = Change(table="contract", key=held["id"], columns={"ends": add_months(held["ends"], months)})
    s.write("crm_renew_contract", done, after=["crm_verify_identity"], contract_id=held["id"], months=months)
    said = s.say("renewed", contract=held["id"], plan=held["plan"], monthly=held["monthly"])
    return s.plan(said, code(held["id"]), money(round(held["monthly"] * 100)))


def _triage(s: Session) -> Plan:
    ticket, wish = s.case.wish["ticket"], s.case.wish
    if s.case.reference:
        [open_one] = s.rows("ticket_list", lambda row: row["status"] == "open", customer_id=account(s))
        ticket = open_one["id"]
    [mail] = s.call("ticket_get", ticket_id=ticket)["mails"]
    s.must_see += shown(s.call("mail_read", mail_id=mail["id"]))
    where = {k: wish[k] for k in ("category", "queue", "priority")}
    s.write("ticket_route", Change(table="ticket", key=ticket, columns=where), ticket_id=ticket, **where)
    said = s.say("routed", ticket=ticket, queue=where["queue"], priority=where["priority"])
    return s.plan(said, code(ticket))


def _report(s: Session) -> Plan:
    order, wish = _there(found_order(s)), s.case.wish
    where = {k: wish[k] for k in ("category", "queue", "priority")}
    row = {"customer_id": s.customer_id, "order_id": order["id"], **where}
    made = s.write("ticket_create", Change(table="ticket", columns=row), **row)
    said = s.say("opened", ticket=made["id"], order=order["id"], queue=where["queue"])
    return s.plan(said, code(made["id"]))


def _account_shows(s: Session) -> Plan:
    """A refund, then CRM's figure once it has arrived there: one that is worked out does not count."""
    order = _there(found_order(s))
    before = s.call("crm_get_customer", customer_id=s.customer_id)["account"]["refunded"]
    assert s.case.line is not None
    cents = s.case.line["price_cents"] * s.case.line["quantity"]
    if proven(s):
        raise Unclear("identity")
    made = s.refund(order, cents, s.case.wish["cause"])
    for _ in range(12 if made else 0):
        record = s.call("crm_get_customer", customer_id=s.customer_id)
        if record["account"]["refunded"] != before:
            s.must_see += shown(record)
            total = record["account"]["refunded"]
            said = s.say("account_shows", refund=made["id"], total=total)
            return s.plan(said, code(made["id"]), money(round(total * 100)))
    raise Unclear("CRM never showed it")


def _goodwill(s: Session) -> Plan:
    order = _there(found_order(s))
    s.call("crm_list_rights")
    s.call("crm_request_right", right="goodwill")
    if s.error != "right_denied":
        raise Unclear("goodwill was granted")
    return s.refuse("not_permitted", s.say("no_goodwill", order=order["id"]), met="right_denied", about="goodwill")


def _there(order: Row | None) -> Row:
    if order is None:
        raise Unclear("no such order")
    return order


def _lost(tool: str, nth: int = 1) -> Fault:
    return Fault(kind=FaultKind.LOST_RESPONSE, tool=tool, nth=nth)


def _expired(tool: str) -> Fault:
    return Fault(kind=FaultKind.EXPIRED_RIGHT, tool=tool, size=3)


def _slow(tool: str) -> Fault:
    return Fault(kind=FaultKind.SLOW_CALL, tool=tool, nth=2, size=3)


@dataclass(frozen=True)
class Family:
    """One kind of task."""

    depth: int
    """As `environments.task.Task.depth` counts."""
    solve: Solve
    main: str
    """The tool whose call meets the faults."""
    always: tuple[Fault, ...] = ()
    """Faults that make the family what it is."""
    more: tuple[Fault, ...] = ()
    """Faults of the axis, one more at each level, where they are not the usual ones."""
    references: tuple[int, ...] = (0, 1, 2)
    """Ways to tell the order that make sense in it."""

    def faults(self, level: int) -> tuple[Fault, ...]:
        """The faults of a level of the axis of faults: those of the family, and as many of the axis."""
        usual = (_lost(self.main), _expired(self.main) if self.main in RIGHT_OF else _slow(self.main))
        return (*self.always, *(self.more or usual)[:level])


FAMILIES: dict[str, Family] = {
    "order_status": Family(2, _order_status, "erp_get_shipments"),
    "refund_status": Family(2, _refund_status, "erp_get_payments"),
    "contract_terms": Family(2, _contract_terms, "crm_list_contracts", references=(1, 2)),
    "cancel_order": Family(4, _cancel_order, "erp_cancel_order"),
    "change_address": Family(4, _change_address, "crm_update_address", references=(1, 2)),
    "change_delivery": Family(4, _change_delivery, "erp_change_delivery"),
    "refund_small": Family(4, _refund_goods, "erp_issue_refund"),
    "refund_large": Family(4, _refund_goods, "erp_issue_refund"),
    "duplicate_charge": Family(
        4, _duplicate_charge, "erp_issue_refund",
        more=(Fault(kind=FaultKind.PARTIAL_PAGE, tool="erp_get_payments"), _lost("erp_issue_refund")),
    ),
    "lost_parcel": Family(4, _lost_parcel, "erp_reship_order"),
    "lost_parcel_refund": Family(4, _lost_parcel, "erp_issue_refund"),
    "contract_renewal": Family(4, _contract_renewal, "crm_renew_contract", references=(1, 2)),
    "ticket_triage": Family(4, _triage, "ticket_route", references=(0, 1)),
    "escalation": Family(4, _report, "ticket_create", references=(0, 1)),
    "account_shows": Family(
        4, _account_shows, "erp_issue_refund",
        always=(Fault(kind=FaultKind.CROSS_SYSTEM_DELAY, tool="crm_get_customer", size=4),),
        more=(Fault(kind=FaultKind.STALE_READ, tool="crm_get_customer", nth=5), _lost("erp_issue_refund")),
    ),
    "expired_right": Family(
        4, _refund_goods, "erp_issue_refund",
        always=(_expired("erp_issue_refund"),), more=(_lost("crm_request_right"), _lost("erp_issue_refund")),
    ),
    "lost_response": Family(
        4, _refund_goods, "erp_issue_refund",
        always=(_lost("erp_issue_refund"),),
        more=(_lost("erp_request_approval"), Fault(kind=FaultKind.DOUBLE_DELIVERY, tool="erp_issue_refund", nth=2)),
    ),
    "goodwill": Family(0, _goodwill, "crm_request_right"),
}  # fmt: skip
"""Every family by name; refusals are cases of these."""
