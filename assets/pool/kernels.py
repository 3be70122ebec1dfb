"""The inner loop of the lexical layer, compiled: rows claim their place one after the other.

Imported only by the function that runs it: numba takes a moment to load, and the definitions do not need it.

Shapes: N rows in keep order, B bands, G n-grams of all rows.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def jaccard(grams_G: NDArray[np.uint64], starts_N: NDArray[np.int64], left: int, right: int, least: float) -> float:
    """Exact Jaccard similarity of two ascending sets, or 0 where it cannot reach `least`."""
    a, a_end = starts_N[left], starts_N[left + 1]
    b, b_end = starts_N[right], starts_N[right + 1]
    size_a, size_b = a_end - a, b_end - b
    if min(size_a, size_b) < least * max(size_a, size_b):
        return 0.0
    common = 0
    while a < a_end and b < b_end:
        if grams_G[a] == grams_G[b]:
            common += 1
            a += 1
            b += 1
        elif grams_G[a] < grams_G[b]:
            a += 1
        else:
            b += 1
    return float(common / (size_a + size_b - common))


@njit(cache=True)
def claim_places(
    grams_G: NDArray[np.uint64],
    starts_N: NDArray[np.int64],
    bucket_NB: NDArray[np.int32],
    group_N: NDArray[np.int64],
    threshold: float,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The survivor of each row and the similarity with it; a row without a similar kept row before it is kept.

    Buckets hold kept rows only, as linked lists, so that a thousand near copies cost a thousand comparisons.
    """
    rows, bands = bucket_NB.shape
    last_in_bucket = np.full(bucket_NB.max() + 1, -1, dtype=np.int32)
    before_NB = np.full((rows, bands), -1, dtype=np.int32)
    compared_with = np.full(rows, -1, dtype=np.int64)
    survivor_N = np.arange(rows)
    similarity_N = np.ones(rows, dtype=np.float32)
    for row in range(rows):
        best, best_similarity = -1, threshold
        for band in range(bands):
            other = last_in_bucket[bucket_NB[row, band]]
            while other != -1:
                if compared_with[other] != row and group_N[other] == group_N[row]:
                    compared_with[other] = row
                    similarity = jaccard(grams_G, starts_N, row, other, threshold)
                    nearer = similarity > best_similarity or (
                        similarity == best_similarity and (best == -1 or other < best)
                    )
                    if nearer:
                        best, best_similarity = other, similarity
                other = before_NB[other, band]
        if best != -1:
            survivor_N[row] = best
            similarity_N[row] = best_similarity
            continue
        for band in range(bands):
            before_NB[row, band] = last_in_bucket[bucket_NB[row, band]]
            last_in_bucket[bucket_NB[row, band]] = row
    return survivor_N, similarity_N
