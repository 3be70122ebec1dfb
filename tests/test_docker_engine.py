"""The engine of the tests leaves nothing behind, also where it was killed, or the tests that it belonged to."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker_engine import PREFIX, clear, mounts_under, own_engine, processes_of, remove_leftovers

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
"""Like a containerd whose engine is gone: it does not end when asked to."""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Path]:
    """A folder as a killed engine leaves it: a process that names it, a mount inside, an owner that is gone."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    folder = tmp_path / f"{PREFIX}left"
    (folder / "exec/netns").mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "none", folder / "exec/netns"], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    (folder / "owner").write_text("1 0")
    command = [sys.executable, "-c", STUBBORN, f"{folder}/exec/containerd.toml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield folder
        process.kill()
    subprocess.run(["umount", "-l", folder / "exec/netns"], capture_output=True)


def test_a_leftover_engine_is_found_and_removed_with_its_processes_and_mounts(left: Path) -> None:
    assert len(processes_of(left)) == 1
    assert mounts_under(left) == [f"{left}/exec/netns"]
    assert remove_leftovers(left.parent) == [left]
    assert (processes_of(left), mounts_under(left), left.exists()) == ([], [], False)


def test_the_engine_of_tests_that_still_run_is_left_alone(left: Path) -> None:
    start = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    (left / "owner").write_text(f"{os.getpid()} {start}")
    assert remove_leftovers(left.parent) == []
    assert len(processes_of(left)) == 1
    (left / "owner").write_text(f"{os.getpid()} 1")
    assert remove_leftovers(left.parent) == [left], "another process has its number now"


@pytest.mark.docker
@pytest.mark.skipif(shutil.which("dockerd") is None or os.geteuid() != 0, reason="needs root and dockerd")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_an_engine_that_was_killed_or_hangs_is_cleared_away_all_the_same(how: signal.Signals) -> None:
    place = Path("/var/tmp")
    with own_engine(place) as (host, engine):
        folder = Path(host.removeprefix("unix://")).parent
        assert len(processes_of(folder)) >= 2, "the engine and its containerd"
        os.kill(engine.pid, how)
    assert (processes_of(folder), mounts_under(folder), folder.exists()) == ([], [], False)


def test_clearing_a_folder_twice_does_no_harm(tmp_path: Path) -> None:
    clear(tmp_path / "none")
    assert remove_leftovers(tmp_path) == []
