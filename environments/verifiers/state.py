"""Whether the world ended as the goal says: every change asked for, none beside it, in the right order.

Changes are compared row by row against the state at the beginning of the task, both the agent's side and the user's;
the order of side effects is read from the ledger.

Source: tau-bench (state comparison); pipeline stage 7.
"""

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from environments.task import Booking, Change, Goal, Order
from environments.verifiers.claims import states
from environments.world import RowChange, SideEffect, World


class Failure(NamedTuple):
    """The first thing that does not hold, with what it is about."""

    cause: str
    evidence: str


def state_failure(goal: Goal, world: World) -> Failure | None:
    """What is wrong with the state that `world` ended in, or None.

    Raises:
        WorldFailure: the state cannot be read.
    """
    wanted = [_row_of(b) for b in goal.bookings] if goal.changes is None else goal.changes
    found, ledger = world.changes(), world.ledger()
    asked = {change.table for change in wanted}
    counted = [row for row in found if row.table in asked or row.table not in goal.may_change]
    if failed := changes_failure(wanted, counted):
        return failed
    if goal.changes is None and len(ledger) != len(goal.bookings):
        return Failure("unasked_write", "ledger")
    if goal.writes is not None and (beside := _beside(goal, ledger)):
        return Failure("unasked_write", beside)
    return next((f for order in goal.order if (f := _order_failure(order, ledger))), None)


def _beside(goal: Goal, ledger: Sequence[SideEffect]) -> str | None:
    """A side effect that was not asked for, though what it changed may have been put back since."""
    asked = Counter((w.tool, w.key) for w in goal.writes or ())
    made = Counter((e.tool, e.key) for e in ledger if e.actor == "agent" and e.tool not in goal.may_write)
    return next((f"{tool} {key}" for tool, key in made - asked), None)


def _row_of(booking: Booking) -> Change:
    return Change(table="booking", columns=booking.model_dump())


def changes_failure(wanted: Sequence[Change], found: Sequence[RowChange]) -> Failure | None:
    """The first change that is missing or wrong, or was not asked for."""
    partner = _matched(wanted, found)
    taken = set(partner.values())
    extra = [f for j, f in enumerate(found) if j not in taken]
    if missing := [w for i, w in enumerate(wanted) if i not in partner]:
        return Failure(*_missing(missing[0], extra))
    return Failure("unasked_write", f"{extra[0].table} {extra[0].key}") if extra else None


def _missing(wanted: Change, found: Sequence[RowChange]) -> tuple[str, str]:
    """Whether a wanted row was left alone, or holds something else."""
    label = f"{wanted.table} {wanted.key or ''}".strip()
    row = next((f for f in found if f.table == wanted.table and wanted.key in (None, f.key)), None)
    if row is None:
        return "not_written", f"{label} {_text(wanted.columns)}".strip()
    held = {k: (row.after or {}).get(k) for k in wanted.columns or {}}
    told = {k: [f.value for f in facts] for k, facts in wanted.states.items()}
    stating = f" stating {_text(told)}" if told else ""
    return "wrong_write", f"{row.table} {row.key}: {_text(held)} instead of {_text(wanted.columns)}{stating}"


def _text(columns: Mapping[str, Any] | None) -> str:
    return "deleted" if columns is None else ", ".join(f"{k}={v}" for k, v in columns.items())


def _matched(wanted: Sequence[Change], found: Sequence[RowChange]) -> dict[int, int]:
    """A largest one-to-one matching of changes asked for and changes found (augmenting paths)."""
    fits = [[j for j, row in enumerate(found) if meets(row, change)] for change in wanted]
    owner: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        """Find a partner for `i`, moving others on where that helps."""
        for j in fits[i]:
            if j not in seen:
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    for i in range(len(wanted)):
        place(i, set())
    return {i: j for j, i in owner.items()}


def meets(row: RowChange, wanted: Change) -> bool:
    """Whether the row is the one asked for and holds what was asked for."""
    if row.table != wanted.table or wanted.key not in (None, row.key):
        return False
    if wanted.columns is None or row.after is None:
        return wanted.columns is None and row.after is None
    told = all(states(str(row.after.get(k)), fact) for k, facts in wanted.states.items() for fact in facts)
    return told and all(k in row.after and same(row.after[k], v) for k, v in wanted.columns.items())


def same(a: Any, b: Any) -> bool:
    """Equality of JSON values, with numbers compared as numbers: 1 and 1.0 are one, and so are sums of cents."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b or (_is_float(a) and _is_float(b) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def _is_float(value: float) -> bool:
    """Whether it fits into a float; a whole number may be larger."""
    return abs(value) <= sys.float_info.max


def _order_failure(order: Order, ledger: Sequence[SideEffect]) -> Failure | None:
    """A side effect of `order.then` without one of `order.first` before it."""
    seen = False
    for effect in ledger:
        if order.key is not None and effect.key != order.key:
            continue
        seen |= effect.tool == order.first
        if effect.tool == order.then and not seen:
            return Failure("wrong_order", f"{order.then} {effect.key} without {order.first} before it")
    return None
