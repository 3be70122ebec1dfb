"""What a family plans, and the task that it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from environments.task import Call, Case, Goal, Task
from environments.worlds.workspace.data_model import TABLE

TOOLS: Final = ("read_file", "write_file", "list_files", "run", "run_tests")
_CALLS: Final = 20


@dataclass(frozen=True)
class Plan:
    """Everything that a task is made of."""

    family: str
    depth: int
    instruction: str
    files: Mapping[str, str]
    gold: tuple[Call, ...]
    cases: tuple[Case, ...]


def task_of(plan: Plan) -> Task:
    """The task of a plan."""
    rows = tuple({"path": path, "text": text} for path, text in sorted(plan.files.items()))
    return Task(
        world="workspace",
        family=plan.family,
        depth=plan.depth,
        instruction=plan.instruction,
        tools=TOOLS,
        goal=Goal(cases=plan.cases),
        gold_calls=plan.gold,
        gold_answer="Done.",
        max_calls=_CALLS,
        initial={TABLE: rows},
    )


def write(path: str, text: str) -> Call:
    """The call that writes a file."""
    return Call(name="write_file", arguments={"path": path, "text": text})


def result_of(source: str, function: str, *arguments: Any) -> Any:
    """What a function of a program of ours returns; the program is composed here, never an agent's."""
    names: dict[str, Any] = {}
    exec(compile(source, "<composed>", "exec"), names)
    return names[function](*arguments)
