"""What a task of Harbor's brings along as rows, and what an agent left as rows.

Table `setting` has one row: image, limits, how long; `file` has the files of its folder `environment`, which the image
is built from. At the end of an episode `file` has a row for each path that differs from the image.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from environments.fault import UnplayableTask
from environments.task import Task
from environments.world import RowChange
from environments.worlds.workspace.data_model import TABLE, columns_of, content_of

SETTING: Final = "setting"
LEFT_OUT: Final = "left_out"
"""Table of what an agent left that cannot be carried to where the tests run, by reason."""


class Setting(BaseModel):
    """How a task of Harbor's wants to be run; None where it does not say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """ORGANISATION/NAME."""
    digest: str
    """Harbor's, of the whole folder."""
    image: str = ""
    """A ready image; empty: built from the files."""
    work: str = ""
    """Where commands run; empty: as the image says."""
    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    agent_s: float | None = None
    """How long all commands of an episode may take together."""
    build_s: float | None = None
    environment: dict[str, str] = {}
    bases: dict[str, str] = {}
    """Id of each image that it builds on or runs in, as it was when the task was imported."""


def setting_of(task: Task) -> Setting:
    """The setting of a task.

    Raises:
        UnplayableTask: the task has none, or one that cannot be read.
    """
    rows = task.initial.get(SETTING, ())
    try:
        if len(rows) == 1:
            return Setting.model_validate(rows[0])
    except ValidationError as error:
        raise UnplayableTask(f"task {task.task_id}: {error.errors()[0]['msg']} in its `{SETTING}`") from error
    raise UnplayableTask(f"task {task.task_id} needs one row of `{SETTING}` and has {len(rows)}: import it again")


def context_of(task: Task) -> dict[str, bytes]:
    """The files that a task's image is built from."""
    return {str(row["path"]): content_of(row) for row in task.initial.get(TABLE, ())}


def rows_of(files: Mapping[str, bytes]) -> tuple[dict[str, Any], ...]:
    """Files as rows."""
    return tuple({"path": path, **columns_of(content)} for path, content in sorted(files.items()))


def changes_of(entries: Iterable[Mapping[str, Any]], skipped: Sequence[str]) -> list[RowChange]:
    """What was left, as changed rows; what a path held before stands in the image and not here."""
    return [
        *(RowChange(TABLE, str(e["path"]), *_sides(e)) for e in entries),
        *(RowChange(LEFT_OUT, reason, None, {}) for reason in skipped),
    ]


def _sides(entry: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    if entry["kind"] == "gone":
        return {}, None
    if entry["kind"] == "file":
        columns = columns_of(content_of({"base64": entry["content"]}))
        return None, columns | {"mode": entry["mode"]}
    return None, {entry["kind"]: entry.get("target", "")}


def entries_of(changes: Iterable[RowChange]) -> list[dict[str, Any]]:
    """The way back: what was left, from changed rows."""
    return [_entry(c.key, c.after) for c in changes if c.table == TABLE]


def _entry(path: str, after: Mapping[str, Any] | None) -> dict[str, Any]:
    if after is None:
        return {"path": path, "kind": "gone"}
    if "mode" in after:
        content = base64.b64encode(content_of(after)).decode()
        return {"path": path, "kind": "file", "mode": after["mode"], "content": content}
    [(kind, target)] = after.items()
    return {"path": path, "kind": kind, "target": target}
