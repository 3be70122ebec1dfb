"""Coding tasks of ours as Harbor task folders that any Harbor can run: an image of files, tests apart, a solution.

Nothing of Loopwright is needed to run them, only an image with `/bin/sh` and `python3`. The tests run in an
environment of their own, to which only the work folder goes.
"""

import inspect
import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from environments.formats import harbor_check
from environments.formats.harbor import HarborTask, grading_script, settings_for
from environments.task import Task
from environments.verifiers import case_runner
from environments.worlds.workspace.data_model import initial_files

WORK: Final = "/work"
_AGENT_S: Final = 600.0
_TESTS_S: Final = 120.0


def harbor_files_of(
    task: Task,
    policy: str,
    *,
    image: str,
    organisation: str = "loopwright",
    metadata: Mapping[str, Any] | None = None,
) -> HarborTask:
    """A task with hidden tests as a Harbor task folder.

    Args:
        task: of the world `workspace`, or of another whose state is files.
        policy: what its agent is told about the place.
        image: with `/bin/sh` and `python3`; the agent's and that of the tests.
        organisation: the first half of the task's name.
        metadata: more about it, such as pool, pass rate or seed.

    Raises:
        ValueError: it has no hidden tests, or its gold solution does something that no script can.
    """
    if not task.goal.cases:
        raise ValueError(f"task {task.task_id} has no hidden tests (goal.cases), which its test script would run")
    told = {"world": task.world, "family": task.family, "depth": task.depth, "split": task.split, "leaf": task.leaf}
    settings = settings_for(
        f"{organisation}/{task.world}-{task.family}-{task.task_id}".replace("_", "-"),
        description=f"{task.family} in the world {task.world}",
        metadata={k: v for k, v in {**told, "task_id": task.task_id, **(metadata or {})}.items() if v is not None},
        agent_s=_AGENT_S,
        verifier_s=_TESTS_S,
        environment={"workdir": WORK, "cpus": 1, "memory_mb": 256, "storage_mb": 64},
    )
    settings["artifacts"] = [WORK]
    settings["verifier"]["environment"] = {"docker_image": image}
    del settings["verifier"]["collect"]
    return HarborTask(settings, f"{task.instruction}\n\n{policy.strip()}\n", _files(task, image))


def _files(task: Task, image: str) -> dict[str, bytes]:
    begun = {f"environment/files/{path}": content for path, content in initial_files(task).items()}
    copied = f"COPY files/ {WORK}/\n" if begun else ""
    cases = [case.model_dump(mode="json") for case in task.goal.cases]
    return {
        **begun,
        "environment/Dockerfile": f"FROM {image}\nWORKDIR {WORK}\n{copied}".encode(),
        "tests/test.sh": grading_script(f"python3 /tests/check.py {WORK}"),
        "tests/check.py": inspect.getsource(harbor_check).encode(),
        "tests/case_runner.py": inspect.getsource(case_runner).encode(),
        "tests/cases.json": json.dumps(cases, ensure_ascii=False).encode(),
        **_solution(task),
    }


def _solution(task: Task) -> dict[str, bytes]:
    """The gold calls as a script; what it writes lies beside it."""
    lines, files = ["#!/bin/sh", "set -e", f"cd {WORK}"], {}
    for number, call in enumerate(task.gold_calls):
        given = call.arguments
        if call.name == "write_file":
            files[f"solution/{number}.txt"] = str(given["text"]).encode()
            path = shlex.quote(str(given["path"]))
            lines += [f'mkdir -p "$(dirname {path})"', f"cp /solution/{number}.txt {path}"]
        elif call.name == "run":
            lines.append(f"( {given['command']} )")
        elif call.name not in ("read_file", "list_files", "run_tests"):
            raise ValueError(f"task {task.task_id}: a script cannot make the gold call {call.name!r}")
    return {"solution/solve.sh": ("\n".join(lines) + "\n").encode(), **files}
