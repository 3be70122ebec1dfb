"""The contract of a world: tools over a state that comes back to its start, bit for bit."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from environments.task import Task
from environments.tool import Tool

T = TypeVar("T")
_TODAY = re.compile(
    r"(?i)(?:current (?:date|time)|today|now|date today)\s*(?:is|:|=|are)?\s*(?:\w+day,?\s*)?((?:19"
    r"|20)\d\d-\d\d-\d\d)|今天是\s*((?:19|20)\d\d-\d\d-\d\d)"
)


@dataclass(frozen=True, slots=True)
class SideEffect:
    """One line of the side-effect ledger: who changed what, in which order, from what to what."""

    position: int
    actor: str
    tool: str
    key: str
    before: str | None
    after: str | None
    at: int = 0
    """The world's own clock, in tool calls since the reset."""
    idempotency_key: str | None = None


class RowChange(NamedTuple):
    """One row of the state that an episode changed."""

    table: str
    key: str
    before: dict[str, Any] | None
    """None where the row is new."""
    after: dict[str, Any] | None
    """None where the row is gone."""


class WorldFailure(RuntimeError):
    """The world itself broke (its database, its container): an attempt in it has no result."""


class World(Protocol):
    """One isolated session of a world."""

    @property
    def name(self) -> str:
        """Short name, as tasks give it."""
        ...

    @property
    def version(self) -> str:
        """Hash of everything that decides what its tools return."""
        ...

    @property
    def policy(self) -> str:
        """The document that says what is allowed; empty where there is none. It is evidence for what an answer says."""
        ...

    @property
    def today(self) -> str:
        """What day it is in the world, as an ISO date; empty where nothing in it depends on the day.

        It is part of the world and not the machine's: "tomorrow" in an answer is the day after this one, and the same
        call gives the same result on any day on which it is made.
        """
        ...

    @property
    def refusal_codes(self) -> Sequence[str]:
        """The codes by which an answer refuses, as the policy names them: `Reason: window_closed`.

        None where the reason is read from what is said (`environments.verifiers.reasons.SPOKEN`).
        """
        ...

    @property
    def units(self) -> Mapping[str, str]:
        """Unit of each numeric field that the tools return, by the field's name: `price` -> `euros`."""
        ...

    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one tool; refusals and unknown tools come back as data.

        Raises:
            WorldFailure: the world is broken.
        """
        ...

    def reset(self) -> None:
        """Bring the state back to its start."""
        ...

    def state_hash(self) -> str:
        """Hash of the whole state; equal after every reset."""
        ...

    def begin(self, task: Task) -> None:
        """Set the initial state of a task, right after a reset; changes count from here.

        Raises:
            WorldFailure: the world is broken.
            UnplayableTask: it cannot bring about a fault that the task asks for.
        """
        ...

    def changes(self) -> Sequence[RowChange]:
        """The rows that differ from what they were when the task began, by table and key."""
        ...

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        ...


def today_of(policy: str) -> str:
    """The date that a policy document gives as the current one, empty where it gives none."""
    found = _TODAY.search(policy)
    return (found[1] or found[2]) if found else ""


@runtime_checkable
class Rewindable(Protocol):
    """A world that can show rows as they were."""

    def with_rows(self, rows: Mapping[tuple[str, str], Mapping[str, Any] | None]) -> AbstractContextManager[None]:
        """For the length of a block, other rows by table and key (None: no such row)."""
        ...


Waited = Callable[[], list[T]]
"""Waits for something that was begun, and gives its results in order."""


class WorldPool:
    """Reuses sessions of one world: as many as attempts run side by side, each reset before it is lent."""

    lanes = 1
    """Parts of a batch that take turns at the policy: while it acts in one, the worlds of the others answer."""

    def __init__(self, make: "type[World] | Any") -> None:
        self._make = make
        self._free: list[World] = []

    def lend(self) -> World:
        """A session in its initial state, nobody else's until given back; one that cannot be reset is left behind."""
        while (used := self._used()) is not None:
            try:
                used.reset()
            except WorldFailure:
                continue
            return used
        fresh: World = self._make()
        fresh.reset()
        return fresh

    def _used(self) -> World | None:
        try:
            return self._free.pop()
        except IndexError:  # asked for and not looked at first: pools that lend from several threads exist
            return None

    def give_back(self, world: World) -> None:
        """Return a session."""
        self._free.append(world)

    def each(self, act: Callable[..., T], *of: Iterable[Any]) -> Waited[T]:
        """`act` on the parts of each attempt, begun; here done one by one, for a world in this process never waits.

        Returns:
            What is called to wait for the results; what `act` raises is raised there at the latest.
        """
        done = list(map(act, *of))
        return lambda: done

    def settle(self, worlds: Sequence[World]) -> Waited[None]:
        """Get ready to say how these sessions ended; nothing to do in this process."""
        return lambda: []
