"""Who shares a bucket with whom, compiled: from band keys in order to buckets, components, and the buckets of a row.

Keys come packed, the upper bits of the key and the row in one number, so that sorting numbers sorts rows. A band's
buckets are its runs: the rows of one bucket one after the other, the first of each complemented; a row alone is left
out, and nine of ten are. They hold no lock, so that threads run side by side. numba is slow to load: import this only
where it runs.

Shapes: N rows, B bands, A rows that share a bucket, K buckets, R rows of a band's runs, E rows of all runs.
"""

import numpy as np
from numba import njit

from assets.pool.kernels import I32, I64, U64


@njit(cache=True, nogil=True)
def shared_rows(packed_N: U64, bits: int) -> int:
    """How many rows share their key with another; the lowest `bits` bits are the row."""
    shift, shared, at = np.uint64(bits), 0, 0
    while at < len(packed_N):
        key, end = packed_N[at] >> shift, at + 1
        while end < len(packed_N) and packed_N[end] >> shift == key:
            end += 1
        shared += end - at if end - at > 1 else 0
        at = end
    return shared


@njit(cache=True, nogil=True)
def runs_of(packed_N: U64, bits: int, parent_N: I32, run_R: I32) -> int:
    """Write the runs of a band and join their rows into components; returns how many buckets there are."""
    shift, row_mask = np.uint64(bits), (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    at = written = buckets = 0
    while at < len(packed_N):
        key, end = packed_N[at] >> shift, at + 1
        while end < len(packed_N) and packed_N[end] >> shift == key:
            end += 1
        if end - at > 1:
            first = int(np.int64(packed_N[at] & row_mask))
            run_R[written] = ~first
            for i in range(at + 1, end):
                row = int(np.int64(packed_N[i] & row_mask))
                run_R[written + i - at] = row
                join(parent_N, first, row)
            written += end - at
            buckets += 1
        at = end
    return buckets


@njit(cache=True, nogil=True)
def join(parent_N: I32, one: int, other: int) -> None:
    """Put two rows into one component; its root is its first row."""
    one, other = root_of(parent_N, one), root_of(parent_N, other)
    if one < other:
        parent_N[other] = one
    elif other < one:
        parent_N[one] = other


@njit(cache=True, nogil=True)
def join_all(one_N: I64, parent_N: I32) -> None:
    """Put every row into one component with the row named for it."""
    for row in range(len(one_N)):
        join(parent_N, one_N[row], row)


@njit(cache=True, nogil=True)
def root_of(parent_N: I32, row: int) -> int:
    """The first row of the component of `row`, halving the path to it."""
    while parent_N[row] != row:
        parent_N[row] = parent_N[parent_N[row]]
        row = parent_N[row]
    return row


@njit(cache=True, nogil=True)
def roots_of(parent_N: I32) -> None:
    """Replace every parent by the root."""
    for row in range(len(parent_N)):
        parent_N[row] = root_of(parent_N, row)


@njit(cache=True, nogil=True)
def spread_run(run_R: I32, taken: int, bucket_N: I32) -> int:
    """Write the bucket of each row of a band's runs, numbered from `taken` on; returns the next free number."""
    for i in range(len(run_R)):
        row = run_R[i]
        if row < 0:
            taken, row = taken + 1, ~row
        bucket_N[row] = taken - 1
    return taken


@njit(cache=True, nogil=True)
def count_run(run_R: I32, place_N: I32, next_A: I64) -> None:
    """Count the buckets of each place, two places on; a row has the place `place_N` says."""
    for i in range(len(run_R)):
        row = run_R[i]
        next_A[place_N[row if row >= 0 else ~row] + 2] += 1


@njit(cache=True, nogil=True)
def list_run(run_R: I32, taken: int, place_N: I32, next_A: I64, bucket_E: I32, size_K: I32) -> int:
    """Write a band's buckets, numbered from `taken` on, behind those that each place has; returns the next free number.

    Afterwards `next_A`, one place on, says where the next bucket of each place goes.
    """
    for i in range(len(run_R)):
        row = run_R[i]
        if row < 0:
            taken, row = taken + 1, ~row
        place = place_N[row] + 1
        bucket_E[next_A[place]] = taken - 1
        next_A[place] += 1
        size_K[taken - 1] += 1
    return taken
