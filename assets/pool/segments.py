"""A segment of the lexical index: rows that came together, with their band keys in order and a sketch of each.

Below `increment.py`: who may be similar to a row is a search in each segment and not a scan.

Shapes: N rows of a segment, B bands, Q keys asked for.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.lexical import band_keys, groups_of
from assets.pool.minhash import Banding, Utf8, utf8_of
from environments.seeds import stable_hash

LAST = np.iinfo(np.int64).max
"""When a row without a time was seen: after all others."""


class Segment(NamedTuple):
    """Rows that came together, with their band keys in order."""

    ids: pl.Series
    seen_N: NDArray[np.int64]
    """Microseconds since the epoch."""
    utf8: Utf8
    group_N: NDArray[np.uint64]
    key_BN: NDArray[np.uint64]
    """Sorted in each band."""
    row_BN: NDArray[np.int32]
    """Which row each key is of."""
    size_N: NDArray[np.int32]
    """N-grams of each row, repeats included."""
    bits_N: NDArray[np.uint64]
    """One bit of 64 for each of them."""

    def found(self, band: int, key_Q: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the rows with each key begin in a band, and how many there are."""
        order_Q = np.argsort(key_Q)  # searched in order, neighbours lie in the same pages
        asked_Q, low_Q, high_Q = key_Q[order_Q], np.empty(len(key_Q), np.int64), np.empty(len(key_Q), np.int64)
        low_Q[order_Q] = np.searchsorted(self.key_BN[band], asked_Q, side="left")
        high_Q[order_Q] = np.searchsorted(self.key_BN[band], asked_Q, side="right")
        return low_Q, high_Q - low_Q


def segment_of(
    ids: pl.Series | Sequence[str],
    first_seen: pl.Series,
    texts: pl.Series,
    facts: Sequence[str] | None,
    banding: Banding,
) -> Segment:
    """The segment of some rows.

    Args:
        ids: of the rows.
        first_seen: when each was first seen; null comes last.
        texts: normalised.
        facts: keys of what must agree, or None for the numbers written in digits.
        banding: how signatures are cut.

    Raises:
        ValueError: a text is empty.
    """
    utf8 = utf8_of(texts)
    group_N = hashed(facts) if facts is not None else groups_of(utf8, None, numbers=True)
    key_BN = band_keys(utf8, group_N, banding)
    row_BN = np.empty(key_BN.shape, dtype=np.int32)
    for key_N, row_N in zip(key_BN, row_BN, strict=True):  # in place: the keys of a large log are gigabytes
        row_N[:] = np.argsort(key_N)
        key_N[:] = key_N[row_N]
    seen_N = first_seen.cast(pl.Int64).fill_null(LAST).to_numpy()
    names = pl.Series("id", ids, dtype=pl.String)
    return Segment(names, seen_N, utf8, group_N, key_BN, row_BN, *_sketched(utf8))


def hashed(facts: Sequence[str]) -> NDArray[np.uint64]:
    """One number per key, the same in every segment and process."""
    return np.fromiter((stable_hash(key) for key in facts), dtype=np.uint64, count=len(facts))


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
