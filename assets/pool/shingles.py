"""Texts as sets of character n-grams, without building a Python string per n-gram.

An n-gram of up to three characters is one exact 63-bit number (21 bits a character), so a set is a sorted run of
numbers and Jaccard similarity is exact. Latin text is cut into 3-grams, Chinese into 2-grams: a Chinese character says
as much as a short word. A text shorter than n is one n-gram as it stands.

Shapes: N texts, C characters of all texts, G n-grams of all texts.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LATIN_N = 3
CHINESE_N = 2
_BITS = np.uint64(21)


class Shingles(NamedTuple):
    """N sets of n-grams, end to end: set i is `grams_G[starts_N[i] : starts_N[i + 1]]`, ascending."""

    grams_G: NDArray[np.uint64]
    starts_N: NDArray[np.int64]
    """Length N + 1."""


def shingles_of(texts: Sequence[str]) -> Shingles:
    """The n-gram sets of `texts`.

    Raises:
        ValueError: a text is empty; the message names its position.
    """
    lengths_N = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    if len(texts) and lengths_N.min() == 0:
        raise ValueError(f"text {int(lengths_N.argmin())} is empty: drop empty texts before shingling")
    chars_C = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    row_C = np.repeat(np.arange(len(texts)), lengths_N)
    begin_N = np.cumsum(lengths_N) - lengths_N
    size_N = np.minimum(_gram_size(chars_C, row_C, len(texts)), lengths_N)
    code_C, in_text_C = _codes(chars_C, row_C, begin_N, lengths_N, size_N)
    return _as_sets(code_C[in_text_C], row_C[in_text_C], len(texts))


def spelled(gram: int) -> str:
    """The characters of an n-gram's number."""
    points = (gram >> 42 & 0x1FFFFF, gram >> 21 & 0x1FFFFF, gram & 0x1FFFFF)
    return "".join(chr(point) for point in points if point)


def _gram_size(chars_C: NDArray[np.uint64], row_C: NDArray[np.int64], texts: int) -> NDArray[np.int64]:
    """2 for a text of which at least a third is Chinese, Japanese or Korean, else 3."""
    wide_C = ((chars_C >= 0x3040) & (chars_C <= 0x9FFF)) | ((chars_C >= 0xAC00) & (chars_C <= 0xD7AF))
    wide_N = np.bincount(row_C, weights=wide_C, minlength=texts)
    total_N = np.bincount(row_C, minlength=texts)
    return np.where(3 * wide_N >= total_N, CHINESE_N, LATIN_N).astype(np.int64)


def _codes(
    chars_C: NDArray[np.uint64],
    row_C: NDArray[np.int64],
    begin_N: NDArray[np.int64],
    lengths_N: NDArray[np.int64],
    size_N: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The n-gram that begins at each character, and whether it ends within its text."""
    padded_C = np.concatenate([chars_C, np.zeros(2, dtype=np.uint64)])
    one_C, two_C, three_C = padded_C[:-2], padded_C[1:-1], padded_C[2:]
    pair_C = one_C << _BITS | two_C
    size_C = size_N[row_C]
    code_C = np.where(size_C == 3, pair_C << _BITS | three_C, np.where(size_C == 2, pair_C, one_C))
    offset_C = np.arange(len(chars_C)) - begin_N[row_C]
    return code_C, offset_C + size_C <= lengths_N[row_C]


def _as_sets(code_G: NDArray[np.uint64], row_G: NDArray[np.int64], texts: int) -> Shingles:
    order_G = np.lexsort((code_G, row_G))
    code_G, row_G = code_G[order_G], row_G[order_G]
    new_G = np.ones(len(code_G), dtype=np.bool_)
    new_G[1:] = (code_G[1:] != code_G[:-1]) | (row_G[1:] != row_G[:-1])
    starts_N = np.zeros(texts + 1, dtype=np.int64)
    np.cumsum(np.bincount(row_G[new_G], minlength=texts), out=starts_N[1:])
    return Shingles(code_G[new_G], starts_N)
