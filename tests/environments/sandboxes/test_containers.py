"""Containers: what they allow, what they come back from, and whose fault it is when they do not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from environments.sandbox import SandboxError, SandboxRefusal, SandboxRuined
from environments.sandboxes.containers import DockerSandbox, DockerSandboxes
from environments.sandboxes.engine import LABEL, is_dead, owner
from tests.environments.sandboxes.builders import TIGHT, sandboxes

ROOT = Path(__file__).parents[3]
engine = pytest.mark.docker


@pytest.fixture(scope="module")
def made(docker_engine: str) -> DockerSandboxes:
    return sandboxes(docker_engine)


@pytest.fixture(scope="module")
def kept(made: DockerSandboxes) -> Iterator[DockerSandbox]:
    sandbox = made.open()
    yield sandbox
    sandbox.close()


@pytest.fixture
def sandbox(kept: DockerSandbox) -> DockerSandbox:
    kept.restore({"hello.py": b"print('hello')\n"})
    return kept


def test_without_an_engine_the_error_says_what_to_do() -> None:
    pytest.importorskip("docker")
    with pytest.raises(SandboxError, match=r"no Docker engine at unix:///nowhere.*start one.*DOCKER_HOST"):
        DockerSandboxes(host="unix:///nowhere").open()


def test_limits_that_would_lose_files_between_two_folders_are_refused() -> None:
    with pytest.raises(ValueError, match="raise work_mb"):
        DockerSandboxes(limits=replace(TIGHT, collected_kb=16 << 10))


def test_an_owner_is_dead_when_its_process_is_another_or_gone() -> None:
    host, number, began = owner().rsplit(":", 2)
    assert not is_dead(owner())
    assert is_dead(f"{host}:{number}:{float(began) - 5:.2f}")
    assert is_dead(f"{host}:4194000:{began}")
    assert not is_dead(f"elsewhere:{number}:1.00")
    assert not is_dead("")


@engine
def test_commands_run_in_the_work_folder_as_nobody(sandbox: DockerSandbox) -> None:
    assert sandbox.run("python3 hello.py; pwd; id -u; exit 3").output == "hello\n/work\n65534\n"
    assert sandbox.run("exit 3").exit == 3
    assert sandbox.run("cat", stdin="grüße".encode()).output == "grüße"


@engine
def test_the_engine_has_been_asked_for_every_bound(made: DockerSandboxes, sandbox: DockerSandbox) -> None:
    [found] = [c for c in made.engine.ours() if c["State"] == "running"]
    told = made.engine.client.api.inspect_container(found["Id"])
    host = told["HostConfig"]
    rights = (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"], host["Privileged"])
    assert rights == (
        "none",
        True,
        ["ALL"],
        False,
    )
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"], host["NanoCpus"]) == (
        128 << 20,
        128 << 20,
        32,
        10**9,
    )
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert (host["LogConfig"]["Type"], host["Binds"], told["Config"]["User"]) == ("none", None, "65534:65534")
    inside = sandbox.run(
        "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; touch /x /etc/x; ls /sys/class/net"
    )
    assert "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2" in inside.output
    assert inside.output.count("Read-only file system") == 2
    assert inside.output.splitlines()[-1] == "lo"


@engine
def test_output_keeps_its_beginning_and_its_end(sandbox: DockerSandbox) -> None:
    ran = sandbox.run("echo first; head -c 200000 /dev/zero | tr '\\0' x; echo last")
    assert ran.output.startswith("first\nxxx")
    assert ran.output.endswith("xxx" + "last\n")
    assert ran.left_out == 200_011 - (TIGHT.output_kb << 10)


@engine
def test_a_command_that_hangs_is_ended_and_its_output_so_far_is_kept(sandbox: DockerSandbox) -> None:
    started = time.monotonic()
    ran = sandbox.run("echo before; sleep 1000", wall_s=0.3)
    assert (ran.exit, ran.output) == (None, "before\n")
    assert time.monotonic() - started < 5


@engine
def test_what_a_command_leaves_running_ends_with_it(sandbox: DockerSandbox) -> None:
    sandbox.run(
        "(setsid sleep 1000 &); (sleep 1000 &); python3 -c 'import os; os.fork() or os.setsid() or os.pause()' &"
    )
    assert "sleep" not in sandbox.run("ps").output
    assert len(sandbox.run("ls -d /proc/[0-9]*").output.split()) <= 3


@engine
def test_files_go_in_and_come_out_as_they_are(sandbox: DockerSandbox) -> None:
    sandbox.write("deep/er/图.bin", bytes(range(256)))
    sandbox.run("chmod 000 deep/er/图.bin; ln -s hello.py link; mkfifo pipe; rm -f nothing; ln hello.py twin")
    found = sandbox.collect()
    assert found.files == {
        "deep/er/图.bin": bytes(range(256)), "hello.py": b"print('hello')\n", "twin": b"print('hello')\n",
    }  # fmt: skip
    assert found.skipped == ("link", "pipe")
    assert sandbox.read("link") == b"print('hello')\n"
    assert sandbox.names() == ["deep/", "hello.py", "link", "pipe", "twin"]


@engine
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("none", "not_found"), ("/etc/passwd", "outside"), ("../etc/passwd", "outside"), ("out", "outside"),
        ("memory", "outside"), ("pipe", "not_a_file"), (".", "not_a_file"), ("a\0b", "bad_path"),
        ("x" * 300, "bad_path"), ("loop", "bad_path"), ("large", "too_large"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_its_reason(sandbox: DockerSandbox, path: str, code: str) -> None:
    sandbox.run("ln -s /etc/passwd out; ln -s /proc/1/mem memory; mkfifo pipe; ln -s loop loop; truncate -s 5M large")
    with pytest.raises(SandboxRefusal) as refusal:
        sandbox.read(path)
    assert refusal.value.code in (code, "not_found" if path == "loop" else code)


@engine
@pytest.mark.parametrize("command", ["echo \ud83d", "echo \0"], ids=["half an emoji", "a zero byte"])
def test_a_command_that_is_no_text_is_refused_and_breaks_nothing(sandbox: DockerSandbox, command: str) -> None:
    with pytest.raises(SandboxRefusal, match="bad_arguments"):
        sandbox.run(command)
    assert sandbox.run("echo well").output == "well\n"


@engine
def test_a_full_folder_refuses_and_a_huge_one_is_not_collected(sandbox: DockerSandbox) -> None:
    sandbox.run("cat /dev/zero > x; cat /dev/zero > y")
    with pytest.raises(SandboxRefusal, match="no_space"):
        sandbox.write("more", b"x" * 900_000)
    with pytest.raises(SandboxRuined, match="too_large"):
        sandbox.collect()


@engine
def test_restoring_leaves_nothing_behind(kept: DockerSandbox, sandbox: DockerSandbox) -> None:
    before, containers = sandbox.run("ls -lan /work /tmp /dev/shm /dev/mqueue | cut -c1-50").output, kept.started
    sandbox.run(
        "mkdir -p a/b/c /tmp/t; touch a/b/c/f /tmp/t/f /dev/shm/s /dev/mqueue/q ./-rf .hidden; chmod 000 a/b;"
        " chmod 111 a; chmod 500 /work; ln -s / root"
    )
    sandbox.restore({"hello.py": b"print('hello')\n"})
    assert sandbox.run("ls -lan /work /tmp /dev/shm /dev/mqueue | cut -c1-50").output == before
    assert sandbox.collect().files == {"hello.py": b"print('hello')\n"}
    assert kept.started == containers


@engine
def test_what_no_wiping_reaches_has_the_container_replaced(kept: DockerSandbox, sandbox: DockerSandbox) -> None:
    containers = kept.started
    sandbox.run("python3 -c 'import ctypes; ctypes.CDLL(None).shmget(4711, 4096, 0o1777)'")
    sandbox.restore({})
    assert kept.started == containers + 1
    assert len(sandbox.run("cat /proc/sysvipc/shm").output.splitlines()) == 1


@engine
@pytest.mark.parametrize("how", ["kill", "remove", "pause"])
def test_a_container_lost_from_outside_is_our_failure_and_the_next_use_has_another(
    made: DockerSandboxes, how: str
) -> None:
    quick = DockerSandboxes(limits=replace(TIGHT, grace_s=1.0), host=made.host).open()
    quick.restore({})
    assert quick._container is not None
    api, container = made.engine.client.api, quick._container.id
    {"kill": api.kill, "pause": api.pause, "remove": lambda c: api.remove_container(c, force=True)}[how](container)
    with pytest.raises(SandboxError):
        quick.run("true", wall_s=0.5)
    quick.restore({})
    assert quick.run("echo back").output == "back\n"
    quick.close()


_ORPHAN = """
import sys, time
from tests.environments.sandboxes.builders import sandboxes
made = sandboxes(sys.argv[1])
box = made.open()
box.restore({})
print(box._container.id, flush=True)
box.run("sleep 1000", wall_s=1.0)
time.sleep(1000)
"""


@engine
def test_a_killed_run_leaves_no_process_and_the_next_run_removes_its_container(made: DockerSandboxes) -> None:
    run = subprocess.Popen([sys.executable, "-c", _ORPHAN, made.host], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    container = run.stdout.readline().strip()
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    deadline = time.monotonic() + 20
    while made.engine.client.api.inspect_container(container)["State"]["Running"]:
        assert time.monotonic() < deadline, "the worker of a dead run is still there"
        time.sleep(0.1)
    name = made.engine.client.api.inspect_container(container)["Name"].lstrip("/")
    assert made.engine.sweep() == [name]
    left = made.engine.client.api.containers(all=True, filters={"label": LABEL, "id": container})
    assert left == []
