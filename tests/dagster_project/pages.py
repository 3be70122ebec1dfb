"""A running `loopwright ui` on a state folder of its own: pages, daemon and code server as people start them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple


class Pages(NamedTuple):
    """A running `loopwright ui`."""

    url: str
    process: "subprocess.Popen[bytes]"
    home: Path

    def ask(self, query: str, **variables: object) -> Any:
        """The data that Dagster's own API answers."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]

    def said(self) -> str:
        """The end of what it printed."""
        return (self.home / "ui.log").read_text()[-2000:]


def started(home: Path, profile: str = "micro") -> Pages:
    """Start `loopwright ui`; returns once the code location has loaded."""
    port = free_port()
    command = [sys.executable, "-c", "from dagster_project.commands import app; app()", "ui", "--port", str(port)]
    environment = {**os.environ, "LOOPWRIGHT_HOME": str(home), "LOOPWRIGHT_PROFILE": profile}
    with (home / "ui.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    pages = Pages(f"http://127.0.0.1:{port}", process, home)
    _wait_for_assets(pages)
    return pages


@contextmanager
def running_pages(home: Path, profile: str = "micro") -> Iterator[Pages]:
    """`loopwright ui`, stopped as Ctrl-C stops it."""
    pages = started(home, profile)
    try:
        yield pages
    finally:
        pages.process.send_signal(signal.SIGINT)
        assert pages.process.wait(60) == 0, pages.said()
    with socket.socket() as probe:
        place = ("127.0.0.1", int(pages.url.rpartition(":")[2]))
        assert probe.connect_ex(place) != 0, "the pages outlived their command"


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_assets(pages: Pages) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert pages.process.poll() is None, pages.said()
        try:
            if pages.ask("{assetNodes{id}}")["assetNodes"]:
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise TimeoutError(pages.said())
