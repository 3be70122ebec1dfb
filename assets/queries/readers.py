"""Logs in: Parquet, JSONL and CSV (also .gz, .zst; files, folders, globs) to one table; bad lines to a quarantine.

First step of the pipeline. Conservation: every row of every file is kept or in the quarantine. A caller's mistake (a
wrong path, a column that is not there) is an error that says what to change; a bad line never is.

Source: pipeline stage 1 and law 8.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from assets.queries.cells import EXCERPT_READ, FIELDS, missing_column, parquet_frames, record_frame
from assets.queries.lines import csv_records, json_records
from assets.queries.scrub import mask

MAX_CHARACTERS: Final = 2_000
"""A longer text is quarantined; ours."""
EXCERPT_CHARACTERS: Final = 80
EMPTY, TOO_LONG, NO_TIME = "empty text", "over-long text", "time not understood"
SUFFIXES: Final = {".parquet": "parquet", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "csv"}
PACKED: Final = (".gz", ".zst")
ROW_COLUMNS: Final = (*FIELDS, "source_file", "source_row")
QUARANTINE_COLUMNS: Final = ("source_file", "source_row", "column", "cause", "excerpt")


@dataclass(frozen=True)
class Columns:
    """Which column of the log is what; an empty name means that the log has none."""

    text: str = "text"
    time: str = ""
    user: str = ""
    context: str = ""

    def named(self) -> dict[str, str]:
        """Field to column, for the fields that the log has."""
        return {field: getattr(self, field) for field in FIELDS if getattr(self, field)}


class Reading(NamedTuple):
    """What was read: texts as they stand in the log, not yet scrubbed. Keep it in memory only."""

    rows: pl.DataFrame
    """text, time (UTC), user, context, source_file, source_row."""
    quarantine: pl.DataFrame
    """source_file, source_row, column, cause, excerpt (scrubbed)."""
    files: pl.DataFrame
    """source_file, rows: how many rows each file held."""


def find_files(logs: str) -> list[Path]:
    """The log files that a path, a folder (searched whole) or a glob names, in order.

    Raises:
        FileNotFoundError: nothing is there, or nothing of a kind that can be read.
    """
    files = _matched(logs)
    if not files:
        raise FileNotFoundError(f"no log at {logs!r}: give a file, a folder or a glob (quote a glob in the shell)")
    readable = [path for path in files if _format(path)]
    if not readable:
        kinds = f"{', '.join(SUFFIXES)}, each also with {' or '.join(PACKED)}"
        raise FileNotFoundError(f"{logs!r} has {files[0].name!r}, which is of no kind that can be read: {kinds}")
    return readable


def left_out(logs: str) -> list[Path]:
    """Files that a path, a folder or a glob names and that are of no kind that can be read."""
    return [path for path in _matched(logs) if not _format(path)]


def _matched(logs: str) -> list[Path]:
    place = Path(logs).expanduser()
    base = Path(place.anchor)
    matches = place.rglob("*") if place.is_dir() else base.glob(str(place.relative_to(base)))
    found = [place] if place.is_file() else sorted(matches)
    return [path for path in found if path.is_file()]


def read_logs(logs: str, columns: Columns, *, max_characters: int = MAX_CHARACTERS) -> Reading:
    """Read every row of every file that `logs` names.

    Args:
        logs: a file, a folder or a glob.
        columns: which column is what.
        max_characters: a longer text is quarantined.

    Raises:
        FileNotFoundError: there is no log.
        ValueError: a file is damaged, or lacks a column that `columns` names, or no file has a row.
    """
    place = Path(logs).expanduser()
    pieces: list[pl.DataFrame] = []
    for path in find_files(logs):
        name = str(path.relative_to(place)) if place.is_dir() else path.name
        pieces += [_judged(piece, name, columns, max_characters) for piece in _pieces(path, columns)]
    if not any(len(piece) for piece in pieces):
        raise ValueError(f"{logs!r} holds no rows: check that the log was written, or give another file")
    table = pl.concat(pieces)
    bad = table.filter(pl.col("cause").is_not_null())
    shown = [None if e is None else mask(e)[:EXCERPT_CHARACTERS] for e in bad["excerpt"].to_list()]
    quarantine = bad.with_columns(pl.Series("excerpt", shown, pl.String)).select(QUARANTINE_COLUMNS)
    files = table.group_by("source_file").agg(pl.len().cast(pl.Int64).alias("rows")).sort("source_file")
    return Reading(table.filter(pl.col("cause").is_null()).select(ROW_COLUMNS), quarantine, files)


def _format(path: Path) -> str | None:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def _pieces(path: Path, columns: Columns) -> Iterator[pl.DataFrame]:
    named = columns.named()
    if _format(path) == "parquet":
        yield from parquet_frames(path, named)
        return
    seen: set[str] = set()
    pieces: list[pl.DataFrame] = []
    for records in json_records(path) if _format(path) == "json" else csv_records(path, list(named.values())):
        seen.update(*(record.cells for record in records if record.cells))
        pieces.append(record_frame(records, named))
    for field, column in named.items():
        if seen and column not in seen:
            raise missing_column(path, field, column, seen)
    yield from pieces


def _judged(piece: pl.DataFrame, name: str, columns: Columns, max_characters: int) -> pl.DataFrame:
    """The piece with its times read and the rows that cannot be used named."""
    text, time = pl.col("text"), utc_times(piece["time"])
    unread = pl.Series(time.is_null() & piece["time"].is_not_null())
    tests = (
        (text.is_null() | (text.str.strip_chars() == ""), EMPTY, columns.text),
        (text.str.len_chars() > max_characters, TOO_LONG, columns.text),
        (pl.lit(unread), NO_TIME, columns.time),
    )
    judged = piece.with_columns(time.alias("time"), pl.lit(name).alias("source_file"))
    for test, cause, column in tests:
        hit = test & pl.col("cause").is_null()
        excerpt = pl.when(hit).then(text.str.slice(0, EXCERPT_READ)).otherwise("excerpt")
        blamed = pl.when(hit).then(pl.lit(column)).otherwise("column")
        judged = judged.with_columns(
            excerpt.alias("excerpt"),
            blamed.alias("column"),
            pl.when(hit).then(pl.lit(cause)).otherwise("cause").alias("cause"),
        )
    return judged.select(*ROW_COLUMNS, *QUARANTINE_COLUMNS[2:])


_EPOCHS: Final = ((r"^\d{9,10}(?:\.\d+)?$", 1_000_000), (r"^\d{12,13}$", 1_000), (r"^\d{15,16}$", 1))
_CLOCKS: Final = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_OFFSET: Final = r"(?:Z|UTC|([+-]\d{2}):?(\d{2}))$"


def utc_times(times: pl.Series) -> pl.Series:
    """Times of day in UTC: ISO 8601 with or without offset, Unix seconds, milliseconds or microseconds; else null."""
    if isinstance(times.dtype, pl.Datetime):
        return (times.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if times.dtype.time_zone else times).cast(
            pl.Datetime("us")
        )
    if times.dtype == pl.Date:
        return times.cast(pl.Datetime("us"))
    text = pl.col("time").cast(pl.String).str.strip_chars()
    numbers = [
        pl.when(text.str.contains(shape)).then(
            (text.cast(pl.Float64, strict=False) * scale).round(0).cast(pl.Int64, strict=False).cast(pl.Datetime("us"))
        )
        for shape, scale in _EPOCHS
    ]
    day_first = text.str.replace(r"^(\d{4})[/.](\d{1,2})[/.](\d{1,2})", "$1-$2-$3").str.replace(r"^(\S{8,10})T", "$1 ")
    local = day_first.str.replace(rf"\s?{_OFFSET}", "")
    clocks = [local.str.to_datetime(clock, time_unit="us", strict=False) for clock in _CLOCKS]
    minutes = _offset_minutes(text)
    return (
        times.alias("time")
        .to_frame()
        .select(pl.coalesce(*numbers, pl.coalesce(clocks) - pl.duration(minutes=minutes)).alias("time"))["time"]
    )


def _offset_minutes(text: pl.Expr) -> pl.Expr:
    timed = pl.when(text.str.contains(r"\d:\d")).then(text)
    hours = timed.str.extract(_OFFSET, 1).cast(pl.Int64, strict=False)
    minutes = timed.str.extract(_OFFSET, 2).cast(pl.Int64, strict=False)
    sign = pl.when(timed.str.contains(r"-\d{2}:?\d{2}$")).then(-1).otherwise(1)
    return (hours * 60 + sign * minutes).fill_null(0)
