"""The state of a world: resets, changes since the task began, hash and ledger."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.state import SqliteState, image_of, insert_rows

SCHEMA = """
CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT, amount REAL);
CREATE TABLE mail (number INTEGER PRIMARY KEY, text TEXT);
"""
ROWS: dict[str, list[dict[str, Any]]] = {
    "orders": [{"id": "A", "status": "open", "amount": 5.5}, {"id": "B", "status": "paid", "amount": 7.0}],
    "mail": [],
}
IMAGE = image_of(SCHEMA, ROWS)
WRITES = (
    "UPDATE orders SET status = 'void' WHERE id = 'A'",
    "UPDATE orders SET status = 'open' WHERE id = 'A'",
    "DELETE FROM orders WHERE id = 'B'",
    "INSERT OR REPLACE INTO orders VALUES ('B', 'paid', 7.0)",
    "INSERT OR REPLACE INTO orders VALUES ('C', 'new', 1.0)",
    "UPDATE OR IGNORE orders SET id = 'Z' WHERE id = 'C'",
    "INSERT INTO mail (text) VALUES ('hello')",
    "DELETE FROM mail",
)


def snapshot(state: SqliteState) -> dict[tuple[str, str], dict[str, Any]]:
    tables = (("orders", "id"), ("mail", "number"))
    return {(t, str(r[k])): r for t, k in tables for r in state.rows(t)}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WRITES), max_size=10), st.lists(st.sampled_from(WRITES), max_size=10))
def test_changes_are_the_difference_of_two_snapshots_whatever_was_written(before: list[str], after: list[str]) -> None:
    state = SqliteState(IMAGE)
    for write in before:
        state.connection.execute(write)
    state.begin()
    start = snapshot(state)
    for write in after:
        state.connection.execute(write)
    end = snapshot(state)
    wanted = {k: (start.get(k), end.get(k)) for k in {*start, *end} if start.get(k) != end.get(k)}
    assert {(c.table, c.key): (c.before, c.after) for c in state.changes()} == wanted


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WRITES), max_size=12))
def test_a_reset_brings_back_rows_ledger_and_hash(writes: list[str]) -> None:
    state, initial = SqliteState(IMAGE), SqliteState(IMAGE).hash()
    for write in writes:
        state.connection.execute(write)
        state.record("tool", "A", None, write)
    assert (state.hash() != initial) is bool(writes)
    state.reset()
    assert (state.hash(), state.ledger(), state.changes()) == (initial, [], [])
    assert snapshot(state) == snapshot(SqliteState(IMAGE))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WRITES), max_size=6), st.lists(st.sampled_from(WRITES), max_size=6))
def test_other_rows_for_a_while_are_seen_and_leave_nothing_behind(writes: list[str], later: list[str]) -> None:
    state = SqliteState(IMAGE)
    for write in writes:
        state.connection.execute(write)
    then = snapshot(state)
    for write in later:
        state.connection.execute(write)
    now, before = snapshot(state), (state.hash(), state.changes())
    with state.with_rows({at: then.get(at) for at in {*now, *then}}):
        assert snapshot(state) == then
        state.connection.execute(WRITES[0])
    assert (snapshot(state), (state.hash(), state.changes())) == (now, before)


def test_other_rows_go_even_when_what_was_done_with_them_failed() -> None:
    state = SqliteState(IMAGE)
    with pytest.raises(ZeroDivisionError), state.with_rows({("orders", "A"): None}):
        assert state.row("orders", "A") is None
        _ = 1 / 0
    assert state.row("orders", "A") == ROWS["orders"][0]


def test_sessions_of_one_image_do_not_share_rows() -> None:
    one, other = SqliteState(IMAGE), SqliteState(IMAGE)
    one.connection.execute(WRITES[0])
    row = one.row("orders", "A")
    assert row is not None
    assert row["status"] == "void"
    assert (other.changes(), other.hash()) == ([], SqliteState(IMAGE).hash())


def test_the_ledger_keeps_order_actor_time_and_idempotency_key() -> None:
    state = SqliteState(IMAGE)
    state.record("refund", "A", None, "5.5", at=3, idempotency_key="k1")
    state.record("notify", "A", None, "sent", actor="system", at=4)
    first, second = state.ledger()
    assert (first.position, first.actor, first.tool, first.at, first.idempotency_key) == (1, "agent", "refund", 3, "k1")
    assert (second.position, second.actor, second.tool, second.idempotency_key) == (2, "system", "notify", None)


def test_inserted_rows_take_the_place_of_rows_with_their_key() -> None:
    state = SqliteState(IMAGE)
    insert_rows(state.connection, "orders", [{"id": "A", "status": "lost", "amount": 1.0}])
    [change] = state.changes()
    assert (change.before, change.after) == (ROWS["orders"][0], {"id": "A", "status": "lost", "amount": 1.0})


def test_a_table_without_one_primary_key_is_refused() -> None:
    with pytest.raises(ValueError, match="values to unpack"):
        image_of("CREATE TABLE loose (a TEXT, b TEXT);")
