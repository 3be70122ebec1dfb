"""Lexical layer of the funnel: requests whose letters are nearly the same, over the whole corpus, before labels.

MinHash LSH over character n-grams proposes pairs, exact Jaccard similarity decides, and the rule of
`assets.pool.survival` says who stays. Pairs whose facts differ (cities, days, numbers) are never compared.

Band keys are made a few bands at a time and thrown away once rows are in buckets, so that memory follows the text and
not the signatures. Rows that share no bucket with any other are kept as they are; the others fall into components,
which threads work through side by side: what is kept in one says nothing about another.

Source: the first level of the AMAP report's funnel; its threshold is not published, ours is the asset's.

Shapes: N rows, P permutations, B bands, A rows that share a bucket, R rows of a band that do.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.minhash import Banding, Utf8, bands_for, permutations_of, utf8_of
from assets.pool.survival import Survival
from environments.memo import Memo
from environments.seeds import stable_hash
from training.side_by_side import core_count

_ROWS_AT_A_TIME = 131_072
_BANDS_AT_A_TIME = 4
_ROW_BITS = 26

Progress = Callable[[str, int, int], None]
"""(what, done, total)."""


def silent(what: str, done: int, total: int) -> None:
    """Say nothing."""


Facts = Sequence[str] | NDArray[np.uint64] | None
"""What must agree, one key or number per row; None: the numbers written in digits."""
OrderedBand = Callable[[int, NDArray[np.uint64]], None]
"""(band, keys and rows of it in order, packed by `in_order`); the array is the caller's no longer than the call."""


def unseen(band: int, packed_N: NDArray[np.uint64]) -> None:
    """Keep nothing of a band."""


def lexical_survivors(
    texts: pl.Series | Sequence[str],
    facts: Facts,
    threshold: float,
    *,
    numbers: bool = True,
    progress: Progress = silent,
) -> Survival:
    """Which of the near copies stays.

    Args:
        texts: N normalised texts in keep order (`assets.pool.survival.keep_order`).
        facts: N keys; rows whose keys differ are both kept, however near their letters. None: only what `numbers` says.
        threshold: Jaccard similarity in (0, 1] at which a row counts as a copy.
        numbers: without facts, whether texts that write other numbers in digits are both kept.
        progress: told what is being done, and how far it is.

    Raises:
        ValueError: a text is empty, the lengths differ, or the threshold is out of range.
    """
    texts = texts if isinstance(texts, pl.Series) else pl.Series(texts, dtype=pl.String)
    if facts is not None and len(texts) != len(facts):
        raise ValueError(f"every text needs its facts, got {len(texts)} texts and {len(facts)} keys")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    if len(texts) == 0:
        return Survival(np.empty(0, np.int64), np.empty(0, np.float32))
    utf8 = utf8_of(texts)
    del texts  # where the caller keeps none either, a large log's lie in memory once
    return survivors_of(utf8, groups_of(utf8, facts, numbers=numbers), threshold, progress=progress)


def survivors_of(
    utf8: Utf8,
    group_N: NDArray[np.uint64],
    threshold: float,
    *,
    band: OrderedBand = unseen,
    progress: Progress = silent,
) -> Survival:
    """`lexical_survivors` of texts as Arrow holds them; `band` is shown each band's keys in order, before they go."""
    from assets.pool.claims import claimed

    with ThreadPoolExecutor(core_count()) as pool:
        found = shared_buckets(utf8, group_N, bands_for(threshold), pool, progress, band)
        return claimed(utf8, group_N, found, threshold, pool, progress)


class Buckets(NamedTuple):
    """Which rows may be near copies of each other."""

    run_BR: list[NDArray[np.int32]]
    """For each band, the rows of each bucket of two and more, one bucket after the other; the first row of each is
    complemented."""
    buckets: int
    """How many there are."""
    root_N: NDArray[np.int32]
    """First row of each row's component: rows of different components share no bucket."""

    def by_band(self) -> NDArray[np.int32]:
        """Bucket of each row in each band, -1 where it is alone; shape (B, N)."""
        from assets.pool.bucket_kernels import spread_run

        bucket_BN = np.full((len(self.run_BR), len(self.root_N)), -1, dtype=np.int32)
        taken = 0
        for run_R, bucket_N in zip(self.run_BR, bucket_BN, strict=True):
            taken = spread_run(run_R, taken, bucket_N)
        return bucket_BN


def groups_of(utf8: Utf8, facts: Facts, *, numbers: bool) -> NDArray[np.uint64]:
    """One number per row, the same in every process; rows with different ones are never compared."""
    if isinstance(facts, np.ndarray):
        return facts
    if facts is not None:
        known = Memo(stable_hash, most=1 << 20)
        return np.fromiter((known[key] for key in facts), dtype=np.uint64, count=len(facts))
    group_N = np.zeros(len(utf8.starts_N) - 1, dtype=np.uint64)
    if numbers:
        from assets.pool.kernels import digits_of

        digits_of(utf8.bytes_C, utf8.starts_N, group_N)
    return group_N


def shared_buckets(
    utf8: Utf8,
    group_N: NDArray[np.uint64],
    banding: Banding,
    pool: ThreadPoolExecutor,
    progress: Progress,
    each: OrderedBand = unseen,
) -> Buckets:
    """Put rows that agree in a band into one bucket of it, and rows that share buckets into one component."""
    from assets.pool.bucket_kernels import roots_of, runs_of, shared_rows

    bits, taken = row_bits(len(group_N)), 0
    root_N, run_BR = np.arange(len(group_N), dtype=np.int32), list[NDArray[np.int32]]()
    for first in range(0, banding.bands, _BANDS_AT_A_TIME):
        key_BN = _keys(utf8, group_N, banding, first, pool)
        for band, packed_N in enumerate(pool.map(in_order, key_BN), start=first):
            each(band, packed_N)
            run_BR.append(np.empty(shared_rows(packed_N, bits), dtype=np.int32))
            taken += runs_of(packed_N, bits, root_N, run_BR[-1])
        progress("bands", min(first + _BANDS_AT_A_TIME, banding.bands), banding.bands)
    roots_of(root_N)
    return Buckets(run_BR, taken, root_N)


def row_bits(rows: int) -> int:
    """Bits of a packed key that say the row: 26, or more where there are more rows than that numbers."""
    return max(_ROW_BITS, (rows - 1).bit_length())


def in_order(key_N: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Band keys with their rows, ascending, in place: the upper bits of the key, then `row_bits` bits for the row.

    The 38 bits left of a key let 800 pairs of twenty million rows through that differ in all 64, to be compared.
    """
    bits = np.uint64(row_bits(len(key_N)))
    np.right_shift(key_N, bits, out=key_N)
    np.left_shift(key_N, bits, out=key_N)
    np.bitwise_or(key_N, np.arange(len(key_N), dtype=np.uint64), out=key_N)
    key_N.sort()
    return key_N


def band_keys(utf8: Utf8, group_N: NDArray[np.uint64], banding: Banding) -> NDArray[np.uint64]:
    """Keys of all bands, shape (B, N): rows with equal keys may be similar, and their facts agree."""
    with ThreadPoolExecutor(core_count()) as pool:
        starts = range(0, banding.bands, _BANDS_AT_A_TIME)
        return np.concatenate([_keys(utf8, group_N, banding, first, pool) for first in starts])


def _keys(
    utf8: Utf8, group_N: NDArray[np.uint64], banding: Banding, first: int, pool: ThreadPoolExecutor
) -> NDArray[np.uint64]:
    """Keys of a few bands, shape (B, N); signatures are made a chunk of rows at a time and not kept."""
    from assets.pool.kernels import fold_bands, sign

    bands = min(_BANDS_AT_A_TIME, banding.bands - first)
    own = slice(first * banding.rows, (first + bands) * banding.rows)
    a_P, b_P = (np.ascontiguousarray(part[own]) for part in permutations_of(banding.permutations))
    key_BN = np.empty((bands, len(group_N)), dtype=np.uint64)

    def chunk(start: int) -> None:
        """Keys of one chunk of rows."""
        stop = min(start + _ROWS_AT_A_TIME, len(group_N))
        signature_NP = np.empty((stop - start, len(a_P)), dtype=np.uint32)
        longest = int(np.diff(utf8.starts_N[start : stop + 1]).max())
        sign(utf8.bytes_C, utf8.starts_N, (start, stop), a_P, b_P, longest, signature_NP)
        fold_bands(signature_NP, group_N, start, banding.rows, key_BN)

    list(pool.map(chunk, range(0, len(group_N), _ROWS_AT_A_TIME)))
    return key_BN


def pieces_of(root_A: NDArray[np.int32] | NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Borders of about `count` pieces that tear no component apart."""
    wanted = np.linspace(0, len(root_A), count + 1).astype(np.int64)
    inside = wanted[1:-1]
    moved = np.searchsorted(root_A, root_A[inside], side="left") if len(root_A) else inside
    return np.unique(np.concatenate([[0], moved, [len(root_A)]]).astype(np.int64))
