"""Harbor task folders: written, read, hashed as Harbor does."""

import subprocess
from pathlib import Path

import pytest

from environments.formats.harbor import (
    HarborTask,
    dataset_digest,
    digest_of,
    grading_script,
    read_task,
    settings_for,
    write_task,
)

TASK = HarborTask(
    settings_for(
        "ours/refund-1",
        description="Refund once.",
        metadata={"difficulty": "frontier", "pass_rate": 0.375},
        agent_s=900.0,
        verifier_s=120.0,
        collect=("cp /app/answer.txt /logs/artifacts/",),
        environment={"docker_image": "python:3.11-slim", "cpus": 1, "memory_mb": 512},
    ),
    "Refund order 7 once.\n",
    {
        "environment/Dockerfile": b"FROM python:3.11-slim\nWORKDIR /app\n",
        "tests/test.sh": grading_script("python /tests/check.py"),
        "tests/check.py": b"raise SystemExit(0)\n",
        "solution/solve.sh": b"#!/bin/bash\necho refunded > /app/answer.txt\n",
    },
)
KNOWN_DIGEST = "sha256:89e3f67e2fcfaac8dbb99d5e0634040295dac060f22bef267851d6828fcca45d"
"""Of the folder that `others` writes, as Harbor 0.26 itself says it."""


def others(folder: Path) -> Path:
    """A task folder as another tool writes it, older, with files that do not count."""
    for path, text in {
        "task.toml": 'version = "1.0"\nextra_key = 3\n[metadata]\nauthor = "x"\n[agent]\ntimeout_sec = 60.0\n',
        "instruction.md": "<!-- canary 123 -->\nMake /app/out.txt say hello.\n",
        "environment/Dockerfile": "FROM ubuntu:24.04\n",
        "environment/__pycache__/a.pyc": "x",
        "tests/test.sh": "#!/bin/bash\ntrue\n",
        "tests/data/b.txt": "b",
        "solution/solve.sh": "echo hello > /app/out.txt\n",
        "notes.txt": "no part of the task",
        "tests/old.sh~": "x",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def test_a_task_comes_back_as_it_went_out_with_the_same_digest(tmp_path: Path) -> None:
    digest = write_task(TASK, tmp_path / "a")
    found = read_task(tmp_path / "a")
    assert (found.instruction, found.files, found.name) == (TASK.instruction, TASK.files, "ours/refund-1")
    assert found.settings == TASK.settings
    assert found.separate
    assert found.metadata == {"difficulty": "frontier", "pass_rate": 0.375}
    assert write_task(found, tmp_path / "b") == digest == digest_of(tmp_path / "b")


def test_every_file_that_counts_changes_the_digest_and_no_other_does(tmp_path: Path) -> None:
    digest = write_task(TASK, tmp_path / "a")
    (tmp_path / "a/notes.txt").write_text("x")
    (tmp_path / "a/tests/check.pyc").write_text("x")
    assert digest_of(tmp_path / "a") == digest
    (tmp_path / "a/tests/check.py").write_text("raise SystemExit(1)\n")
    assert digest_of(tmp_path / "a") != digest


def test_the_digest_of_a_known_folder_is_harbors_own(tmp_path: Path) -> None:
    assert digest_of(others(tmp_path)) == KNOWN_DIGEST


def test_a_data_sets_digest_does_not_depend_on_the_order_of_its_tasks() -> None:
    assert dataset_digest(["sha256:b", "sha256:a"]) == dataset_digest(["sha256:a", "sha256:b"])


def test_a_folder_of_an_older_version_is_read_without_its_canary_and_keeps_what_nobody_knows(tmp_path: Path) -> None:
    found = read_task(others(tmp_path / "hello"))
    assert found.instruction == "Make /app/out.txt say hello.\n"
    assert found.name == "unnamed/hello"
    assert (found.settings["extra_key"], found.metadata, found.separate) == (3, {"author": "x"}, False)
    assert sorted(found.files) == ["environment/Dockerfile", "solution/solve.sh", "tests/data/b.txt", "tests/test.sh"]


@pytest.mark.parametrize(("check", "written"), [("true", "1\n"), ("false", "0\n"), ("exit_code_2", None)])
def test_the_script_writes_one_reward_and_none_where_the_check_itself_broke(
    check: str, written: str | None, tmp_path: Path
) -> None:
    reward = tmp_path / "reward.txt"
    body = "(exit 2)" if check == "exit_code_2" else check
    script = grading_script(body).decode().replace("/logs/verifier/reward.txt", str(reward))
    subprocess.run(["bash", "-c", script.replace("mkdir -p /logs/verifier", "true")], check=False)
    assert (reward.read_text() if reward.exists() else None) == written


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tests/test.sh": b"x"}, "lacks solution/solve.sh"),
        ({**TASK.files, "../out": b"x"}, "has no place in a task folder"),
        ({**TASK.files, "app/x": b"x"}, "has no place in a task folder"),
        ({**TASK.files, "environment/Dockerfile": b"FROM x\nCOPY tests/ /tests\n"}, "the agent would see tests/"),
    ],
)
def test_a_task_that_harbor_could_not_grade_fairly_is_not_written(
    files: dict[str, bytes], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=told):
        write_task(TASK._replace(files=files), tmp_path / "a")


def test_what_is_no_task_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no task"):
        read_task(tmp_path)
    (tmp_path / "task.toml").write_text("= broken")
    with pytest.raises(ValueError, match=r"task\.toml: "):
        read_task(tmp_path)
    (tmp_path / "task.toml").write_text("")
    with pytest.raises(FileNotFoundError, match=r"lacks instruction\.md or tests"):
        read_task(tmp_path)
    with pytest.raises(ValueError, match="named ORGANISATION/NAME, got 'refund'"):
        settings_for("refund", description="", metadata={}, agent_s=1, verifier_s=1, environment={})
    with pytest.raises(FileExistsError, match="is not empty"):
        write_task(TASK, others(tmp_path / "full"))


@pytest.mark.parametrize("link", ["environment/secret", "instruction.md", "tests"])
def test_a_link_that_leaves_the_folder_is_refused_and_named(tmp_path: Path, link: str) -> None:
    folder, outside = others(tmp_path / "task"), tmp_path / "outside"
    outside.mkdir()
    (outside / "test.sh").write_text("root:x:0:0")
    place = folder / link
    if place.is_dir():
        place.rename(tmp_path / "away")
    place.unlink(missing_ok=True)
    place.symlink_to(outside if link == "tests" else outside / "test.sh")
    with pytest.raises(ValueError, match=f"{link}.* is a link that leaves"):
        read_task(folder)
