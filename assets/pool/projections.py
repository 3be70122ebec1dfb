"""Which stored vectors may be as similar to some rows as a threshold: all that are, and few others.

Unit vectors are seen along a few directions of their own space, those that a sample varies most in. With what remains
of each taken as if it pointed the same way, x * y <= Px * Py + |x - Px| |y - Py| (Cauchy-Schwarz), so one short product
bounds every similarity from above. What passes is bounded once more along more directions, and then is the caller's to
compare. No pair that reaches the threshold is missed, whatever the directions are: they decide only how fast it goes.

Shapes: N stored vectors, Q asked ones, D dimensions, K directions, F features, S vectors of a sample, P pairs.
"""

from contextlib import AbstractContextManager
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.side_by_side import core_count, on_every_core

F32 = NDArray[np.float32]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Of each pair, which asked vector and which stored one."""
_SLACK = 1e-4
"""More than single precision can be off by in a bound of unit vectors of a thousand dimensions."""
_SQUARE = 4e-6
"""As much in the square of what remains."""
_TRIED = 5
"""Every which vector of a sample tries the directions that the others give."""
_STEPS = (15, 19, 23, 27, 31, 39, 47, 63, 95, 127, 191, 255, 383, 511, 767, 1023)
"""Numbers of directions to choose from; with what remains beside them products are as long as processors like them."""
_AT_ONCE = 1024


_PAIR, _DIRECTION, _AGAIN, _AGAIN_DIRECTION, _COMPARED = 0.3, 0.02, 100.0, 0.3, 1000.0
"""Nanoseconds of one core to look at a bound, for each direction of it, to bound a pair again, for each further
direction, and to compare it: what decides between directions, and nothing else."""


class Features(NamedTuple):
    """What is stored of vectors."""

    near_QF: F32
    """Along the near directions, and what remains beside these."""
    far_QF: F32
    """Along the far directions, and what remains beside both."""

    def rows(self, first: int, last: int) -> "Features":
        """Some of them, without a copy."""
        return Features(self.near_QF[first:last], self.far_QF[first:last])


class Projections:
    """A growing set of unit vectors, asked which of them may reach a similarity."""

    def __init__(self, sample_ND: F32, least: float) -> None:
        """Make an empty set.

        Args:
            sample_ND: vectors like those that will be stored and asked about; two thousand say enough.
            least: similarity that will be asked for.
        """
        seen_SD = sample_ND[np.arange(len(sample_ND)) % _TRIED > 0]
        _, along_DD = np.linalg.eigh((seen_SD.T @ seen_SD).astype(np.float64))
        self._along_DD = along_DD[:, ::-1].astype(np.float32)
        self._near, self._far = _cheapest(sample_ND[::_TRIED] @ self._along_DD, least)
        self._along_DD = np.ascontiguousarray(self._along_DD[:, : self._far])
        self._stored = Features(
            *(np.empty((0, count), np.float32) for count in (self._near + 1, self._far - self._near + 1))
        )
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, vectors_QD: F32) -> None:
        """Store vectors; they are numbered in the order of their arrival."""
        features = self._features(vectors_QD)
        count = self._count + len(vectors_QD)
        if count > len(self._stored.near_QF):
            self._stored = Features(*(_longer(part, max(count, 2 * len(part))) for part in self._stored))
        for stored_NF, new_QF in zip(self._stored, features, strict=True):
            stored_NF[self._count : count] = new_QF
        self._count = count

    def reaching(self, vectors_QD: F32, least: float) -> Pairs:
        """Every stored vector that may be as similar as `least`, for each asked one."""
        return _on_every_core(self._features(vectors_QD), self._stored.rows(0, self._count), least)

    def within(self, vectors_QD: F32, least: float) -> Pairs:
        """Every earlier one of the asked vectors that may be as similar, for each of them."""
        features = self._features(vectors_QD)
        later_P, earlier_P = _on_every_core(features, features, least)
        before_P = earlier_P < later_P
        return later_P[before_P], earlier_P[before_P]

    def _features(self, vectors_QD: F32) -> Features:
        along_QK = vectors_QD @ self._along_DD
        near_QK, far_QK = along_QK[:, : self._near], along_QK[:, self._near :]
        return Features(
            np.concatenate([near_QK, _remains(near_QK)[:, None]], axis=1),
            np.concatenate([far_QK, _remains(along_QK)[:, None]], axis=1),
        )


def narrow_products() -> AbstractContextManager[object]:
    """Within, each matrix product takes one thread: a second one only waits, and keeps the core from other threads."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


def _on_every_core(asked: Features, others: Features, least: float) -> Pairs:
    def some(cut: tuple[int, int]) -> NDArray[np.int64]:
        """Pairs of some asked ones."""
        pair_P2: NDArray[np.int64] = _between(asked.rows(*cut), others, least) + np.array([cut[0], 0])
        return pair_P2

    cuts = np.linspace(0, len(asked.near_QF), core_count() + 1).astype(np.int64).tolist()
    both_P2 = np.concatenate(on_every_core(some, pairwise(cuts)))
    return both_P2[:, 0], both_P2[:, 1]


def _between(asked: Features, others: Features, least: float) -> NDArray[np.int64]:
    from assets.pool.distances import pass_bounds

    few = len(asked.near_QF)
    bounds = np.empty(few * min(_AT_ONCE, len(others.near_QF)), dtype=np.float32)
    found_P2 = np.empty((len(bounds), 2), dtype=np.int32)
    pieces = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, len(others.near_QF) if few else 0, _AT_ONCE):
        some = others.rows(start, start + _AT_ONCE)
        bound_QN = bounds[: few * len(some.near_QF)].reshape(few, len(some.near_QF))
        np.matmul(asked.near_QF, some.near_QF.T, out=bound_QN)
        passed = pass_bounds(bound_QN, *asked, *some, np.float32(least - _SLACK), found_P2)
        pieces.append(found_P2[:passed] + np.array([0, start]))
    return np.concatenate(pieces)


def _longer(part_NF: F32, rows: int) -> F32:
    longer_NF = np.empty((rows, part_NF.shape[1]), dtype=np.float32)
    longer_NF[: len(part_NF)] = part_NF
    return longer_NF


def _remains(along_QK: F32) -> F32:
    """Length of what unit vectors have beside some directions, and never less."""
    square_Q = np.einsum("qk,qk->q", along_QK, along_QK)
    remains_Q: F32 = np.sqrt(np.maximum(0, 1 - square_Q) + np.float32(_SQUARE))
    return remains_Q


def _cheapest(along_SD: F32, least: float) -> tuple[int, int]:
    """Directions of the first and of the second bound with which a pair of the sample's kind costs least."""
    dimensions = along_SD.shape[1]
    steps = [step for step in _STEPS if step < dimensions] + [dimensions]
    passed, product_SS, taken = dict[int, float](), np.zeros((len(along_SD), len(along_SD)), np.float32), 0
    for step in steps:
        product_SS += along_SD[:, taken:step] @ along_SD[:, taken:step].T
        remains_S, taken = _remains(along_SD[:, :step]), step
        bound_SS = product_SS + np.outer(remains_S, remains_S)
        passed[step] = float((bound_SS >= least - _SLACK).mean() - 1 / len(along_SD))

    def cost(both: tuple[int, int]) -> float:
        """Of one pair."""
        near, far = both
        again = passed[near] * (_AGAIN + _AGAIN_DIRECTION * (far - near)) if far > near else 0.0
        return _PAIR + _DIRECTION * near + again + passed[far] * _COMPARED

    return min(((near, far) for near in steps for far in steps if near <= far), key=cost)
