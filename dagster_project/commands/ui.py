"""`loopwright ui`: Dagster's pages and daemon on the state of this folder."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say
from dagster_project.instance import prepare_dagster_home

STOP_S: Final = 30


class PortInUseError(ValueError):
    """Something already listens where the pages should be."""


def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where the pages are served.")] = 3000,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 opens it to the network.")] = "127.0.0.1",
) -> None:
    """Open the factory in the browser: the graph, every artefact, runs, and a button to materialize."""
    with clear_errors():
        profile = profiles.active()
        require_free(host, port)
        home = prepare_dagster_home()
    say(f"profile {profile.name}, state in {profiles.home()}")
    say(f"starting; the pages will be at http://{host}:{port} in about 15 s. Stop with Ctrl-C.")
    process = start(host, port, home)
    raise typer.Exit(wait(process))


def require_free(host: str, port: int) -> None:
    """Refuse a port that something listens on.

    Raises:
        PortInUseError: naming the port and the option that chooses another.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PortInUseError(
                f"port {port} on {host} is in use ({error.strerror}): stop what listens there, "
                f"or choose another: loopwright ui --port {port + 1}"
            ) from error


def start(host: str, port: int, home: Path) -> "subprocess.Popen[bytes]":
    """Start `dagster dev` as a child that can be interrupted, whatever the shell ignores."""
    command = [sys.executable, "-m", "dagster", "dev", "-m", "dagster_project.definitions"]
    command += ["--host", host, "--port", str(port), "--log-level", "warning"]
    environment = {**os.environ, "DAGSTER_HOME": str(home), "LOOPWRIGHT_HOME": str(profiles.home())}
    return subprocess.Popen(command, env=environment, preexec_fn=_default_signals, start_new_session=True)


def wait(process: "subprocess.Popen[bytes]") -> int:
    """Wait for the pages to end; Ctrl-C and SIGTERM stop them, daemon and code server included."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return process.wait()
    except KeyboardInterrupt:
        say("stopping")
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        return 0


def _default_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
