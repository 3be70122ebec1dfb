"""Scripted policies: what they do and what they must earn."""

from collections import Counter

from environments.policies.scripted import CHEATERS, Gold, NoisyTeacher, RandomTools
from environments.worlds.atlas.tasks import fresh_tasks
from tests.environments.builders import played, task_of

TASKS = [t for t in fresh_tasks(150, "train", 8) if t.goal.reason is None]


def mean(policy: object, k: int = 2) -> float:
    rewards = [e.verdict.reward for e in played(TASKS, policy, k=k)]  # type: ignore[arg-type,union-attr]
    return sum(rewards) / len(rewards)


def test_a_teacher_without_noise_is_gold() -> None:
    assert mean(NoisyTeacher(0.0)) == mean(Gold()) == 1.0


def test_a_noisier_teacher_is_a_worse_one_but_never_hopeless() -> None:
    rates = [mean(NoisyTeacher(noise)) for noise in (0.05, 0.2, 0.5)]
    assert 1.0 > rates[0] > rates[1] > rates[2] > 0.0


def test_the_teachers_slips_are_of_several_kinds_and_follow_from_the_attempts_seed() -> None:
    rows = [e.row() for e in played(TASKS, NoisyTeacher(0.4), k=3)]
    assert rows == [e.row() for e in played(TASKS, NoisyTeacher(0.4), k=3)]
    causes = Counter(row["cause"] for row in rows)
    assert {"ok", "missing_fact", "hallucination"} <= set(causes)


def test_a_teacher_of_another_noise_is_another_policy() -> None:
    assert NoisyTeacher(0.1).version != NoisyTeacher(0.2).version
    assert len({c.version for c in CHEATERS}) == len(CHEATERS)


def test_random_tools_stay_within_the_budget_and_the_offer() -> None:
    task = task_of("place_route")
    for episode in played([task], RandomTools(), k=50):
        assert len(episode.steps) <= task.max_calls
        assert {s.call.name for s in episode.steps} <= set(task.tools)
        assert episode.ended == "answered"
