"""Scores and gains in plain words, for the report page and for the end of `loopwright demo`."""

from collections.abc import Mapping
from typing import Any

NAMES = {"seed": "seed policy", "boundary": "boundary policy", "rl": "RL policy"}
"""Of the trained policies, in the order in which they are made."""
SUITES = {
    "hidden": "fresh tasks of cities and wordings that no stage has seen",
    "log": "held-out tasks made of the log's own queries",
}


def policy_name(policy: str) -> str:
    """A policy as people call it; scripted ones are baselines."""
    return NAMES.get(policy, f"{policy.rpartition('-')[0] or policy} (baseline)")


def estimate(row: Mapping[str, Any], name: str, *, sign: bool = False) -> str:
    """A value of a score or gain row with its 95% interval."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    show = "{:+.3f} [{:+.3f}, {:+.3f}]" if sign else "{:.3f} [{:.3f}, {:.3f}]"
    return show.format(value, low, high).replace("-", "−")


def verdict_on(low: float, high: float) -> str:
    """What a paired interval says."""
    if low > 0:
        return "better: the interval excludes 0"
    return "worse: the interval excludes 0" if high < 0 else "no difference shown: the interval contains 0"


def gain_in_words(row: Mapping[str, Any], k: int) -> str:
    """One row of `benchmarks/gains` as a sentence or two."""
    after, before = policy_name(row["after"]), policy_name(row["before"])
    said = f"{after} over {before}: pass^{k} {estimate(row, 'pass_hat_k', sign=True)}, "
    said += f"{verdict_on(row['pass_hat_k_low'], row['pass_hat_k_high'])}; "
    said += f"pass@1 {estimate(row, 'pass_1', sign=True)}, {verdict_on(row['pass_1_low'], row['pass_1_high'])}."
    if row["depths_worse"]:
        said += f" Worse at depth {row['depths_worse']}."
    return said[0].upper() + said[1:]
