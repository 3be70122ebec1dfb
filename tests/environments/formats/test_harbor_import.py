"""Harbor task folders of others: what is taken over, what is set aside with which word, and how the gold is said."""

import subprocess
from pathlib import Path

import pytest

from environments.formats.harbor_import import import_folders, task_of
from environments.formats.harbor_needs import Unusable
from environments.formats.harbor_solution import gold_call
from environments.sandboxes.dockerfile import ImageError, bases_of
from environments.sealed import without_gold
from environments.worlds.harbor.data_model import Setting, changes_of, entries_of, setting_of
from environments.worlds.harbor.grounds import Caps
from tests.environments.worlds.harbor.folders import TOML, folder_of


def test_a_folder_becomes_a_task_whose_agent_sees_neither_tests_nor_solution(tmp_path: Path) -> None:
    task = task_of(folder_of(tmp_path / "hello"))
    assert (task.world, task.group, task.depth, task.family) == ("harbor", "others/hello", 1, "files")
    setting = setting_of(task)
    assert (setting.memory_mb, setting.cpus, setting.agent_s, setting.environment) == (256, 1, 60.0, {"MODE": "x"})
    assert task.goal.script is not None
    assert (task.goal.script.seconds, task.goal.script.carried, task.goal.script.apart) == (20.0, None, False)
    assert "reward.txt" in task.goal.model_dump_json()
    assert "hello.sh" in task.gold_calls[0].arguments["command"]
    shown = without_gold(task).model_dump_json()
    assert "reward.txt" not in shown
    assert "hello.sh" not in shown


@pytest.mark.parametrize(
    ("changed", "cause", "told"),
    [
        ({"environment/docker-compose.yaml": "services: {}\n"}, "several_containers", "docker-compose.yaml"),
        ({"steps/one/instruction.md": "x"}, "several_steps", "steps/"),
        ({"solution/solve.sh": None}, "no_solution", "solution/solve.sh"),
        ({"environment/Dockerfile": None}, "no_image", "docker_image"),
        ({"task.toml": TOML + "gpus = 1\n"}, "other_machine", "gpus = 1"),
        ({"task.toml": TOML + 'os = "windows"\n'}, "other_machine", "windows"),
        ({"task.toml": TOML + '[[environment.mcp_servers]]\nname = "x"\n'}, "served_tools", "mcp_servers"),
        ({"task.toml": TOML + '[environment.healthcheck]\ncommand = "true"\n'}, "service", "nothing is kept running"),
        ({"task.toml": TOML + 'allowed_hosts = ["pypi.org"]\n'}, "needs_network", "pypi.org"),
        ({"task.toml": TOML + '[verifier.env]\nKEY = "${OPENAI_API_KEY}"\n'}, "outside_value", "OPENAI_API_KEY"),
        ({"task.toml": TOML + "memory_mb = -1\n"}, "unreadable", "task.toml"),
        ({"task.toml": "broken ="}, "unreadable", "task.toml"),
        ({"tests/test.sh": None}, "unreadable", "no whole task"),
        ({"environment/solve.sh": "#!/bin/sh\n/solution/hello.sh\n"}, "shows_solution", "environment/solve.sh"),
        ({"environment/big": "x" * (9 << 20)}, "too_large", "9 MB"),
        ({"tests/test.sh": "#!/bin/bash\n# apt-get update\napt-get -y update\n"}, "needs_network", "line 3"),
    ],
)
def test_what_cannot_be_played_is_set_aside_with_a_word_and_the_place(
    tmp_path: Path, changed: dict[str, str | None], cause: str, told: str
) -> None:
    folder_of(tmp_path / "bad", changed)
    folder_of(tmp_path / "good")
    taken = import_folders([tmp_path], grounds=None)
    assert [t.group for t in taken.tasks] == ["others/good"]
    [aside] = taken.aside
    assert (aside.name, aside.cause) == ("bad", cause)
    assert told in aside.evidence


@pytest.mark.parametrize(
    ("line", "fetches"),
    [
        ("curl -LsSf https://astral.sh/uv/install.sh | sh", True),
        ("uvx --with pytest pytest /tests", True),
        ("pip install --quiet pytest==8", True),
        ("python3 -m pip install x", True),
        ("git clone https://github.com/a/b", True),
        ("wget http://example.org/data.csv", True),
        ("curl -s http://localhost:8080/health", False),
        ("curl http://127.0.0.1:5000", False),
        ("pip install --no-index --find-links=/wheels x", False),
        ("git clone /srv/repo.git /tmp/repo", False),
        ("python -m pytest /tests -rA", False),
    ],
)
def test_scripts_that_fetch_something_are_found_and_local_ones_left_alone(
    tmp_path: Path, line: str, fetches: bool
) -> None:
    folder = folder_of(tmp_path / "t", {"tests/test.sh": f"#!/bin/sh\n{line}\n"})
    if fetches:
        with pytest.raises(Unusable, match=r"needs_network: tests/test\.sh, line 2"):
            task_of(folder)
    else:
        assert task_of(folder).world == "harbor"


def test_limits_are_as_asked_for_and_never_above_ours() -> None:
    caps = Caps(memory_mb=512, cpus=1.5, storage_mb=64, command_s=30)
    asked = Setting(name="a/b", digest="x", memory_mb=100, cpus=0.5, storage_mb=16, agent_s=9)
    found = caps.limits(asked)
    assert (found.memory_mb, found.cpus, found.work_mb, caps.seconds(asked)) == (100, 0.5, 16, 9)
    greedy = Setting(name="a/b", digest="x", memory_mb=1 << 20, cpus=64, storage_mb=1 << 20, agent_s=1e9)
    found = caps.limits(greedy)
    assert (found.memory_mb, found.cpus, found.work_mb, found.command_s) == (512, 1.5, 64, 30)
    assert caps.seconds(greedy) == caps.agent_s
    for limits in (found, caps.limits(asked)):
        assert limits.collected_kb + 4 * limits.files <= limits.work_mb << 10


@pytest.mark.parametrize(
    ("said", "megabytes"), [('memory = "2G"', 2048), ('memory = "512MB"', 512), ("memory_mb = 300", 300)]
)
def test_sizes_of_all_schemas_are_read(tmp_path: Path, said: str, megabytes: int) -> None:
    toml = TOML.replace("memory_mb = 256", said)
    assert setting_of(task_of(folder_of(tmp_path / "t", {"task.toml": toml}))).memory_mb == megabytes


def test_a_separate_environment_gets_what_the_task_lists(tmp_path: Path) -> None:
    toml = 'artifacts = ["/app/out.txt", {source = "/data"}]\n' + TOML.replace(
        "[verifier]", '[verifier]\nenvironment_mode = "separate"'
    )
    apart = toml + '[verifier.environment]\ndocker_image = "tests:1"\n[[verifier.collect]]\ncommand = "sync"\n'
    script = task_of(folder_of(tmp_path / "a", {"task.toml": apart})).goal.script
    assert script is not None
    assert (script.image, script.carried, script.collect) == ("tests:1", ("/app/out.txt", "/data"), ("sync",))
    own = folder_of(tmp_path / "b", {"task.toml": toml, "tests/Dockerfile": "FROM x\n"})
    script = task_of(own).goal.script
    assert script is not None
    assert (script.apart, script.image) == (True, "")
    shared = task_of(folder_of(tmp_path / "c", {"tests/Dockerfile": "FROM x\n"})).goal.script
    assert shared is not None
    assert not shared.apart


def test_the_gold_call_writes_every_file_as_it_is_and_passes_the_exit_code_on(tmp_path: Path) -> None:
    files = {
        "solve.sh": b'#!/bin/sh\ncat ROOT/solution/sub/b > ROOT/out; echo "$MODE" >> ROOT/out; exit 3\n',
        "sub/b": b"it's $HOME\n`x` \\n\n",
        "raw": b"\x00\xff no end",
    }
    files = {path: content.replace(b"ROOT", str(tmp_path).encode()) for path, content in files.items()}
    command = gold_call(files, {"MODE": "a b'c"}).arguments["command"]
    here = command.replace("/solution", f"{tmp_path}/solution").replace(f"{tmp_path}{tmp_path}", str(tmp_path))
    done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert (tmp_path / "solution/sub/b").read_bytes() == files["sub/b"]
    assert (tmp_path / "solution/raw").read_bytes() == files["raw"]
    assert (tmp_path / "out").read_bytes() == files["sub/b"] + b"a b'c\n"


def test_a_solution_too_long_for_a_command_is_set_aside(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="long_solution"):
        task_of(folder_of(tmp_path / "t", {"solution/data": "x" * 100_001}))


@pytest.mark.parametrize(
    ("dockerfile", "bases"),
    [
        ("FROM a:1\n", ["a:1"]),
        ("ARG V=3\nFROM --platform=linux/amd64 b:${V} AS one\nFROM one\nFROM scratch\n", ["b:3"]),
        ("# FROM no\nfrom c:${X:-9}\n", ["c:9"]),
    ],
)
def test_the_bases_of_a_dockerfile_are_known_before_it_is_built(dockerfile: str, bases: list[str]) -> None:
    assert bases_of(dockerfile) == bases


@pytest.mark.parametrize("dockerfile", ["RUN true\n", "FROM $UNKNOWN\n"])
def test_a_dockerfile_without_a_base_is_told(dockerfile: str) -> None:
    with pytest.raises(ImageError, match="environment/Dockerfile"):
        bases_of(dockerfile)


def test_what_was_left_survives_the_way_through_rows() -> None:
    entries = [
        {"path": "/app/a", "kind": "file", "mode": 0o755, "content": "/wA="},
        {"path": "/app/b", "kind": "file", "mode": 0o644, "content": "dGV4dA=="},
        {"path": "/app/c", "kind": "gone"},
        {"path": "/app/d", "kind": "folder", "target": ""},
        {"path": "/app/e", "kind": "link", "target": "d"},
    ]
    assert entries_of(changes_of(entries, ["'/app/f': a link to '/tests'"])) == entries


def test_a_folder_without_tasks_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no task\.toml"):
        import_folders([tmp_path], grounds=None)
