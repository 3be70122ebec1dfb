"""Texts as sets of character n-grams: what the lexical layer compares.

An n-gram of up to three characters is one exact 63-bit number (21 bits a character), so a set is a sorted run of
numbers and Jaccard similarity is exact. Latin text is cut into 3-grams, Chinese into 2-grams: a Chinese character says
as much as a short word. A text shorter than n is one n-gram as it stands. `assets.pool.kernels` cuts by the same rule,
faster; the audit of a layer uses this plain version, so that it shares no code with what it audits.

Shapes: N texts, C characters of all texts, G n-grams of all texts.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LATIN_N = 3
CHINESE_N = 2
BITS = 21


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
    sets = [_set_of(text, row) for row, text in enumerate(texts)]
    starts_N = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    return Shingles(np.array([gram for one in sets for gram in one], dtype=np.uint64), starts_N)


def spelled(gram: int) -> str:
    """The characters of an n-gram's number."""
    points = (gram >> 2 * BITS, gram >> BITS & 0x1FFFFF, gram & 0x1FFFFF)
    return "".join(chr(point) for point in points if point)


def number_of(gram: str) -> int:
    """The number of an n-gram of up to three characters."""
    code = 0
    for sign in gram:
        code = code << BITS | ord(sign)
    return code


def _set_of(text: str, row: int) -> list[int]:
    if not text:
        raise ValueError(f"text {row} is empty: drop empty texts before shingling")
    wide = sum("\u3040" <= sign <= "\u9fff" or "\uac00" <= sign <= "\ud7af" for sign in text)
    size = min(CHINESE_N if 3 * wide >= len(text) else LATIN_N, len(text))
    return sorted({number_of(text[i : i + size]) for i in range(len(text) - size + 1)})
