"""Listening for clients until somebody says stop."""

import logging
import signal
import socket
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

STOP_S: Final = 3
"""How long open streams may take to end."""
BACKLOG: Final = 2048


class PortTaken(ValueError):
    """The port, or the address, cannot be listened on."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, taken before anything else starts; port 0 takes a free one.

    Raises:
        PortTaken: something else has the port, or the address is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise PortTaken(
            f"cannot listen on port {port} of {host} ({error.strerror or error}): stop what listens there, "
            f"or choose another with --port {port + 1}"
        ) from error


class _Server(uvicorn.Server):
    """Cuts the streams that are open at the end without calling it an error: clients keep theirs open for ever."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; streams are cut from here on."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        super().handle_exit(sig, frame)


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM, also where the shell that started this ignores them."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=STOP_S, lifespan="on", access_log=False)
    try:
        _Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        return
