"""Lexical layer of the funnel: requests whose letters are nearly the same, over the whole corpus, before labels.

MinHash LSH over character n-grams proposes pairs, exact Jaccard similarity decides, and the rule of
`assets.pool.survival` says who stays. Pairs whose facts differ (cities, days, numbers) are never compared.

Source: the first level of the AMAP report's funnel; its threshold is not published, .85 is ours.

Shapes: N rows, P permutations, B bands.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assets.pool.minhash import Banding, band_keys, bands_for, buckets, signatures
from assets.pool.shingles import Shingles, shingles_of
from assets.pool.survival import Survival

_ROWS_AT_A_TIME = 65_536


def lexical_survivors(texts: Sequence[str], facts: Sequence[str], threshold: float) -> Survival:
    """Which of the near copies stays.

    Args:
        texts: N normalised texts in keep order (`assets.pool.survival.keep_order`).
        facts: N keys; rows whose keys differ are both kept, however near their letters.
        threshold: Jaccard similarity in (0, 1] at which a row counts as a copy.

    Raises:
        ValueError: a text is empty, the lengths differ, or the threshold is out of range.
    """
    if len(texts) != len(facts):
        raise ValueError(f"every text needs its facts, got {len(texts)} texts and {len(facts)} keys")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    if not texts:
        return Survival(np.empty(0, np.int64), np.empty(0, np.float32))
    from assets.pool.kernels import claim_places

    shingles = shingles_of(texts)
    _, group_N = np.unique(np.asarray(facts, dtype=object), return_inverse=True)
    bucket_NB = buckets(_keys(shingles, group_N, bands_for(threshold)))
    return Survival(*claim_places(shingles.grams_G, shingles.starts_N, bucket_NB, group_N, threshold))


def _keys(shingles: Shingles, group_N: NDArray[np.int64], banding: Banding) -> NDArray[np.uint64]:
    """Band keys a chunk at a time: signatures are five times as large as the keys and are not kept."""
    parts = []
    for start in range(0, len(group_N), _ROWS_AT_A_TIME):
        starts_N = shingles.starts_N[start : start + _ROWS_AT_A_TIME + 1]
        chunk = Shingles(shingles.grams_G[starts_N[0] : starts_N[-1]], starts_N - starts_N[0])
        signature_NP = signatures(chunk, banding.permutations)
        parts.append(band_keys(signature_NP, banding, group_N[start : start + _ROWS_AT_A_TIME]))
    return np.concatenate(parts)
