"""What was found about tasks, on disk as soon as it is found: a killed gate goes on, and repeats nothing.

One SQLite file in write-ahead mode. A record is found again only under the same task to the last byte, world, verifier,
gate and depth; what had no result is never kept, so that it is asked again.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from environments.gate.examine import Depth, gate_version
from environments.gate.finding import Finding, Kind, Status
from environments.task import Task

_AT_ONCE: Final = 500


class Versions(NamedTuple):
    """What besides a task decides its findings."""

    world: str
    verifier: str
    user: str = "none"

    def key(self, task: Task, depth: Depth) -> str:
        """The key of a task's findings; the gold solution is part of it, which is no part of a task's id."""
        parts = (task.model_dump_json(), *self, gate_version(), depth.label)
        return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


class FindingsError(RuntimeError):
    """The file is not a store of findings."""


class Findings:
    """A file of findings by key; several processes may read and add at once."""

    def __init__(self, path: Path) -> None:
        """Open the store at `path`, made if absent.

        Raises:
            FindingsError: something else lies there.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=120)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS finding (key TEXT PRIMARY KEY, task_id TEXT NOT NULL, found TEXT NOT NULL) "
                "WITHOUT ROWID"
            )
        except sqlite3.DatabaseError as error:
            raise FindingsError(
                f"{path} holds no findings ({error}): delete it, and all tasks are examined anew"
            ) from error

    def keep(self, found: Mapping[str, tuple[str, list[Finding]]]) -> None:
        """Bring findings to disk, all of them or none: key -> (task id, findings)."""
        rows = [
            (key, task_id, json.dumps(findings, ensure_ascii=False))
            for key, (task_id, findings) in found.items()
            if not any(f.status is Status.NO_RESULT for f in findings)
        ]
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT OR REPLACE INTO finding VALUES (?, ?, ?)", rows)
        self._db.execute("COMMIT")

    def known(self, keys: Iterable[str]) -> dict[str, list[Finding]]:
        """The findings that are on disk under any of `keys`."""
        wanted = list(keys)
        found = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            for key, text in self._db.execute(f"SELECT key, found FROM finding WHERE key IN ({marks})", some):
                found[str(key)] = [Finding(Kind(k), c, Status(s), e) for k, c, s, e in json.loads(text)]
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __len__(self) -> int:
        return int(self._db.execute("SELECT COUNT(*) FROM finding").fetchone()[0])
