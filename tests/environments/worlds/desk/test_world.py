"""One session of desk: pages, keys, rights, identity, approvals, and the way from ERP to CRM."""

import json

import pytest

from environments.fault import Fault, FaultKind, UnplayableTask
from environments.tool import Effect
from environments.worlds.desk.data_model import DELAY_CALLS, TODAY
from environments.worlds.desk.population import customers, population
from environments.worlds.desk.state_faults import RIGHT_OF
from environments.worlds.desk.world import DeskWorld
from tests.environments.worlds.desk.builders import NOTHING, order_in, world


def refund(desk: DeskWorld, order: str, amount: float = 10, **more: str) -> dict:
    shown: dict = desk.call("erp_issue_refund", {"order_id": order, "amount": amount, "reason": "damaged", **more})
    return shown


def with_fault(kind: FaultKind, tool: str = "erp_issue_refund", size: int = 1, seed: int = 0) -> DeskWorld:
    return world(NOTHING.model_copy(update={"faults": (Fault(kind=kind, tool=tool, size=size, seed=seed),)}))


def test_there_are_enough_tools_and_each_write_takes_a_key() -> None:
    tools = world().tools()
    writes = [t for t in tools.values() if t.effect is Effect.WRITE]
    assert len(tools) >= 25
    assert len(writes) >= 13
    assert all("idempotency_key" in t.arguments.model_fields and "idempotency_key" not in t.required for t in writes)


def test_the_policy_is_part_of_the_world_and_of_its_version() -> None:
    desk = world()
    assert TODAY.isoformat() in desk.policy
    assert "approval comes first" in desk.policy
    assert desk.version.startswith("desk-")


def test_the_same_key_again_gives_the_first_result_and_writes_nothing() -> None:
    desk, order = world(), order_in("delivered")["id"]
    first = refund(desk, order, idempotency_key="k1")
    lines, state = desk.ledger(), desk.state_hash()
    assert refund(desk, order, idempotency_key="k1") == first
    assert (desk.ledger(), desk.state_hash()) == (lines, state)


def test_without_a_key_a_second_call_writes_again() -> None:
    desk, order = world(), order_in("delivered")["id"]
    assert refund(desk, order)["id"] != refund(desk, order)["id"]
    assert [c.table for c in desk.changes()] == ["refund", "refund"]


def test_one_key_cannot_stand_for_two_requests() -> None:
    desk, order = world(), order_in("delivered")["id"]
    refund(desk, order, 10, idempotency_key="k1")
    assert refund(desk, order, 11, idempotency_key="k1")["error"] == "idempotency_key_reused"
    assert len(desk.changes()) == 1


def test_a_key_repeats_a_call_that_would_be_refused_a_second_time() -> None:
    desk, order = world(), order_in("processing")["id"]
    first = desk.call("erp_cancel_order", {"order_id": order, "idempotency_key": "c"})
    assert first["status"] == "cancelled"
    assert desk.call("erp_cancel_order", {"order_id": order, "idempotency_key": "c"}) == first
    assert desk.call("erp_cancel_order", {"order_id": order})["error"] == "not_cancellable"


def test_the_ledger_says_who_what_when_under_which_key_from_what_to_what() -> None:
    desk, order = world(), order_in("processing")
    desk.call("erp_get_order", {"order_id": order["id"]})
    desk.call("erp_cancel_order", {"order_id": order["id"], "idempotency_key": "c"})
    [line] = desk.ledger()
    assert (line.actor, line.tool, line.key, line.at, line.idempotency_key) == (
        "agent", "erp_cancel_order", order["customer_id"], 2, "c",
    )  # fmt: skip
    before, after = json.loads(line.before or ""), json.loads(line.after or "")
    assert before == {"purchase": order}
    assert after == {"purchase": {**order, "status": "cancelled"}}


def test_a_list_is_read_page_by_page_and_no_row_is_missed_or_shown_twice() -> None:
    desk = world()
    busiest = max(customers(), key=lambda c: len(c.orders))
    seen, cursor = [], ""
    for _ in range(9):
        page = desk.call("erp_list_orders", {"customer_id": busiest.row["id"], "limit": 2, "cursor": cursor})
        seen += [row["id"] for row in page["rows"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == [order.row["id"] for order in busiest.orders]


def test_homonyms_come_before_and_after_the_one_who_is_meant() -> None:
    meant = next(c for c in customers() if c.contracts)
    number = int(meant.row["id"][2:])
    desk = with_fault(FaultKind.HOMONYM, "crm_find_customers", size=8, seed=number)
    first = desk.call("crm_find_customers", {"name": meant.row["name"]})
    assert len(first["rows"]) == 5
    assert meant.row["id"] not in [row["id"] for row in first["rows"]]
    second = desk.call("crm_find_customers", {"name": meant.row["name"], "cursor": first["next_cursor"]})
    rows = [*first["rows"], *second["rows"]]
    assert meant.row["id"] in [row["id"] for row in rows]
    assert len({row["email"] for row in rows}) == len(rows) == 9
    assert list(desk.changes()) == []
    double = rows[0]["id"]
    mine, theirs = (
        [row["products"] for row in desk.call("erp_list_orders", {"customer_id": key})["rows"]]
        for key in (meant.row["id"], double)
    )
    assert mine == theirs


def test_faults_that_the_world_cannot_bring_about_are_told() -> None:
    with pytest.raises(UnplayableTask, match="CU1, who does not exist"):
        with_fault(FaultKind.HOMONYM, seed=1)
    with pytest.raises(UnplayableTask, match="'mail_send', which demands no right"):
        with_fault(FaultKind.EXPIRED_RIGHT, "mail_send")


@pytest.mark.parametrize("tool", sorted(RIGHT_OF))
def test_an_expired_right_stops_its_tool_until_it_is_asked_for(tool: str) -> None:
    desk, order = with_fault(FaultKind.EXPIRED_RIGHT, tool, size=3), order_in("processing")
    place = {"street": "Mill Lane 1", "postcode": "04100", "city": "Leipzig"}
    known = {
        "customer_id": order["customer_id"], "order_id": order["id"], "amount": 10.0, "reason": "damaged", **place,
        "contract_id": population()["contract"][0]["id"], "months": 12, "email": "a@b.example",
    }  # fmt: skip
    arguments = {name: known[name] for name in desk.tools()[tool].required}
    assert desk.call(tool, arguments)["error"] == "right_expired"
    assert list(desk.changes()) == []
    desk.call("crm_request_right", {"right": RIGHT_OF[tool]})
    assert "right_expired" not in json.dumps(desk.call(tool, arguments))


def test_goodwill_is_never_granted() -> None:
    desk = world()
    assert desk.call("crm_request_right", {"right": "goodwill"})["error"] == "right_denied"
    order = order_in("delivered")["id"]
    asked = {"order_id": order, "amount": 10, "reason": "goodwill"}
    assert desk.call("erp_issue_refund", asked)["error"] == "right_expired"


def test_identity_is_what_the_customer_gives_and_no_read_tool_shows_the_postcode() -> None:
    desk, customer = world(), customers()[0]
    order, row = customer.orders[0].row, customer.row
    shown = [
        desk.call("crm_get_customer", {"customer_id": row["id"]}),
        desk.call("crm_find_customers", {"name": row["name"]}),
        desk.call("erp_get_order", {"order_id": order["id"]}),
        desk.call("erp_list_orders", {"customer_id": row["id"]}),
    ]
    assert row["postcode"] not in json.dumps(shown)
    given = {"customer_id": row["id"], "email": row["email"]}
    assert desk.call("crm_verify_identity", {**given, "postcode": "00000"})["error"] == "identity_mismatch"
    assert list(desk.ledger()) == []
    assert desk.call("crm_verify_identity", {**given, "postcode": row["postcode"]})["customer_id"] == row["id"]


@pytest.mark.parametrize(("standing", "decision"), [("good", "approved"), ("watch", "denied")])
def test_an_approval_is_pending_before_it_is_decided(standing: str, decision: str) -> None:
    desk, order = world(), order_in("delivered", standing=standing, dear=True)["id"]
    asked = {"order_id": order, "amount": 200, "reason": "damaged"}
    approval = desk.call("erp_request_approval", asked)
    assert approval["status"] == "pending"
    early = refund(desk, order, 200, approval_id=approval["id"])
    assert early["error"] == "approval_pending"
    assert desk.call("erp_get_approval", {"approval_id": approval["id"]})["status"] == decision
    late = refund(desk, order, 200, approval_id=approval["id"])
    assert late.get("error") == (None if decision == "approved" else "approval_denied")


def test_erp_lets_a_refund_pass_that_the_policy_forbids() -> None:
    desk = world()
    assert "error" not in refund(desk, order_in("delivered", dear=True)["id"], 300)


@pytest.mark.parametrize("delay", [DELAY_CALLS, 4])
def test_crm_shows_what_erp_wrote_only_after_the_delay(delay: int) -> None:
    desk = world() if delay == DELAY_CALLS else with_fault(FaultKind.CROSS_SYSTEM_DELAY, "crm_get_customer", size=delay)
    order = order_in("processing")
    read = ("crm_get_customer", {"customer_id": order["customer_id"]})
    before = desk.call(*read)["account"]
    desk.call("erp_cancel_order", {"order_id": order["id"]})
    assert desk.call("erp_get_order", {"order_id": order["id"]})["status"] == "cancelled"
    shown = [desk.call(*read)["account"] for _ in range(delay)]
    after = {**before, "open_orders": before["open_orders"] - 1}
    assert shown == [before] * (delay - 2) + [after] * 2


def test_a_lost_order_is_sent_again_out_of_stock_or_not_at_all() -> None:
    stock = {row["id"]: row["stock"] for row in population()["product"]}
    has, lacks = (
        next(
            c_order
            for c in customers()
            for c_order in c.orders
            if c_order.shipment and all((stock[line["sku"]] >= line["quantity"]) is there for line in c_order.lines)
        )
        for there in (True, False)
    )
    desk = world()
    assert desk.call("erp_reship_order", {"order_id": lacks.row["id"]})["error"] == "out_of_stock"
    assert list(desk.changes()) == []
    desk.call("erp_reship_order", {"order_id": has.row["id"]})
    tables = [change.table for change in desk.changes()]
    assert tables == ["product"] * len(has.lines) + ["shipment"]


@pytest.mark.parametrize("amount", [1e308, 0, -5, 0.001, 1e9])
def test_amounts_that_make_no_sense_are_refused(amount: float) -> None:
    desk = world()
    assert refund(desk, order_in("delivered")["id"], amount)["error"] in ("bad_amount", "amount_above_total")


def test_the_clock_counts_every_call_and_starts_anew() -> None:
    desk = world()
    desk.call("no_such_tool", {})
    desk.call("crm_list_rights", {})
    assert desk.clock == 2
    desk.reset()
    assert desk.clock == 0


def test_64_sessions_at_once_see_nothing_of_each_other() -> None:
    orders = [row["id"] for row in population()["purchase"]][:64]
    sessions = [DeskWorld() for _ in orders]
    start = sessions[0].state_hash()
    for step in range(3):  # interleaved: every session takes one step before any takes the next
        for desk, order in zip(sessions, orders, strict=True):
            refund(desk, order, 5 + step, idempotency_key=f"{order}-{step}")
    for desk, order in zip(sessions, orders, strict=True):
        booked = [(c.after or {})["order_id"] for c in desk.changes()]
        assert booked == [order] * 3
        desk.reset()
    assert {desk.state_hash() for desk in sessions} == {start}
