"""Which files each stage left in the lake, so that a demo sees when one of them is gone or torn.

A table that is there may be half of itself, and a stage writes more than its table: quarantines, models, the report.
The inventory lists what a stage wrote while it ran, with sizes; what the pages make is not listed, and not checked.
"""

import json
from pathlib import Path
from typing import Any, Final

from training.durable import replace_durably

FILE: Final = "inventory.json"
NOT_KEPT: Final = (".tmp", ".log")
TRAINER_STATES: Final = "state"
SLACK_S: Final = 0.05
"""Clocks of file system and event log may differ by as much."""


class Inventory:
    """The files of every stage, beside the state they belong to."""

    def __init__(self, home: Path) -> None:
        self.path, self.lake = home / FILE, home / "lake"
        self.stages: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}

    def note(self, table: str, run_id: str, started: float, ended: float) -> None:
        """List what lies in the stage's folder and was written between two times, in seconds since the epoch."""
        folder = self.lake / table.partition("/")[0]
        files = (p for p in folder.rglob("*") if p.is_file() and p.suffix not in NOT_KEPT)
        kept = [p for p in files if TRAINER_STATES not in p.relative_to(folder).parts]
        mine = {
            str(p.relative_to(self.lake)): p.stat().st_size
            for p in sorted(kept)
            if started - SLACK_S <= p.stat().st_mtime <= ended + SLACK_S
        }
        self.stages[table] = {"run": run_id, "files": mine}
        scratch = self.path.with_suffix(".tmp")
        scratch.write_text(json.dumps(self.stages), encoding="utf-8")
        replace_durably(scratch, self.path)

    def amiss(self, table: str, run_id: str) -> str | None:
        """What is wrong with the files that run `run_id` left for `table`, or None."""
        noted = self.stages.get(table)
        if noted is None or noted["run"] != run_id:
            return None
        for name, size in noted["files"].items():
            path = self.lake / name
            if not path.exists():
                return f"{name} is gone"
            if path.stat().st_size != size:
                return f"{name} is not as it was written"
        return None
