"""How the systems of desk read and write: pages, views, rights, and writes that happen once for one idempotency key.

What ERP writes reaches CRM some calls later. Nothing is kept for that: the ledger knows what each row was before and
when it was written, so CRM's view is the rows with the entries that have not arrived yet taken back.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from environments.state import SqliteState, insert_rows
from environments.tool import ToolRefusal
from environments.worlds.desk.data_model import DELAY_CALLS, PREFIX, TODAY, Row

PAGE = 5
"""Rows on a page, where the call does not ask for fewer."""
Write = tuple[str, Row]
"""Table and whole row."""
_HIDDEN = {"decision", "ready_at", "grantable"}


class Books:
    """Reading and writing for one session."""

    def __init__(self, state: SqliteState) -> None:
        self.state = state
        self.clock = 0
        """Tool calls since the reset."""
        self.delay = DELAY_CALLS

    def find(self, table: str, **columns: Any) -> list[Row]:
        """Rows of `table` with these values, by key."""
        where = " AND ".join(f"{name} = ?" for name in columns)
        found = self.state.connection.execute(
            f"SELECT * FROM {table} WHERE {where} ORDER BY id", list(columns.values())
        )
        names = [d[0] for d in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]

    def get(self, table: str, key: str) -> Row:
        """One row; an unknown key is refused."""
        row = self.state.row(table, key)
        if row is None:
            raise ToolRefusal("not_found", id=key)
        return row

    def page(self, rows: list[Row], cursor: str, limit: int) -> dict[str, Any]:
        """The rows after `cursor` (the key of the last row seen), and the cursor of the next page if there is one."""
        after = [row for row in rows if row["id"] > cursor]
        shown = after[:limit]
        more = shown[-1]["id"] if shown and len(after) > limit else None
        return {"rows": [view(row) for row in shown], "next_cursor": more}

    def new_key(self, table: str) -> str:
        """The key that the next row of `table` gets."""
        [last] = self.state.connection.execute(f"SELECT max(CAST(substr(id, 3) AS INTEGER)) FROM {table}").fetchone()
        return f"{PREFIX[table]}{(last or 1000) + 1}"

    def demand_right(self, right: str) -> Row:
        """The agent's right; refused where it has run out."""
        held = self.get("staff_right", right)
        if held["valid_until"] < TODAY.isoformat():
            raise ToolRefusal("right_expired", right=right, valid_until=held["valid_until"])
        return held

    def once(
        self, tool: str, subject: str, key: str, asked: Mapping[str, Any], make: Callable[[], list[Write]]
    ) -> dict[str, Any]:
        """Write what `make` gives and record it; a key that was used before gives the first result and writes nothing.

        Args:
            tool: the tool that writes.
            subject: key of the customer whom it concerns, or of the row itself.
            key: idempotency key; empty for none.
            asked: columns that the call asks for: one key cannot stand for two requests.
            make: rows to write, the one that is the result first.
        """
        if key and (first := self._first(tool, key)):
            if any(first.get(name) != value for name, value in asked.items()):
                raise ToolRefusal("idempotency_key_reused", idempotency_key=key)
            return view(first)
        written = make()
        for table, row in written:
            before = self.state.row(table, row["id"])
            insert_rows(self.state.connection, table, [row])
            told = None if before is None else _text(table, before)
            self.state.record(tool, subject, told, _text(table, row), at=self.clock, idempotency_key=key or None)
        return view(written[0][1])

    def _first(self, tool: str, key: str) -> Row | None:
        """The row that was written first under this key, or None."""
        found = self.state.connection.execute(
            "SELECT after FROM ledger WHERE tool = ? AND idempotency_key = ? ORDER BY position", (tool, key)
        ).fetchone()
        return None if found is None else next(iter(json.loads(found[0]).values()))

    def arrived(self, table: str, rows: list[Row]) -> list[Row]:
        """`rows` of an ERP table as CRM shows them now: without what has not reached it yet."""
        recent = self.state.connection.execute(
            "SELECT before, after FROM ledger WHERE tool LIKE 'erp_%' AND at > ? ORDER BY position DESC",
            (self.clock - self.delay,),
        )
        held: dict[str, Row | None] = {row["id"]: row for row in rows}
        for before, after in recent:
            for name, row in json.loads(after).items():
                if name == table and row["id"] in held:
                    held[row["id"]] = json.loads(before)[name] if before else None
        return [row for row in held.values() if row is not None]


def _text(table: str, row: Row) -> str:
    return json.dumps({table: row}, ensure_ascii=False)


def euros(cents: int) -> int | float:
    """An amount as the tools show it: 45 or 45.9."""
    return cents // 100 if cents % 100 == 0 else cents / 100


def cents(amount: float) -> int:
    """An amount in euros as it is kept; refused where it is not positive or not in whole cents."""
    found = round(amount * 100) if math.isfinite(amount * 100) else 0
    if found <= 0 or abs(found - amount * 100) > 1e-6:
        raise ToolRefusal("bad_amount", amount=str(amount))
    return found


def view(row: Row) -> dict[str, Any]:
    """A row as the tools show it: money in euros, nothing that is empty or not the agent's."""
    shown = {k: v for k, v in row.items() if v is not None and k not in _HIDDEN}
    return {k.removesuffix("_cents"): euros(v) if k.endswith("_cents") else v for k, v in shown.items()}
