"""The state of workspace: the files of its work folder, as rows of one table `file`, and the ledger of what was done.

Text stands in a row as `text`, anything else as `base64`, so that tasks, changes and verifiers stay JSON.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from environments.task import Task
from environments.world import RowChange, SideEffect

TABLE: Final = "file"
LOST: Final = "sandbox"
"""Table of the one row that a ruined sandbox shows in place of its files."""


def columns_of(content: bytes) -> dict[str, Any]:
    """A file's content as columns of its row."""
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def content_of(columns: Mapping[str, Any]) -> bytes:
    """A file's content from its row.

    Raises:
        ValueError: the row has neither `text` nor `base64`.
    """
    if "text" in columns:
        return str(columns["text"]).encode()
    if "base64" in columns:
        return base64.b64decode(columns["base64"])
    raise ValueError(f"a row of `{TABLE}` needs `text` or `base64`; it has {sorted(columns)}")


def initial_files(task: Task) -> dict[str, bytes]:
    """The files that a task starts with.

    Raises:
        ValueError: a row of another table, or one without a path or content.
    """
    if other := sorted(set(task.initial) - {TABLE}):
        raise ValueError(f"workspace starts from rows of `{TABLE}` only; task {task.task_id} has {', '.join(other)}")
    return {str(row["path"]): content_of(row) for row in task.initial.get(TABLE, ())}


def differences(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[RowChange]:
    """What changed, by path."""
    return [
        RowChange(
            TABLE,
            path,
            columns_of(before[path]) if path in before else None,
            columns_of(after[path]) if path in after else None,
        )
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]


def final_files(task: Task, changes: Sequence[RowChange]) -> dict[str, bytes]:
    """The files at the end, from those at the start and what changed."""
    files = initial_files(task)
    for change in changes:
        if change.table == TABLE and change.after is None:
            files.pop(change.key, None)
        elif change.table == TABLE and change.after is not None:
            files[change.key] = content_of(change.after)
    return files


def hash_of(files: Mapping[str, bytes], ledger: Sequence[SideEffect]) -> str:
    """Hash of the whole state."""
    digest = hashlib.sha256(repr(list(ledger)).encode())
    for path, content in sorted(files.items()):
        digest.update(repr((path, len(content))).encode() + content)
    return digest.hexdigest()[:16]
