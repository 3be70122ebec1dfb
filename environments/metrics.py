"""pass@k, pass^k, bootstrap intervals and the smallest difference a test set can show.

Source: tau-bench (pass^k = mean over tasks of C(c,k)/C(n,k)); HumanEval (pass@k = 1 - C(n-c,k)/C(n,k)).

Shapes: I items (tasks, or a refusal task with its twin), N attempts at each.
"""

from math import comb, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Z95, Z80 = 1.959964, 0.841621


class Interval(NamedTuple):
    """An estimate with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """For tables."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


def pass_at_k(successes: int, attempts: int, k: int) -> float:
    """Unbiased probability that at least one of `k` attempts succeeds.

    Raises:
        ValueError: fewer attempts than `k`.
    """
    _check(successes, attempts, k)
    return 1.0 - comb(attempts - successes, k) / comb(attempts, k)


def pass_hat_k(successes: int, attempts: int, k: int) -> float:
    """Unbiased probability that all of `k` attempts succeed (pass^k).

    Raises:
        ValueError: fewer attempts than `k`.
    """
    _check(successes, attempts, k)
    return comb(successes, k) / comb(attempts, k)


def _check(successes: int, attempts: int, k: int) -> None:
    if not 1 <= k <= attempts:
        raise ValueError(f"k must be in 1..{attempts} (the number of attempts), got {k}")
    if not 0 <= successes <= attempts:
        raise ValueError(f"successes must be in 0..{attempts}, got {successes}")


def item_pass_hat_k(success_IN: NDArray[np.bool_], k: int) -> Floats:
    """pass^k of each item."""
    n = success_IN.shape[1]
    return np.array([pass_hat_k(int(c), n, k) for c in success_IN.sum(axis=1)])


def bootstrap(values_I: Floats, *, seed: int = 0, resamples: int = 2000) -> Interval:
    """Mean over items with a 95% percentile interval from resampling items.

    Raises:
        ValueError: no item.
    """
    if len(values_I) == 0:
        raise ValueError("cannot bootstrap without items")
    draws = np.random.default_rng(seed).integers(0, len(values_I), (resamples, len(values_I)))
    low, high = np.percentile(values_I[draws].mean(axis=1), [2.5, 97.5])
    return Interval(float(values_I.mean()), float(low), float(high))


def paired_difference(before_I: Floats, after_I: Floats, *, seed: int = 0, resamples: int = 2000) -> Interval:
    """Mean difference after - before on the same items, with its bootstrap interval.

    Raises:
        ValueError: the two do not cover the same items.
    """
    if before_I.shape != after_I.shape:
        raise ValueError(f"paired values must cover the same items, got {before_I.shape} and {after_I.shape}")
    return bootstrap(after_I - before_I, seed=seed, resamples=resamples)


def minimum_detectable_difference(before_I: Floats, after_I: Floats) -> float:
    """Smallest paired difference that this many items show with 80% power at the 5% level."""
    spread = float((after_I - before_I).std(ddof=1)) if len(before_I) > 1 else float("nan")
    return (Z95 + Z80) * spread / sqrt(len(before_I))


def wilson(successes: int, attempts: int) -> Interval:
    """Success rate with Wilson's 95% interval.

    Raises:
        ValueError: no attempt.
    """
    _check(successes, attempts, 1)
    p, z2 = successes / attempts, Z95**2
    centre = (p + z2 / (2 * attempts)) / (1 + z2 / attempts)
    half = Z95 / (1 + z2 / attempts) * sqrt(p * (1 - p) / attempts + z2 / (4 * attempts**2))
    return Interval(p, max(0.0, centre - half), min(1.0, centre + half))
