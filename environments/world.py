"""The contract of a world: tools over a state that comes back to its start, bit for bit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from environments.task import Booking
from environments.tool import Tool


@dataclass(frozen=True, slots=True)
class SideEffect:
    """One line of the side-effect ledger: who changed what, in which order, from what to what."""

    position: int
    actor: str
    tool: str
    key: str
    before: str | None
    after: str | None


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

    def bookings(self) -> Sequence[Booking]:
        """What has been written, in order."""
        ...

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        ...


class WorldPool:
    """Reuses sessions of one world: as many as attempts run side by side, each reset before it is lent."""

    def __init__(self, make: "type[World] | Any") -> None:
        self._make = make
        self._free: list[World] = []

    def lend(self) -> World:
        """A session in its initial state, nobody else's until given back; one that cannot be reset is left behind."""
        while self._free:
            used = self._free.pop()
            try:
                used.reset()
            except WorldFailure:
                continue
            return used
        fresh: World = self._make()
        fresh.reset()
        return fresh

    def give_back(self, world: World) -> None:
        """Return a session."""
        self._free.append(world)
