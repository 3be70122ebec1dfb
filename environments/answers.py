"""Answers that were paid for, on disk before they are used: asked once, kept for good.

One SQLite file in write-ahead mode: a kill at any moment leaves whole answers only, and several processes may read and
add at once; of two answers to one question the first that was kept counts for both.
"""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

_COLUMNS: Final = "text, finish, prompt_tokens, completion_tokens, seconds"


class AnswersError(RuntimeError):
    """The file is not a store of answers."""


class Answer(NamedTuple):
    """What a model said, and what that took."""

    text: str
    finish: str
    """Why it ended: `stop`, or `length` where the token bound cut it."""
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Measured(NamedTuple):
    """What the kept answers took in all; the rates of a bill."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Answers:
    """A file of answers by question."""

    def __init__(self, path: Path) -> None:
        """Open the store at `path`, made if absent.

        Raises:
            AnswersError: something else lies there.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._writer, self._reader = _connection(path), _connection(path)
            self._writer.execute(
                "CREATE TABLE IF NOT EXISTS answer (key TEXT PRIMARY KEY, model TEXT NOT NULL, text TEXT NOT NULL, "
                "finish TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, "
                "seconds REAL NOT NULL) WITHOUT ROWID"
            )
        except sqlite3.DatabaseError as error:
            raise AnswersError(
                f"{path} holds no answers ({error}): move it away; what it held would be asked for again"
            ) from error

    def get(self, key: str) -> Answer | None:
        """The answer kept under `key`, if there is one."""
        row = self._reader.execute(f"SELECT {_COLUMNS} FROM answer WHERE key = ?", (key,)).fetchone()
        return None if row is None else Answer(*row)

    def keep(self, key: str, model: str, answer: Answer) -> Answer:
        """Bring an answer to disk; returns the one that counts, an earlier one where there is one."""
        with self._lock:
            self._writer.execute("INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)", (key, model, *answer))
            row = self._writer.execute(f"SELECT {_COLUMNS} FROM answer WHERE key = ?", (key,)).fetchone()
        return Answer(*row)

    def measured(self, model: str) -> Measured:
        """What the answers of one model took, summed."""
        sums = "COUNT(*), TOTAL(prompt_tokens), TOTAL(completion_tokens), TOTAL(seconds)"
        calls, prompt, completion, seconds = self._reader.execute(
            f"SELECT {sums} FROM answer WHERE model = ?", (model,)
        ).fetchone()
        return Measured(calls, int(prompt), int(completion), seconds)

    def __len__(self) -> int:
        return int(self._reader.execute("SELECT COUNT(*) FROM answer").fetchone()[0])


def key_of(
    model: str, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None, sampling: Mapping[str, Any]
) -> str:
    """The key of a question: everything that the answer depends on, and nothing else (no address, no clock)."""
    content = json.dumps([model, list(messages), schema, sampling], sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _connection(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=60, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    return db
