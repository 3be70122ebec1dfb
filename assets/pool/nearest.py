"""Which pick is nearest to each row, exactly, at the speed of matrix products and in bounded memory.

Shapes: N points, D dimensions, R rows, K picks, B rows or picks of one product.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

_ROWS = 4096
_PICKS = 512
_PROBED = 256


def rows_by_group(names: Sequence[str]) -> list[NDArray[np.int64]]:
    """The row numbers, ascending, of each name, names in order."""
    rows = pl.DataFrame({"name": pl.Series(names, dtype=pl.String)}).with_row_index("row")
    grouped = rows.group_by("name").agg(pl.col("row").cast(pl.Int64).sort()).sort("name")
    return [group.to_numpy(writable=True) for group in grouped["row"]]


def nearest_pick(
    points_ND: NDArray[np.float32], rows_R: NDArray[np.int64], picks_K: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each of `rows_R`, the nearest of `picks_K` and the distance to it; a pick is nearest to itself."""
    square_R, near_R = np.full(len(rows_R), np.inf, dtype=np.float32), np.full(len(rows_R), -1)
    come_nearer(points_ND, rows_R, picks_K, square_R, near_R)
    own_R = np.isin(rows_R, picks_K)
    near_R[own_R], square_R[own_R] = rows_R[own_R], 0.0
    return near_R, np.sqrt(square_R)


def come_nearer(
    points_ND: NDArray[np.float32],
    rows_R: NDArray[np.int64],
    picks_K: NDArray[np.int64],
    square_R: NDArray[np.float32],
    near_R: NDArray[np.int64],
) -> None:
    """Give each of `rows_R` the nearest of `picks_K` where that is nearer than its pick so far.

    Args:
        points_ND: unit vectors.
        rows_R: the rows.
        picks_K: rows that were picked.
        square_R: squared distance to the pick so far, infinite for none; lowered in place.
        near_R: row of that pick; changed in place. Of equally near ones the first row.
    """
    from assets.pool.distances import lower

    dimensions = points_ND.shape[1]
    slack = np.float32(dimensions * 2.0**-23)  # what two sums of unit vectors in float32 can differ by
    rows_BD = np.empty((min(_ROWS, len(rows_R)), dimensions), dtype=np.float32)
    products = np.empty(_ROWS * min(_PICKS, len(picks_K)), dtype=np.float32)
    for first in range(0, len(picks_K), 16 * _PICKS):
        picks_KD = points_ND[picks_K[first : first + 16 * _PICKS]]
        for start in range(0, len(rows_R), _ROWS):
            part = slice(start, start + _ROWS)
            block_BD = _vectors(points_ND, rows_R[part], rows_BD)
            for at in range(0, len(picks_KD), _PICKS):
                few_BD = picks_KD[at : at + _PICKS]
                names = picks_K[first + at : first + at + len(few_BD)]
                product_BB = products[: len(block_BD) * len(few_BD)].reshape(len(block_BD), len(few_BD))
                np.matmul(block_BD, few_BD.T, out=product_BB)
                lower(block_BD, few_BD, names, product_BB, slack, square_R[part], near_R[part])


def _vectors(
    points_ND: NDArray[np.float32], rows_B: NDArray[np.int64], out_BD: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The vectors of some rows: where they lie in one piece as they are, else copied to `out_BD`."""
    if (np.diff(rows_B) == 1).all():
        return points_ND[rows_B[0] : rows_B[-1] + 1]
    return np.take(points_ND, rows_B, axis=0, out=out_BD[: len(rows_B)], mode="clip")


def sum_of(points_ND: NDArray[np.float32], rows_R: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of the vectors of `rows_R`."""
    total_D = np.zeros(points_ND.shape[1], dtype=np.float64)
    for start in range(0, len(rows_R), _ROWS):
        total_D += points_ND[rows_R[start : start + _ROWS]].sum(axis=0, dtype=np.float64)
    return total_D


def largest_gap(
    points_ND: NDArray[np.float32], rows_R: NDArray[np.int64], picks_K: NDArray[np.int64], at_least: float = 0.0
) -> float:
    """The largest distance of any of `rows_R` from the nearest of `picks_K`, or `at_least` where that is larger.

    Rows that a few of the picks already bring below the answer are not compared with the others.
    """
    rows_R = np.setdiff1d(rows_R, picks_K)
    square_R, near_R = np.full(len(rows_R), np.inf, dtype=np.float32), np.full(len(rows_R), -1)
    for start in range(0, len(picks_K), 2 * _PICKS):
        come_nearer(points_ND, rows_R, picks_K[start : start + 2 * _PICKS], square_R, near_R)
        far_P = np.sort(np.argsort(square_R, kind="stable")[-_PROBED:])
        at_least = max(at_least, float(nearest_pick(points_ND, rows_R[far_P], picks_K)[1].max(initial=0.0)))
        open_R = np.sqrt(square_R) > np.float32(at_least)
        open_R[far_P] = False
        rows_R, square_R, near_R = rows_R[open_R], square_R[open_R], near_R[open_R]
    return max(at_least, float(np.sqrt(square_R.max(initial=0.0))))
