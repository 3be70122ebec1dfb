"""The shop: what its policy says of cancelling, changing, returning and exchanging, on a handful of orders."""

from pathlib import Path
from typing import Any

import pytest

from environments.worlds.retail.world import RetailWorld
from tests.environments.tau2_folders import small_tau2

LAMPS = {"item_ids": ["101"], "new_item_ids": ["102"], "payment_method_id": "gift_card_7"}

BACK = {"order_id": "#W2", "payment_method_id": "credit_card_1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_tau2(tmp_path_factory.mktemp("tau2"))


@pytest.fixture
def world(folder: Path) -> RetailWorld:
    world = RetailWorld(folder)
    world.state.begin()
    return world


def order(world: RetailWorld, order_id: str) -> dict[str, Any]:
    found: dict[str, Any] = world.call("get_order_details", {"order_id": order_id})
    return found


def balance(world: RetailWorld) -> float:
    user = world.call("get_user_details", {"user_id": "ada_byron_1001"})
    return float(user["payment_methods"]["gift_card_7"]["balance"])


def changed(world: RetailWorld) -> list[tuple[str, str]]:
    return [(c.table, c.key) for c in world.changes()]


def test_a_cancelled_order_is_refunded_to_how_it_was_paid_and_a_gift_card_at_once(world: RetailWorld) -> None:
    world.call("cancel_pending_order", {"order_id": "#W1", "reason": "ordered by mistake"})
    held = order(world, "#W1")
    assert (held["status"], held["cancel_reason"]) == ("cancelled", "ordered by mistake")
    assert held["payment_history"][1] == {
        "transaction_type": "refund", "amount": 38.25, "payment_method_id": "gift_card_7",
    }  # fmt: skip
    assert balance(world) == 58.25
    assert changed(world) == [("orders", "#W1"), ("users", "ada_byron_1001")]


def test_items_of_a_pending_order_change_once_and_the_difference_is_paid(world: RetailWorld) -> None:
    world.call("modify_pending_order_items", {"order_id": "#W1", **LAMPS})
    held = order(world, "#W1")
    assert [(i["item_id"], i["price"]) for i in held["items"]] == [("102", 34.5), ("201", 8.25)]
    assert held["payment_history"][1]["amount"] == 4.5
    assert balance(world) == 15.5
    again = world.call("modify_pending_order_items", {"order_id": "#W1", **LAMPS})
    assert (again["error"], again["status"]) == ("wrong_status", "pending (item modified)")
    assert world.call("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})["error"]


def test_a_cheaper_item_gives_money_back(world: RetailWorld) -> None:
    down = {"item_ids": ["102"], "new_item_ids": ["101"], "payment_method_id": "gift_card_7"}
    world.call("modify_pending_order_items", {"order_id": "#W4", **down})
    assert order(world, "#W4")["payment_history"][1]["transaction_type"] == "refund"
    assert balance(world) == 24.5


def test_payment_moves_whole_from_one_method_to_another(world: RetailWorld) -> None:
    small = world.call("modify_pending_order_payment", {"order_id": "#W4", "payment_method_id": "gift_card_7"})
    assert small["error"] == "gift_card_too_small"
    world.call("modify_pending_order_payment", {"order_id": "#W1", "payment_method_id": "credit_card_1"})
    kinds = [p["transaction_type"] for p in order(world, "#W1")["payment_history"]]
    assert (kinds, balance(world)) == (["payment", "payment", "refund"], 58.25)
    same = world.call("modify_pending_order_payment", {"order_id": "#W4", "payment_method_id": "credit_card_1"})
    assert same["error"] == "same_payment_method"


def test_a_return_goes_to_how_it_was_paid_or_to_a_gift_card(world: RetailWorld) -> None:
    done = {"order_id": "#W2", "item_ids": ["101", "101"], "payment_method_id": "gift_card_7"}
    held = world.call("return_delivered_order_items", done)
    assert (held["status"], held["return_items"]) == ("return requested", ["101", "101"])
    assert balance(world) == 20, "a refund comes once the items have"


def test_an_exchange_notes_the_difference_and_takes_no_money_yet(world: RetailWorld) -> None:
    done = {"order_id": "#W2", "item_ids": ["101"], "new_item_ids": ["102"], "payment_method_id": "gift_card_7"}
    held = world.call("exchange_delivered_order_items", done)
    assert (held["status"], held["exchange_price_difference"]) == ("exchange requested", 4.5)
    assert balance(world) == 20
    assert world.call("exchange_delivered_order_items", done)["error"] == "wrong_status"


REFUSED = [
    ("get_order_details", {"order_id": "W1"}, "not_found"),
    ("get_item_details", {"item_id": "999"}, "not_found"),
    ("find_user_id_by_email", {"email": "nobody@example.com"}, "user_not_found"),
    ("find_user_id_by_name_zip", {"first_name": "Ada", "last_name": "Byron", "zip": "99999"}, "user_not_found"),
    ("cancel_pending_order", {"order_id": "#W2", "reason": "no longer needed"}, "wrong_status"),
    ("cancel_pending_order", {"order_id": "#W1", "reason": "too dear"}, "bad_arguments"),
    ("modify_pending_order_items", {"order_id": "#W1", **LAMPS, "new_item_ids": []}, "unequal_lists"),
    ("modify_pending_order_items", {"order_id": "#W1", **LAMPS, "new_item_ids": ["101"]}, "same_item"),
    ("modify_pending_order_items", {"order_id": "#W1", **LAMPS, "new_item_ids": ["201"]}, "other_product"),
    ("modify_pending_order_items", {"order_id": "#W1", **LAMPS, "new_item_ids": ["104"]}, "not_available"),
    ("modify_pending_order_items", {"order_id": "#W1", **LAMPS, "new_item_ids": ["103"]}, "gift_card_too_small"),
    ("modify_pending_order_items", {"order_id": "#W1", **LAMPS, "payment_method_id": "x"}, "unknown_payment_method"),
    ("modify_pending_order_items", {"order_id": "#W3", **LAMPS}, "wrong_status"),
    ("exchange_delivered_order_items", {"order_id": "#W1", **LAMPS}, "wrong_status"),
    ("exchange_delivered_order_items", {"order_id": "#W2", **LAMPS, "new_item_ids": ["103"]}, "gift_card_too_small"),
    ("return_delivered_order_items", {**BACK, "item_ids": []}, "no_items"),
    ("return_delivered_order_items", {**BACK, "item_ids": ["101"] * 3}, "item_not_in_order"),
    ("calculate", {"expression": "open('x')"}, "bad_expression"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "code"), REFUSED)
def test_what_the_policy_does_not_allow_is_refused_by_name_and_changes_nothing(
    world: RetailWorld, tool: str, arguments: dict[str, Any], code: str
) -> None:
    before = world.state_hash()
    assert world.call(tool, arguments)["error"] == code
    assert world.state_hash() == before


def test_a_refund_to_another_card_is_refused(world: RetailWorld) -> None:
    user = world.state.need("users", "ada_byron_1001")
    user["payment_methods"]["paypal_3"] = {"source": "paypal", "id": "paypal_3"}
    world.state.put("users", "ada_byron_1001", user)
    asked = {"order_id": "#W2", "item_ids": ["101"], "payment_method_id": "paypal_3"}
    assert world.call("return_delivered_order_items", asked)["error"] == "refund_elsewhere"


def test_users_are_found_by_what_they_say_and_by_what_a_session_changed(world: RetailWorld) -> None:
    told = {"first_name": "ada", "last_name": "Byron", "zip": "02101"}
    assert world.call("find_user_id_by_name_zip", told) == {"user_id": "ada_byron_1001"}
    assert world.call("find_user_id_by_email", {"email": "BOB@example.com"}) == {"user_id": "bob_stone_1002"}
    where = {"address1": "2 Low Road", "address2": "", "city": "Salem", "state": "MA", "country": "USA", "zip": "01970"}
    world.call("modify_user_address", {"user_id": "ada_byron_1001", **where})
    assert world.call("find_user_id_by_name_zip", told)["error"] == "user_not_found"
    assert world.call("find_user_id_by_name_zip", {**told, "zip": "01970"}) == {"user_id": "ada_byron_1001"}


def test_a_handover_is_in_the_ledger_and_in_no_document(world: RetailWorld) -> None:
    assert world.call("transfer_to_human_agents", {"summary": "cannot"}) == {"status": "transferred"}
    assert [e.tool for e in world.ledger()] == ["transfer_to_human_agents"]
    assert list(world.changes()) == []


def test_sessions_do_not_see_each_other_and_a_reset_forgets(folder: Path, world: RetailWorld) -> None:
    other, start = RetailWorld(folder), world.state_hash()
    world.call("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})
    assert order(other, "#W1")["status"] == "pending"
    assert other.state_hash() == start != world.state_hash()
    world.reset()
    assert world.state_hash() == start
    assert order(world, "#W1")["status"] == "pending"
