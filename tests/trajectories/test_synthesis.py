"""Best-of-K verified trajectories: perfect ones only, a stated tie-break, budgets, and nothing repeated."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.trajectories.synthesis import best_of, synthesise
from environments.episode import Episode, Invalid, NoResult, Scored, Step, Verdict
from environments.policies.scripted import Gold, NoisyTeacher, NoOp
from environments.task import Call, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import task_of
from training.journal import episodes_frame, read_segments
from training.trajectories import read_trajectories

TASKS = fresh_tasks(30, "train", 13)
TASK = task_of("weather")


def episode(
    attempt: int, verdict: Verdict | float, *, calls: int = 1, answer: str = "yes", task: Task = TASK
) -> Episode:
    if not isinstance(verdict, Scored | NoResult | Invalid):
        verdict = Scored(verdict, verdict, vetoed=False, cause="ok" if verdict == 1 else "missing_fact")
    steps = tuple(Step(Call(name="look", arguments={"n": i}), i) for i in range(calls))
    return Episode(task.task_id, attempt, attempt, "k", "?", steps, answer, "answered", verdict)


def best(*episodes: Episode, tasks: tuple[Task, ...] = (TASK,)) -> Any:
    return best_of(episodes_frame(episodes), {t.task_id: t for t in tasks}, len(episodes))


def test_only_perfect_attempts_are_kept() -> None:
    found = best(episode(0, 0.0), episode(1, 0.9), episode(2, 1.0), episode(3, 0.0))
    assert found.trajectories["trajectory_id"].to_list() == [episode(2, 1.0).episode_id]
    assert found.trajectories.select("attempts", "perfect").row(0) == (4, 1)
    assert (found.attempts, found.without, found.yield_) == (4, {}, 0.25)


@pytest.mark.parametrize(
    ("episodes", "winner"),
    [
        ([episode(0, 1.0, calls=2), episode(1, 1.0, calls=1, answer="much longer")], 1),
        ([episode(0, 1.0, answer="longer"), episode(1, 1.0, answer="short")], 1),
        ([episode(2, 1.0), episode(0, 1.0), episode(1, 1.0)], 0),
        ([episode(0, 0.0, calls=0), episode(1, 1.0, calls=3)], 1),
    ],
)
def test_of_several_the_fewest_calls_then_the_shortest_answer_then_the_first(
    episodes: list[Episode], winner: int
) -> None:
    [row] = best(*episodes).trajectories.iter_rows(named=True)
    assert row["trajectory_id"] == episode(winner, 1.0).episode_id
    [again] = best(*episodes[::-1]).trajectories.iter_rows(named=True)
    assert again == row, "whatever their order"


def test_attempts_without_a_result_count_nowhere() -> None:
    found = best(episode(0, NoResult("server")), episode(1, 1.0), episode(2, Invalid("verifier")))
    assert found.trajectories.select("attempts", "perfect").row(0) == (1, 1)


def test_a_task_without_a_perfect_attempt_is_named_with_the_last_cause() -> None:
    other = task_of("flight")
    found = best(
        episode(0, 0.0), episode(1, NoResult("server")), episode(0, NoResult("server is gone"), task=other),
        tasks=(TASK, other),
    )  # fmt: skip
    assert found.trajectories.is_empty()
    assert found.without == {TASK.task_id: "missing_fact", other.task_id: "server is gone"}


def played(folder: Path, budgets: dict[str, int], teacher: Any = None) -> Any:
    told: list[tuple[int, int]] = []
    found = synthesise(
        [t for t in TASKS if t.task_id in budgets], budgets, teacher or NoisyTeacher(0.3), WorldPool(AtlasWorld),
        OutcomeVerifier(), folder, seed=0, batch=16, progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert [d for d, _ in told] == sorted(d for d, _ in told)
    if told:
        assert told[-1] == (sum(budgets.values()), sum(budgets.values()))
    return found


def test_each_task_gets_its_own_budget_of_attempts(tmp_path: Path) -> None:
    budgets = {t.task_id: 1 + i % 3 for i, t in enumerate(TASKS)}
    found = played(tmp_path, budgets)
    tried = pl.concat([read_segments(tmp_path / f"k{k}") for k in (1, 2, 3)]).group_by("task_id").len()
    assert dict(tried.iter_rows()) == budgets
    assert found.attempts == sum(budgets.values())
    assert set(found.trajectories["task_id"]) | set(found.without) == set(budgets)
    assert not set(found.trajectories["task_id"]) & set(found.without)


def test_what_is_kept_can_be_learned_from(tmp_path: Path) -> None:
    found = played(tmp_path / "runs", {t.task_id: 2 for t in TASKS})
    found.trajectories.write_parquet(tmp_path / "t.parquet")
    tools = {t.task_id: t.tools for t in TASKS}
    for t in read_trajectories(tmp_path / "t.parquet"):
        assert t.tools == tools[t.task_id]
    families = {t.task_id: t.family for t in TASKS}
    assert [families[i] for i in found.trajectories["task_id"]] == found.trajectories["family"].to_list()
    assert found.trajectories["trajectory_id"].is_sorted()


def test_started_again_it_gives_the_same_rows_and_asks_the_teacher_nothing(tmp_path: Path) -> None:
    budgets = {t.task_id: 1 + i % 2 for i, t in enumerate(TASKS)}
    first = played(tmp_path, budgets)

    class Refuses(NoisyTeacher):
        """The same teacher, who must not be asked."""

        def begin(self, attempts: Any) -> None:
            """Asked."""
            raise AssertionError("the teacher was asked again")

    again = played(tmp_path, budgets, Refuses(0.3))
    assert again.trajectories.equals(first.trajectories)
    assert again.without == first.without


def test_more_attempts_at_a_task_find_more_perfect_ones(tmp_path: Path) -> None:
    rates = [len(played(tmp_path / str(k), {t.task_id: k for t in TASKS}).trajectories) for k in (1, 8)]
    assert rates[1] > rates[0]
    assert played(tmp_path / "gold", {t.task_id: 1 for t in TASKS}, Gold()).yield_ == 1.0


def test_a_hopeless_teacher_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    found = played(tmp_path, {t.task_id: 1 for t in TASKS}, NoOp())
    assert found.trajectories.is_empty()
    assert len(found.without) == len(TASKS)
    assert found.yield_ == 0.0


def test_nothing_to_solve_is_an_empty_table(tmp_path: Path) -> None:
    found = played(tmp_path, {})
    assert found.trajectories.is_empty()
    assert (found.attempts, found.without, found.yield_) == (0, {}, 0.0)
    assert set(found.trajectories.columns) == set(played(tmp_path, {TASKS[0].task_id: 1}, Gold()).trajectories.columns)


def test_steps_are_kept_as_they_were() -> None:
    [row] = best(episode(0, 1.0, calls=2)).trajectories.iter_rows(named=True)
    assert json.loads(row["steps"]) == [["look", {"n": 0}, 0], ["look", {"n": 1}, 1]]
