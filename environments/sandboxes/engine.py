"""The Docker engine: opened with a clear error, its failures told apart from ours, orphans of dead runs removed."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from environments.sandbox import SandboxError

if TYPE_CHECKING:
    import docker

LABEL: Final = "loopwright.sandbox"
OWNER: Final = "loopwright.owner"
_CALL_S: Final = 60
_HELP: Final = (
    'start one, or say where it listens (host of the sandboxes, or DOCKER_HOST); pip install "loopwright[docker]"'
)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Whatever the engine or the way to it says goes on as `SandboxError`."""
    import requests
    from docker.errors import DockerException

    try:
        yield
    except (DockerException, requests.RequestException, OSError) as error:
        raise SandboxError(f"the Docker engine failed to {what}: {error}") from error


def owner() -> str:
    """Who starts containers here: machine, process and when it began, since process numbers come again."""
    return f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time():.2f}"


def is_dead(name: str) -> bool:
    """Whether an owner was a process of this machine that is no more; nothing is known of other machines' owners."""
    parts = name.rsplit(":", 2)
    if len(parts) != 3 or parts[0] != socket.gethostname():
        return False
    try:
        return f"{psutil.Process(int(parts[1])).create_time():.2f}" != parts[2]
    except psutil.NoSuchProcess:
        return True


class Engine:
    """One Docker engine."""

    def __init__(self, host: str = "") -> None:
        """Name it; nothing is opened yet.

        Args:
            host: its address (`unix:///run/docker.sock`, `tcp://...`); empty takes what Docker's own variables say.
        """
        self.host = host

    @cached_property
    def client(self) -> "docker.DockerClient":
        """The connection.

        Raises:
            SandboxError: the library is missing, or nothing answers.
        """
        try:
            import docker
        except ImportError as error:
            raise SandboxError(f"no Docker engine can be reached without the library `docker`: {_HELP}") from error
        where = self.host or "its usual place"
        if self.host.startswith("unix://") and not Path(self.host.removeprefix("unix://")).exists():
            raise SandboxError(f"no Docker engine at {where}: {_HELP} (there is no such socket)")
        try:
            with engine_errors("answer"):
                client = (
                    docker.DockerClient(self.host, timeout=_CALL_S) if self.host else docker.from_env(timeout=_CALL_S)
                )
                client.ping()
        except SandboxError as error:
            raise SandboxError(f"no Docker engine at {where}: {_HELP} ({error})") from error
        return client

    def ours(self) -> list[dict[str, Any]]:
        """Every container that carries our label, as the engine lists it."""
        with engine_errors("list containers"):
            found: list[dict[str, Any]] = self.client.api.containers(all=True, filters={"label": LABEL})
        return found

    def sweep(self) -> list[str]:
        """Remove what runs that are no more have left; returns the names of the containers removed."""
        orphans = [c for c in self.ours() if is_dead(c["Labels"].get(OWNER, ""))]
        for container in orphans:
            self.remove(container["Id"])
        return sorted(c["Names"][0].lstrip("/") for c in orphans if c["Names"])

    def remove(self, container: str) -> None:
        """Kill and remove a container; one that is gone already is fine."""
        from docker.errors import APIError, NotFound

        with engine_errors("remove a container"):
            try:
                self.client.api.remove_container(container, force=True, v=True)
            except NotFound:
                return
            except APIError as error:
                if error.status_code != 409:  # somebody else is removing it
                    raise
