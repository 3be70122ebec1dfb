"""Serves the tests' shop from processes of its own: one that has loaded everything, and forks a server when asked.

python -m tests.environments.serving     # a line of settings in, a line with process and port out
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
TOKEN = "of-the-owner"


class Serving(NamedTuple):
    """A server."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def mcp(self) -> str:
        """Where MCP clients connect."""
        return f"{self.url}/mcp"

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        assert eventually(lambda: not _lives(self.pid))


@contextmanager
def served_shop(**settings: Any) -> Iterator[Serving]:
    """The shop for the length of a block; `settings` are those of `served_world`, the task as JSON."""
    nursery = _nursery()
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps(settings) + "\n")
    nursery.stdin.flush()
    server = Serving(*json.loads(nursery.stdout.readline()))
    try:
        yield server
    finally:
        server.kill()


@cache
def _nursery() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.environments.serving"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)
    return process


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def eventually(holds: Callable[[], bool], within_s: float = 30.0) -> bool:
    """Whether something holds before the time is over."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False


def main() -> None:
    """Fork a server for every line of settings; a process that is through is nobody's to wait for."""
    from environments.listening import listen, run
    from environments.mcp import served_world
    from environments.task import Task
    from tests.environments.faults.builders import Shop

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        settings = json.loads(line)
        listening = listen("127.0.0.1", 0)
        pid = os.fork()
        if pid == 0:
            task = Task.model_validate_json(settings.pop("task")) if "task" in settings else None
            run(served_world(Shop, task=task, token=TOKEN, **settings).app, listening)
            os._exit(0)
        sys.stdout.write(json.dumps([pid, listening.getsockname()[1]]) + "\n")
        sys.stdout.flush()
        listening.close()


if __name__ == "__main__":
    main()
