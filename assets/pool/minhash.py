"""MinHash signatures over n-gram sets, equal to datasketch's for the same hash function, and how they are cut.

Hash: the n-gram's number times 2^64 / golden ratio, upper 32 bits (`gram_hash`, to be given to datasketch as
`hashfunc`); scheme "affine32" of datasketch 2 (MurmurHash3 finalizer, then a * h + b mod 2^32), its permutations for
the same seed. A signature made here loads into `datasketch.MinHashLSH`, with `params` of the same cut.

Source: Broder (1997); Indyk and Motwani (1998) for the bands; datasketch 2.0 (MIT) for the scheme.

Shapes: N texts, P permutations, B bands, C bytes of all texts.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.shingles import number_of

SEED = 1
"""datasketch's default seed."""
CROWD = 4096
"""Rows in one bucket beyond which it says nothing about them; ours, to bound the work on a log of one phrase."""
_WEYL = 0x9E3779B97F4A7C15


class Crowd(NamedTuple):
    """When a bucket says too little to be looked through; given to compiled code, whose cache knows no constants."""

    rows: int
    """More rows than this in one bucket."""
    bands: int
    """Bands without a crowd that a row must have for its crowded ones to be passed over."""


class Banding(NamedTuple):
    """How a signature is cut: two sets are compared where all `rows` values of one of `bands` bands agree."""

    bands: int
    rows: int

    @property
    def permutations(self) -> int:
        """Length of the signature."""
        return self.bands * self.rows

    def recall(self, similarity: float) -> float:
        """The share of pairs of this Jaccard similarity that are compared."""
        return float(1 - (1 - similarity**self.rows) ** self.bands)

    def enough(self, similarity: float, missed: float = 0.002) -> int:
        """Bands in which a pair of this Jaccard similarity is looked for, to be missed with `missed` at most.

        Were bands independent: rows that share a phrase agree in several at once, so take it for a rule of thumb.
        """
        once = similarity**self.rows
        return 1 if once >= 1 else min(self.bands, math.ceil(math.log(missed) / math.log(1 - once)))


class Utf8(NamedTuple):
    """Texts as Arrow holds them."""

    bytes_C: NDArray[np.uint8]
    starts_N: NDArray[np.int64]
    """Where each begins; length N + 1."""

    @property
    def longest(self) -> int:
        """Bytes of the longest text."""
        return int(np.diff(self.starts_N).max(initial=0))


def utf8_of(texts: pl.Series) -> Utf8:
    """The bytes of `texts`, without copying them where Arrow's layout allows it.

    Raises:
        ValueError: a text is null or empty; the message names its position.
    """
    import pyarrow as pa

    arrow = texts.rechunk().to_arrow()
    chunk = arrow.combine_chunks() if isinstance(arrow, pa.ChunkedArray) else arrow
    whole = chunk.cast(pa.large_string())
    _, starts, data = whole.buffers()
    starts_N = np.frombuffer(starts, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    wrong = np.flatnonzero(np.diff(starts_N) == 0)
    if len(wrong):
        raise ValueError(f"text {int(wrong[0])} is empty: drop empty texts before shingling")
    return Utf8(np.frombuffer(data or b"", dtype=np.uint8), starts_N)


def bands_for(threshold: float, *, recall: float = 0.999, permutations: int = 80) -> Banding:
    """The bands with fewest needless comparisons that still find `recall` of the pairs exactly at the threshold.

    Args:
        threshold: Jaccard similarity in (0, 1].
        recall: in (0, 1); *ours*: .999, datasketch's own optimum gives .3 at .85.
        permutations: the longest signature allowed.

    Raises:
        ValueError: no cut of that many permutations reaches the recall.
    """
    cuts = [Banding(permutations // rows, rows) for rows in range(permutations, 0, -1)]
    found = next((cut for cut in cuts if cut.recall(threshold) >= recall), None)
    if found is None:
        raise ValueError(
            f"{permutations} permutations find at most {cuts[-1].recall(threshold):.3f} of the pairs at Jaccard "
            f"{threshold}, not {recall}: allow more permutations or raise the threshold"
        )
    return found


def gram_hash(gram: bytes) -> int:
    """The 32-bit hash of one n-gram's UTF-8 bytes: datasketch's `hashfunc` for signatures equal to these."""
    return (number_of(gram.decode()) * _WEYL & 0xFFFFFFFFFFFFFFFF) >> 32


def signatures(texts: pl.Series, permutations: int, *, seed: int = SEED) -> NDArray[np.uint32]:
    """MinHash signatures of texts, uint32, shape (N, P).

    Raises:
        ValueError: a text is empty.
    """
    from assets.pool.kernels import sign

    utf8, (a_P, b_P) = utf8_of(texts), permutations_of(permutations, seed)
    signature_NP = np.empty((len(texts), permutations), dtype=np.uint32)
    sign(utf8.bytes_C, utf8.starts_N, (0, len(texts)), a_P, b_P, utf8.longest, signature_NP)
    return signature_NP


@cache
def permutations_of(count: int, seed: int = SEED) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Datasketch's own factors and summands."""
    from datasketch import MinHash

    a_P, b_P = MinHash(num_perm=count, seed=seed, scheme="affine32").permutations
    return np.asarray(a_P, dtype=np.uint32), np.asarray(b_P, dtype=np.uint32)
