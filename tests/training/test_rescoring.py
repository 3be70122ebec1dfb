"""Stored episodes under another verifier, judge or rubric: a new key, the same rows, and what became of each."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from environments.episode import Attempt, ResultKey, Scored, Verdict, verdict_columns, verdict_of
from environments.judge import Asked, Grade, NoGrade
from environments.policies.scripted import NoisyTeacher
from environments.rollout import result_key
from environments.task import Task
from environments.verifiers.composed import ComposedVerifier
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import World, WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from training.journal import EPISODE_SCHEMA, read_segments, run_journalled
from training.rescoring import rescored, ways

TASKS = {t.task_id: t.model_copy(update={"rubric": None}) for t in fresh_tasks(24, "train", 3)}
RUBRIC = {i: t.model_copy(update={"rubric": "retrieval"}) for i, t in TASKS.items() if t.goal.reason is None}
POOL = WorldPool(AtlasWorld)


class Fixed:
    """A judge that gives one grade, or none to answers of an odd length."""

    def __init__(self, score: float, *, dead_at: int = 99) -> None:
        self.score, self.dead_at = score, dead_at
        self.version = f"fixed-{score}-{dead_at}"

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """As told."""
        dead = len(asked[0].attempt.answer or "") % 100 > self.dead_at
        return [NoGrade("timeout") if dead else Grade("told so", self.score) for _ in asked]


class Stricter(OutcomeVerifier):
    """A verifier that lost its faith in prices."""

    version = "stricter-1"  # type: ignore[assignment]

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Zero wherever a price is told."""
        found = super().grade(attempt, world)
        said = "euros" in (attempt.answer or "")
        return Scored(0.0, outcome=0.0, vetoed=False, cause="priced") if said else found


def stored(folder: Path, tasks: Sequence[Task] = tuple(TASKS.values())) -> tuple[pl.DataFrame, ResultKey]:
    teacher = NoisyTeacher(0.3)
    frame = run_journalled(
        tasks, teacher, POOL, OutcomeVerifier(), folder, k=2, seed=0, batch=16, progress=lambda done, total: None
    )
    return frame, result_key(teacher, POOL, OutcomeVerifier())


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, ResultKey]:
    return stored(tmp_path_factory.mktemp("stored"))


def test_the_same_verifier_says_the_same_again(before: tuple[pl.DataFrame, ResultKey]) -> None:
    frame, key = before
    found = rescored(frame, TASKS, key, POOL, OutcomeVerifier())
    assert found.after.equals(frame)
    assert found.key == key


def test_another_verifier_is_another_key_and_only_verdicts_change(before: tuple[pl.DataFrame, ResultKey]) -> None:
    frame, key = before
    found = rescored(frame, TASKS, key, POOL, Stricter())
    assert found.key == key.model_copy(update={"verifier": "stricter-1"})
    assert set(found.after["key"]) == {found.key.digest} != {key.digest}
    assert not set(found.after["episode_id"]) & set(frame["episode_id"])
    same = ("task_id", "attempt", "seed", "instruction", "steps", "answer", "ended", "token_ids", "logprobs")
    assert found.after.select(same).equals(frame.select(same))
    priced = frame["success"] & frame["answer"].str.contains("euros")
    assert (ways(found) == "won_to_lost").to_list() == priced.fill_null(False).to_list()
    assert priced.any()


def test_a_swapped_judge_or_rubric_forces_a_new_score(before: tuple[pl.DataFrame, ResultKey]) -> None:
    frame, key = before
    mine = frame.filter(pl.col("task_id").is_in(list(RUBRIC)))
    one, two = (rescored(mine, RUBRIC, key, POOL, ComposedVerifier(Fixed(score))) for score in (1.0, 0.5))
    assert len({key.digest, one.key.digest, two.key.digest}) == 3
    assert set(ways(one)) == {"same"}, "a judge that finds nothing changes nothing"
    lost = ways(two) == "won_to_lost"
    assert lost.to_list() == frame.filter(pl.col("task_id").is_in(list(RUBRIC)))["success"].to_list()
    assert set(two.after.filter(lost)["reward"]) == {0.5}
    assert set(two.after.filter(lost)["rubric"]) == {0.5}


def test_a_judge_that_times_out_leaves_rows_without_a_result_and_never_with_a_zero(
    before: tuple[pl.DataFrame, ResultKey],
) -> None:
    frame, key = before
    mine = frame.filter(pl.col("task_id").is_in(list(RUBRIC)))
    found = rescored(mine, RUBRIC, key, POOL, ComposedVerifier(Fixed(1.0, dead_at=25)))
    dead = found.after.filter(pl.col("status") == "no_result")
    assert 0 < len(dead) < len(mine)
    assert dead["reward"].null_count() == len(dead)
    assert set(ways(found)) == {"same", "to_no_result"}
    revived = rescored(found.after, RUBRIC, found.key, POOL, ComposedVerifier(Fixed(1.0)))
    assert set(ways(revived)) == {"same", "from_no_result"}
    assert revived.after["reward"].to_list() == mine["reward"].to_list()


def test_episodes_of_another_key_are_refused(before: tuple[pl.DataFrame, ResultKey]) -> None:
    frame, key = before
    other = key.model_copy(update={"judge": "somebody"})
    with pytest.raises(ValueError, match="re-score them apart"):
        rescored(frame, TASKS, other, POOL, OutcomeVerifier())


def test_a_task_that_is_gone_and_a_world_that_answers_otherwise_have_no_result(
    before: tuple[pl.DataFrame, ResultKey],
) -> None:
    frame, key = before
    gone = frame["task_id"][0]
    moved = frame.with_columns(steps=pl.col("steps").str.replace_all('"price": 1', '"price": 9'))
    found = rescored(moved, {i: t for i, t in TASKS.items() if i != gone}, key, POOL, OutcomeVerifier())
    causes = found.after.filter(pl.col("status") == "no_result").select("task_id", "cause").rows()
    assert (gone, "replay: the task is gone") in causes
    assert any("returned something else than it did then" in cause for _, cause in causes)


def test_one_folder_never_holds_verdicts_of_two_judges(tmp_path: Path) -> None:
    tasks = list(RUBRIC.values())[:4]
    for_one, for_two = ComposedVerifier(Fixed(1.0)), ComposedVerifier(Fixed(0.5))
    settings = {"k": 1, "seed": 0, "batch": 4, "progress": lambda done, total: None}
    run_journalled(tasks, NoisyTeacher(0.1), POOL, for_one, tmp_path, **settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="holds another run"):
        run_journalled(tasks, NoisyTeacher(0.1), POOL, for_two, tmp_path, **settings)  # type: ignore[arg-type]


def test_segments_from_before_rubrics_are_read_beside_new_ones(tmp_path: Path) -> None:
    frame, _ = stored(tmp_path, list(TASKS.values())[:12])
    parts = sorted(tmp_path.glob("part-*.parquet"))
    later = ("exchanges", "outcome", "rubric", "dimensions")
    pl.read_parquet(parts[0]).drop(later).write_parquet(parts[0])
    found = read_segments(tmp_path)
    assert found.columns == list(EPISODE_SCHEMA)
    assert found.drop(later).equals(frame.drop(later))
    old, new = verdict_of(found.row(0, named=True)), verdict_of(frame.row(0, named=True))
    assert isinstance(old, Scored)
    assert isinstance(new, Scored)
    assert (old.reward, old.rubric, old.dimensions) == (new.reward, 1.0, ())


def test_a_verdict_comes_back_from_its_columns_as_it_was(before: tuple[pl.DataFrame, ResultKey]) -> None:
    frame, key = before
    mine = frame.filter(pl.col("task_id").is_in(list(RUBRIC)))
    found = rescored(mine, RUBRIC, key, POOL, ComposedVerifier(Fixed(0.5)))
    for row in found.after.rows(named=True):
        verdict: Verdict = verdict_of(row)
        assert verdict_columns(verdict).items() <= row.items()
