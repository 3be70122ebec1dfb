"""The inner loop of the lexical layer, compiled: rows claim their places in keep order.

It holds no lock, so that threads work through different components side by side. numba is slow to load: import this
only where it runs.

Shapes: C bytes, N texts, L characters of the longest, B bands, A rows that share a bucket, K buckets.
"""

import numpy as np
from numba import njit

from assets.pool.kernels import F32, I32, I64, U8, U64, bits_of, cut_set, may_reach, ones_in, similarity
from assets.pool.minhash import Crowd


@njit(cache=True, nogil=True)
def claim_places(
    bytes_C: U8,
    starts_N: I64,
    group_N: U64,
    rows_A: I32,
    bucket_BA: I32,
    last_K: I32,
    kept_K: I32,
    crowd: Crowd,
    threshold: float,
    survivor_A: I32,
    similarity_A: F32,
) -> None:
    """The survivor (a position in `rows_A`) of each row and the similarity with it, in keep order.

    A row without a similar kept row before it is kept. Buckets hold kept rows only, as linked lists, so that a thousand
    near copies cost a thousand comparisons. Of the rows of a bucket most are told apart by their sketches, a bit of 64
    for each n-gram: bits that differ are n-grams apart. A bucket that holds a crowd of kept rows says nothing, as long
    as a row has enough other bands.

    Args:
        bytes_C: texts as UTF-8, end to end.
        starts_N: where each text begins; length N + 1.
        group_N: rows of different groups are never compared.
        rows_A: rows in keep order; no row elsewhere shares a bucket with one of them.
        bucket_BA: bucket of each in each band, -1 where it is alone.
        last_K: scratch by bucket, all -1.
        kept_K: scratch by bucket, all 0.
        crowd: when a bucket is passed over.
        threshold: Jaccard similarity at which a row is a copy.
        survivor_A: written.
        similarity_A: written; 1 for a kept row.
    """
    before_BA = np.full(bucket_BA.shape, -1, dtype=np.int32)
    compared_A = np.full(len(rows_A), -1, dtype=np.int32)
    near_A = np.empty(len(rows_A), dtype=np.int32)
    size_A, sketch_A = np.zeros(len(rows_A), dtype=np.int32), np.zeros(len(rows_A), dtype=np.uint64)
    longest = 0
    for row in rows_A:
        longest = max(longest, starts_N[row + 1] - starts_N[row])
    own_L, other_L = np.empty(longest + 1, dtype=np.uint64), np.empty(longest + 1, dtype=np.uint64)
    for at in range(len(rows_A)):
        row = rows_A[at]
        near = _kept_beside(at, bucket_BA, last_K, kept_K, crowd, before_BA, compared_A, near_A)
        own = cut_set(bytes_C, starts_N[row], starts_N[row + 1], own_L)
        size_A[at], sketch_A[at] = own, bits_of(own_L, own)
        best, best_similarity = -1, threshold
        for other in near_A[:near]:
            apart = ones_in(sketch_A[at] ^ sketch_A[other])
            if group_N[rows_A[other]] == group_N[row] and may_reach(own, size_A[other], apart, threshold):
                begin, end = starts_N[rows_A[other]], starts_N[rows_A[other] + 1]
                found = similarity(own_L, own, other_L, cut_set(bytes_C, begin, end, other_L), threshold)
                if found > best_similarity or (found == best_similarity and (best == -1 or other < best)):
                    best, best_similarity = other, found
        survivor_A[at], similarity_A[at] = (at, 1.0) if best == -1 else (best, best_similarity)
        if best == -1:
            _settle(at, bucket_BA, last_K, kept_K, before_BA)


@njit(cache=True, nogil=True)
def _kept_beside(
    at: int, bucket_BA: I32, last_K: I32, kept_K: I32, crowd: Crowd, before_BA: I32, compared_A: I32, near_A: I32
) -> int:
    """Write the kept rows that row `at` is to be compared with to `near_A`, each once; returns how many."""
    near = crowded = 0
    for band in range(len(bucket_BA)):
        crowded += int(bucket_BA[band, at] >= 0 and kept_K[bucket_BA[band, at]] > crowd.rows)
    most = crowd.rows if len(bucket_BA) - crowded >= crowd.bands else len(before_BA[0])
    for band in range(len(bucket_BA)):
        bucket = bucket_BA[band, at]
        other = last_K[bucket] if bucket >= 0 and kept_K[bucket] <= most else np.int32(-1)
        while other != -1:
            if compared_A[other] != at:
                compared_A[other] = at
                near_A[near] = other
                near += 1
            other = before_BA[band, other]
    return near


@njit(cache=True, nogil=True)
def _settle(at: int, bucket_BA: I32, last_K: I32, kept_K: I32, before_BA: I32) -> None:
    """Put a kept row into its buckets."""
    for band in range(len(bucket_BA)):
        if bucket_BA[band, at] >= 0:
            before_BA[band, at] = last_K[bucket_BA[band, at]]
            last_K[bucket_BA[band, at]] = at
            kept_K[bucket_BA[band, at]] += 1
