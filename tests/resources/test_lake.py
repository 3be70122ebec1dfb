"""The lake on real folders: whole or not at all, versions by content, errors that say what to do."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import resources.lake
from resources.lake import Digest, Lake, LakeError, content_hash

TABLE = "queries/raw_queries"
ROWS = pl.DataFrame({"raw_id": ["a", "b", "c"], "text": ["x|y", None, "北京"], "when": [date(2026, 6, 10)] * 3})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(root=str(tmp_path))


def test_what_was_written_is_read_back(lake: Lake) -> None:
    path = lake.write(TABLE, ROWS)
    assert path == lake.path(TABLE)
    assert lake.exists(TABLE)
    assert lake.read(TABLE).equals(ROWS)


def test_a_scan_sees_every_partition_and_nothing_else(lake: Lake) -> None:
    lake.write(TABLE, ROWS.head(1), "one.leaf")
    lake.write(TABLE, ROWS.tail(2), "other.leaf")
    (lake.folder(TABLE) / ".other.leaf.123.tmp").write_bytes(b"torn")
    assert lake.scan(TABLE).collect().sort("raw_id").equals(ROWS)


@given(order=st.permutations(range(3)), columns=st.permutations(ROWS.columns))
@settings(max_examples=15, deadline=None)
def test_no_order_of_rows_or_columns_changes_the_version(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], columns: list[str]
) -> None:
    lake = Lake(root=str(tmp_path_factory.mktemp("lake")))
    lake.write(TABLE, ROWS)
    lake.write(TABLE, ROWS[order].select(columns), "shuffled")
    assert lake.version(TABLE) == lake.version(TABLE, "shuffled")


@pytest.mark.parametrize(
    "other",
    [
        ROWS.head(2),
        ROWS.vstack(ROWS.head(1)),
        ROWS.rename({"text": "words"}),
        ROWS.with_columns(pl.lit("z").alias("text")),
        ROWS.with_columns(pl.col("when").cast(pl.Datetime)),
        ROWS.clear(),
    ],
    ids=["a row less", "a row twice", "another name", "another value", "another type", "no rows"],
)
def test_other_content_gives_another_version(lake: Lake, other: pl.DataFrame) -> None:
    lake.write(TABLE, ROWS)
    lake.write(TABLE, other, "other")
    assert lake.version(TABLE) != lake.version(TABLE, "other")


def test_the_version_of_known_rows_never_moves(lake: Lake) -> None:
    lake.write(TABLE, ROWS)
    assert lake.version(TABLE) == "cb93cee1f589bbce"


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_table_written_in_pieces_is_the_table_and_is_read_in_pieces(lake: Lake, size: int) -> None:
    path = lake.write_pieces(TABLE, ROWS.iter_slices(size), "pieces")
    lake.write(TABLE, ROWS)
    assert path == lake.path(TABLE, "pieces")
    assert lake.read(TABLE, "pieces").equals(ROWS)
    assert lake.version(TABLE, "pieces") == lake.version(TABLE)
    assert lake.count(TABLE, "pieces") == len(ROWS)
    found = list(lake.pieces(TABLE, "pieces", columns=["text"], rows=size))
    assert [len(piece) for piece in found[:-1]] == [size] * (len(found) - 1)
    assert pl.concat(found).equals(ROWS.select("text"))


def test_a_table_without_rows_is_one_piece(lake: Lake) -> None:
    lake.write_pieces(TABLE, [ROWS.clear()])
    assert [piece.equals(ROWS.clear()) for piece in lake.pieces(TABLE)] == [True]


def test_what_fails_between_two_pieces_leaves_the_old_table_and_nothing_else(lake: Lake) -> None:
    def broken() -> Iterator[pl.DataFrame]:
        yield ROWS.head(1)
        raise KeyError("the next one")

    lake.write(TABLE, ROWS)
    for pieces, error in ((broken(), KeyError), ([], ValueError), ([ROWS, ROWS.select("text")], ValueError)):
        with pytest.raises(error):
            lake.write_pieces(TABLE, pieces)
    assert lake.read(TABLE).equals(ROWS)
    assert [path.name for path in lake.folder(TABLE).iterdir()] == ["all.parquet"]


@given(cuts=st.lists(st.integers(0, 3), max_size=4), order=st.permutations(range(3)))
def test_rows_counted_in_by_pieces_have_the_version_of_the_table(cuts: list[int], order: list[int]) -> None:
    places = [0, *sorted(cuts), 3]
    digest, joined = Digest(ROWS.schema), Digest(ROWS.schema)
    for first, last in pairwise(places):
        digest.add(ROWS[order][first:last])
        other = Digest(ROWS.schema)
        other.add(ROWS[order][first:last])
        joined.join(other)
    assert (digest.count, digest.version()) == (3, content_hash(ROWS.lazy()))
    assert (joined.count, joined.version()) == (digest.count, digest.version())


def test_a_large_table_has_the_same_version_read_by_many_processes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame({"n": range(250_000)}).with_columns(text=pl.format("row {}", "n"))
    lake.write(TABLE, rows)
    alone = lake.version(TABLE)
    monkeypatch.setattr(resources.lake, "_WORTH_PROCESSES", 1)
    assert lake.version(TABLE) == alone == content_hash(rows.lazy())


def test_an_absent_table_says_materialize_it_first(lake: Lake) -> None:
    for ask in (lake.read, lake.version, lake.scan):
        with pytest.raises(FileNotFoundError, match=r"queries/raw_queries.*materialize it first"):
            ask(TABLE)


@pytest.mark.parametrize("keep", [0, 20, -1])
def test_a_torn_file_is_named(lake: Lake, keep: int) -> None:
    path = lake.write(TABLE, ROWS)
    path.write_bytes(path.read_bytes()[:keep])
    for ask in (lake.read, lake.version):
        with pytest.raises(LakeError, match=r"all\.parquet is not a whole Parquet file: delete it"):
            ask(TABLE)


@pytest.mark.parametrize("table", ["raw_queries", "../etc/passwd", "queries/raw/x", "Queries/Raw", ""])
def test_a_table_is_stage_and_asset(lake: Lake, table: str) -> None:
    with pytest.raises(ValueError, match="not of the form stage/asset"):
        lake.path(table)


@pytest.mark.parametrize("partition", ["a/b", ".hidden", "", "*"])
def test_a_partition_is_a_plain_name(lake: Lake, partition: str) -> None:
    with pytest.raises(ValueError, match="not a plain name"):
        lake.path(TABLE, partition)


def test_without_room_the_old_table_stays(lake: Lake) -> None:
    lake.write(TABLE, ROWS)
    script = f"""
import resource, polars as pl
from resources.lake import Lake, LakeError
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    Lake(root={lake.root!r}).write({TABLE!r}, pl.DataFrame({{"n": range(100_000)}}))
except LakeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "no room left to write 100,000 rows of queries/raw_queries[all]" in done.stdout
    assert "free space" in done.stdout
    assert lake.read(TABLE).equals(ROWS)
    assert [p.name for p in lake.folder(TABLE).iterdir()] == ["all.parquet"]
