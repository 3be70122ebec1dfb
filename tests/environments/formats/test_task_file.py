"""Files of tasks that people edit: each mistake is named with its place and field, and the other records count."""

import json
from typing import Any

import pytest

from environments.formats.task_file import in_worlds, read_records, texts_in
from tests.environments.builders import task_of

GOOD = task_of("flight").model_dump_json()
NUMBER = [{"kind": "number", "value": "1,234", "unit": "euros"}]
BLANK = [{"kind": "word", "value": " ", "unit": None}]


def line(**changes: Any) -> str:
    """A task by hand, with fields put in; `goal__required` reaches into the goal."""
    record = json.loads(task_of("weather").model_dump_json())
    for name, value in changes.items():
        outer, _, inner = name.rpartition("__")
        (record[outer] if outer else record)[inner] = value
    return json.dumps(record)


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("{", "", "Invalid JSON"),
        ("{}", "family", "Field required"),
        (line(max_cals=9), "max_cals", "no task has this field; 'max_calls' was meant?"),
        (line(goal__forbiden=[]), "goal.forbiden", "no task has this field; 'forbidden' was meant?"),
        (line(user={"wants": "tea"}), "user.wants", "no task has this field"),
        (line(goal__required=BLANK), "goal.required.0.value", "String should match pattern"),
        (line(goal__forbidden=BLANK), "goal.forbidden.0.value", "String should match pattern"),
        (line(depth="deep"), "depth", "Input should be a valid integer"),
        (line(instruction=" "), "instruction", "blank"),
        (line(goal__required=NUMBER), "goal.required.0.value", "a number is written 1234.5"),
        (line()[:-1] + ', "split": "hidden"}', "split", "said twice"),
    ],
)
def test_a_bad_record_is_named_with_its_field_and_the_good_ones_go_on(text: str, field: str, problem: str) -> None:
    found = read_records(enumerate([GOOD, "", text, line()], 1))
    assert [r.number for r in found.records] == [1, 4]
    assert {r.number for r in found.refused} == {3}
    assert any(r.field == field and r.problem.startswith(problem) for r in found.refused), found.refused


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_a_file_may_be_one_array_as_well_as_lines(indent: int | None) -> None:
    records = [json.loads(GOOD), json.loads(line()), {"family": "of no task, [and so on]"}]
    array = json.dumps(records, indent=indent)
    assert [json.loads(text) for text in texts_in(f" \n{array}\n")] == records
    assert texts_in(array.replace("{", '{"split": "dev", ', 1))[0].count('"split"') == 2, "as it is written"
    assert texts_in("[]") == []
    assert texts_in(f"{GOOD}\n{line()}\n") == [GOOD, line(), ""]
    assert texts_in(array[:-40])[0] == array[:-40].split("\n")[0], "an array that breaks off is lines of no JSON"


def test_every_mistake_of_a_record_is_named() -> None:
    found = read_records([(7, line(goal__required=BLANK, max_cals=9, depth="deep"))])
    assert [(r.number, r.field) for r in found.refused] == [(7, "depth"), (7, "goal.required.0.value"), (7, "max_cals")]


def test_a_repeat_is_refused_and_two_versions_of_one_task_both_are() -> None:
    found = read_records(enumerate([line(), GOOD, line()], 1))
    assert [r.number for r in found.records] == [1, 2]
    assert found.refused == [(3, "", "the same task as number 1, which is used")]
    found = read_records(enumerate([line(), GOOD, line(gold_answer="Rain.", split="dev")], 1))
    assert [r.number for r in found.records] == [2]
    why = "numbers 1, 3 are one task and differ in gold_answer, split: keep the one meant"
    assert found.refused == [(1, "gold_answer", why), (3, "gold_answer", why)]


def test_a_world_that_cannot_be_opened_costs_its_own_tasks_only() -> None:
    found = in_worlds(
        read_records(enumerate([line(world="atlantis"), GOOD], 1)), {"atlantis": "sunk", "atlas": None}.get
    )
    assert [r.number for r in found.records] == [2]
    assert found.refused == [(1, "world", "sunk")]
