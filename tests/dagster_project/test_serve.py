"""`loopwright serve`: what it says, how it stops, and the mistakes that it names in one line."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from dagster_project.commands import app
from dagster_project.commands.serve import find_task, read_token
from environments.listening import listen
from environments.worlds.remote import RemoteServer
from tests.environments.builders import task_of

PROGRAM = "from dagster_project.commands import app; app()"


@contextmanager
def serve(*arguments: str) -> Iterator["tuple[subprocess.Popen[str], str]"]:
    command = [sys.executable, "-c", PROGRAM, "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["serve", *arguments])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_it_serves_an_atlas_task_to_its_owner_and_stops_at_ctrl_c_with_a_client_still_there(tmp_path: Path) -> None:
    task, token = task_of("flight"), tmp_path / "token"
    (tmp_path / "task.json").write_text(task.model_dump_json(), encoding="utf-8")
    told = ("atlas", "--port", "0", "--task", str(tmp_path / "task.json"), "--owner-token", str(token))
    with serve(*told) as (process, line):
        assert f"each with task {task.task_id}" in line
        url = line.split(" at ")[1].split("/mcp")[0]
        remote = RemoteServer(url, token.read_text(encoding="utf-8").strip())
        world = remote.session()
        seen = world.call("travel_search_flights", {"origin": "Paris", "destination": "Lyon", "date": "2026-06-12"})
        assert seen == task_answer(), "the same world as in this process"
        with httpx.stream(
            "GET", f"{url}/mcp", headers={"Mcp-Session-Id": world.session_id, "Accept": "text/event-stream"}
        ):
            process.send_signal(signal.SIGINT)
            said, complained = process.communicate(timeout=60)
        remote.close()
    assert (said, complained, process.returncode) == ("stopped\n", "", 0)


def task_answer() -> object:
    """What the world says here."""
    from environments.worlds.atlas.world import AtlasWorld

    return AtlasWorld().call("travel_search_flights", {"origin": "Paris", "destination": "Lyon", "date": "2026-06-12"})


def test_a_port_that_is_taken_a_world_and_a_task_that_are_not_there_are_named_in_one_line(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on port {port} of 127.0.0.1" in refusal("atlas", "--port", str(port))
    assert "no world named 'atlantis'; there are: " in refusal("atlantis", "--port", "0")
    assert "no file and no admitted task 'nothing'" in refusal("atlas", "--port", "0", "--task", "nothing")


def test_a_task_of_another_world_is_refused_with_the_world_to_serve(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    path.write_text(task_of("flight").model_dump_json(), encoding="utf-8")
    assert find_task(str(path), "atlas") == task_of("flight")
    with pytest.raises(ValueError, match=r"is set in world 'atlas': loopwright serve atlas"):
        find_task(str(path), "retail")


def test_an_admitted_task_is_found_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from resources.lake import Lake
    from training.trajectories import tasks_frame

    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    Lake(root=str(tmp_path / "lake")).write(
        "tasks/admitted_tasks", tasks_frame([task_of("flight"), task_of("weather")])
    )
    assert find_task(task_of("weather").task_id, "atlas") == task_of("weather")


def test_a_token_is_made_once_for_its_owners_eyes_only(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = read_token(path)
    assert (len(made) >= 32, read_token(path)) == (True, made)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="is empty: delete it"):
        read_token(path)
