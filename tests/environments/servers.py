"""Starts the stand-in for a model server, reads its log, and makes clients of it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from environments.answers import Answers
from environments.budget import Budget, Limits, Prices
from environments.endpoint import Client, Endpoint

ROOT = Path(__file__).parents[2]


class Server(NamedTuple):
    """A running stand-in."""

    url: str
    log: Path
    process: "subprocess.Popen[str]"

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every request so far, in order."""
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    @property
    def billed(self) -> list[dict[str, Any]]:
        """Requests for which the server did its work, whether or not the answer arrived."""
        return [line for line in self.lines if not line["outcome"].isdecimal()]


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[Server]:
    """A stand-in for the length of a block."""
    log = folder / "server.jsonl"
    log.touch()
    command = [sys.executable, "-m", "tests.environments.stand_in", json.dumps({**settings, "log": str(log)})]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server(f"http://127.0.0.1:{int(process.stdout.readline())}/v1", log, process)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def answered(server: Server) -> list[str]:
    """The prompts that the server answered, in order."""
    return [line["prompt"] for line in server.lines if line["outcome"] == "answered"]


def client_of(
    url: str, folder: Path, *, limits: Limits | None = None, prices: Prices | None = None, **more: Any
) -> Client:
    """A client in a hurry; what it knows and spends lies in `folder`."""
    settings = {"timeout_s": 10.0, "first_wait_s": 0.01, "longest_wait_s": 2.0, "max_tokens": 400} | more
    budget = Budget(limits, prices, path=folder / "spent.db")
    return Client(Endpoint(url, "stand-in", **settings), Answers(folder / "answers.db"), budget)
