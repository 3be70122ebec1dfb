"""Tasks of a world as Harbor folders: the world served, the gold solution played over MCP, the record graded."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.formats.harbor import read_task, write_task
from environments.formats.harbor_grade import LESS, NOTHING, SUCCESS
from environments.formats.harbor_world import harbor_task_of
from environments.task import Task, UserGoal
from tests.environments.faults.builders import GOLD, Shop, shop_task
from tests.environments.serving import ROOT, TOKEN, Serving, served_shop

TASK = shop_task()


class Trial:
    """A written task folder and what Harbor does with it, with processes in place of containers."""

    def __init__(self, task: Task, folder: Path, server: Serving) -> None:
        self.folder, self.server, self.artifacts = folder / "task", server, folder / "artifacts"
        self.artifacts.mkdir()
        self.written = harbor_task_of(task, Shop(), image="loopwright:local", token=TOKEN)
        write_task(self.written, self.folder)
        self.answer = folder / "answer.txt"

    def solve(self) -> None:
        """The oracle."""
        told = {**os.environ, "WORLD_URL": self.server.url, "ANSWER": str(self.answer)}
        subprocess.run([sys.executable, str(self.folder / "solution/solve.py")], env=told, check=True)

    def collect(self) -> None:
        """What `task.toml` asks for once the agent has finished."""
        [asked] = read_task(self.folder).settings["verifier"]["collect"]
        here = asked["command"].replace("http://world:8000", self.server.url)
        here = here.replace("/app/answer.txt", str(self.answer)).replace("/logs/artifacts", str(self.artifacts))
        here = here.replace("python -c", f"{sys.executable} -c")
        subprocess.run(["bash", "-c", here], check=True, capture_output=True)

    def graded(self) -> int:
        """Status of the tests."""
        grade = [
            sys.executable,
            "-m",
            "environments.formats.harbor_grade",
            str(self.folder / "tests"),
            str(self.artifacts),
        ]
        return subprocess.run(grade, cwd=ROOT, check=False, capture_output=True).returncode


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with served_shop(task=TASK.model_dump_json()) as server:
        yield Trial(TASK, tmp_path, server)


def test_the_oracle_succeeds_and_doing_nothing_does_not(trial: Trial) -> None:
    trial.collect()
    assert trial.graded() == LESS
    trial.solve()
    trial.collect()
    assert trial.graded() == SUCCESS


def test_a_second_session_that_writes_again_is_seen(trial: Trial) -> None:
    trial.solve()
    trial.solve()
    trial.collect()
    assert trial.graded() == LESS


def test_a_record_that_is_missing_is_no_zero(trial: Trial) -> None:
    assert trial.graded() == NOTHING


def test_the_agents_container_holds_neither_goal_nor_gold_nor_token(trial: Trial) -> None:
    shown = trial.written.instruction.encode() + trial.written.files["environment/docker-compose.yaml"]
    world = trial.written.files["environment/world/task.json"].decode()
    assert Task.model_validate_json(world).gold_calls == ()
    assert TASK.gold_answer not in world
    assert TOKEN.encode() not in shown
    assert GOLD[-1].name.encode() not in shown
    compose = trial.written.files["environment/docker-compose.yaml"].decode()
    main, served = compose.split("  world:\n", 1)
    assert "volumes" not in main.split("services:")[1].split("world:")[0]
    assert "./world:/world:ro" in served
    assert trial.written.separate


def test_a_task_with_a_user_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has a user to talk with"):
        harbor_task_of(TASK.model_copy(update={"user": UserGoal()}), Shop(), image="x")
