"""A segment of the lexical index: rows that came together, with their band keys in order and a sketch of each.

Below `increment.py`: who may be similar to a row is a search in each segment and not a scan. Keys take 8 bytes a row
and band, more than all else about a row: those of a large log go to disk band by band, and are mapped from there.

Shapes: N rows of a segment, B bands, Q keys asked for.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.lexical import Facts, band_keys, groups_of, in_order, row_bits
from assets.pool.minhash import Banding, Utf8, utf8_of

LAST = np.iinfo(np.int64).max
"""When a row without a time was seen: after all others."""


class Segment(NamedTuple):
    """Rows that came together, with their band keys in order."""

    ids: pl.Series
    seen_N: NDArray[np.int64]
    """Microseconds since the epoch."""
    utf8: Utf8
    group_N: NDArray[np.uint64]
    packed_BN: NDArray[np.uint64]
    """Keys and rows of each band as `assets.pool.lexical.in_order` packs them."""
    size_N: NDArray[np.int32]
    """N-grams of each row, repeats included."""
    bits_N: NDArray[np.uint64]
    """One bit of 64 for each of them."""

    def found(self, band: int, key_Q: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the rows with each key begin in a band, and how many there are."""
        order_Q = np.argsort(key_Q)  # searched in order, neighbours lie in the same pages
        low_Q, high_Q = np.empty(len(key_Q), np.int64), np.empty(len(key_Q), np.int64)
        low_Q[order_Q] = np.searchsorted(self.packed_BN[band], key_Q[order_Q] & ~self._row_mask, side="left")
        high_Q[order_Q] = np.searchsorted(self.packed_BN[band], key_Q[order_Q] | self._row_mask, side="right")
        return low_Q, high_Q - low_Q

    def rows_at(self, band: int, at_P: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows whose keys lie at some places of a band."""
        rows_P: NDArray[np.int64] = (self.packed_BN[band][at_P] & self._row_mask).astype(np.int64)
        return rows_P

    @property
    def _row_mask(self) -> np.uint64:
        return np.uint64((1 << row_bits(len(self.ids))) - 1)

    @property
    def texts(self) -> pl.Series:
        """The texts, over the same bytes."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.utf8.starts_N), pa.py_buffer(self.utf8.bytes_C)]
        return pl.Series("text", pa.Array.from_buffers(pa.large_string(), len(self.ids), buffers))


class OrderedKeys:
    """Band keys of a segment in the making, in memory or in a file of a folder."""

    def __init__(self, banding: Banding, rows: int, folder: Path | None = None) -> None:
        """Make room for `rows` rows.

        Args:
            banding: how signatures are cut.
            rows: of the segment.
            folder: where the file goes, which is made; None keeps all in memory.
        """
        shape = (banding.bands, rows)
        self._file: _Growing | None = None
        if folder is None:
            self._packed_BN = np.empty(shape, np.uint64)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = _Growing(folder / "packed_BN.npy", shape, np.uint64)

    def add(self, band: int, packed_N: NDArray[np.uint64]) -> None:
        """Take in the keys of the next band; see `assets.pool.lexical.OrderedBand`.

        Raises:
            OSError: the disk is full.
        """
        if self._file is None:
            self._packed_BN[band] = packed_N
        else:
            self._file.append(packed_N)

    def packed(self) -> NDArray[np.uint64]:
        """Keys and rows of all bands, (B, N)."""
        packed_BN: NDArray[np.uint64] = self._packed_BN if self._file is None else self._file.mapped()
        return packed_BN


class _Growing:
    """An array on disk that is written row by row."""

    def __init__(self, path: Path, shape: tuple[int, int], kind: type[Any]) -> None:
        self._path, self._file = path, path.open("wb")
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(kind)), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, row_N: NDArray[Any]) -> None:
        """The next row."""
        self._file.write(row_N.data)

    def mapped(self) -> Any:
        """The whole, mapped into memory; nothing can be appended any more."""
        self._file.close()
        return np.load(self._path, mmap_mode="r")


def segment_of(
    ids: pl.Series | Sequence[str],
    first_seen: pl.Series,
    texts: pl.Series,
    facts: Facts,
    banding: Banding,
) -> tuple[Segment, NDArray[np.uint64]]:
    """The segment of some rows, and their band keys as (B, N).

    Args:
        ids: of the rows.
        first_seen: when each was first seen; null comes last.
        texts: normalised.
        facts: keys of what must agree, or None for the numbers written in digits.
        banding: how signatures are cut.

    Raises:
        ValueError: a text is empty.
    """
    utf8, keys = utf8_of(texts), OrderedKeys(banding, len(texts))
    group_N = groups_of(utf8, facts, numbers=True)
    key_BN = band_keys(utf8, group_N, banding)
    for band, key_N in enumerate(key_BN):
        keys.add(band, in_order(key_N.copy()))
    return segment_with(ids, first_seen, utf8, group_N, keys), key_BN


def segment_with(
    ids: pl.Series | Sequence[str],
    first_seen: pl.Series,
    utf8: Utf8,
    group_N: NDArray[np.uint64],
    keys: OrderedKeys,
) -> Segment:
    """The segment of rows whose keys are in order already."""
    seen_N = first_seen.cast(pl.Int64).fill_null(LAST).to_numpy()
    names = pl.Series("id", ids, dtype=pl.String)
    return Segment(names, seen_N, utf8, group_N, keys.packed(), *_sketched(utf8))


def picked(utf8: Utf8, rows_Q: NDArray[np.int64]) -> Utf8:
    """The texts of some rows, end to end."""
    pieces = [utf8.bytes_C[utf8.starts_N[row] : utf8.starts_N[row + 1]] for row in rows_Q.tolist()]
    return Utf8(np.concatenate(pieces), np.cumsum([0, *map(len, pieces)]).astype(np.int64))


def _sketched(utf8: Utf8) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """How many n-grams each text has, and a bit for each: most pairs of one bucket are told apart by these."""
    from assets.pool.kernels import sketch

    rows = len(utf8.starts_N) - 1
    size_N, bits_N = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.uint64)
    sketch(*utf8, utf8.longest, size_N, bits_N)
    return size_N, bits_N
