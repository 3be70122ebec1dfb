"""Alarms: a rate that moved by itself is seen, and chance, selection and luck are not."""

import numpy as np
import pytest

from environments.seeds import stable_hash
from training.drift import Tried, moves


def played(rates: np.ndarray, tonight: np.ndarray, seed: int, *, k: int = 8, pool: str = "learnable") -> list[Tried]:
    """K attempts at each task before, and k tonight at `tonight` rates; two families."""
    draw = np.random.default_rng(seed)
    before, now = draw.binomial(k, rates), draw.binomial(k, tonight)
    return [
        Tried(f"t{i:03}", f"f{i % 2}", pool, k, int(w), k, int(n))
        for i, (w, n) in enumerate(zip(before, now, strict=True))
    ]


def test_a_family_that_fell_is_named_with_its_evidence() -> None:
    rates = np.full(24, 0.7)
    tonight = np.where(np.arange(24) % 2 == 1, 0.2, 0.7)
    found = moves(played(rates, tonight, 0), level=0.001, draws=20_000)
    named = {(m.kind, m.name): m for m in found}
    assert ("family", "f1") in named
    assert ("family", "f0") not in named
    fell = named["family", "f1"]
    assert fell.tonight < 0.4 < 0.6 < fell.before
    assert fell.expected == pytest.approx(fell.before, abs=0.1)
    assert (fell.tasks, fell.attempts) == (12, 96)
    assert fell.probability < 0.001


def test_a_rise_is_an_alarm_too() -> None:
    assert moves(played(np.full(24, 0.1), np.full(24, 0.7), 1), level=0.001, draws=20_000)


def test_nights_without_a_move_raise_no_alarm() -> None:
    alarms = 0
    for seed in range(15):
        rates = np.random.default_rng([seed, 9]).beta(2, 2, 24)
        alarms += bool(moves(played(rates, rates, seed), level=0.01, draws=20_000))
    assert alarms <= 1, "one night in a hundred by chance"


def test_tasks_chosen_because_they_were_perfect_may_be_worse_again() -> None:
    """Regression to the mean: of tasks at .6, those that happened to be 8 of 8 are not mastered, and nothing moved."""
    alarms = 0
    for seed in range(8):
        every = played(np.full(300, 0.6), np.full(300, 0.6), seed)
        lucky = {t.task_id for t in every if t.won >= 7}
        again = [t if t.task_id in lucky else t._replace(scored_tonight=0, won_tonight=0) for t in every]
        assert len(lucky) > 10
        alarms += bool(moves(again, level=0.01, draws=20_000))
    assert alarms <= 1


def test_what_was_not_tried_before_or_not_tonight_says_nothing() -> None:
    one = Tried("a", "f", "noise", 0, 0, 8, 8)
    assert moves([one, one._replace(task_id="b", scored=8, scored_tonight=0, won_tonight=0)], level=0.5) == []
    assert moves([], level=0.5) == []


def test_the_same_night_gives_the_same_answer_in_any_order() -> None:
    tasks = played(np.full(24, 0.7), np.full(24, 0.3), stable_hash("x") % 100)
    assert moves(tasks, level=0.01, draws=20_000) == moves(tasks, level=0.01, draws=20_000)
    assert moves(tasks[::-1], level=0.01, draws=20_000) == moves(tasks, level=0.01, draws=20_000)
