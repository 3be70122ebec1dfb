"""A world in which calls go wrong as the task says: lost responses, double delivery, stale reads, pages, slow calls.

What happens on the way to a world is the same for every world and lives here; what befalls its rows (an expired right,
a homonym, a delay between systems) each world brings about itself in `begin`. Nothing is drawn: the same calls meet
the same faults.

Source: pipeline stage 5; fault reports of retried calls that took effect twice.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from environments import fault as fault_module
from environments.fault import STATE_LEVEL, Fault, FaultKind, UnplayableTask
from environments.task import Task
from environments.tool import Effect, Tool
from environments.world import Rewindable, RowChange, SideEffect, World

_Rows: TypeAlias = dict[tuple[str, str], RowChange]

TIMEOUT = {"error": "timeout", "detail": "No response arrived in time. Whether the call took effect is not known."}
"""What the agent sees of a call whose response was lost."""
PARTIAL = "partial_page"
"""Name of the note that there is more than what is shown."""


@cache
def faults_version() -> str:
    """Hash of the code that makes calls go wrong, for the result key."""
    source = inspect.getsource(fault_module) + inspect.getsource(sys.modules[__name__])
    return "faults-" + hashlib.blake2b(source.encode(), digest_size=4).hexdigest()


class Strike(NamedTuple):
    """A fault that happened."""

    fault: Fault
    call: int
    """At which call of the episode, counted from 1."""


def with_faults(world: World, faults: Sequence[Fault]) -> "FaultyWorld":
    """The world, already begun, with `faults` on the way to it.

    Raises:
        UnplayableTask: a fault cannot happen in this world.
    """
    seen: set[tuple[str, int, FaultKind]] = set()
    for fault in faults:
        if wrong := _why_impossible(world, fault, seen):
            raise UnplayableTask(f"{fault.kind} at call {fault.nth} of {fault.tool!r} cannot happen: {wrong}")
        seen.add((fault.tool, fault.nth, fault.kind))
    return FaultyWorld(world, faults)


def _why_impossible(world: World, fault: Fault, seen: Iterable[tuple[str, int, FaultKind]]) -> str | None:
    known = sorted(getattr(world, "fault_kinds", ()))
    if fault.kind in STATE_LEVEL:
        said = ", ".join(known) or "none"
        return None if fault.kind in known else f"world {world.name!r} brings about by itself: {said}"
    tool = world.tools().get(fault.tool)
    if tool is None:
        return f"world {world.name!r} has the tools {', '.join(sorted(world.tools()))}"
    if (fault.tool, fault.nth, fault.kind) in seen:
        return "it is there twice; give each its own call (nth)"
    if fault.kind is FaultKind.STALE_READ and tool.effect is not Effect.READ:
        return "the tool writes; only a READ tool can show an old state"
    if fault.kind is FaultKind.STALE_READ and not isinstance(world, Rewindable):
        return f"world {world.name!r} cannot show rows as they were (with_rows)"
    return None


class FaultyWorld:
    """One session of a world with faults on the way to it; an `environments.world.World`."""

    def __init__(self, inner: World, faults: Sequence[Fault]) -> None:
        """Wrap a session; use `with_faults`, which looks whether the faults can happen."""
        self.inner = inner
        self._due: dict[tuple[str, int], dict[FaultKind, Fault]] = {}
        for fault in faults:
            if fault.kind not in STATE_LEVEL:
                self._due.setdefault((fault.tool, fault.nth), {})[fault.kind] = fault
        self._rewinds = any(FaultKind.STALE_READ in due for due in self._due.values())
        self._forget()

    def _forget(self) -> None:
        self.strikes: list[Strike] = []
        """What happened so far, in order."""
        self.waited = 0
        """Calls' worth of time that slow calls took beyond the one that each is."""
        self._calls = 0
        self._counts: dict[str, int] = {}
        self._pasts: list[_Rows] = []

    @property
    def name(self) -> str:
        """Short name of the world."""
        return self.inner.name

    @property
    def version(self) -> str:
        """The world's version and that of the faults' code."""
        return f"{self.inner.version}+{faults_version()}"

    @property
    def policy(self) -> str:
        """The world's policy document."""
        return self.inner.policy

    @property
    def today(self) -> str:
        """What day it is in the world."""
        return self.inner.today

    @property
    def refusal_codes(self) -> Sequence[str]:
        """The world's codes of refusals."""
        return self.inner.refusal_codes

    @property
    def units(self) -> Mapping[str, str]:
        """Units of the world's numeric fields."""
        return self.inner.units

    def tools(self) -> Mapping[str, Tool]:
        """The world's tools; a call of one of them directly meets no fault."""
        return self.inner.tools()

    def begin(self, task: Task) -> None:
        """Set the initial state of a task and count calls from here."""
        self._forget()
        self.inner.begin(task)

    def reset(self) -> None:
        """Bring the state back to its start and count calls from here."""
        self._forget()
        self.inner.reset()

    def state_hash(self) -> str:
        """Hash of the world's whole state."""
        return self.inner.state_hash()

    def changes(self) -> Sequence[RowChange]:
        """Rows that differ from what they were when the task began."""
        return self.inner.changes()

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        return self.inner.ledger()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one tool, and let go wrong what is due.

        Raises:
            WorldFailure: the world is broken.
        """
        self._calls += 1
        shown = self._deliver(name, arguments)
        if _refused(shown):
            return shown
        self._counts[name] = nth = self._counts.get(name, 0) + 1
        due = self._due.get((name, nth), {})
        self.strikes += [Strike(fault, self._calls) for fault in due.values()]
        return self._gone_wrong(shown, due, name, arguments) if due else shown

    def _gone_wrong(self, shown: Any, due: Mapping[FaultKind, Fault], name: str, arguments: Mapping[str, Any]) -> Any:
        """What the agent sees of a call that took effect and meets the faults in `due`."""
        if FaultKind.DOUBLE_DELIVERY in due:
            self._deliver(name, arguments)
        if stale := due.get(FaultKind.STALE_READ):
            shown = self._as_it_was(stale.size, name, arguments)
        if page := due.get(FaultKind.PARTIAL_PAGE):
            shown = cut_to(shown, page.size)
        if slow := due.get(FaultKind.SLOW_CALL):
            self.waited += slow.size - 1
        return dict(TIMEOUT) if FaultKind.LOST_RESPONSE in due else shown

    def _deliver(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call the world, and keep what its rows were if that wrote anything."""
        if not self._rewinds:
            return self.inner.call(name, arguments)
        before, written = self._rows(), len(self.inner.ledger())
        shown = self.inner.call(name, arguments)
        if len(self.inner.ledger()) > written:
            self._pasts.append(before)
        return shown

    def _rows(self) -> _Rows:
        return {(change.table, change.key): change for change in self.inner.changes()}

    def _as_it_was(self, writes: int, name: str, arguments: Mapping[str, Any]) -> Any:
        """What a READ shows of the state before the last `writes` writes; of the task's start where there are fewer."""
        assert isinstance(self.inner, Rewindable)
        now, then = self._rows(), (self._pasts[-writes] if writes <= len(self._pasts) else {})
        old = {at: then[at].after if at in then else now[at].before for at in {**now, **then}}
        with self.inner.with_rows(old):
            return self.inner.call(name, arguments)


def _refused(shown: object) -> bool:
    return isinstance(shown, dict) and "error" in shown


def cut_to(shown: Any, size: int) -> Any:
    """A list, or the one list inside a dict, cut to `size` rows with a note of it; anything else as it is."""
    if isinstance(shown, list) and len(shown) > size:
        return [*shown[:size], {PARTIAL: _note(size, len(shown))}]
    if not isinstance(shown, dict):
        return shown
    lists = [name for name, value in shown.items() if isinstance(value, list)]
    if len(lists) != 1 or len(shown[lists[0]]) <= size:
        return shown
    rows = shown[lists[0]]
    return {**shown, lists[0]: rows[:size], PARTIAL: _note(size, len(rows))}


def _note(size: int, total: int) -> dict[str, int]:
    return {"shown": size, "of": total}
