"""Rubrics: data files with weights by task type; perfect only where every dimension is."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.judge import FIVE, Grade
from environments.verifiers.rubric import KINDS, RUBRICS, Rubric, Rubrics

WEIGHTS = {"planning": (0.5, 0.3, 0.2), "retrieval": (0.2, 0.6, 0.2), "consultation": (0.2, 0.3, 0.5)}


def shipped(name: str) -> Rubric:
    found = Rubrics().named(name)
    assert isinstance(found, Rubric)
    return found


def grades(*scores: float) -> list[Grade]:
    return [Grade(f"because of {score}", score) for score in scores]


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_dimension_that_a_kind_of_task_lives_by_weighs_most(name: str) -> None:
    rubric = shipped(name)
    assert tuple(rubric.dimensions[kind].weight for kind in KINDS) == WEIGHTS[name]
    assert rubric.task_type == name
    assert [q.kind for q in rubric.questions] == list(KINDS)
    assert all(q.grades == FIVE and all(word in q.text.lower() for word in FIVE) for q in rubric.questions)


def test_the_score_is_the_weighted_mean_with_the_reasons_kept() -> None:
    rated = shipped("planning").rated(grades(1.0, 0.5, 0.25))
    assert rated.score == pytest.approx(0.5 + 0.3 * 0.5 + 0.2 * 0.25)
    assert [(d.name, d.score, d.reason) for d in rated.dimensions][1] == ("fidelity", 0.5, "because of 0.5")


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.sampled_from(sorted(WEIGHTS)))
def test_a_score_is_1_only_where_every_dimension_is_perfect(scores: list[float], name: str) -> None:
    rated = shipped(name).rated(grades(*scores))
    assert 0.0 <= rated.score <= 1.0
    assert (rated.score >= 1 - 1e-6) == all(s >= 1 - 1e-6 for s in scores)


@pytest.mark.parametrize("scores", [(0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0)])
def test_good_manners_alone_earn_nothing(scores: tuple[float, ...]) -> None:
    for name in WEIGHTS:
        assert shipped(name).rated(grades(*scores)).score == 0.0
    assert shipped("planning").rated(grades(1.0, 1.0, 0.0)).score == pytest.approx(0.8)


def folder_with(tmp_path: Path, old: str, new: str) -> Path:
    text = (RUBRICS / "planning.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "planning.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    return tmp_path


def test_a_changed_word_or_weight_is_another_rubric(tmp_path: Path) -> None:
    before = shipped("planning").version
    other = Rubrics(folder_with(tmp_path, "Did the agent", "Has the agent"))
    assert other.named("planning").version != before
    assert other.version != Rubrics().version
    assert Rubrics(RUBRICS).version == Rubrics().version


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("weight: 0.5", "weight: 0.6", "weights must sum to 1, got 1.1"),
        ("  service:", "  style:", "dimensions must be reasoning, fidelity, service"),
        ("weight: 0.5", "weight: 0", "dimensions.reasoning.weight"),
        ("essential: [reasoning", "essential: [reason", "essential must be among"),
        ("task_type: planning", "task_tipe: planning", "task_tipe"),
        ("task_type: planning", "task_type: [", "no YAML"),
    ],
)
def test_a_broken_rubric_is_refused_by_file_and_field(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"planning\.yaml.*") as refused:
        Rubrics(folder_with(tmp_path, old, new))
    assert told in str(refused.value)


def test_a_rubric_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'charm'; there are: consultation, planning, retrieval"):
        Rubrics().named("charm")
    with pytest.raises(FileNotFoundError, match="holds no rubric"):
        Rubrics(tmp_path)


def leaf(name: str, weight: float) -> dict[str, object]:
    return {"id": name, "requirements": "it is done", "weight": weight}


@pytest.mark.parametrize("weights", [(0, 0), (1e308, 1e308)])
def test_a_tree_that_no_work_fulfils_is_no_rubric(weights: tuple[float, float], tmp_path: Path) -> None:
    part = {**leaf("part", 1), "sub_tasks": [leaf("a", weights[0]), leaf("b", weights[1])]}
    tree = {**leaf("root", 1), "sub_tasks": [part, leaf("c", 1)]}
    (tmp_path / "odd.json").write_text(json.dumps(tree))
    with pytest.raises(ValueError, match=r"odd\.json: node part: the weights of its sub_tasks sum to"):
        Rubrics(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("deep.json", '{"id": "n", "requirements": "x", "weight": 1, "sub_tasks": [' * 5000, "nested too deeply"),
        ("named.yaml", "name: other\ntask_type: x\n", "named as its file is"),
        ("keys.yaml", "task_type: x\n1: y\n", r"keys\.yaml: .*(1|dimensions)"),
        ("text.yaml", b"\xff\xfe\x00", "no text in UTF-8"),
    ],
)
def test_a_broken_file_is_told_in_one_line_with_its_name(
    name: str, content: str | bytes, told: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=told) as caught:
        Rubrics(tmp_path)
    assert name in str(caught.value)
