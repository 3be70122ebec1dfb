"""The generated log as a file, a few broken lines among the good ones, and its truth as a table once rows have ids.

The demo's log takes the way of every other log: it is written as JSON lines and read back by `readers.py`, so that what
the demo shows of quarantine and conservation is what a user's own log would show.
"""

import json
import random
from pathlib import Path
from typing import Final

import polars as pl

from assets.queries.grammar import TRUTH_COLUMNS
from assets.queries.readers import Columns
from environments.seeds import stable_hash

LINES_PER_BROKEN: Final = 4_000
"""One line in so many is broken."""
LOG_COLUMNS: Final = Columns("text", "time", "user", "context")
_BROKEN: Final = (
    b'{"text": "what is the weather in M\xfcnchen today?", "time": "2026-06-01T08:00:00"}',
    b'{"text": "cheapest flight from Paris to Ro',
    b'{"text": "   ", "time": "2026-06-01T08:00:00", "user": "user000001"}',
    b'{"text": "' + b"and then " * 400 + b'"}',
    b'{"text": 42, "time": "2026-06-01T08:00:00"}',
    b'{"time": "2026-06-01T08:00:00", "user": "user000001"}',
)


def write_log(log: pl.DataFrame, path: Path, seed: int) -> pl.Series:
    """Write a generated log as JSON lines, with at least one broken line of each kind.

    Args:
        log: what `generate_log` returned.
        path: the file; its folder exists.
        seed: where the broken lines stand.

    Returns:
        The line number of each row of `log`.
    """
    rng = random.Random(stable_hash("broken lines", seed))
    broken = max(len(_BROKEN), len(log) // LINES_PER_BROKEN)
    after = sorted(rng.randrange(len(log) + 1) for _ in range(broken))
    lines: list[bytes] = []
    numbers: list[int] = []
    for row, cells in enumerate(_cells(log)):
        while after and after[0] == row:
            lines.append(_BROKEN[(broken - len(after)) % len(_BROKEN)])
            after.pop(0)
        lines.append(json.dumps(cells, ensure_ascii=False).encode())
        numbers.append(len(lines))
    lines += [_BROKEN[(broken - left) % len(_BROKEN)] for left in range(len(after), 0, -1)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return pl.Series("source_row", numbers, dtype=pl.Int64)


def _cells(log: pl.DataFrame) -> list[dict[str, str]]:
    rows = log.select("text", pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%S"), "user", "context").to_dicts()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def planted_truth(log: pl.DataFrame, numbers: pl.Series, raw: pl.DataFrame) -> pl.DataFrame:
    """The truth about each stored row.

    Args:
        log: what `generate_log` returned.
        numbers: the line number of each of its rows.
        raw: the rows as stored, from that one file.

    Returns:
        raw_id, family, leaf, secondary, kind, slots, personal; sorted by raw_id.
    """
    truth = log.select(*TRUTH_COLUMNS).with_columns(numbers.alias("source_row"))
    return raw.select("raw_id", "source_row").join(truth, on="source_row").drop("source_row").sort("raw_id")
