"""Semantic layer of the funnel: requests that mean nearly the same, inside each <primary, secondary> bucket.

The keep rule of `assets.pool.survival` with cosine similarity of embeddings, exact: every row is searched among the
rows kept before it. Kept rows go into a growing index a block at a time, so memory follows the kept rows and one block,
however large a bucket is. In a group of more than `LARGE` rows the search visits only the cells nearest to a row (IVF):
a row as similar as the threshold lies in one of them nearly always; `recall_of` measures how nearly.

Source: the second level of the AMAP report's funnel; its threshold is not published, ours is measured (see the asset).

Shapes: N rows, D dimensions, R rows of one group, B rows of one block.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assets.pool.survival import Survival
from resources.neighbours import Index, cells_of, checked

_BLOCK = 2048
LARGE = 30_000
"""Rows of one group from which on cells are searched instead of everything; ours."""
_PROBES = 16
_SAMPLE = 500
_COMPARED = 16_384


def semantic_survivors(
    vectors_ND: NDArray[np.float32], buckets: Sequence[str], facts: Sequence[str], threshold: float
) -> Survival:
    """Which of the requests that mean the same stays.

    Args:
        vectors_ND: unit vectors of N requests in keep order, float32.
        buckets: N names; requests of different buckets are never compared.
        facts: N keys; requests whose keys differ are both kept, however near their meaning.
        threshold: cosine similarity in (0, 1] at which a row counts as a copy.

    Raises:
        ValueError: lengths differ, the threshold is out of range, or a vector holds NaN (the message names the row).
    """
    if not len(vectors_ND) == len(buckets) == len(facts):
        raise ValueError(
            f"rows need one vector, bucket and key each, got {len(vectors_ND)}, {len(buckets)}, {len(facts)}"
        )
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    vectors_ND = checked(vectors_ND)
    survivor_N = np.arange(len(vectors_ND))
    similarity_N = np.ones(len(vectors_ND), dtype=np.float32)
    for rows_R in groups_of(buckets, facts):
        survivor_R, similarity_R = _claim(vectors_ND, rows_R, threshold)
        survivor_N[rows_R] = rows_R[survivor_R]
        similarity_N[rows_R] = similarity_R
    return Survival(survivor_N, similarity_N)


def sampled_recall(
    vectors_ND: NDArray[np.float32], buckets: Sequence[str], facts: Sequence[str], survival: Survival, threshold: float
) -> float | None:
    """`recall_of` on a seeded sample of the largest group, or None where every group was searched exactly."""
    rows_R = max(groups_of(buckets, facts), key=len, default=np.empty(0, np.int64))
    if len(rows_R) <= LARGE:
        return None
    rows_S = np.random.default_rng(0).choice(rows_R, _SAMPLE, replace=False)
    return recall_of(vectors_ND, survival, rows_S, threshold, rows_R)


def groups_of(buckets: Sequence[str], facts: Sequence[str]) -> list[NDArray[np.int64]]:
    """Row numbers, ascending, of every group of at least two rows that may be compared."""
    rows: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(buckets, facts, strict=True)):
        rows.setdefault(key, []).append(row)
    return [np.array(group) for group in rows.values() if len(group) > 1]


def _claim(
    vectors_ND: NDArray[np.float32], rows_R: NDArray[np.int64], threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Survivor (a position in the group) and similarity of each row of one group."""
    survivor_R = np.arange(len(rows_R))
    similarity_R = np.ones(len(rows_R), dtype=np.float32)
    kept: list[NDArray[np.int64]] = []
    index = _index_for(vectors_ND, rows_R)
    for start in range(0, len(rows_R), _BLOCK):
        block_BD = vectors_ND[rows_R[start : start + _BLOCK]]
        best_B, found_B = _nearest_kept(block_BD, index, kept)
        stays_B = _claim_in_block(block_BD, best_B, found_B, start, threshold)
        stop = start + len(block_BD)
        survivor_R[start:stop] = np.where(stays_B, survivor_R[start:stop], found_B)
        similarity_R[start:stop] = np.where(stays_B, 1.0, np.minimum(best_B, 1.0))
        kept.append(start + np.flatnonzero(stays_B))
        if index is not None:
            index.add(block_BD[stays_B])
    return survivor_R, similarity_R


def _index_for(vectors_ND: NDArray[np.float32], rows_R: NDArray[np.int64]) -> Index | None:
    if len(rows_R) <= _BLOCK:
        return None
    if len(rows_R) <= LARGE:
        return Index(vectors_ND.shape[1])
    cells_LD = cells_of(vectors_ND, round(2 * len(rows_R) ** 0.5), rows_R=rows_R)
    return Index(vectors_ND.shape[1], cells_LD=cells_LD, probes=_PROBES)


def recall_of(
    vectors_ND: NDArray[np.float32],
    survival: Survival,
    rows_S: NDArray[np.int64],
    threshold: float,
    rows_R: NDArray[np.int64] | None = None,
) -> float:
    """Of the sampled rows that brute force finds a kept row before for, the share that were dropped.

    Args:
        vectors_ND: unit vectors in keep order.
        survival: what the layer decided.
        rows_S: the sample, all of one group.
        threshold: the layer's.
        rows_R: that group; all rows if it is not given.
    """
    kept_N = survival.kept_N
    kept_K = np.flatnonzero(kept_N) if rows_R is None else rows_R[kept_N[rows_R]]
    best_S = np.full(len(rows_S), -2.0, dtype=np.float32)
    for start in range(0, len(kept_K), _COMPARED):
        some_K = kept_K[start : start + _COMPARED]
        similar_KS = vectors_ND[some_K] @ vectors_ND[rows_S].T
        similar_KS[some_K[:, None] >= rows_S] = -2.0
        np.maximum(best_S, similar_KS.max(axis=0), out=best_S)
    due_S = best_S >= threshold
    return float((~kept_N[rows_S[due_S]]).mean()) if due_S.any() else 1.0


def _nearest_kept(
    block_BD: NDArray[np.float32], index: Index | None, kept: list[NDArray[np.int64]]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Similarity and position of the most similar row kept in earlier blocks; below any threshold if none was kept."""
    if index is None or len(index) == 0:
        return np.full(len(block_BD), -2.0, np.float32), np.full(len(block_BD), -1)
    nearest = index.nearest(block_BD)
    return nearest.similarity_QK[:, 0], np.concatenate(kept)[nearest.row_QK[:, 0]]


def _claim_in_block(
    block_BD: NDArray[np.float32],
    best_B: NDArray[np.float32],
    found_B: NDArray[np.int64],
    start: int,
    threshold: float,
) -> NDArray[np.bool_]:
    """Which rows of the block stay; `best_B` and `found_B` are improved in place by the block's own kept rows."""
    similar_BB = block_BD @ block_BD.T
    stays_B = np.zeros(len(block_BD), dtype=np.bool_)
    for row in range(len(block_BD)):
        if best_B[row] >= threshold:
            continue
        stays_B[row] = True
        later = similar_BB[row, row + 1 :]
        nearer = np.flatnonzero((later >= threshold) & (later > best_B[row + 1 :])) + row + 1
        best_B[nearer] = similar_BB[row, nearer]
        found_B[nearer] = start + row
    return stays_B
