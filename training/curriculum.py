"""Where a task stands relative to the current policy, from K graded rollouts of it, and what follows for its budget.

Difficulty is a relation between a task and a policy, never a property of the task: every number here is void as soon
as the policy changes.

Source: AMAP report, capability probing and signal-to-noise filtration (LPS = variance x mean); SFL (arXiv 2408.15099)
for p(1-p). Cut-offs and the allocation are ours: the report gives none.

Shapes: Q tasks, K rollouts of one task.
"""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MASTERED_ABOVE, HOPELESS_BELOW = 0.875, 0.125
"""Success rates beyond which a task teaches nothing any more, or nothing yet; ours."""
CONFIDENCE = 0.6
"""How sure the posterior must be before a task leaves the learnable region; ours."""


class Region(StrEnum):
    """What the policy can still get out of a task."""

    TRIVIAL = "trivial"
    """Solved nearly every time: keep for regression, sample rarely."""
    LEARNABLE = "learnable"
    """Solved sometimes: the frontier."""
    PLATEAU = "plateau"
    """Always partly right, without variance: wants decomposition, not sampling."""
    NOISE = "noise"
    """Probably never solved: bridge with SFT, or suspect the task."""


class Posterior(NamedTuple):
    """Beta posterior of each task's success rate."""

    alpha_Q: Floats
    beta_Q: Floats

    @property
    def mean_Q(self) -> Floats:
        """Posterior mean."""
        return self.alpha_Q / (self.alpha_Q + self.beta_Q)

    @property
    def variance_Q(self) -> Floats:
        """Expected variance of one attempt, E[p(1-p)]: what a group of rollouts can be expected to teach."""
        total = self.alpha_Q + self.beta_Q
        return self.alpha_Q * self.beta_Q / (total * (total + 1))

    def above(self, bound: float) -> Floats:
        """Probability that the success rate lies above `bound`."""
        from scipy.special import betainc

        values: Floats = 1.0 - betainc(self.alpha_Q, self.beta_Q, bound)
        return values


def learnability(rewards_QK: Floats) -> Floats:
    """Learnability potential score: mean reward times unbiased reward variance.

    Zero when every rollout agrees, so trivial and hopeless tasks both drop out.

    Args:
        rewards_QK: rewards in [0, 1], shape (Q, K), K >= 2.

    Raises:
        ValueError: fewer than two rollouts per task, or a reward outside [0, 1].
    """
    if rewards_QK.ndim != 2 or rewards_QK.shape[1] < 2:
        raise ValueError(f"need rewards of shape (Q, K) with K >= 2, got {rewards_QK.shape}")
    if not ((rewards_QK >= 0) & (rewards_QK <= 1)).all():
        raise ValueError("rewards must lie in [0, 1]")
    scores_Q: Floats = rewards_QK.mean(axis=1) * rewards_QK.var(axis=1, ddof=1)
    return scores_Q


def posterior(successes_Q: Floats, attempts_Q: Floats, prior_mean_Q: Floats, strength: float = 2.0) -> Posterior:
    """Posterior of each task's success rate from its own attempts and the rate of its kind.

    A task without attempts has the prior of its kind, so what was probed speaks for what was not.

    Args:
        successes_Q: successful attempts.
        attempts_Q: attempts that were scored.
        prior_mean_Q: success rate of the task's kind, strictly between 0 and 1.
        strength: how many attempts the prior is worth.
    """
    if (successes_Q > attempts_Q).any():
        raise ValueError("a task cannot succeed more often than it was tried")
    alpha_Q = strength * prior_mean_Q + successes_Q
    beta_Q = strength * (1 - prior_mean_Q) + attempts_Q - successes_Q
    return Posterior(alpha_Q, beta_Q)


def kind_rates(successes: Floats, attempts: Floats, kinds: list[str]) -> Floats:
    """Success rate of each task's kind (family), drawn towards one half by one success and one failure."""
    names, index = np.unique(np.array(kinds), return_inverse=True)
    won = np.bincount(index, weights=successes, minlength=len(names))
    tried = np.bincount(index, weights=attempts, minlength=len(names))
    rates: Floats = ((won + 1) / (tried + 2))[index]
    return rates


def regions(rewards_QK: Floats, success_QK: NDArray[np.bool_]) -> list[Region]:
    """The region of each task, by the flat-prior posterior of its success rate; one 0/8 is likely, never certain."""
    k = success_QK.shape[1]
    won = success_QK.sum(axis=1).astype(float)
    flat = Posterior(1 + won, 1 + k - won)
    partly = (rewards_QK.mean(axis=1) > HOPELESS_BELOW) & (won == 0)
    still = rewards_QK.var(axis=1) < 1e-3
    found = []
    for high, low, plateau in zip(
        flat.above(MASTERED_ABOVE), 1 - flat.above(HOPELESS_BELOW), partly & still, strict=True
    ):
        if plateau:
            found.append(Region.PLATEAU)
        elif high >= CONFIDENCE:
            found.append(Region.TRIVIAL)
        elif low >= CONFIDENCE:
            found.append(Region.NOISE)
        else:
            found.append(Region.LEARNABLE)
    return found


def teacher_budgets(scores_Q: Floats, k_max: int = 8) -> NDArray[np.int64]:
    """Attempts of the teacher at each task: in proportion to its learnability, at least one, at most `k_max`."""
    top = float(scores_Q.max()) if len(scores_Q) else 0.0
    if top <= 0:
        return np.ones(len(scores_Q), dtype=np.int64)
    return np.clip(np.rint(k_max * scores_Q / top), 1, k_max).astype(np.int64)


def certain(mean_Q: Floats, bound: float = 0.5) -> NDArray[np.bool_]:
    """Which learnable tasks are certain enough for SFT; the others are left to RL. The bound is ours."""
    return mean_Q >= bound
