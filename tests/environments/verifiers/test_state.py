"""Comparing the end state with the goal: all that was asked for, nothing beside it, in order."""

from collections.abc import Sequence
from typing import Any

import pytest

from environments.task import Change, Fact, Goal, Order
from environments.verifiers.state import changes_failure, same, state_failure
from environments.world import RowChange, SideEffect

PAID = RowChange("orders", "A", {"status": "open", "n": 1}, {"status": "paid", "n": 1})
GONE = RowChange("orders", "B", {"status": "open"}, None)
MAIL = RowChange("mail", "7", None, {"to": "ann", "text": "paid"})
ASKED = (
    Change(table="orders", key="A", columns={"status": "paid"}),
    Change(table="orders", key="B", columns=None),
    Change(table="mail", columns={"to": "ann"}),
)


class Ended:
    """A world as its episode left it."""

    def __init__(self, changes: Sequence[RowChange], effects: Sequence[tuple[str, str]] = ()) -> None:
        self._changes = changes
        self._ledger = [SideEffect(i, "agent", tool, key, None, None) for i, (tool, key) in enumerate(effects)]

    def changes(self) -> Sequence[RowChange]:
        """Its changes."""
        return self._changes

    def ledger(self) -> Sequence[SideEffect]:
        """Its side effects."""
        return self._ledger


def failure(goal: Goal, changes: Sequence[RowChange], effects: Sequence[tuple[str, str]] = ()) -> Any:
    return state_failure(goal, Ended(changes, effects))  # type: ignore[arg-type]


def test_exactly_the_changes_asked_for_pass_in_any_order() -> None:
    assert failure(Goal(changes=ASKED), [MAIL, GONE, PAID]) is None
    assert failure(Goal(changes=()), []) is None


@pytest.mark.parametrize(
    ("found", "cause", "about"),
    [
        ([GONE, MAIL], "not_written", "orders A"),
        ([PAID, MAIL], "not_written", "orders B"),
        ([PAID, GONE], "not_written", "mail"),
        ([PAID, GONE, MAIL, MAIL._replace(key="8")], "unasked_write", "mail 8"),
        ([PAID._replace(after={"status": "void"}), GONE, MAIL], "wrong_write", "status=void instead of status=paid"),
        ([PAID, GONE, MAIL._replace(after={"to": "bob"})], "wrong_write", "to=bob instead of to=ann"),
        ([PAID, GONE._replace(after={"status": "open"}), MAIL], "wrong_write", "orders B"),
    ],
)
def test_what_is_missing_wrong_or_too_much_is_named(found: list[RowChange], cause: str, about: str) -> None:
    failed = failure(Goal(changes=ASKED), found)
    assert failed.cause == cause
    assert about in failed.evidence


def test_no_change_at_all_is_asked_for_by_an_empty_tuple() -> None:
    assert failure(Goal(changes=()), [PAID]).cause == "unasked_write"


def test_tables_that_may_change_are_looked_at_only_where_a_change_is_asked_for() -> None:
    check = RowChange("checks", "1", None, {"of": "ann"})
    allowed = Goal(changes=ASKED, may_change=("checks",))
    assert failure(allowed, [MAIL, GONE, PAID, check]) is None
    assert failure(Goal(changes=ASKED), [MAIL, GONE, PAID, check]).cause == "unasked_write"
    asked = Goal(changes=(Change(table="checks", columns={"of": "bob"}),), may_change=("checks",))
    assert failure(asked, [check]).cause == "wrong_write"


def test_a_text_must_state_the_facts_asked_for() -> None:
    facts = (Fact(kind="number", value="45", unit="euros"), Fact(kind="code", value="RF12"))
    wanted = Goal(changes=(Change(table="mail", columns={"to": "ann"}, states={"text": facts}),))
    for text, passes in (("RF12 is over 45 euros.", True), ("RF12 is over 145 euros.", False), ("45 euros", False)):
        row = RowChange("mail", "7", None, {"to": "ann", "text": text})
        failed = failure(wanted, [row])
        assert (failed is None) is passes, text
    assert "stating text=['45', 'RF12']" in failed.evidence


def test_two_alike_need_two_rows_and_the_vaguer_one_does_not_take_the_others_row() -> None:
    vague, exact = Change(table="mail", columns={}), Change(table="mail", columns={"to": "ann"})
    bob = MAIL._replace(key="8", after={"to": "bob"})
    assert changes_failure([vague, exact], [MAIL, bob]) is None
    assert changes_failure([exact, exact], [MAIL, bob]) is not None


@pytest.mark.parametrize(
    ("effects", "passes"),
    [
        ([("approve", "A"), ("refund", "A")], True),
        ([("refund", "A"), ("approve", "A")], False),
        ([("refund", "A")], False),
        ([("approve", "B"), ("refund", "A")], False),
        ([], True),
    ],
)
def test_a_side_effect_needs_the_one_before_it_under_its_own_key(effects: list[tuple[str, str]], passes: bool) -> None:
    goal = Goal(changes=(), order=(Order(first="approve", then="refund", key="A"),))
    assert (failure(goal, [], effects) is None) is passes


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [(1, 1.0, True), (0.1 + 0.2, 0.3, True), (1, True, False), ("1", 1, False),
     ([1, {"a": 2}], [1.0, {"a": 2.0}], True),
     ({"a": 1}, {"a": 1, "b": 2}, False), (None, None, True), (None, 0, False)],
)  # fmt: skip
def test_numbers_are_compared_as_numbers_and_nothing_else_is(a: Any, b: Any, equal: bool) -> None:
    assert same(a, b) is equal


def test_a_whole_number_beyond_every_float_is_another_number_and_no_crash() -> None:
    assert not same(10**400, 5)
    assert same(10**400, 10**400)
    assert not same([10**400], [1.5])
