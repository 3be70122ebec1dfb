"""Eval trees: PaperBench's shape and scores, and our rule that what has no grade is no zero."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.judge import MET, Grade, NoGrade
from environments.verifiers.eval_tree import (
    GradedTree,
    TreeNode,
    TreeRubric,
    Ungraded,
    graded,
    pruned,
    read_tree,
    shares,
    tree_of,
    written,
)
from environments.verifiers.rubric import Rubrics

CODE, RUN, RESULT = "Code Development", "Code Execution", "Result Analysis"


def node(name: str, weight: float, *parts: dict[str, Any], category: str | None = None) -> dict[str, Any]:
    """A node as PaperBench writes it."""
    return {
        "id": name, "requirements": f"{name} holds", "weight": weight, "sub_tasks": list(parts),
        "task_category": category, "finegrained_task_category": "Method Implementation" if category else None,
    }  # fmt: skip


PAPER = node(
    "root", 7,
    node("method", 3, node("a", 1, category=CODE), node("b", 3, category=CODE)),
    node("runs", 1, node("c", 2, category=RUN), node("d", 2.5, category=RESULT)),
)  # fmt: skip
NAMES = ("a", "b", "c", "d")


def grades(**met: bool) -> dict[str, Grade | NoGrade]:
    return {name: Grade(f"{name} was looked at", float(met.get(name, False))) for name in NAMES}


def score(tree: dict[str, Any], **met: bool) -> float:
    found = graded(tree_of(tree), grades(**met))
    assert isinstance(found, GradedTree)
    return found.score


def test_weights_count_among_siblings() -> None:
    assert score(PAPER, b=True) == pytest.approx(3 / 4 * 3 / 4)
    assert score(PAPER, c=True) == pytest.approx(1 / 4 * 2 / 4.5)
    assert score(PAPER, a=True, b=True, c=True, d=True) == 1.0
    assert score(PAPER) == 0.0


@given(st.floats(0, 1e6))
def test_the_weight_of_the_root_has_no_effect(weight: float) -> None:
    assert score({**PAPER, "weight": weight}, a=True, d=True) == score(PAPER, a=True, d=True)


def test_siblings_without_weight_make_a_parent_of_zero() -> None:
    nothing = node("root", 1, node("a", 0, category=CODE), node("b", 0, category=CODE))
    assert score(nothing, a=True, b=True) == 0.0
    assert sum(shares(tree_of(nothing)).values()) == 0.0


@given(st.sets(st.sampled_from(NAMES)))
def test_the_score_is_the_sum_of_the_shares_of_the_leaves_that_are_met(met: set[str]) -> None:
    share = shares(tree_of(PAPER))
    assert sum(share.values()) == pytest.approx(1.0)
    assert score(PAPER, **dict.fromkeys(met, True)) == pytest.approx(sum(share[name] for name in met))


def test_a_leaf_without_a_grade_leaves_the_tree_without_a_result() -> None:
    found = graded(tree_of(PAPER), {**grades(a=True, b=True, c=True), "d": NoGrade("timeout")})
    assert found == Ungraded({"d": "timeout"})
    assert graded(tree_of(PAPER), {}) == Ungraded(dict.fromkeys(NAMES, "not asked"))


def test_paperbench_counts_such_a_leaf_as_a_zero_that_is_not_valid_where_it_is_told_to() -> None:
    found = graded(tree_of(PAPER), {**grades(a=True, b=True, c=True), "d": NoGrade("timeout")}, missing="zero")
    assert isinstance(found, GradedTree)
    assert (found.score, found.invalid) == (pytest.approx(3 / 4 + 1 / 4 * 2 / 4.5), 1)
    runs = found.tree["sub_tasks"][1]
    leaf = runs["sub_tasks"][1]
    assert (leaf["score"], leaf["valid_score"], leaf["explanation"]) == (0.0, False, "timeout")
    assert (runs["valid_score"], found.tree["valid_score"]) == (True, True), "inner nodes are always valid"


def test_a_partly_met_leaf_is_not_met() -> None:
    assert graded(tree_of(PAPER), {**grades(), "a": Grade("half", 0.5)}) == graded(
        tree_of(PAPER), {**grades(), "a": Grade("half", 0.0)}
    )


def test_what_was_read_is_written_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rubric.json"
    strange = {**PAPER, "note": {"kept": [1, None]}}
    path.write_text(json.dumps(strange), encoding="utf-8")
    assert written(read_tree(path)) == strange
    assert json.dumps(written(read_tree(path))["weight"]) == "7", "a whole number stays one"


def test_a_graded_tree_has_the_fields_of_paperbench_and_can_be_graded_again() -> None:
    first = graded(tree_of(PAPER), grades(a=True))
    assert isinstance(first, GradedTree)
    assert set(first.tree) == {*PAPER, "score", "valid_score", "explanation", "judge_metadata"}
    again = graded(tree_of(first.tree), grades(a=True))
    assert again == first


def test_code_only_keeps_the_leaves_of_code_development() -> None:
    kept = pruned(tree_of(PAPER), (CODE,))
    assert kept is not None
    assert [leaf.id for leaf in kept.leaves()] == ["a", "b"]
    assert [n.id for n in kept.nodes()] == ["root", "method", "a", "b"], "a branch without leaves goes as well"
    assert pruned(tree_of(PAPER), ("Subtree",)) is None


@pytest.mark.parametrize(
    ("spoiled", "told"),
    [
        ({**PAPER, "task_category": CODE}, "only a leaf has a task_category"),
        (node("x", 1, category="Execution"), "'Execution' is none of Code Development"),
        (node("x", -1, category=CODE), "weight"),
        (node("x", 1, node("y", 1, category=CODE), node("y", 1, category=RUN)), "come twice: y"),
        ({"id": "x"}, "requirements"),
    ],
)
def test_a_tree_of_another_shape_is_refused(spoiled: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        tree_of(spoiled)


def test_a_folder_of_rubrics_may_hold_trees_and_asks_leaf_by_leaf(tmp_path: Path) -> None:
    (tmp_path / "paper.json").write_text(json.dumps(PAPER), encoding="utf-8")
    rubric = Rubrics(tmp_path).named("paper")
    assert isinstance(rubric, TreeRubric)
    assert [q.name for q in rubric.questions] == list(NAMES)
    assert all(q.grades == MET for q in rubric.questions)
    assert "It is part of: method holds" in rubric.questions[0].text
    rated = rubric.rated([Grade("seen", 1.0), Grade("seen", 1.0), Grade("seen", 0.0), Grade("seen", 0.0)])
    assert rated.score == pytest.approx(3 / 4)
    assert [d.weight for d in rated.dimensions] == pytest.approx([3 / 16, 9 / 16, 1 / 9, 5 / 36])


def test_a_deep_tree_is_graded() -> None:
    tree = node("leaf", 1, category=CODE)
    for depth in range(40):
        tree = node(f"n{depth}", 2, tree)
    found = graded(tree_of(tree), {"leaf": Grade("there", 1.0)})
    assert isinstance(found, GradedTree)
    assert found.score == 1.0
    assert isinstance(tree_of(tree), TreeNode)
