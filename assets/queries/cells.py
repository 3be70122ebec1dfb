"""Records and Parquet batches to one shape: the four fields of a log as columns, with a cause where a cell is wrong.

Between `lines.py` (bytes) and `readers.py` (files). Every piece has the columns source_row, text, time, user, context,
column, cause, excerpt; a row with a cause is bad, its excerpt is not yet scrubbed. `time` stays as it came.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from assets.queries.lines import NOT_UTF8, Record

FIELDS: Final = ("text", "time", "user", "context")
MISSING, WRONG_TYPE = "missing column", "wrong type"
EXCERPT_READ: Final = 400
"""Characters of a bad row that are looked at; what is shown of them is scrubbed and shorter."""
PARQUET_ROWS: Final = 500_000
_ABSENT: Final = object()


def missing_column(path: Path, field: str, column: str, found: set[str]) -> ValueError:
    """The error for a column that a file does not have."""
    setting = "column (--column)" if field == "text" else f"{field}_column"
    shown = ", ".join(repr(name) for name in sorted(found)[:20]) or "none"
    return ValueError(
        f"{path} has no column {column!r}. Its columns: {shown}. Set {setting} of queries.raw_queries to one of them"
    )


def record_frame(records: list[Record], named: Mapping[str, str]) -> pl.DataFrame:
    """Records as columns of text.

    Args:
        records: of one block.
        named: field -> column, for the fields that the log has.
    """
    raw = [r.raw.decode("utf-8", "replace")[:EXCERPT_READ] if r.cells is None else None for r in records]
    causes, blamed = [r.cause for r in records], [None if r.cells is None else "" for r in records]
    frame: dict[str, list[str | None]] = {}
    for field in FIELDS:
        column = named.get(field, "")
        values = [r.cells.get(column, _ABSENT) if column and r.cells is not None else None for r in records]
        frame[field] = [_as_text(value, field) for value in values]
        for row, value in enumerate(values):
            if value is not None and frame[field][row] is None and not causes[row] and (wrong := _wrong(value, field)):
                causes[row], blamed[row], raw[row] = (
                    wrong,
                    column,
                    None if value is _ABSENT else repr(value)[:EXCERPT_READ],
                )
    more = {"column": [b or None for b in blamed], "cause": causes, "excerpt": raw}
    lines = pl.Series([r.line for r in records], dtype=pl.Int64)
    return pl.DataFrame(
        {"source_row": lines} | {name: pl.Series(cells, dtype=pl.String) for name, cells in (frame | more).items()}
    )


def _as_text(value: object, field: str) -> str | None:
    if isinstance(value, str):
        return value if value.isascii() or _encodable(value) else None
    if field in ("time", "user") and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def _encodable(value: str) -> bool:
    """Whether the text has no lone surrogate, which JSON can write as an escape."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wrong(value: object, field: str) -> str | None:
    if value is _ABSENT:
        return MISSING if field == "text" else None
    return NOT_UTF8 if isinstance(value, str) else WRONG_TYPE


def parquet_frames(path: Path, named: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """The named columns of a Parquet file, batch by batch; source_row counts from 1.

    Raises:
        ValueError: the file is damaged, lacks a column, or the column of the text holds something else.
    """
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} is not a whole Parquet file ({error}): restore or remove it") from error
    fields = {f.name: f.type for f in file.schema_arrow}
    for field, column in named.items():
        if column not in fields:
            raise missing_column(path, field, column, set(fields))
    if not _is_text(fields[named["text"]]):
        texts = ", ".join(repr(name) for name, kind in fields.items() if _is_text(kind)) or "none"
        raise ValueError(
            f"{path}: column {named['text']!r} holds {fields[named['text']]}, not text. Columns with text: {texts}"
        )
    row = 1
    for batch in file.iter_batches(PARQUET_ROWS, columns=sorted(set(named.values()))):
        yield _batch_frame(batch, named, row)
        row += len(batch)


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_string_view,
    )
    return any(test(inner) for test in tests)


def _batch_frame(batch: pa.RecordBatch, named: Mapping[str, str], first: int) -> pl.DataFrame:
    columns: dict[str, pl.Series] = {"source_row": pl.Series(range(first, first + len(batch)), dtype=pl.Int64)}
    bad = pl.Series([False] * len(batch), dtype=pl.Boolean)
    for field in FIELDS:
        if field not in named:
            columns[field] = pl.Series([None] * len(batch), dtype=pl.String)
            continue
        cells = batch.column(named[field])
        if not _is_text(cells.type):
            kept = pl.Series(pl.from_arrow(cells))
            columns[field] = kept if field == "time" else kept.cast(pl.String)
            continue
        columns[field], broken = _decoded(cells)
        bad |= broken if field == "text" else False
    nothing = pl.Series([None] * len(batch), dtype=pl.String)
    causes = pl.select(pl.when(bad).then(pl.lit(NOT_UTF8)).otherwise(None)).to_series().cast(pl.String)
    return pl.DataFrame(columns | {"column": nothing, "cause": causes, "excerpt": nothing})


def _decoded(cells: pa.Array) -> tuple[pl.Series, pl.Series]:
    """Text cells, null where they are not UTF-8, and which those are."""
    plain = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
    try:
        checked = plain.cast(pa.large_binary()).cast(pa.large_string())
        return pl.Series(pl.from_arrow(checked)), pl.Series([False] * len(cells), dtype=pl.Boolean)
    except pa.ArrowInvalid:
        texts = [_text_or_none(cell) for cell in plain.cast(pa.large_binary()).to_pylist()]
        given = pl.Series(plain.is_valid().to_pylist(), dtype=pl.Boolean)
        series = pl.Series(texts, dtype=pl.String)
        return series, series.is_null() & given


def _text_or_none(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None
