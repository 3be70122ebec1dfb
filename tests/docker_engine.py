"""A Docker engine for the tests: the one that DOCKER_HOST names, or a real one of our own, gone when the tests are.

An engine that was killed, or whose tests were, leaves processes, mounts and a folder behind: those of ours are found
by their folder and removed before a new one starts.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PLACE = Path("/var/tmp")
"""Containers need a file system that can lie under an overlay; /tmp may be one that cannot."""
PREFIX = "loopwright-docker-"
_OWNER = "owner"
"""File in the folder of an engine: process number and start of the tests that it belongs to."""


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[str]:
    """The engine's address, which is also Docker's own variable while the tests run."""
    pytest.importorskip("docker", reason='needs pip install "loopwright[docker]"')
    given = os.environ.get("DOCKER_HOST")
    if given:
        yield given
        return
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("needs a Docker engine: DOCKER_HOST, or root and dockerd (apt-get install docker.io)")
    if shutil.which("busybox") is None:
        pytest.skip("needs busybox for the sandbox's image (apt-get install busybox-static)")
    remove_leftovers(PLACE)
    with own_engine(PLACE) as (host, _):
        os.environ["DOCKER_HOST"] = host
        try:
            yield host
        finally:
            del os.environ["DOCKER_HOST"]


@contextmanager
def own_engine(place: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """An engine in a folder of its own under `place`: address and process; nothing of it is left, however it ends."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    (folder / _OWNER).write_text(_identity(os.getpid()), encoding="utf-8")
    host = f"unix://{folder}/engine.sock"
    with (folder / "log").open("w") as log:
        engine = subprocess.Popen(_command(folder, host), stdout=log, stderr=log)
        try:
            _wait_for(host, engine, folder / "log")
            yield host, engine
        finally:
            _stop(engine, host)
            clear(folder)


def _stop(engine: "subprocess.Popen[bytes]", host: str) -> None:
    """End an engine in good order where it still answers, and by force where it does not."""
    if engine.poll() is None and _answers(host):
        with suppress(Exception):  # whatever an engine says that is going down: its leftovers are cleared anyway
            _remove_all(host)
        engine.terminate()
        with suppress(subprocess.TimeoutExpired):
            engine.wait(30)
    engine.kill()
    engine.wait()


def _answers(host: str) -> bool:
    """Whether an engine says something within a few seconds; one that was stopped takes connections and is silent."""
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.settimeout(5)
        probe.connect(host.removeprefix("unix://"))
        probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        return bool(probe.recv(1))
    return False


def _remove_all(host: str) -> None:
    """Remove what tests left: an engine that stops waits for each container."""
    from environments.sandboxes.engine import Engine

    engine = Engine(host)
    for container in engine.ours():
        engine.remove(container["Id"])
    engine.client.close()


def remove_leftovers(place: Path) -> list[Path]:
    """Clear the folders of engines whose tests are gone; returns them."""
    found = [folder for folder in sorted(place.glob(f"{PREFIX}*")) if not _is_owned(folder)]
    for folder in found:
        clear(folder)
    return found


def clear(folder: Path) -> None:
    """Remove the folder of an engine: first every process that belongs to it, then its mounts, then its files."""
    for _ in range(50):
        running = processes_of(folder)
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not running:
            break
        time.sleep(0.1)
    for point in mounts_under(folder):
        subprocess.run(["umount", "-l", point], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def processes_of(folder: Path) -> list[int]:
    """Engine, containerd and shims, which name the folder; and what runs in containers, whose files lie in it."""
    own = Path("/proc/self/ns/mnt").readlink()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            named = f"{folder}/".encode() in (entry / "cmdline").read_bytes()
            inside = (entry / "ns/mnt").readlink() != own and f"{folder}/" in (entry / "mountinfo").read_text()
            dead = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if (named or inside) and not dead and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


def mounts_under(folder: Path) -> list[str]:
    """Mount points in a folder, the innermost first."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((p for p in points if p.startswith(f"{folder}/")), key=len, reverse=True)


def _is_owned(folder: Path) -> bool:
    """Whether the tests that an engine belongs to still run; one that is being made has no owner yet."""
    try:
        pid, *_ = said = (folder / _OWNER).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return time.time() - folder.stat().st_mtime < 60
    return _identity(int(pid)).split() == said


def _identity(pid: int) -> str:
    """A process by number and start, since numbers are given out again; the number alone where it is gone."""
    try:
        return f"{pid} {Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except OSError:
        return str(pid)


def _command(folder: Path, host: str) -> list[str]:
    places = ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-p", f"{folder}/pid", "-H", host]
    return ["dockerd", *places, "--iptables=false", "--ip6tables=false", "--bridge=none"]


def _wait_for(host: str, engine: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return once it answers; an engine that cannot run here is a skip, which CI turns into a failure."""
    for _ in range(300):
        if engine.poll() is not None:
            pytest.skip(f"dockerd does not run here: {log.read_text()[-400:]}")
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(host.removeprefix("unix://")) == 0:
                return  # it answers questions once it is ready for them
        time.sleep(0.2)
    raise TimeoutError(f"no engine at {host} after 60 s: {log.read_text()[-400:]}")
