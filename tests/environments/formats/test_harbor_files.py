"""Coding tasks of ours as Harbor folders that need nothing of Loopwright: what lies where, and what an agent sees."""

import ast
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dagster_project.commands import app
from environments.formats import harbor_check
from environments.formats.harbor import read_task
from environments.formats.harbor_files import harbor_files_of
from environments.formats.harbor_import import task_of
from environments.task import Call, Goal
from environments.worlds.workspace.tasks import FAMILIES, make_tasks


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_what_is_expected_stands_in_the_tests_and_nowhere_an_agent_looks(family: str, tmp_path: Path) -> None:
    [task] = make_tasks(family, [5])
    (tmp_path / "in.jsonl").write_text(task.model_dump_json() + "\n")
    done = CliRunner().invoke(
        app,
        ["export", "harbor", str(tmp_path / "out"), "--image", "python:3.12", "--tasks", str(tmp_path / "in.jsonl")],
    )
    assert done.exit_code == 0, done.output
    [folder] = (tmp_path / "out").iterdir()
    made = read_task(folder)
    assert made.separate
    assert json.loads(made.files["tests/cases.json"]) == [c.model_dump(mode="json") for c in task.goal.cases]
    shown = made.instruction + "".join(
        content.decode() for path, content in made.files.items() if path.startswith("environment/")
    )
    hidden = [c for case in task.goal.cases if len(c := json.dumps(case.expected)) > 40]
    assert not [text for text in hidden if text in shown]
    back = task_of(folder)
    assert back.goal.script is not None
    assert (back.goal.script.carried, back.goal.script.image) == (("/work",), "python:3.12")


def test_the_check_needs_the_standard_library_only() -> None:
    tree = ast.parse(Path(harbor_check.__file__).read_text())
    names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {str(n.module).split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True), (True, 1, False), ([1, {"a": None}], [1.0, {"a": None}], True), ({"a": 1}, {"b": 1}, False),
        (0.1 + 0.2, 0.3, True), ([1], [1, 2], False), ("x", "x", True), (10**400, 10**400, True),
        (10**400, 1.0, False), (float("nan"), float("nan"), False),
    ],
)  # fmt: skip
def test_values_are_compared_as_json(a: object, b: object, equal: bool) -> None:
    assert harbor_check.same(a, b) is equal


def test_what_no_script_can_do_is_the_callers_mistake() -> None:
    [task] = make_tasks("query", [5])
    with pytest.raises(ValueError, match="has no hidden tests"):
        harbor_files_of(task.model_copy(update={"goal": Goal()}), "", image="x")
    odd = task.model_copy(update={"gold_calls": (Call(name="send_mail", arguments={}),)})
    with pytest.raises(ValueError, match="a script cannot make the gold call 'send_mail'"):
        harbor_files_of(odd, "", image="x")
