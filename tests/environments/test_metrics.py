"""pass@k, pass^k, intervals: known answers, one published table, and coverage on simulated data."""

import json
import os
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.metrics import (
    Interval,
    bootstrap,
    item_pass_hat_k,
    minimum_detectable_difference,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    wilson,
)


@pytest.mark.parametrize(
    ("won", "n", "k", "at", "hat"),
    [(4, 8, 1, 0.5, 0.5), (4, 8, 4, 69 / 70, 1 / 70), (1, 2, 2, 1.0, 0.0), (0, 4, 4, 0.0, 0.0), (4, 4, 4, 1.0, 1.0)],
)
def test_known_answers(won: int, n: int, k: int, at: float, hat: float) -> None:
    assert pass_at_k(won, n, k) == pytest.approx(at)
    assert pass_hat_k(won, n, k) == pytest.approx(hat)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_both_are_the_average_over_all_subsets_of_k_attempts(attempts: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(attempts)))
    subsets = list(combinations(attempts, k))
    assert pass_at_k(sum(attempts), len(attempts), k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
    assert pass_hat_k(sum(attempts), len(attempts), k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


@pytest.mark.parametrize(("won", "n", "k"), [(1, 2, 3), (1, 2, 0), (3, 2, 1), (-1, 2, 1)])
def test_impossible_counts_are_refused(won: int, n: int, k: int) -> None:
    with pytest.raises(ValueError, match="must be in"):
        pass_at_k(won, n, k)
    with pytest.raises(ValueError, match="must be in"):
        pass_hat_k(won, n, k)


@pytest.mark.corpora
def test_the_published_reliability_of_one_model_comes_out() -> None:
    corpora = os.environ.get("LOOPWRIGHT_CORPORA")
    if not corpora:
        pytest.skip("LOOPWRIGHT_CORPORA names no folder of public corpora")
    text = Path(corpora, "audit", "tau_bench_gpt-4o_airline_trajectories.json").read_text()
    won: dict[int, list[bool]] = defaultdict(list)
    for episode in json.loads(text):
        won[episode["task_id"]].append(episode["reward"] == 1.0)
    success_IN = np.array(list(won.values()))
    assert success_IN.shape == (50, 4)
    found = [round(float(item_pass_hat_k(success_IN, k).mean()), 3) for k in (1, 2, 3, 4)]
    assert found == [0.420, 0.273, 0.220, 0.200]


@pytest.mark.parametrize(
    ("won", "n", "low", "high"),
    [(0, 8, 0.0, 0.3244), (8, 8, 0.6756, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_known_values(won: int, n: int, low: float, high: float) -> None:
    found = wilson(won, n)
    assert found.value == pytest.approx(won / n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_wilson_needs_an_attempt() -> None:
    with pytest.raises(ValueError, match="got 1"):
        wilson(0, 0)


def test_bootstrap_intervals_cover_the_truth_about_95_times_in_100() -> None:
    rng, truth = np.random.default_rng(0), 0.3
    inside = 0
    for trial in range(200):
        found = bootstrap(rng.binomial(4, truth, 80) / 4, seed=trial, resamples=400)
        inside += found.low <= truth <= found.high
    assert 0.90 <= inside / 200 <= 0.99


def test_paired_intervals_cover_a_planted_gain_and_are_narrower_than_unpaired_ones() -> None:
    rng, inside, narrower = np.random.default_rng(1), 0, 0
    for trial in range(200):
        skill_I = rng.uniform(0, 0.8, 80)
        before_I, after_I = rng.binomial(4, skill_I) / 4, rng.binomial(4, skill_I + 0.1) / 4
        found = paired_difference(before_I, after_I, seed=trial, resamples=400)
        inside += found.low <= 0.1 <= found.high
        apart = [bootstrap(x, seed=trial, resamples=400) for x in (before_I, after_I)]
        narrower += (found.high - found.low) < sum(a.high - a.low for a in apart)
    assert 0.90 <= inside / 200 <= 0.99
    assert narrower == 200


def test_a_difference_needs_the_same_items() -> None:
    with pytest.raises(ValueError, match="same items"):
        paired_difference(np.zeros(3), np.zeros(4))


def test_no_items_have_no_mean() -> None:
    with pytest.raises(ValueError, match="without items"):
        bootstrap(np.array([]))


def test_the_same_seed_gives_the_same_interval() -> None:
    values_I = np.random.default_rng(2).random(30)
    assert bootstrap(values_I, seed=5) == bootstrap(values_I, seed=5)
    assert bootstrap(values_I, seed=5) != bootstrap(values_I, seed=6)


def test_an_interval_excludes_zero_on_either_side() -> None:
    assert Interval(0.2, 0.1, 0.3).excludes_zero
    assert Interval(-0.2, -0.3, -0.1).excludes_zero
    assert not Interval(0.0, -0.1, 0.1).excludes_zero
    assert str(Interval(0.25, 0.1, 0.4)) == "0.250 [0.100, 0.400]"


def test_a_gain_of_the_detectable_size_is_found_four_times_in_five() -> None:
    rng, found = np.random.default_rng(3), 0
    spread, items = 0.5, 60
    pilot = rng.normal(0, spread, 100_000)
    size = minimum_detectable_difference(np.zeros(100_000), pilot) * np.sqrt(100_000 / items)
    for trial in range(200):
        gain_I = rng.normal(size, spread, items)
        found += paired_difference(np.zeros(items), gain_I, seed=trial, resamples=300).low > 0
    assert 0.72 <= found / 200 <= 0.90


def test_one_item_detects_nothing() -> None:
    assert np.isnan(minimum_detectable_difference(np.zeros(1), np.ones(1)))
