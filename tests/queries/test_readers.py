"""Every kind of file gives the same rows, every bad line is kept with its cause, every mistake is a clear error."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.queries.readers import Columns, Reading, left_out, read_logs, utc_times

ROWS = [
    {"text": "weather in Paris?", "time": "2026-06-01T08:00:00Z", "user": "ann"},
    {"text": '北京，"明天" 天气', "time": "2026-06-01 08:30:00", "user": "bob"},
    {"text": "two\nlines; and more", "time": "2026-06-02", "user": "7"},
]
COLUMNS = Columns(time="time", user="user")


def jsonl(rows: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def causes(reading: Reading) -> list[str]:
    return reading.quarantine.sort("source_row")["cause"].to_list()


def save(path: Path) -> Path:
    """Write `ROWS` in the format that the name asks for."""
    kind, packed = path.suffixes[0], path.suffixes[1:]
    frame = pl.DataFrame(ROWS)
    content = {
        ".jsonl": lambda: jsonl(ROWS),
        ".csv": lambda: frame.write_csv().encode(),
        ".tsv": lambda: frame.write_csv(separator="\t").encode(),
    }
    if kind == ".parquet":
        frame.write_parquet(path)
    elif packed == [".zst"]:
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(content[kind]())
    else:
        path.write_bytes(gzip.compress(content[kind]()) if packed else content[kind]())
    return path


NAMES = ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv", "a.csv.gz", "a.csv.zst", "a.tsv", "a.parquet"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    reading = read_logs(str(save(tmp_path / name)), COLUMNS)
    assert reading.rows["text"].to_list() == [row["text"] for row in ROWS]
    assert reading.rows["user"].to_list() == ["ann", "bob", "7"]
    assert reading.rows["time"].dt.to_string("%d %H:%M").to_list() == ["01 08:00", "01 08:30", "02 00:00"]
    assert reading.rows["source_file"].unique().to_list() == [name]
    assert reading.quarantine.is_empty()


def test_a_folder_and_a_glob_name_all_files_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "june"
    folder.mkdir(parents=True)
    for name in NAMES[:4]:
        save(folder / name)
    folder.joinpath("notes.txt").write_text("not a log")
    whole = read_logs(str(tmp_path / "logs"), COLUMNS)
    assert len(whole.rows) == 4 * len(ROWS)
    assert whole.files["source_file"].to_list() == sorted(f"june/{name}" for name in NAMES[:4])
    assert len(read_logs(str(tmp_path / "logs" / "**" / "*.gz"), COLUMNS).rows) == len(ROWS)


def test_files_of_another_kind_in_a_folder_are_told(tmp_path: Path) -> None:
    save(tmp_path / "a.jsonl")
    for name in ("notes.txt", "b.csv.rar"):
        (tmp_path / name).write_text("?")
    assert [p.name for p in left_out(str(tmp_path))] == ["b.csv.rar", "notes.txt"]


def test_line_ends_of_old_macs_are_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text,time\rweather,2026-06-01\r")
    with pytest.raises(ValueError, match=r"a\.csv ends its lines with CR only: convert it"):
        read_logs(str(tmp_path / "a.csv"), Columns())


def test_blank_lines_before_a_csv_header_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\n \r\ntext,time\nweather in rome,2026-06-01\n")
    reading = read_logs(str(tmp_path / "a.csv"), Columns())
    assert reading.rows["text"].to_list() == ["weather in rome"]
    assert reading.quarantine.is_empty()


def test_a_csv_cell_of_any_length_is_a_text_that_may_be_too_long_and_not_a_torn_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"text,time\n{'long ' * 60_000},2026-06-01\nshort,2026-06-01\n")
    reading = read_logs(str(tmp_path / "a.csv"), Columns())
    assert reading.rows["text"].to_list() == ["short"]
    assert causes(reading) == ["over-long text"]


def test_two_columns_of_one_name_are_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,time,text\nweather,2026-06-01,rain\n")
    with pytest.raises(ValueError, match=r"a\.csv has more than one column named text: rename all but one"):
        read_logs(str(tmp_path / "a.csv"), Columns())


def test_bad_json_lines_are_kept_with_their_cause(tmp_path: Path) -> None:
    lines = [
        b'\xef\xbb\xbf{"text": "good"}',
        b'{"text": 5}',
        b'{"te',
        b"",
        b'{"text": "M\xfcnchen"}',
        b"[1]",
        b'{"x": 1}',
        b'{"text": "  "}',
        b'{"text": "' + b"a" * 90 + b'"}',
        b'{"text": "\\ud800"}',
        b'{"text": null}',
        b'{"text": "good too", "time": "some day"}',
        b'{"text": "call 13800138000',
    ]
    tmp_path.joinpath("a.jsonl").write_bytes(b"\n".join(lines))
    reading = read_logs(str(tmp_path / "a.jsonl"), Columns(time="time"), max_characters=80)
    assert reading.rows["text"].to_list() == ["good"]
    assert reading.rows["source_row"].to_list() == [1]
    assert list(zip(reading.quarantine["source_row"].to_list(), causes(reading), strict=True)) == [
        (2, "wrong type"),
        (3, "torn line"),
        (5, "not UTF-8"),
        (6, "not a JSON object"),
        (7, "missing column"),
        (8, "empty text"),
        (9, "over-long text"),
        (10, "not UTF-8"),
        (11, "empty text"),
        (12, "time not understood"),
        (13, "torn line"),
    ]
    assert reading.quarantine["excerpt"].to_list()[-1] == '{"text": "call <phone>'
    assert reading.files["rows"].to_list() == [12]


def test_bad_csv_lines_do_not_take_their_neighbours_along(tmp_path: Path) -> None:
    rows = [
        "id,text",
        '1,"hello, ""you"""',
        '2,a 5" screen',
        '3,"never closed',
        "4,fine",
        "5,one,too many",
        "",
        "6,été",
        "7,last",
    ]
    text = "\r\n".join(rows)
    tmp_path.joinpath("a.csv").write_bytes(text.encode("latin-1"))
    reading = read_logs(str(tmp_path / "a.csv"), Columns())
    assert reading.rows["text"].to_list() == ['hello, "you"', 'a 5" screen', "fine", "last"]
    assert causes(reading) == ["torn line", "torn line", "not UTF-8"]
    assert reading.quarantine["source_row"].to_list() == [4, 6, 8]


def test_the_delimiter_is_the_one_that_shows_the_column(tmp_path: Path) -> None:
    tmp_path.joinpath("a.csv").write_text("id;frage\n1;hallo, du\n")
    assert read_logs(str(tmp_path / "a.csv"), Columns("frage")).rows["text"].to_list() == ["hallo, du"]


def test_parquet_cells_that_are_not_utf8_are_kept_apart(tmp_path: Path) -> None:
    cells = pa.array([b"good", b"M\xfcnchen", None, "北京".encode()], pa.binary())
    pq.write_table(pa.table({"text": cells}), tmp_path / "a.parquet")
    reading = read_logs(str(tmp_path / "a.parquet"), Columns())
    assert reading.rows["text"].to_list() == ["good", "北京"]
    assert causes(reading) == ["not UTF-8", "empty text"]


def test_parquet_times_and_users_of_other_types_are_read(tmp_path: Path) -> None:
    times = [datetime(2026, 6, 1, 8, tzinfo=UTC), None]
    frame = pl.DataFrame({"q": pl.Series(["a", "b"], dtype=pl.Categorical), "t": times, "u": [7, 8]})
    frame.write_parquet(tmp_path / "a.parquet")
    rows = read_logs(str(tmp_path / "a.parquet"), Columns("q", "t", "u")).rows
    assert rows["text"].to_list() == ["a", "b"]
    assert rows["user"].to_list() == ["7", "8"]
    assert rows["time"].to_list() == [datetime(2026, 6, 1, 8, tzinfo=UTC).replace(tzinfo=None), None]


def test_times_are_read_as_utc() -> None:
    read = {
        "2026-06-10T08:00:00Z": "10 08:00:00",
        "2026-06-10 08:00:00+02:00": "10 06:00:00",
        "2026-06-10T08:00:00.5-0530": "10 13:30:00",
        "2026-06-10 08:00": "10 08:00:00",
        "2026/6/9 8:30": "09 08:30:00",
        "2026-06-10": "10 00:00:00",
        "1781078400": "10 08:00:00",
        "1781078400000": "10 08:00:00",
    }
    times = utc_times(pl.Series([*read, "yesterday", None]))
    assert times.dt.to_string("%d %H:%M:%S").to_list() == [*read.values(), None, None]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name)
    with pytest.raises(
        ValueError, match=r"no column 'query'. Its columns: 'text', 'time', 'user'. Set column"
    ) as caught:
        read_logs(str(path), Columns("query"))
    assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match=r"no column 'clock'.*Set time_column"):
        read_logs(str(path), Columns(time="clock"))


def test_a_column_of_numbers_is_no_text(tmp_path: Path) -> None:
    pl.DataFrame({"text": [1], "query": ["a"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"'text' holds int64, not text. Columns with text: 'query'"):
        read_logs(str(tmp_path / "a.parquet"), Columns())


def test_what_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no log at"):
        read_logs(str(tmp_path / "none*.csv"), Columns())
    tmp_path.joinpath("a.xlsx").write_bytes(b"x")
    with pytest.raises(FileNotFoundError, match=r"a\.xlsx.*can be read: \.parquet"):
        read_logs(str(tmp_path), Columns())
    tmp_path.joinpath("a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="not a whole Parquet file"):
        read_logs(str(tmp_path / "a.parquet"), Columns())
    tmp_path.joinpath("a.jsonl.gz").write_bytes(gzip.compress(jsonl(ROWS) * 50)[:40])
    with pytest.raises(ValueError, match="cannot be read after line"):
        read_logs(str(tmp_path / "a.jsonl.gz"), Columns())
    tmp_path.joinpath("a.csv").write_bytes("text\nhello\n".encode("utf-16"))
    with pytest.raises(ValueError, match="is UTF-16"):
        read_logs(str(tmp_path / "a.csv"), Columns())
    tmp_path.joinpath("b.csv").write_bytes(b"text\n")
    with pytest.raises(ValueError, match="holds no rows"):
        read_logs(str(tmp_path / "b.csv"), Columns())


LINES = st.lists(
    st.sampled_from(
        [b'{"text": "a"}', b'{"text": ""}', b'{"te', b"\xff", b"[]", b'{"text": 1}', '{"text": "北京"}'.encode()]
    ),
    min_size=1,
    max_size=30,
)


@given(LINES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_line_is_lost(tmp_path: Path, lines: list[bytes]) -> None:
    tmp_path.joinpath("a.jsonl").write_bytes(b"\n".join([b'{"text": "first"}', *lines]))
    reading = read_logs(str(tmp_path / "a.jsonl"), Columns())
    assert len(reading.rows) + len(reading.quarantine) == 1 + len(lines) == reading.files["rows"].sum()


CSV_LINES = st.lists(
    st.sampled_from(["a,b", '"a\nb",c', '"a,b', 'a"b,c"', "a", "a,b,c", '"",x', "é,ü"]), min_size=1, max_size=30
)


@given(CSV_LINES, st.sampled_from([8, 64, 1 << 20]))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_of_any_size_give_the_same_csv_rows(tmp_path: Path, lines: list[str], block: int) -> None:
    from assets.queries import lines as module

    tmp_path.joinpath("a.csv").write_text("text,more\nfirst,row\n" + "\n".join(lines), encoding="utf-8")
    whole = read_logs(str(tmp_path / "a.csv"), Columns())
    before, module.BLOCK_BYTES = module.BLOCK_BYTES, block
    try:
        pieces = read_logs(str(tmp_path / "a.csv"), Columns())
    finally:
        module.BLOCK_BYTES = before
    assert pieces.rows.equals(whole.rows)
    assert pieces.quarantine.equals(whole.quarantine)
