"""Faults on the way to a world: what happened there, what the agent sees of it, and that it happens again the same."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from environments.fault import Fault, FaultKind, UnplayableTask
from environments.faults.wrapper import TIMEOUT, FaultyWorld, Strike, cut_to, with_faults
from environments.task import Call
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.faults.builders import ORDERS, Shop, do, fault, shop_task


def faulty(*faults: Fault) -> FaultyWorld:
    world = Shop()
    world.reset()
    world.begin(shop_task())
    return with_faults(world, faults)


def seen(world: FaultyWorld, *calls: Call) -> list[Any]:
    return [world.call(c.name, c.arguments) for c in calls]


def test_a_lost_response_took_effect_and_looks_like_a_timeout() -> None:
    world = faulty(fault("lost_response", "refund"))
    assert seen(world, do("refund", order_id="A")) == [TIMEOUT]
    assert [c.table for c in world.changes()] == ["ticket"]
    assert [(e.tool, e.after) for e in world.ledger()] == [("refund", "1")]


@pytest.mark.parametrize(("key", "tickets"), [("k1", 1), ("", 2)])
def test_a_call_delivered_twice_is_answered_from_the_record_where_it_has_a_key(key: str, tickets: int) -> None:
    world = faulty(fault("double_delivery", "refund"))
    assert seen(world, do("refund", order_id="A", idempotency_key=key)) == [{"ticket": 1}], "one response, the first"
    assert len(world.ledger()) == len(world.changes()) == tickets


def test_a_stale_read_shows_the_rows_of_some_writes_ago_and_leaves_the_state_alone() -> None:
    world = faulty(*(fault("stale_read", "get_order", nth, size) for nth, size in ((2, 1), (3, 2), (4, 9))))
    seen(world, do("set_status", order_id="B", status="sent"), do("set_status", order_id="B", status="back"))
    before = (world.state_hash(), world.ledger(), world.changes())
    shown = seen(world, *[do("get_order", order_id="B")] * 5)
    assert [row["status"] for row in shown] == ["back", "sent", "paid", "paid", "back"]
    assert (world.state_hash(), world.ledger(), world.changes()) == before


def test_a_stale_read_does_not_know_new_rows_and_still_knows_deleted_ones() -> None:
    world = faulty(fault("stale_read", "list_tickets"), fault("stale_read", "list_orders", size=2))
    seen(world, do("delete_order", order_id="C"), do("refund", order_id="A"))
    tickets, orders = seen(world, do("list_tickets"), do("list_orders"))
    assert tickets == {"count": 0, "tickets": []}
    assert sorted(orders, key=lambda r: r["id"]) == ORDERS
    assert len(seen(world, do("list_orders"))[0]) == 4


def test_refused_calls_and_repeats_with_a_key_are_no_writes_for_a_stale_read() -> None:
    world = faulty(fault("stale_read", "get_order"))
    again = do("refund", order_id="A", idempotency_key="k")
    seen(world, do("set_status", order_id="A", status="sent"), again, again, do("delete_order", order_id="Z"))
    assert seen(world, do("get_order", order_id="A"))[0]["status"] == "sent", "one write ago is before the refund"


def test_a_page_is_cut_with_a_note_and_the_next_call_is_whole() -> None:
    world = faulty(fault("partial_page", "list_orders", size=2))
    cut, whole = seen(world, do("list_orders"), do("list_orders"))
    assert cut == [*ORDERS[:2], {"partial_page": {"shown": 2, "of": 5}}]
    assert whole == ORDERS


@pytest.mark.parametrize(
    ("shown", "cut"),
    [
        ({"of": "A", "rows": [1, 2, 3]}, {"of": "A", "rows": [1, 2], "partial_page": {"shown": 2, "of": 3}}),
        ([1, 2], [1, 2]),
        ({"rows": [1]}, {"rows": [1]}),
        ({"a": [1, 2, 3], "b": [1, 2, 3]}, {"a": [1, 2, 3], "b": [1, 2, 3]}),
        ({"a": 1}, {"a": 1}),
        ("text that is long", "text that is long"),
        (None, None),
    ],
)
def test_only_one_long_list_is_cut(shown: Any, cut: Any) -> None:
    assert cut_to(shown, 2) == cut


def test_faults_of_one_call_add_up() -> None:
    world = faulty(fault("double_delivery", "refund"), fault("lost_response", "refund"))
    assert seen(world, do("refund", order_id="A")) == [TIMEOUT]
    assert len(world.ledger()) == 2
    assert {s.fault.kind for s in world.strikes} == {FaultKind.DOUBLE_DELIVERY, FaultKind.LOST_RESPONSE}


def test_positions_count_calls_of_that_tool_and_a_refused_call_does_not_use_a_fault_up() -> None:
    lost = fault("lost_response", "refund", 2)
    world = faulty(lost)
    refused = (do("refund", order_id="?"), do("refund", wrong=1))
    others = (do("approve", order_id="A"), do("refund", order_id="B"), do("refund", order_id="C"))
    shown = seen(world, do("refund", order_id="A"), *refused, *others)
    assert [s == TIMEOUT for s in shown] == [False] * 4 + [True, False]
    assert world.strikes == [Strike(lost, 5)]


def test_a_reset_forgets_calls_and_strikes() -> None:
    world = faulty(fault("lost_response", "refund"), fault("slow_call", "refund", size=3))
    initial = Shop().state_hash()
    assert seen(world, do("refund", order_id="A")) == [TIMEOUT]
    assert (world.waited, len(world.strikes)) == (2, 2)
    world.reset()
    assert (world.state_hash(), world.waited, world.strikes) == (initial, 0, [])
    world.begin(shop_task())
    assert seen(world, do("refund", order_id="A")) == [TIMEOUT]


@pytest.mark.parametrize(
    ("faults", "why"),
    [
        ([fault("homonym", "refund")], r"homonym .* world 'shop' brings about by itself: none"),
        ([fault("lost_response", "fly")], r"world 'shop' has the tools approve, delete_order"),
        ([fault("stale_read", "refund")], "only a READ tool can show an old state"),
        ([fault("slow_call", "refund"), fault("slow_call", "refund", size=3)], "twice"),
    ],
)
def test_a_fault_that_cannot_happen_is_the_tasks_mistake(faults: Sequence[Fault], why: str) -> None:
    with pytest.raises(UnplayableTask, match=why):
        faulty(*faults)


def test_a_state_level_fault_that_the_world_knows_is_left_to_it() -> None:
    class Knows(Shop):
        """Brings about homonyms."""

        fault_kinds = frozenset({FaultKind.HOMONYM})

    world = with_faults(Knows(), [fault("homonym", "orders")])
    assert world.call("get_order", {"order_id": "A"})["status"] == "paid"


@pytest.mark.parametrize("wrong", [{"nth": 0}, {"size": 0}, {"nth": -1}])
def test_positions_and_sizes_start_at_one(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        Fault(kind=FaultKind.SLOW_CALL, tool="refund", **wrong)


def test_a_faulty_world_says_of_itself_what_the_world_says_but_for_its_version() -> None:
    inner = AtlasWorld()
    world = with_faults(inner, [])
    assert (world.name, world.units, world.policy, world.tools()) == ("atlas", inner.units, "", inner.tools())
    assert world.version.startswith(f"{inner.version}+faults-")


ORDER = st.sampled_from(["A", "B", "Z"])
CALLS = st.one_of(
    st.builds(lambda o: do("get_order", order_id=o), ORDER),
    st.builds(lambda o, s: do("set_status", order_id=o, status=s), ORDER, st.sampled_from(["sent", "back"])),
    st.builds(lambda o, k: do("refund", order_id=o, idempotency_key=k), ORDER, st.sampled_from(["", "k"])),
    st.builds(lambda o: do("delete_order", order_id=o), ORDER),
    st.sampled_from([do("list_orders"), do("list_tickets")]),
)
FAULTS = st.lists(
    st.one_of(
        st.builds(fault, st.sampled_from(["lost_response", "double_delivery", "slow_call", "partial_page"]),
                  st.sampled_from(["refund", "list_orders", "set_status"]), st.integers(1, 3), st.integers(1, 3)),
        st.builds(fault, st.just("stale_read"), st.sampled_from(["get_order", "list_orders"]), st.integers(1, 3),
                  st.integers(1, 4)),
    ),
    max_size=5, unique_by=lambda f: (f.kind, f.tool, f.nth),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(CALLS, max_size=12), FAULTS)
def test_the_same_calls_meet_the_same_faults_bit_for_bit(calls: list[Call], faults: list[Fault]) -> None:
    one, other = faulty(*faults), faulty(*faults)
    first = seen(one, *calls)
    assert first == seen(other, *calls)
    assert (one.ledger(), one.changes(), one.state_hash()) == (other.ledger(), other.changes(), other.state_hash())
    one.reset()
    assert one.state_hash() == Shop().state_hash()
    one.begin(shop_task())
    assert seen(one, *calls) == first, "and again in the same session"


@settings(max_examples=60, deadline=None)
@given(st.lists(CALLS, max_size=12), st.integers(1, 4))
def test_a_stale_read_shows_what_was_shown_so_many_writes_ago(calls: list[Call], size: int) -> None:
    plain = faulty()
    shown = [seen(plain, do("list_orders"))[0]]
    for call in calls:
        written = len(plain.ledger())
        plain.call(call.name, call.arguments)
        if len(plain.ledger()) > written:
            shown.append(seen(plain, do("list_orders"))[0])
    world = faulty(fault("stale_read", "list_orders", 1 + sum(c.name == "list_orders" for c in calls), size))
    seen(world, *calls)
    [stale] = seen(world, do("list_orders"))
    assert sorted(stale, key=lambda r: r["id"]) == shown[max(0, len(shown) - 1 - size)]
