"""State made of documents: what a session sees, what changed, and that sessions share nothing but the start."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.worlds.documents import Documents, DocumentState, canonical

BASE = Documents({"orders": {"A": {"id": "A", "n": 1}, "B": {"id": "B", "n": 2.0}}, "users": {"u": {"id": "u"}}})
WRITES = st.lists(st.tuples(st.sampled_from("ABC"), st.integers(1, 3)), max_size=8)


def n_of(document: dict[str, Any]) -> int:
    return int(document["n"])


def seen(state: DocumentState) -> dict[str, dict[str, Any]]:
    return {key: found for key in "ABC" if (found := state.get("orders", key)) is not None}


@settings(max_examples=100, deadline=None)
@given(WRITES, WRITES)
def test_changes_are_the_difference_of_what_was_seen_before_and_after(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    state = DocumentState(BASE)
    for key, n in before:
        state.put("orders", key, {"id": key, "n": n})
    state.begin()
    start = seen(state)
    for key, n in after:
        state.put("orders", key, {"id": key, "n": n})
    end = seen(state)
    expected = {key: (start.get(key), end[key]) for key in end if start.get(key) != end[key]}
    assert {c.key: (c.before, c.after) for c in state.changes()} == expected
    assert {key for n in (1, 2, 3) for d in state.find("orders", n_of, n) for key in [d["id"]]} == set(end)


@settings(max_examples=100, deadline=None)
@given(WRITES)
def test_the_hash_is_that_of_what_is_seen_and_a_reset_brings_the_first_one_back(writes: list[tuple[str, int]]) -> None:
    state, other = DocumentState(BASE), DocumentState(BASE)
    first = state.hash()
    for key, n in writes:
        state.put("orders", key, {"id": key, "n": n})
    for key in sorted(seen(state)):
        other.put("orders", key, seen(state)[key])
    assert state.hash() == other.hash()
    assert (state.hash() == first) == (seen(state) == seen(DocumentState(BASE)))
    state.reset()
    assert state.hash() == first


def test_a_document_that_was_read_is_the_readers_own() -> None:
    state = DocumentState(BASE)
    state.need("orders", "A")["n"] = 99
    assert state.need("orders", "A") == {"id": "A", "n": 1}
    state.put("orders", "A", {"id": "A", "n": 5})
    assert DocumentState(BASE).need("orders", "A") == {"id": "A", "n": 1}


def test_equal_numbers_are_one_document_however_they_are_written() -> None:
    assert canonical({"a": [1.0, 0.1 + 0.2, True, None, "x"]}) == {"a": [1, 0.3, True, None, "x"]}
    assert json.dumps(canonical(250.0)) == "250"
    floats = Documents({"orders": {"B": {"id": "B", "n": 2}, "A": {"n": 1.0, "id": "A"}}, "users": {"u": {"id": "u"}}})
    assert floats.digest == BASE.digest


def test_the_ledger_tells_each_write_with_what_was_there_before() -> None:
    state = DocumentState(BASE)
    assert state.write("change", "orders", "A", {"id": "A", "n": 7.0}) == {"id": "A", "n": 7}
    [effect] = state.ledger()
    assert (effect.tool, effect.key) == ("change", "A")
    assert json.loads(effect.before or "") == {"id": "A", "n": 1}
    assert json.loads(effect.after or "") == {"id": "A", "n": 7}


@pytest.mark.parametrize("kind", ["Orders", "ledger", "drop table x"])
def test_a_kind_that_cannot_name_a_table_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="kind of document"):
        Documents({kind: {}})
