"""Judges several policies: temperatures on the development suite, then one score each on every hidden suite."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from assets.benchmarks.scoring import Items, best_temperature, items_of, score
from assets.benchmarks.tables import gains, score_row
from environments.policy import Policy
from environments.rollout import rollouts
from environments.task import Task
from environments.verifier import Verifier
from environments.world import WorldPool
from training.journal import episodes_frame

Play = Callable[[str, str, float, int], pl.DataFrame]
"""(suite, policy, temperature, k) -> episodes."""


class Judged(NamedTuple):
    """Rows of the tables of scores and gains."""

    scores: list[dict[str, Any]]
    gains: list[dict[str, Any]]
    temperatures: dict[str, float]


def wanted_dev(policies: Sequence[str], temperatures: Sequence[float], k: int) -> list[tuple[str, str, float, int]]:
    """What must be played before temperatures can be chosen."""
    return [("dev", p, t, k) for p in policies for t in temperatures]


def choose_temperatures(
    play: Play, dev: Sequence[Task], policies: Sequence[str], temperatures: Sequence[float], k: int
) -> dict[str, float]:
    """Each policy's own best temperature on the development suite."""
    return {
        p: best_temperature({t: score(items_of(play("dev", p, t, k), dev, k)) for t in temperatures}) for p in policies
    }


def wanted_hidden(
    suites: Sequence[str], chosen: Mapping[str, float], k: int, greedy_k: int
) -> list[tuple[str, str, float, int]]:
    """What must be played once temperatures are chosen."""
    return [job for s in suites for p, t in chosen.items() for job in ((s, p, t, k), (s, p, 0.0, greedy_k))]


def judge(
    play: Play, suites: Mapping[str, Sequence[Task]], chosen: Mapping[str, float], baselines: Sequence[Policy],
    pool: WorldPool, verifier: Verifier, k: int, greedy_k: int,
) -> Judged:  # fmt: skip
    """Score every policy and baseline on every suite.

    Args:
        play: gives the episodes of a suite, policy, temperature and k.
        suites: hidden suites by name; empty ones are left out.
        chosen: temperature by policy, in the order in which they were made.
        baselines: scripted policies, for scale.
        pool: sessions of the suites' world.
        verifier: grades the baselines.
        k: attempts at the chosen temperature.
        greedy_k: wordings tried greedily.
    """
    scores: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for suite, tasks in suites.items():
        items: dict[str, Items] = {}
        for policy, temperature in chosen.items():
            items[policy] = items_of(play(suite, policy, temperature, k), tasks, k)
            greedy = score(items_of(play(suite, policy, 0.0, greedy_k), tasks, greedy_k))
            scores.append(score_row(suite, policy, temperature, items[policy], score(items[policy]), greedy))
        for baseline in baselines:
            episodes = [e for batch in rollouts(tasks, baseline, pool, verifier, k=k, seed=0) for e in batch]
            own = items_of(episodes_frame(episodes), tasks, k)
            scores.append(score_row(suite, baseline.version, None, own, score(own), None))
        found += gains(suite, items)
    return Judged(scores, found, dict(chosen))


def output_of(folder: Path, suite: str, policy: str, temperature: float, k: int) -> Path:
    """Where the episodes of one job lie."""
    return folder / f"{suite}-{policy}-t{temperature:g}-k{k}"
