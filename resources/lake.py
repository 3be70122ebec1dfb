"""The lake: every table of the factory as Parquet under one root, written whole or not at all.

One folder per asset (`queries/raw_queries`), one file per partition. A table's version is a hash over its rows and
columns that no row order, clock or path can change, so writing the same rows twice gives the same data version.
"""

import errno
import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import dagster as dg
import numpy as np
import polars as pl
import polars.selectors as cs
from pydantic import ConfigDict

from training.durable import replace_durably
from training.side_by_side import core_count, each_part

TABLE: Final = re.compile(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*")
PARTITION: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
DISK_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
ROWS_AT_ONCE: Final = 500_000
"""Rows hashed in one piece, so that the version of a large table needs little memory."""
_WORTH_PROCESSES: Final = 4_000_000
"""Rows from which on the hash is made in processes side by side; ours."""
_ROWS_OF_A_PROCESS: Final = 100_000


class LakeError(RuntimeError):
    """A table could not be written, or what lies on disk is not the table that was written."""


class Lake(dg.ConfigurableResource):
    """Reads and writes the factory's tables: one folder per asset, one file per partition."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    root: str
    """Folder that holds every table."""

    def path(self, table: str, partition: str = "all") -> Path:
        """Where `table` (for example `pool/candidate_pool`) keeps `partition`.

        Raises:
            ValueError: `table` is not `stage/asset`, or `partition` is not a plain file name.
        """
        if not PARTITION.fullmatch(partition):
            raise ValueError(f"partition {partition!r} is not a plain name: use letters, digits, '_', '-' and '.'")
        return self._place(table) / f"{partition}.parquet"

    def folder(self, table: str) -> Path:
        """The folder of `table`, made if absent: for what is not a table (checkpoints, journals)."""
        place = self._place(table)
        place.mkdir(parents=True, exist_ok=True)
        return place

    def exists(self, table: str, partition: str = "all") -> bool:
        """Whether this partition was ever written."""
        return self.path(table, partition).exists()

    def write(self, table: str, frame: pl.DataFrame, partition: str = "all") -> Path:
        """Replace one partition of `table`: a reader sees the old file or the new one, never a part.

        Raises:
            LakeError: the disk is full; the table is as it was before.
        """
        with self._replaced(table, partition, f"{len(frame):,} rows") as scratch:
            frame.write_parquet(scratch, compression="zstd")
        return self.path(table, partition)

    def write_pieces(self, table: str, pieces: Iterable[pl.DataFrame], partition: str = "all") -> Path:
        """As `write`, for a table that need not fit in memory: a piece is on disk before the next one is taken.

        Raises:
            LakeError: the disk is full; the table is as it was before.
            ValueError: there is no piece, so that nobody knows the columns; or they differ between pieces.
        """
        import pyarrow.parquet as pq

        with self._replaced(table, partition, "the rows") as scratch:
            writer: pq.ParquetWriter | None = None
            try:
                for piece in pieces:
                    rows = piece.to_arrow(compat_level=pl.CompatLevel.oldest())
                    writer = writer or pq.ParquetWriter(scratch, rows.schema, compression="zstd")
                    writer.write_table(rows)
            finally:
                if writer is not None:
                    writer.close()
            if writer is None:
                raise ValueError(f"{table}[{partition}] was given no piece: give an empty one with its columns")
        return self.path(table, partition)

    def read(self, table: str, partition: str = "all", *, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Load one partition of `table`, or some of its columns.

        Raises:
            FileNotFoundError: it was never materialized.
            LakeError: the file is torn.
        """
        path = self._present(table, partition)
        try:
            return pl.read_parquet(path, columns=None if columns is None else list(columns), hive_partitioning=False)
        except (pl.exceptions.ComputeError, pl.exceptions.SchemaError) as error:
            raise _torn(table, partition, path) from error

    def count(self, table: str, partition: str = "all") -> int:
        """Rows of one partition of `table`, from the file's own count.

        Raises:
            FileNotFoundError: it was never materialized.
            LakeError: the file is torn.
        """
        path = self._present(table, partition)
        try:
            rows = pl.scan_parquet(path, hive_partitioning=False).select(pl.len())
            return int(rows.collect().item())
        except (pl.exceptions.ComputeError, pl.exceptions.SchemaError) as error:
            raise _torn(table, partition, path) from error

    def pieces(
        self, table: str, partition: str = "all", *, columns: Sequence[str] | None = None, rows: int = ROWS_AT_ONCE
    ) -> Iterator[pl.DataFrame]:
        """One partition of `table` in pieces of so many rows, at least one, in the order in which they were written.

        Raises:
            FileNotFoundError: it was never materialized.
            LakeError: the file is torn.
        """
        path = self._present(table, partition)
        try:
            there = pl.scan_parquet(path, hive_partitioning=False)
            wanted = there if columns is None else there.select(columns)
            for start in range(0, max(self.count(table, partition), 1), rows):
                yield wanted.slice(start, rows).collect()
        except (pl.exceptions.ComputeError, pl.exceptions.SchemaError) as error:
            raise _torn(table, partition, path) from error

    def scan(self, table: str) -> pl.LazyFrame:
        """All partitions of `table`, unread until collected.

        Raises:
            FileNotFoundError: no partition was ever materialized.
            LakeError: a file is torn.
        """
        paths = sorted(self._place(table).glob("*.parquet"))
        if not paths:
            raise FileNotFoundError(f"{table} has no partition under {self._place(table)}: materialize it first")
        for path in paths:
            try:
                pl.read_parquet_schema(path)
            except (pl.exceptions.ComputeError, pl.exceptions.SchemaError) as error:
                raise _torn(table, path.stem, path) from error
        return pl.scan_parquet(self._place(table) / "*.parquet", hive_partitioning=False)

    def version(self, table: str, partition: str = "all") -> str:
        """Hash over rows and columns: the same rows in any order give the same version.

        Floats count with all their digits; a NaN counts as a null.

        Raises:
            FileNotFoundError: it was never materialized.
            LakeError: the file is torn.
        """
        path = self._present(table, partition)
        try:
            return _version_of(path)
        except (pl.exceptions.ComputeError, pl.exceptions.SchemaError) as error:
            raise _torn(table, partition, path) from error

    @contextmanager
    def _replaced(self, table: str, partition: str, what: str) -> Iterator[Path]:
        """A scratch file that takes the partition's place once it is written."""
        path = self.path(table, partition)
        self.folder(table)
        scratch = path.with_name(f".{partition}.{uuid.uuid4().hex}.tmp")
        try:
            yield scratch
            replace_durably(scratch, path)
        except (OSError, pl.exceptions.ComputeError) as error:
            if not is_disk_full(error):
                raise
            raise LakeError(
                f"no room left to write {what} of {table}[{partition}] to {path}: "
                f"free space under {self.root}, then materialize it again; what was there before is untouched"
            ) from error
        finally:
            scratch.unlink(missing_ok=True)

    def _place(self, table: str) -> Path:
        if not TABLE.fullmatch(table):
            raise ValueError(f"table {table!r} is not of the form stage/asset, for example 'queries/raw_queries'")
        return Path(self.root, table)

    def _present(self, table: str, partition: str) -> Path:
        path = self.path(table, partition)
        if not path.exists():
            raise FileNotFoundError(f"{table}[{partition}] is not at {path}: materialize it first")
        return path


def _torn(table: str, partition: str, path: Path) -> LakeError:
    return LakeError(f"{table}[{partition}] at {path} is not a whole Parquet file: delete it and materialize it again")


def is_disk_full(error: BaseException) -> bool:
    """Whether a write failed for want of room; polars says so in its message, and NumPy only that it wrote less."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in DISK_FULL
    inside = re.search(r"\(os error (\d+)\)", str(error))
    return int(inside[1]) in DISK_FULL if inside else bool(re.search(r"\d+ requested and \d+ written", str(error)))


class Digest:
    """The version of rows that come in pieces: the same for the same rows in any order and any pieces."""

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        """Of no rows yet.

        Args:
            schema: of all pieces.
        """
        self.columns = sorted(schema)
        self.types = [(name, str(schema[name])) for name in self.columns]
        self.count = 0
        self._total = np.zeros(2, dtype=np.uint64)

    def add(self, rows: pl.DataFrame) -> None:
        """Count more rows in."""
        self.count += len(rows)
        if not self.columns or rows.is_empty():
            return
        as_text = rows.lazy().select(self.columns).with_columns(cs.binary().bin.encode("hex"))
        texts = as_text.select(pl.struct(self.columns).struct.json_encode().alias("row")).collect()["row"].to_list()
        digests = b"".join(hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts)
        self._total += np.frombuffer(digests, dtype="<u8").reshape(-1, 2).sum(axis=0, dtype=np.uint64)

    def join(self, other: "Digest") -> None:
        """Count in what another digest of the same columns has."""
        self.count += other.count
        self._total += other._total

    def version(self) -> str:
        """Of all rows so far."""
        if not self.columns:
            return hashlib.blake2b(b"no columns", digest_size=8).hexdigest()
        header = repr(self.types) + f"|{self.count}|{self._total[0]}|{self._total[1]}"
        return hashlib.blake2b(header.encode(), digest_size=8).hexdigest()


def content_hash(rows: pl.LazyFrame) -> str:
    """The version that a table of these rows has; see `Lake.version`."""
    found = Digest(rows.collect_schema())
    count = int(rows.select(pl.len()).collect().item()) if found.columns else 0
    for start in range(0, count, ROWS_AT_ONCE):
        found.add(rows.slice(start, ROWS_AT_ONCE).collect())
    return found.version()


def _version_of(path: Path) -> str:
    """As `content_hash`, of a file; a large one is read by a process per core."""
    rows = pl.scan_parquet(path, hive_partitioning=False)
    found = Digest(rows.collect_schema())
    count = int(rows.select(pl.len()).collect().item())
    workers = core_count() if count >= _WORTH_PROCESSES else 1
    for piece in each_part(_piece_digest, path, range(0, count, _ROWS_OF_A_PROCESS), workers=workers):
        found.join(piece)
    return found.version()


def _piece_digest(path: Path, start: int) -> Digest:
    rows = pl.scan_parquet(path, hive_partitioning=False).slice(start, _ROWS_OF_A_PROCESS).collect()
    found = Digest(rows.schema)
    found.add(rows)
    return found
