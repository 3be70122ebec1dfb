"""Text files line by line: JSONL and CSV records from bytes, in blocks, with every line that does not parse kept apart.

Below `readers.py`: knows nothing of columns' meaning. A record is one JSON object or one CSV row; a row may span lines
inside quotes. Line numbers start at 1 and count every line of the file, the header too.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

BLOCK_BYTES: Final = 32 * 2**20
LONGEST_RECORD_LINES: Final = 20
"""A quoted CSV cell that is not closed within so many lines is taken for a torn line."""
DELIMITERS: Final = ",;\t|"
LONGEST_CELL: Final = 2**31 - 1
"""Characters of a CSV cell; a text that is too long is for the quarantine, not a torn line."""
NOT_UTF8, TORN, NOT_AN_OBJECT = "not UTF-8", "torn line", "not a JSON object"


class Record(NamedTuple):
    """One parsed record, or the raw line and why it did not parse."""

    line: int
    cells: dict[str, object] | None
    cause: str | None = None
    raw: bytes = b""


def line_blocks(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of a file, plain or compressed (.gz, .zst, .bz2), as (number of the first, lines) per block.

    Raises:
        ValueError: the file is UTF-16, or its compressed stream is damaged.
    """
    first, tail = 1, b""
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            while block := stream.read(BLOCK_BYTES):
                if first == 1 and not tail:
                    block = _checked(block, path)
                lines = (tail + block).split(b"\n")
                tail = lines.pop()
                if lines:
                    yield first, lines
                    first += len(lines)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read after line {first - 1:,}: {error}. Restore or remove the file"
        ) from error
    if tail:
        yield first, [tail]


def _checked(block: bytes, path: Path) -> bytes:
    """The first block of a file without its byte order mark."""
    if b"\r" in block and b"\n" not in block:
        raise ValueError(f"{path} ends its lines with CR only: convert it, for example with tr '\\r' '\\n'")
    if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{path} is UTF-16: save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8")
    return block.removeprefix(b"\xef\xbb\xbf")


def json_records(path: Path) -> Iterator[list[Record]]:
    """Records of a JSON-lines file, one list per block; blank lines are none."""
    for first, lines in line_blocks(path):
        yield [_json_record(number, line) for number, line in zip(count(first), lines, strict=False) if line.strip()]


def _json_record(number: int, line: bytes) -> Record:
    try:
        value = json.loads(line)
    except UnicodeDecodeError:
        return Record(number, None, NOT_UTF8, line)
    except (ValueError, RecursionError):
        return Record(number, None, TORN, line)
    return Record(number, value) if isinstance(value, dict) else Record(number, None, NOT_AN_OBJECT, line)


def csv_records(path: Path, wanted: Sequence[str]) -> Iterator[list[Record]]:
    """Records of a CSV file with a header, one list per block; the delimiter is the one that shows the wanted columns.

    Args:
        path: the file.
        wanted: columns that decide on the delimiter.

    Raises:
        ValueError: two columns have the name of a wanted one.
    """
    csv.field_size_limit(LONGEST_CELL)
    header: list[str] = []
    delimiter = ","
    open_lines: list[bytes] = []
    for first, lines in line_blocks(path):
        while not header and lines and not lines[0].strip():
            first, lines = first + 1, lines[1:]
        if not lines:
            continue
        if not header:
            delimiter, header = _header(lines[0], wanted)
            if twice := sorted({name for name in wanted if name and header.count(name) > 1}):
                raise ValueError(f"{path} has more than one column named {', '.join(twice)}: rename all but one")
            first, lines = first + 1, lines[1:]
        start = first - len(open_lines)
        records, open_lines = _rows([*open_lines, *lines], start, header, delimiter, last=False)
        yield records
        first_open = first + len(lines) - len(open_lines)
    if open_lines:
        yield _rows(open_lines, first_open, header, delimiter, last=True)[0]


def _header(line: bytes, wanted: Sequence[str]) -> tuple[str, list[str]]:
    text = line.decode("utf-8", "replace").rstrip("\r")
    readings = [(d, [name.strip() for name in next(csv.reader([text], delimiter=d), [])]) for d in DELIMITERS]
    return max(readings, key=lambda r: (sum(name in r[1] for name in wanted), -DELIMITERS.index(r[0])))


def _rows(
    lines: list[bytes], start: int, header: list[str], delimiter: str, *, last: bool
) -> tuple[list[Record], list[bytes]]:
    """Records of these lines, and the lines at the end that may belong to a record of the next block."""
    records: list[Record] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip(b"\r")
        used, cells = _row(lines, at, delimiter, len(header))
        if cells is None and not last and at + LONGEST_RECORD_LINES > len(lines) and line.count(b'"') % 2:
            return records, lines[at:]
        if line.strip():
            records.append(_csv_record(start + at, cells, header, b"\n".join(lines[at : at + used])))
        at += used
    return records, []


def _row(lines: list[bytes], at: int, delimiter: str, width: int) -> tuple[int, list[str] | None]:
    """How many lines the row at `at` spans, and its cells; one line and None where it is torn."""
    longest = LONGEST_RECORD_LINES if lines[at].count(b'"') % 2 else 1
    text = ""
    for span, line in enumerate(lines[at : at + longest], start=1):
        text += ("\n" if span > 1 else "") + line.decode("utf-8", "surrogateescape").rstrip("\r")
        try:
            rows = list(csv.reader([text], delimiter=delimiter, strict=True))
        except csv.Error:
            continue
        if len(rows) == 1 and len(rows[0]) == width:
            return span, rows[0]
    return 1, None


def _csv_record(number: int, cells: list[str] | None, header: list[str], raw: bytes) -> Record:
    if cells is None:
        return Record(number, None, TORN if _is_utf8(raw) else NOT_UTF8, raw)
    if not _is_utf8(raw):
        return Record(number, None, NOT_UTF8, raw)
    return Record(number, dict(zip(header, cells, strict=True)))


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
