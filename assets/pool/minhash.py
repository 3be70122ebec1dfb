"""MinHash signatures and band keys over n-gram sets, equal to datasketch's for the same shingles.

Hash: the first four bytes of SHA-1 over the n-gram's UTF-8; scheme "affine32" of datasketch 2 (MurmurHash3 finalizer,
then a * h + b mod 2^32); its permutations for the same seed. A signature made here loads into `datasketch.MinHashLSH`.

Source: Broder (1997); Indyk and Motwani (1998) for the bands; datasketch 2.0 (MIT) for the scheme.

Shapes: N sets, G n-grams of all sets, P permutations, B bands.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.pool.shingles import Shingles, spelled

SEED = 1
"""datasketch's default seed."""


class Banding(NamedTuple):
    """How a signature is cut: two sets are compared where all `rows` values of one of `bands` bands agree."""

    bands: int
    rows: int

    @property
    def permutations(self) -> int:
        """Length of the signature."""
        return self.bands * self.rows

    def recall(self, similarity: float) -> float:
        """The share of pairs of this Jaccard similarity that are compared."""
        return float(1 - (1 - similarity**self.rows) ** self.bands)


def bands_for(threshold: float, *, recall: float = 0.999, permutations: int = 80) -> Banding:
    """The bands with fewest needless comparisons that still find `recall` of the pairs exactly at the threshold.

    Args:
        threshold: Jaccard similarity in (0, 1].
        recall: in (0, 1); *ours*: .999, datasketch's own optimum gives .3 at .85.
        permutations: the longest signature allowed.

    Raises:
        ValueError: no cut of that many permutations reaches the recall.
    """
    cuts = [Banding(permutations // rows, rows) for rows in range(permutations, 0, -1)]
    found = next((cut for cut in cuts if cut.recall(threshold) >= recall), None)
    if found is None:
        raise ValueError(
            f"{permutations} permutations find at most {cuts[-1].recall(threshold):.3f} of the pairs at Jaccard "
            f"{threshold}, not {recall}: allow more permutations or raise the threshold"
        )
    return found


def signatures(shingles: Shingles, permutations: int, *, seed: int = SEED) -> NDArray[np.uint32]:
    """MinHash signatures, uint32, shape (N, P)."""
    hash_G = _mixed(_hashed(shingles.grams_G))
    a_P, b_P = _permutations(permutations, seed)
    begin_N = shingles.starts_N[:-1]
    signature_NP = np.empty((len(begin_N), permutations), dtype=np.uint32)
    for p in range(permutations):
        np.minimum.reduceat(a_P[p] * hash_G + b_P[p], begin_N, out=signature_NP[:, p])
    return signature_NP


def band_keys(signature_NP: NDArray[np.uint32], banding: Banding, group_N: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A key per band, shape (N, B): rows with equal keys agree in that band and in group.

    Args:
        signature_NP: from `signatures`, P at least `banding.permutations`.
        banding: how to cut.
        group_N: rows of different groups are never compared.
    """
    key_NB = np.empty((len(signature_NP), banding.bands), dtype=np.uint64)
    for band in range(banding.bands):
        key_N = group_N.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for p in range(band * banding.rows, (band + 1) * banding.rows):
            key_N = _mixed_64(key_N ^ signature_NP[:, p].astype(np.uint64))
        key_NB[:, band] = key_N
    return key_NB


def buckets(key_NB: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Bucket numbers in place of keys, dense over all bands, shape (N, B)."""
    bucket_NB = np.empty(key_NB.shape, dtype=np.int32)
    taken = 0
    for band in range(key_NB.shape[1]):
        _, number_N = np.unique(key_NB[:, band], return_inverse=True)
        bucket_NB[:, band] = number_N + taken
        taken += int(number_N.max(initial=-1)) + 1
    return bucket_NB


def _hashed(grams_G: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """SHA-1 of each n-gram, computed once per distinct n-gram."""
    distinct, position_G = np.unique(grams_G, return_inverse=True)
    digests = (hashlib.sha1(spelled(int(gram)).encode("utf-8", "surrogatepass")).digest() for gram in distinct)
    hashed = np.fromiter((int.from_bytes(d[:4], "little") for d in digests), dtype=np.uint32, count=len(distinct))
    return hashed[position_G]


def _mixed(hash_G: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The MurmurHash3 finalizer over 32 bits."""
    hash_G = (hash_G ^ (hash_G >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hash_G = (hash_G ^ (hash_G >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hash_G ^ (hash_G >> np.uint32(16))


def _mixed_64(key_N: NDArray[np.uint64]) -> NDArray[np.uint64]:
    key_N = (key_N ^ (key_N >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return key_N ^ (key_N >> np.uint64(33))


def _permutations(count: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    from datasketch import MinHash

    a_P, b_P = MinHash(num_perm=count, seed=seed, scheme="affine32").permutations
    return np.asarray(a_P, dtype=np.uint32), np.asarray(b_P, dtype=np.uint32)
