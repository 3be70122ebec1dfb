"""Judges are graded: figures per part and dimension, and one below its bar gates nothing."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from assets.tasks.checks import judge_below_its_bar_gates_nothing
from assets.tasks.judging import (
    FIGURES,
    SCHEMA,
    TABLE,
    Bar,
    JudgeGrades,
    grade_judges,
    labelled_episodes,
    may_not_gate,
    version_of_grading,
)
from environments.judge import Asked, Grade, NoGrade
from environments.judges.marked import BY_HAND
from environments.judges.programmatic import ProgrammaticJudge
from environments.task import Task
from environments.verifiers.rubric import KINDS, Rubrics
from resources.lake import Lake
from tests.environments.builders import task_of
from training.trajectories import tasks_frame

BAR = Bar(macro_f1=0.8, false_pass=0.1, invalid=0.02)


class Lenient:
    """Passes everything."""

    version = "lenient-1"

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """Fine."""
        return [Grade("fine", 1.0) for _ in asked]


class Dead:
    """Answers nothing."""

    version = "dead-1"

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """Nothing."""
        return [NoGrade("timeout") for _ in asked]


@cache
def graded() -> JudgeGrades:
    judges = {"programmatic": ProgrammaticJudge(), "lenient": Lenient(), "dead": Dead()}
    return grade_judges(judges, labelled_episodes(1, 0), Rubrics(), BAR)


def rows(name: str) -> pl.DataFrame:
    return graded().table.filter(pl.col("name") == name)


def test_there_is_a_row_per_judge_part_and_dimension() -> None:
    found = graded().table
    assert dict(found.schema) == dict(pl.DataFrame(schema=SCHEMA).schema)
    assert len(found.unique(["name", "part", "dimension"])) == len(found) == 3 * 2 * len(KINDS)
    for figure in FIGURES:
        assert found.filter(pl.col(figure) < pl.col(f"{figure}_low") - 1e-9).is_empty()


def test_the_judge_without_a_model_is_far_better_than_chance_everywhere() -> None:
    found = rows("programmatic")
    assert found["invalid"].sum() == 0
    assert found["macro_f1"].min() > 0.8  # type: ignore[operator]
    assert found["kappa_low"].min() > 0.5  # type: ignore[operator]


def test_its_spoiled_episodes_do_not_pass_for_an_injected_instruction() -> None:
    passed = graded().misses.filter((pl.col("kind") == "injected_and_wrong") & ~pl.col("good"))
    assert passed.filter(pl.col("judge") == ProgrammaticJudge().version).is_empty()


def test_a_judge_that_passes_everything_or_answers_nothing_is_below_the_bar() -> None:
    assert not rows("lenient")["above_bar"].any()
    assert set(rows("lenient")["false_pass"]) == {1.0}
    assert not rows("dead")["above_bar"].any()
    assert rows("dead")["macro_f1"].null_count() == 6
    assert rows("dead")["items"].sum() == 0 < rows("dead")["invalid"].sum()


def test_every_miss_is_kept_with_the_reason() -> None:
    missed = graded().misses.filter(pl.col("judge") == "lenient-1")
    bad = rows("lenient").select((pl.col("items") - pl.col("good")).sum()).item()
    assert len(missed) == bad
    assert missed["reason"].str.len_chars().min() > 0  # type: ignore[operator]
    assert set(missed["score"]) == {1.0}


def asking(rubric: str | None) -> list[Task]:
    return [task_of("weather").model_copy(update={"rubric": rubric})]


def above(judge: str) -> pl.DataFrame:
    """Grades of a judge that is above its bar in everything."""
    base = {"judge": judge, "name": "x", "rubrics": Rubrics().version, "above_bar": True}
    made = [{**base, "part": part, "dimension": kind} for part in (BY_HAND, "spoiled") for kind in KINDS]
    return pl.DataFrame(made, schema=SCHEMA)


def test_who_may_gate() -> None:
    good, mine = above("good-1"), Rubrics()
    assert may_not_gate(asking("planning"), good, "good-1", mine) == {}
    assert may_not_gate(asking(None), pl.DataFrame(schema=SCHEMA), "good-1", mine) == {}
    low = good.with_columns(above_bar=pl.col("dimension") != "fidelity")
    assert "below its bar in fidelity" in may_not_gate(asking("planning"), low, "good-1", mine)["planning"]
    assert "never graded" in may_not_gate(asking("planning"), good, "good-2", mine)["planning"]
    stale = good.with_columns(rubrics=pl.lit("rubrics-old"))
    assert "never graded" in may_not_gate(asking("planning"), stale, "good-1", mine)["planning"]


def test_an_eval_tree_may_not_gate_before_leaves_are_labelled(tmp_path: Path) -> None:
    text = '{"id": "a", "requirements": "x", "weight": 1, "sub_tasks": [], "task_category": "Code Development"}'
    (tmp_path / "tree.json").write_text(text, encoding="utf-8")
    refused = may_not_gate(asking("tree"), above("good-1"), "good-1", Rubrics(tmp_path))
    assert "an eval tree" in refused["tree"]


@pytest.mark.parametrize(("rubric", "judge", "passes"), [
    (None, "other", True), ("planning", "other", False), ("planning", "programmatic", True),
])  # fmt: skip
def test_the_check_blocks_tasks_whose_judge_may_not_gate(
    tmp_path: Path, rubric: str | None, judge: str, passes: bool
) -> None:
    lake = Lake(root=str(tmp_path))
    lake.write("tasks/admitted_tasks", tasks_frame(asking(rubric)))
    lake.write(TABLE, above(ProgrammaticJudge().version if judge == "programmatic" else judge))
    found = judge_below_its_bar_gates_nothing(lake)
    assert found.passed is passes


def test_the_version_of_grading_is_stable_here() -> None:
    assert version_of_grading() == version_of_grading()
    assert len(version_of_grading()) == 12
