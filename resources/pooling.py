"""Sums of token vectors, one text after the other, without a copy of the vectors.

The additions are made in the order of numpy's `add.reduceat` (the first vector, plus the pairwise sum of the others),
because stored vectors, and what was decided by them, depend on every bit. numba is slow to load: import this only
where it runs.

Shapes: N texts, T tokens of all texts, V tokens of the vocabulary, D dimensions.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

_LANES = 8
_BLOCK = 128
"""Both are numpy's: partial sums kept side by side, and terms that are added without halving."""


@njit(cache=True, nogil=True)
def sums_of(tokens_T: I64, stops_N: I64, table_VD: F32) -> F32:
    """For each text the sum of the vectors of its tokens, which end at `stops_N` (exclusive); each has at least one."""
    sums_ND = np.zeros((len(stops_N), table_VD.shape[1]), dtype=np.float32)
    lanes_LD = np.zeros((_LANES, table_VD.shape[1]), dtype=np.float32)
    start = 0
    for row in range(len(stops_N)):
        _add_pairwise(tokens_T[start + 1 : stops_N[row]], table_VD, lanes_LD, sums_ND[row])
        sums_ND[row] += table_VD[tokens_T[start]]
        start = stops_N[row]
    return sums_ND


@njit(cache=True, nogil=True)
def _add_pairwise(tokens_T: I64, table_VD: F32, lanes_LD: F32, sum_D: F32) -> None:
    """Write the sum of the vectors of `tokens_T` to `sum_D`; `lanes_LD` is scratch."""
    count = len(tokens_T)
    if count > _BLOCK:
        half = count // 2 - count // 2 % _LANES
        right_D = np.zeros_like(sum_D)
        _add_pairwise(tokens_T[:half], table_VD, lanes_LD, sum_D)
        _add_pairwise(tokens_T[half:], table_VD, lanes_LD, right_D)
        sum_D += right_D
        return
    in_lanes = count - count % _LANES
    sum_D[:] = 0.0
    if in_lanes:
        _add_in_lanes(tokens_T[:in_lanes], table_VD, lanes_LD, sum_D)
    for t in range(in_lanes, count):
        for d in range(len(sum_D)):
            sum_D[d] += table_VD[tokens_T[t], d]


@njit(cache=True, nogil=True)
def _add_in_lanes(tokens_T: I64, table_VD: F32, lanes_LD: F32, sum_D: F32) -> None:
    lanes_LD[:] = 0.0
    for t in range(len(tokens_T)):
        for d in range(len(sum_D)):
            lanes_LD[t % _LANES, d] += table_VD[tokens_T[t], d]
    for d in range(len(sum_D)):
        left = (lanes_LD[0, d] + lanes_LD[1, d]) + (lanes_LD[2, d] + lanes_LD[3, d])
        right = (lanes_LD[4, d] + lanes_LD[5, d]) + (lanes_LD[6, d] + lanes_LD[7, d])
        sum_D[d] = left + right
