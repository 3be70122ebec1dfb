"""Scores and gains as tables: one row per policy and suite, one per pair of policies."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from assets.benchmarks.scoring import Gain, Items, Score, gain

SCORE_SCHEMA = {
    "suite": pl.String, "policy": pl.String, "temperature": pl.Float64, "k": pl.Int64,
    "items": pl.Int64, "left_out": pl.Int64,
    "pass_1": pl.Float64, "pass_1_low": pl.Float64, "pass_1_high": pl.Float64,
    "pass_hat_k": pl.Float64, "pass_hat_k_low": pl.Float64, "pass_hat_k_high": pl.Float64,
    "greedy": pl.Float64, "greedy_low": pl.Float64, "greedy_high": pl.Float64,
    "by_depth": pl.String, "by_family": pl.String,
}  # fmt: skip
GAIN_SCHEMA = {
    "suite": pl.String, "before": pl.String, "after": pl.String,
    "pass_1": pl.Float64, "pass_1_low": pl.Float64, "pass_1_high": pl.Float64,
    "pass_hat_k": pl.Float64, "pass_hat_k_low": pl.Float64, "pass_hat_k_high": pl.Float64,
    "detectable": pl.Float64, "depths": pl.String, "depths_worse": pl.String,
}  # fmt: skip


def score_row(
    suite: str, policy: str, temperature: float | None, items: Items, scored: Score, greedy: Score | None
) -> dict[str, Any]:
    """One policy on one suite."""
    return {
        "suite": suite,
        "policy": policy,
        "temperature": temperature,
        "k": items.success_IN.shape[1],
        "items": len(items.ids),
        "left_out": items.left_out,
        **_columns("pass_1", scored.pass_1),
        **_columns("pass_hat_k", scored.pass_hat_k),
        **(_columns("greedy", greedy.pass_1) if greedy else {}),
        "by_depth": json.dumps({str(d): round(v, 4) for d, v in scored.by_depth.items()}),
        "by_family": json.dumps({f: round(v, 4) for f, v in scored.by_family.items()}),
    }


def gain_row(suite: str, before: str, after: str, found: Gain) -> dict[str, Any]:
    """One pair of policies on one suite; a depth is worse when its whole interval lies below zero."""
    worse = [d for d, i in found.by_depth.items() if i.high < 0]
    return {
        "suite": suite,
        "before": before,
        "after": after,
        **_columns("pass_1", found.pass_1),
        **_columns("pass_hat_k", found.pass_hat_k),
        "detectable": found.detectable,
        "depths": json.dumps({str(d): [round(x, 4) for x in i] for d, i in found.by_depth.items()}),
        "depths_worse": ", ".join(map(str, worse)),
    }


def gains(suite: str, by_policy: Mapping[str, Items]) -> list[dict[str, Any]]:
    """Each policy against each one before it, in the order given."""
    names = list(by_policy)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return [gain_row(suite, a, b, gain(by_policy[a], by_policy[b])) for a, b in pairs]


def _columns(name: str, interval: tuple[float, float, float]) -> dict[str, float]:
    value, low, high = interval
    return {name: value, f"{name}_low": low, f"{name}_high": high}
