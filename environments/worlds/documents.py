"""State made of documents: what a world starts with is kept once per process, what a session changed in its SQLite.

Databases of task sets are megabytes of JSON. A session's database holds only the documents that it changed, one table
per kind; reads fall back to the documents that all sessions share, so that a thousand sessions cost no more memory
than their changes and a reset costs what was changed.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from environments.state import SqliteState, SqliteWorld, image_of
from environments.task import Task
from environments.tool import ToolRefusal
from environments.world import RowChange

Document = dict[str, Any]
CENTS = 2


def canonical(value: Any) -> Any:
    """A JSON value in which equal numbers are written alike: to the cent, and whole numbers without a point."""
    if isinstance(value, dict):
        return {k: canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(v) for v in value]
    if isinstance(value, float):
        rounded = round(value, CENTS)
        return int(rounded) if rounded.is_integer() else rounded
    return value


class Documents:
    """The documents that every session of a world starts with, by kind and key; never changed."""

    def __init__(self, kinds: Mapping[str, Mapping[str, Document]]) -> None:
        """Take over `kinds` (kind -> key -> document).

        Raises:
            ValueError: the name of a kind cannot be the name of a table.
        """
        if wrong := [kind for kind in kinds if not re.fullmatch(r"[a-z_]+", kind) or kind in ("ledger", "touched")]:
            raise ValueError(f"kind of document {wrong[0]!r}; allowed: small letters and _, but not ledger or touched")
        self.kinds = {kind: {key: canonical(d) for key, d in found.items()} for kind, found in kinds.items()}
        self._bodies = {kind: {key: body_of(d) for key, d in found.items()} for kind, found in self.kinds.items()}
        self._indexes: dict[tuple[str, Callable[[Document], Any]], dict[Any, list[str]]] = {}

    @cached_property
    def digest(self) -> str:
        """Hash of every document, in whatever order they came."""
        digest = hashlib.sha256()
        for kind in sorted(self._bodies):
            for key, body in sorted(self._bodies[kind].items()):
                digest.update(repr((kind, key, body)).encode())
        return digest.hexdigest()[:16]

    @cached_property
    def image(self) -> bytes:
        """The database of a session that has changed nothing."""
        return image_of("".join(f"CREATE TABLE {k} (key TEXT PRIMARY KEY, body TEXT NOT NULL);" for k in self.kinds))

    def body(self, kind: str, key: str) -> str | None:
        """One document as text, or None."""
        return self._bodies[kind].get(key)

    def index(self, kind: str, by: Callable[[Document], Any]) -> Mapping[Any, list[str]]:
        """Keys of the documents of a kind by `by` of the document, built once."""
        if (kind, by) not in self._indexes:
            made: dict[Any, list[str]] = {}
            for key, document in self.kinds[kind].items():
                made.setdefault(by(document), []).append(key)
            self._indexes[kind, by] = made
        return self._indexes[kind, by]


def body_of(document: Document) -> str:
    """A document as text; equal documents give equal text."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


class DocumentState(SqliteState):
    """One session's documents: those it changed, over those it started with."""

    def __init__(self, base: Documents) -> None:
        super().__init__(base.image)
        self.base = base

    def get(self, kind: str, key: str) -> Document | None:
        """A document of the caller's own, or None."""
        found = self.connection.execute(f"SELECT body FROM {kind} WHERE key = ?", (key,)).fetchone()
        body = found[0] if found else self.base.body(kind, key)
        return None if body is None else json.loads(body)

    def need(self, kind: str, key: str) -> Document:
        """A document of the caller's own.

        Raises:
            ToolRefusal: there is none; `not_found` with its kind and key.
        """
        found = self.get(kind, key)
        if found is None:
            raise ToolRefusal("not_found", kind=kind, key=key)
        return found

    def put(self, kind: str, key: str, document: Document) -> None:
        """Write a document."""
        self._put(kind, key, document)

    def _put(self, table: str, key: str, row: Mapping[str, Any] | None) -> None:
        """Make one document what it is to be; None: as the session found it."""
        if row is None:
            self.connection.execute(f"DELETE FROM {table} WHERE key = ?", (key,))
            return
        self.connection.execute(
            f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET body = excluded.body",
            (key, body_of(canonical(dict(row)))),
        )

    def write(self, tool: str, kind: str, key: str, document: Document) -> Document:
        """Write a document as the effect of a tool, and return it as it can be read from now on.

        The ledger gets it with what was there before.
        """
        before = self.get(kind, key)
        self.put(kind, key, document)
        written = self.need(kind, key)
        self.record(tool, key, None if before is None else body_of(before), body_of(written))
        return written

    def find(self, kind: str, by: Callable[[Document], Any], value: Any) -> Iterator[Document]:
        """The documents of which `by` says `value`; shared with other sessions, to be read only."""
        own = {key: json.loads(body) for key, body in self.connection.execute(f"SELECT key, body FROM {kind}")}
        shared = self.base.index(kind, by).get(value, ())
        found = {key: self.base.kinds[kind][key] for key in shared if key not in own}
        found |= {key: document for key, document in own.items() if by(document) == value}
        yield from (found[key] for key in sorted(found))

    def changes(self) -> list[RowChange]:
        """The documents that differ from what they were at `begin`, whole, by kind and key."""
        found = []
        for kind, key, row in self.connection.execute("SELECT name, key, before FROM touched ORDER BY name, key"):
            body = json.loads(row)["body"] if row else self.base.body(kind, key)
            before, after = (None if body is None else json.loads(body)), self.get(kind, key)
            if before != after:
                found.append(RowChange(kind, key, before, after))
        return found

    def hash(self) -> str:
        """Hash of the shared documents, of those that differ from them, and of the ledger."""
        own = [
            (kind, row["key"], row["body"])
            for kind in self.base.kinds
            for row in self.rows(kind)
            if row["body"] != self.base.body(kind, row["key"])
        ]
        text = repr((self.base.digest, own, self.ledger()))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class DocumentWorld(SqliteWorld):
    """One session of a world whose state is a `DocumentState`; an `environments.world.World`."""

    state: DocumentState
    key_fields: Mapping[str, str] = {}
    """By kind, the field of a document that holds its key."""

    def begin(self, task: Task) -> None:
        """Put the documents that the task starts with in their places; changes count from here."""
        with self._failures("begin"):
            for kind, documents in task.initial.items():
                for document in documents:
                    self.state.put(kind, document[self.key_fields[kind]], document)
            self.state.begin()


def pairs(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Two lists that a caller gives side by side.

    Raises:
        ToolRefusal: they are not equally long.
    """
    if len(first) != len(second):
        raise ToolRefusal("unequal_lists", lengths=f"{len(first)} and {len(second)}")
    return list(zip(first, second, strict=True))


def hand_over(state: DocumentState, tool: str, summary: str) -> dict[str, str]:
    """Give the conversation to a human, once: whoever has it already is not called a second time.

    Raises:
        ToolRefusal: it was handed over before.
    """
    if any(effect.tool == tool for effect in state.ledger()):
        raise ToolRefusal("already_transferred")
    state.record(tool, "conversation", None, summary)
    return {"status": "transferred"}
