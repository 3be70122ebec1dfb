"""The state of a world in SQLite: a start to come back to, what changed since, and the ledger of side effects.

A reset rolls back to a savepoint, so it costs what was changed and not what there is. Triggers note the first touch of
each row with its value before, so that a verifier reads the changes of an episode without comparing whole databases.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from environments.fault import FaultKind
from environments.task import Task
from environments.tool import Tool, tools_of
from environments.world import RowChange, SideEffect, WorldFailure, today_of

_OWN = """
CREATE TABLE ledger (
    position INTEGER PRIMARY KEY, actor TEXT NOT NULL, tool TEXT NOT NULL, key TEXT NOT NULL,
    before TEXT, after TEXT, at INTEGER NOT NULL DEFAULT 0, idempotency_key TEXT
);
CREATE TABLE touched (name TEXT NOT NULL, key TEXT NOT NULL, before TEXT, PRIMARY KEY (name, key));
"""
_LEDGER = "position, actor, tool, key, before, after, at, idempotency_key"


def image_of(schema: str, rows: Mapping[str, Sequence[Mapping[str, Any]]] | None = None) -> bytes:
    """A database with the tables of `schema` and `rows`, ready to be opened by any number of sessions.

    Args:
        schema: CREATE TABLE statements; each table has one primary key column and neither is named as ours are.
        rows: initial rows by table.
    """
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.executescript(schema)
    tables = [name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    made.execute("BEGIN")
    for table, some in (rows or {}).items():
        insert_rows(made, table, some)
    made.execute("COMMIT")
    made.executescript(_OWN + "".join(_triggers(made, table) for table in tables))
    return made.serialize()


def insert_rows(connection: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write `rows` into `table`; a row with a known primary key takes the place of the old one."""
    for row in rows:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        connection.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def _triggers(connection: sqlite3.Connection, table: str) -> str:
    """Triggers that note the first touch of each row of `table`."""
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    [key] = [c[1] for c in columns if c[5]]
    old = "json_object(" + ", ".join(f"'{c[1]}', OLD.{c[1]}" for c in columns) + ")"
    first = _note(table, f"OLD.{key}", old)
    return (
        f"CREATE TRIGGER {table}_insert AFTER INSERT ON {table} BEGIN {_note(table, f'NEW.{key}', 'NULL')} END;"
        f"CREATE TRIGGER {table}_update AFTER UPDATE ON {table} BEGIN {first}{_note(table, f'NEW.{key}', 'NULL')} END;"
        f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} BEGIN {first} END;"
    )


def _note(table: str, key: str, before: str) -> str:
    """Notes a key once; not by OR IGNORE, which an INSERT OR REPLACE around it would turn into a REPLACE."""
    return (
        f"INSERT INTO touched SELECT '{table}', {key}, {before}"
        f" WHERE NOT EXISTS (SELECT 1 FROM touched WHERE name = '{table}' AND key = CAST({key} AS TEXT));"
    )


class SqliteState:
    """One session's database."""

    def __init__(self, image: bytes) -> None:
        """Open a copy of `image` (`image_of`) of this session's own."""
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.connection.deserialize(image)
        self.connection.execute("PRAGMA recursive_triggers = ON")  # a REPLACE deletes, and is noted as such
        self._keys = {table: self._key_of(table) for table in self._tables()}
        self.connection.execute("SAVEPOINT start")

    def _tables(self) -> list[str]:
        found = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [name for (name,) in found if name not in ("ledger", "touched")]

    def _key_of(self, table: str) -> str:
        return next(str(c[1]) for c in self.connection.execute(f"PRAGMA table_info({table})") if c[5])

    def reset(self) -> None:
        """Roll back to the start."""
        self.connection.execute("ROLLBACK TO start")

    def begin(self) -> None:
        """Count changes from here."""
        self.connection.execute("DELETE FROM touched")

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Every row of `table`, in order of its primary key."""
        found = self.connection.execute(f"SELECT * FROM {table} ORDER BY {self._keys[table]}")
        names = [d[0] for d in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]

    def row(self, table: str, key: Any) -> dict[str, Any] | None:
        """One row, or None."""
        found = self.connection.execute(f"SELECT * FROM {table} WHERE {self._keys[table]} = ?", (key,))
        names = [d[0] for d in found.description]
        first = found.fetchone()
        return dict(zip(names, first, strict=True)) if first else None

    def changes(self) -> list[RowChange]:
        """The rows that differ from what they were at `begin`, by table and key."""
        touched = self.connection.execute("SELECT name, key, before FROM touched ORDER BY name, key").fetchall()
        found = [RowChange(t, str(k), json.loads(b) if b else None, self.row(t, k)) for t, k, b in touched]
        return [change for change in found if change.before != change.after]

    @contextmanager
    def with_rows(self, rows: Mapping[tuple[str, str], Mapping[str, Any] | None]) -> Iterator[None]:
        """For the length of a block, other rows by table and key (None: no such row); all is as it was afterwards."""
        self.connection.execute("SAVEPOINT meanwhile")
        try:
            for (table, key), row in rows.items():
                self._put(table, key, row)
            yield
        finally:
            self.connection.execute("ROLLBACK TO meanwhile")
            self.connection.execute("RELEASE meanwhile")

    def _put(self, table: str, key: str, row: Mapping[str, Any] | None) -> None:
        """Make one row what it is to be; one that is there keeps its place."""
        if row is None:
            self.connection.execute(f"DELETE FROM {table} WHERE {self._keys[table]} = ?", (key,))
        elif self.row(table, key) is None:
            insert_rows(self.connection, table, [row])
        else:
            sets = ", ".join(f"{name} = ?" for name in row)
            self.connection.execute(f"UPDATE {table} SET {sets} WHERE {self._keys[table]} = ?", [*row.values(), key])

    def hash(self) -> str:
        """Hash of every row of every table, the ledger among them, in a fixed order."""
        digest = hashlib.sha256()
        for table, key in self._keys.items():
            rows = self.connection.execute(f"SELECT * FROM {table} ORDER BY {key}").fetchall()
            digest.update(repr((table, rows)).encode())
        digest.update(repr(self.connection.execute(f"SELECT {_LEDGER} FROM ledger ORDER BY 1").fetchall()).encode())
        return digest.hexdigest()[:16]

    def record(
        self, tool: str, key: str, before: str | None, after: str | None, *, actor: str = "agent", at: int = 0,
        idempotency_key: str | None = None,
    ) -> None:  # fmt: skip
        """Append one side effect to the ledger."""
        self.connection.execute(
            "INSERT INTO ledger (actor, tool, key, before, after, at, idempotency_key) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (actor, tool, key, before, after, at, idempotency_key),
        )

    def ledger(self) -> list[SideEffect]:
        """Every side effect since the reset, in order."""
        return [SideEffect(*r) for r in self.connection.execute(f"SELECT {_LEDGER} FROM ledger ORDER BY position")]


class SqliteWorld:
    """One session of a world whose state is a `SqliteState`; an `environments.world.World`."""

    name: str
    policy: str = ""
    units: Mapping[str, str] = {}
    refusal_codes: Sequence[str] = ()
    fault_kinds: frozenset[FaultKind] = frozenset()
    """The state-level faults that this world brings about in `begin`."""

    def __init__(self, state: SqliteState, session: object) -> None:
        """Set up a session.

        Args:
            state: the state of this session alone.
            session: has the tools as marked methods.
        """
        self.state = state
        self._tools = tools_of(session)

    @property
    def version(self) -> str:
        """Hash of everything that decides what its tools return."""
        raise NotImplementedError

    @property
    def today(self) -> str:
        """What day it is in the world: the one that its policy names, where a subclass does not say it."""
        return today_of(self.policy)

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
        with self._failures(name):
            return self._tools[name](arguments)

    def begin(self, task: Task) -> None:
        """Set the rows that the task starts with; changes count from here."""
        with self._failures("begin"):
            for table, rows in task.initial.items():
                insert_rows(self.state.connection, table, rows)
            self.state.begin()

    def reset(self) -> None:
        """Bring the state back to its start."""
        with self._failures("reset"):
            self.state.reset()

    def state_hash(self) -> str:
        """Hash of the whole state; equal after every reset."""
        with self._failures("state_hash"):
            return self.state.hash()

    def changes(self) -> Sequence[RowChange]:
        """Rows that differ from what they were when the task began."""
        with self._failures("changes"):
            return self.state.changes()

    @contextmanager
    def with_rows(self, rows: Mapping[tuple[str, str], Mapping[str, Any] | None]) -> Iterator[None]:
        """For the length of a block, other rows by table and key (None: no such row); all is as it was afterwards."""
        with self._failures("with_rows"), self.state.with_rows(rows):
            yield

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        with self._failures("ledger"):
            return self.state.ledger()

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        """A state that cannot be read or written is a failure of the world."""
        try:
            yield
        except sqlite3.Error as error:
            raise WorldFailure(f"{self.name} state failed in {what}: {error}") from error
