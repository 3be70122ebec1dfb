"""Learnability, regions, posterior and budgets: known answers and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.curriculum import (
    Posterior,
    Region,
    certain,
    kind_rates,
    learnability,
    posterior,
    regions,
    teacher_budgets,
)

K = 8


def attempts(won: int, k: int = K) -> np.ndarray:
    return np.array([1.0] * won + [0.0] * (k - won))


def table(*won: int) -> np.ndarray:
    return np.array([attempts(w) for w in won])


def region(won: int, k: int = K, value: float = 1.0) -> Region:
    row_QK = attempts(won, k)[None]
    return regions(row_QK * value if value < 1 else row_QK, row_QK > 0 if value == 1 else np.zeros((1, k), bool))[0]


def test_learnability_is_mean_times_unbiased_variance() -> None:
    found = learnability(np.array([[1.0, 0.0, 1.0, 0.0], [0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 1.0, 0.0]]))
    assert found.tolist() == pytest.approx([0.5 / 3, 0.0, 0.75 * 0.25])


def test_learnability_peaks_at_two_thirds_and_is_nothing_at_both_ends() -> None:
    scores = learnability(table(*range(K + 1)))
    assert int(scores.argmax()) == 5
    assert (scores[0], scores[K]) == (0.0, 0.0)
    assert (scores[1:K] > 0).all()


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=6), st.integers(0, 99))
def test_learnability_does_not_depend_on_the_order_of_attempts_or_tasks(rows: list[list[float]], seed: int) -> None:
    rewards_QK = np.array(rows)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    shuffled_QK = rng.permuted(rewards_QK, axis=1)[order]
    assert learnability(shuffled_QK) == pytest.approx(learnability(rewards_QK)[order], abs=1e-12)


@pytest.mark.parametrize("rewards_QK", [np.zeros((3, 1)), np.zeros(3)])
def test_one_attempt_tells_nothing(rewards_QK: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"shape \(Q, K\) with K >= 2"):
        learnability(rewards_QK)


@pytest.mark.parametrize("reward", [-0.1, 1.1, np.nan])
def test_rewards_outside_the_unit_interval_are_refused(reward: float) -> None:
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        learnability(np.array([[0.5, reward]]))


@pytest.mark.parametrize(
    ("won", "k", "expected"),
    [
        (8, 8, Region.TRIVIAL), (7, 8, Region.LEARNABLE), (4, 8, Region.LEARNABLE), (1, 8, Region.LEARNABLE),
        (0, 8, Region.NOISE), (0, 4, Region.LEARNABLE), (4, 4, Region.LEARNABLE), (0, 32, Region.NOISE),
        (1, 32, Region.NOISE), (31, 32, Region.TRIVIAL), (6, 32, Region.LEARNABLE),
    ],
)  # fmt: skip
def test_regions_by_posterior(won: int, k: int, expected: Region) -> None:
    assert region(won, k) is expected


def test_one_nought_out_of_eight_is_likely_but_not_certain_to_be_noise() -> None:
    flat = Posterior(np.array([1.0]), np.array([1.0 + K]))
    hopeless = float(1 - flat.above(0.125)[0])
    assert 0.6 < hopeless < 0.75
    assert float(flat.mean_Q[0]) == pytest.approx(0.1)
    assert float(flat.variance_Q[0]) > 0.05, "so it keeps weight in the queue"


def test_always_partly_right_is_a_plateau_of_its_own() -> None:
    half_QK = np.full((1, K), 0.5)
    assert regions(half_QK, half_QK > 1) == [Region.PLATEAU]
    little_QK = np.full((1, K), 0.05)
    assert regions(little_QK, little_QK > 1) == [Region.NOISE]
    varied_QK = np.array([[0.2, 0.8] * 4])
    assert regions(varied_QK, varied_QK > 1) == [Region.NOISE], "it varies: more attempts can still teach"


def test_tasks_move_both_ways_as_the_policy_changes() -> None:
    weak, middling, strong = (regions(table(w, w), table(w, w) > 0) for w in (0, 4, 8))
    assert (weak, middling, strong) == ([Region.NOISE] * 2, [Region.LEARNABLE] * 2, [Region.TRIVIAL] * 2)


def test_the_posterior_adds_attempts_to_the_rate_of_the_kind() -> None:
    found = posterior(np.array([0.0, 6.0, 0.0]), np.array([0.0, 8.0, 8.0]), np.array([0.25, 0.5, 0.5]))
    assert found.mean_Q.tolist() == pytest.approx([0.25, 0.7, 0.1])
    uncertain = posterior(np.zeros(1), np.zeros(1), np.array([0.5])).variance_Q[0]
    assert uncertain == pytest.approx(1 / 6), "E[p(1-p)] of a flat prior"


@given(st.integers(0, 20), st.integers(0, 20), st.floats(0.05, 0.95))
def test_a_posterior_lies_between_prior_and_observed_rate(won: int, lost: int, prior: float) -> None:
    found = posterior(np.array([float(won)]), np.array([float(won + lost)]), np.array([prior]))
    observed = won / (won + lost) if won + lost else prior
    low, high = sorted((prior, observed))
    assert low - 1e-9 <= float(found.mean_Q[0]) <= high + 1e-9
    assert 0 <= float(found.variance_Q[0]) <= 0.25
    assert float(found.above(0.0)[0]) == pytest.approx(1.0)
    assert float(found.above(1.0)[0]) == pytest.approx(0.0)


def test_more_successes_than_attempts_are_refused() -> None:
    with pytest.raises(ValueError, match="more often than it was tried"):
        posterior(np.array([2.0]), np.array([1.0]), np.array([0.5]))


def test_the_rate_of_a_kind_pools_its_tasks_and_leans_to_one_half() -> None:
    won, tried = np.array([8.0, 0.0, 0.0, 0.0]), np.array([8.0, 8.0, 0.0, 0.0])
    found = kind_rates(won, tried, ["a", "a", "a", "b"])
    assert found.tolist() == pytest.approx([9 / 18, 9 / 18, 9 / 18, 1 / 2])
    assert kind_rates(np.array([0.0]), np.array([1000.0]), ["c"])[0] == pytest.approx(1 / 1002)


def test_teacher_budgets_follow_learnability_within_one_and_k_max() -> None:
    assert teacher_budgets(np.array([0.2, 0.1, 0.02, 0.0])).tolist() == [8, 4, 1, 1]
    assert teacher_budgets(np.array([0.2, 0.1]), k_max=3).tolist() == [3, 2]
    assert teacher_budgets(np.zeros(3)).tolist() == [1, 1, 1]
    assert teacher_budgets(np.array([])).tolist() == []


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=20), st.integers(1, 8))
def test_no_budget_is_below_one_or_above_k_max_and_none_falls_with_learnability(scores: list[float], k: int) -> None:
    budgets = teacher_budgets(np.array(scores), k)
    assert budgets.min() >= 1
    assert budgets.max() <= k
    order = np.argsort(scores)
    assert (np.diff(budgets[order]) >= 0).all()


def test_the_more_certain_go_to_sft() -> None:
    assert certain(np.array([0.49, 0.5, 0.9])).tolist() == [False, True, True]
    assert certain(np.array([0.49, 0.5, 0.9]), 0.8).tolist() == [False, False, True]
