"""Rows of a benchmark: written to `results/NAME.json`, and the page that shows them all."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


class Row(TypedDict):
    """One measured figure beside its peer's and its aim."""

    what: str
    ours: float | str
    unit: str
    peer: str
    peer_value: float | str | None
    ratio: float | None
    aim: str
    holds: bool | None
    command: str
    when: str


def row(
    what: str,
    ours: float | str,
    unit: str,
    *,
    command: str,
    peer: str = "",
    peer_value: float | str | None = None,
    aim: str = "",
    holds: bool | None = None,
) -> Row:
    """A row stamped with the time of measurement."""
    numbers = isinstance(ours, float | int) and isinstance(peer_value, float | int) and peer_value
    return Row(
        what=what,
        ours=round(ours, 4) if isinstance(ours, float) else ours,
        unit=unit,
        peer=peer,
        peer_value=round(peer_value, 4) if isinstance(peer_value, float) else peer_value,
        ratio=round(float(ours) / float(peer_value), 3) if numbers else None,  # type: ignore[arg-type]
        aim=aim,
        holds=holds,
        command=command,
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def publish(name: str, rows: list[Row], *, beside_others: bool = False) -> None:
    """Write the rows of one benchmark and render the page.

    Args:
        name: of the benchmark.
        rows: what was measured.
        beside_others: keep the rows of earlier runs that were not measured again.
    """
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.json"
    if beside_others and file.exists():
        rows = merged(json.loads(file.read_text(encoding="utf-8")), rows)
    file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    render()


def render() -> None:
    """Write the page from every benchmark's rows; quick runs show that a benchmark works and are nobody's figures."""
    parts = ["# Benchmarks", "", "Rendered from `tests/bench/results/`; each row says how it was measured.", ""]
    for path in sorted(p for p in RESULTS.glob("*.json") if not p.stem.endswith("-quick")):
        parts += _table(path.stem, json.loads(path.read_text(encoding="utf-8")))
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def merged(before: list[Row], rows: list[Row]) -> list[Row]:
    """The rows from before, those that were measured again replaced in their place, new ones at the end."""
    found = {(row["what"], row["peer"]): row for row in before}
    return list((found | {(row["what"], row["peer"]): row for row in rows}).values())


def _table(name: str, rows: list[dict[str, Any]]) -> list[str]:
    head = ["what", "ours", "unit", "peer", "peer_value", "ratio", "aim", "holds", "when"]
    lines = [f"## {name}", "", f"`{rows[0]['command']}`" if rows else "", "", "| " + " | ".join(head) + " |"]
    lines.append("|" + " --- |" * len(head))
    for r in rows:
        shown = ["" if r[h] is None else str(r[h]) for h in head]
        lines.append("| " + " | ".join(shown).replace("True", "yes").replace("False", "no") + " |")
    return [*lines, ""]
