"""Unit vectors in half precision, read from disk a few rows at a time, and their cosine similarity without rounding.

A sum of products of half-precision numbers fits into double precision exactly when the vectors are about as long as 1
(multiples of 2^-48 below 32). So the similarity of two rows is a function of those two alone: neither the library, nor
the size of a block, nor what else is in it changes a bit, and a row decided today is decided the same in a run over
everything.

Shapes: N rows, D dimensions, R and K some of them, P pairs, C cells.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Half = NDArray[np.float16]
_AT_ONCE = 65_536


class Vectors:
    """N vectors, most of them on disk."""

    def __init__(self, parts: Sequence[Half], slot_N: NDArray[np.int64] | None = None) -> None:
        """Rows of the parts, end to end, or those of them that `slot_N` names, in its order."""
        self._parts = list(parts)
        self._dimensions = self._parts[0].shape[1] if self._parts else 0
        self._starts = np.cumsum([0, *map(len, self._parts)])
        self._slot_N = np.arange(self._starts[-1]) if slot_N is None else slot_N

    def __len__(self) -> int:
        return len(self._slot_N)

    def half(self, rows_R: NDArray[np.int64]) -> Half:
        """Some of the rows, shape (R, D)."""
        slot_R = self._slot_N[rows_R]
        part_R = np.searchsorted(self._starts, slot_R, side="right") - 1
        half_RD = np.empty((len(rows_R), self._dimensions), dtype=np.float16)
        for part in np.unique(part_R).tolist():
            mine = np.flatnonzero(part_R == part)
            half_RD[mine] = self._parts[part][slot_R[mine] - self._starts[part]]
        return half_RD

    def directions(self) -> NDArray[np.float32]:
        """All rows with length 1, in single precision, shape (N, D)."""
        direction_ND = np.empty((len(self), self._dimensions), dtype=np.float32)
        for start in range(0, len(self), _AT_ONCE):
            stop = min(start + _AT_ONCE, len(self))
            direction_ND[start:stop] = directions(self.half(np.arange(start, stop)))
        return direction_ND


def rounded(vectors_ND: NDArray[np.float32], names: Sequence[str] | None = None, *, shortest: float = 0.0) -> Half:
    """The vectors in half precision.

    Args:
        vectors_ND: unit vectors, or means of some.
        names: of the rows, for the error.
        shortest: length from which on a row is taken for one.

    Raises:
        ValueError: a vector holds NaN or infinity, is too short or longer than 2; the message names the row.
    """
    length_N = np.linalg.norm(vectors_ND, axis=1)
    good_N = (length_N <= 2) & (length_N >= shortest)  # also false where a number is not finite
    if not good_N.all():
        row = int(np.flatnonzero(~good_N)[0])
        name = row if names is None else names[row]
        raise ValueError(f"vector {name} of {len(vectors_ND)} holds NaN or is no unit vector: embed that row again")
    return vectors_ND.astype(np.float16)


def cosines(left_RD: Half, right_KD: Half) -> NDArray[np.float64]:
    """Cosine similarity of every pair, shape (R, K)."""
    left, right = left_RD.astype(np.float64), right_KD.astype(np.float64)
    return _over_lengths(left @ right.T, _square(left)[:, None], _square(right)[None, :])


def cosines_of_pairs(left_PD: Half, right_PD: Half) -> NDArray[np.float64]:
    """Cosine similarity of P pairs."""
    left, right = left_PD.astype(np.float64), right_PD.astype(np.float64)
    return _over_lengths(np.einsum("pd,pd->p", left, right), _square(left), _square(right))


def directions(half_ND: Half) -> NDArray[np.float32]:
    """The vectors with length 1, float32: for the geometric layer, and for a search that `cosines` makes good."""
    wide = half_ND.astype(np.float64)
    return (wide / np.sqrt(_square(wide))[:, None]).astype(np.float32)


def nearest_cells(half_RD: Half, cells_CD: Half, count: int) -> NDArray[np.int64]:
    """The `count` cells whose centres have the largest inner product with each row, shape (R, count).

    The first is the row's own, the rest are in no order.
    """
    product_RC = half_RD.astype(np.float64) @ cells_CD.astype(np.float64).T
    own_R: NDArray[np.int64] = product_RC.argmax(axis=1)
    count = min(count, len(cells_CD))
    if count == 1:
        return own_R[:, None]
    product_RC[np.arange(len(own_R)), own_R] = np.inf
    cell_RP = np.argpartition(-product_RC, count - 1, axis=1)[:, :count]
    first_R = (cell_RP == own_R[:, None]).argmax(axis=1)
    cell_RP[np.arange(len(own_R)), first_R] = cell_RP[:, 0]
    cell_RP[:, 0] = own_R
    return cell_RP


def _square(wide_RD: NDArray[np.float64]) -> NDArray[np.float64]:
    square_R: NDArray[np.float64] = np.einsum("rd,rd->r", wide_RD, wide_RD)
    return square_R


def _over_lengths(
    product: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    return product / np.sqrt(left * right)  # 1 exactly for equal vectors: the root of a square is exact
