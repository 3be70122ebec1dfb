"""Sandboxes as Docker containers: no network, no rights, a read-only root, everything bounded, one kept worker each.

A container is started once and restored between episodes through its worker, which takes milliseconds; one that
cannot be restored, or that was ruined, is removed and another is started in its place.
"""

import base64
import hashlib
import inspect
import json
import socket
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

from environments.sandbox import Collected, Limits, Ran, SandboxError, SandboxRefusal, SandboxRuined
from environments.sandboxes import confine, files, pristine, worker
from environments.sandboxes.blame import blamed
from environments.sandboxes.channel import Channel, Closed, Forged, Silent
from environments.sandboxes.engine import LABEL, OWNER, Engine, engine_errors, owner
from environments.sandboxes.image import ensure_local_image, local_image
from environments.sandboxes.layout import NOBODY, PYTHON, Layout

_SMALL_S: Final = 10.0
"""Time for anything but a command."""
_MOST_LISTED: Final = 500
_SPARE_FILES: Final = 16
_BLOCK_KB: Final = 4


_INSIDE: Final = (confine, files, pristine, worker)
"""What runs in the container, each after what it imports."""
_BOOT: Final = """
import sys, types
package = sys.modules["environments"] = sys.modules["environments.sandboxes"] = types.ModuleType("environments")
for name, source in zip(sys.argv[1:-3:2], sys.argv[2:-3:2]):
    module = sys.modules["environments.sandboxes." + name] = types.ModuleType(name)
    exec(source, module.__dict__)
    setattr(package, name, module)
exec(sys.argv[-2], {"__name__": "__main__"})
"""
"""Starts the worker from its source texts: the root of the container is read-only, and no image holds it."""


@cache
def _program() -> tuple[str, ...]:
    parts = [(module.__name__.rpartition(".")[2], inspect.getsource(module)) for module in _INSIDE]
    return (_BOOT, *(text for part in parts for text in part))


@dataclass(frozen=True)
class DockerSandboxes:
    """Where containers come from; an `environments.sandbox.Sandboxes`."""

    limits: Limits = field(default_factory=Limits)
    image: str = ""
    """Empty: one made of what this machine has."""
    host: str = ""
    """Of the engine; empty: as Docker's own variables say."""
    runtime: str = ""
    """Another runtime of the engine, such as `runsc`; empty: its default."""
    layout: Layout = field(default_factory=Layout)
    """Which folders an agent may change."""
    engine: Engine = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        limits = self.limits
        if limits.collected_kb + _BLOCK_KB * limits.files > limits.work_mb << 10:
            raise ValueError(
                f"what is collected must fit into another work folder: collected_kb={limits.collected_kb} and "
                f"{_BLOCK_KB} KB for each of files={limits.files} are more than work_mb={limits.work_mb}; raise work_mb"
            )
        object.__setattr__(self, "engine", Engine(self.host))

    @cached_property
    def version(self) -> str:
        """Hash of image, limits, runtime, folders and worker."""
        parts = (self.image or local_image(), self.limits, self.runtime, self.layout, _program())
        return "sandbox-" + hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()

    def open(self) -> "DockerSandbox":
        """A sandbox of one's own; its container starts when it is first used.

        Raises:
            SandboxError: there is no engine, or it has no such image.
        """
        return DockerSandbox(self, self.present_image)

    @cached_property
    def present_image(self) -> str:
        """The image's name, once the engine has it; the first question to an engine also removes orphans.

        Raises:
            SandboxError: there is no engine, or it has no such image.
        """
        client = self.engine.client
        self.engine.sweep()
        with engine_errors(f"find the image {self.image or local_image()!r} (docker pull or docker import it)"):
            if not self.image:
                return ensure_local_image(client)
            client.images.get(self.image)
        return self.image


def container_settings(made: DockerSandboxes, image: str) -> dict[str, Any]:
    """What the engine is asked for: everything that can be bounded is, and every right is given up."""
    from docker.types import LogConfig, Ulimit

    client, limits, layout = made.engine.client, made.limits, made.layout
    host = client.api.create_host_config(
        network_mode="none", mem_limit=f"{limits.memory_mb}m", memswap_limit=f"{limits.memory_mb}m",
        nano_cpus=int(limits.cpus * 1e9), pids_limit=limits.processes, read_only=True, cap_drop=["ALL"],
        security_opt=["no-new-privileges"], oom_score_adj=500, shm_size="8m", ipc_mode="private", init=False,
        ulimits=[Ulimit(name="core", soft=0, hard=0), Ulimit(name="nofile", soft=256, hard=256)],
        log_config=LogConfig(type="none"), runtime=made.runtime or None, tmpfs=layout.mounts(limits),
        binds={layout.python: {"bind": PYTHON, "mode": "ro"}} if layout.python else None,
    )  # fmt: skip
    return {
        "image": image, "host_config": host, "user": f"{NOBODY}:{NOBODY}", "working_dir": layout.work,
        "environment": {"LD_PRELOAD": ""} if layout.python else {}, "entrypoint": list(layout.start),
        "command": ["-I", "-S", "-B", "-c", *_program(), json.dumps(layout.settings(limits.idle_s))],
        "stdin_open": True, "tty": False, "labels": {LABEL: "1", OWNER: owner()}, "network_disabled": True,
    }  # fmt: skip


class _Container:
    """One started container and the line to its worker."""

    def __init__(self, engine: Engine, settings: Mapping[str, Any], most_bytes: int) -> None:
        api = engine.client.api
        with engine_errors("start a container"):
            self.id: str = api.create_container(**settings)["Id"]
            self._removed = weakref.finalize(self, _end, engine, self.id, [])
            streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            attached = api.attach_socket(self.id, params=streams)
            self.channel = Channel(_raw(attached), most_bytes=most_bytes)
            self._removed.detach()
            self._removed = weakref.finalize(
                self, _end, engine, self.id, [*_response(attached), attached, self.channel]
            )
            api.start(self.id)

    def close(self) -> None:
        """Hang up and remove it."""
        self._removed()


def _raw(attached: Any) -> socket.socket:
    """The connection itself, for which the library returns different wrappers."""
    raw: socket.socket = getattr(attached, "_sock", attached)
    return raw


def _response(attached: Any) -> list[Any]:
    """The HTTP response under the connection, which must be closed before it."""
    response = getattr(attached, "_response", None)
    return [] if response is None else [response]


def _end(engine: Engine, container: str, lines: list[Any]) -> None:
    """Remove a container that is no longer needed, also when the process ends."""
    for line in lines:
        line.close()
    try:
        engine.remove(container)
    except SandboxError:
        return  # no engine any more: the next run sweeps what it left


class DockerSandbox:
    """A container that comes back to its start; an `environments.sandbox.Sandbox`."""

    def __init__(self, sandboxes: DockerSandboxes, image: str) -> None:
        self.sandboxes, self._image, self._limits = sandboxes, image, sandboxes.limits
        self._container: _Container | None = None
        self.started = 0
        """Containers started so far: more than one where some had to be replaced."""

    def restore(self, files: Mapping[str, bytes]) -> None:
        """Back to the start, in the container that is there or in another one."""
        given = {path: base64.b64encode(content).decode() for path, content in files.items()}
        if self._container is not None:
            try:
                if not self.ask("restore", given=given)["left"]:
                    return
            except (SandboxRuined, SandboxRefusal, SandboxError):
                pass  # nobody works in it now: whatever became of it, the next one shows whether the engine is well
            self.close()
        try:
            left = self.ask("restore", given={})["left"]
        except (SandboxRuined, SandboxRefusal) as failure:  # nothing of an agent's has run in it yet
            raise SandboxError(f"a container that was just started does not work: {failure}") from failure
        if left:
            raise SandboxError(f"a container that was just started is not clean: {left}")
        if given:
            self.ask("restore", given=given)

    def run(
        self,
        command: str,
        *,
        stdin: bytes = b"",
        wall_s: float | None = None,
        cpu_s: int | None = None,
        output_kb: int | None = None,
    ) -> Ran:
        """Run a shell command; see `environments.sandbox.Sandbox`."""
        limits = self._limits
        wall = min(wall_s or limits.command_s, limits.command_s)
        done = self.ask(
            "run", wall, command=command, stdin=base64.b64encode(stdin).decode(), wall_s=wall,
            cpu_s=min(cpu_s or limits.command_cpu_s, limits.command_cpu_s), file_bytes=limits.work_mb << 20,
            keep=(output_kb or limits.output_kb) << 10,
        )  # fmt: skip
        return Ran(done["exit"], done["output"], done["left_out"], done["seconds"], done["outlived"])

    def read(self, path: str) -> bytes:
        """The content of one file."""
        return base64.b64decode(self.ask("read", path=path, most=self._limits.file_kb << 10)["content"])

    def write(self, path: str, content: bytes) -> None:
        """Write one file, and the folders that it needs."""
        if len(content) > self._limits.file_kb << 10:
            raise SandboxRefusal("too_large")
        self.ask("write", path=path, content=base64.b64encode(content).decode())

    def names(self, folder: str = ".") -> list[str]:
        """What lies in a folder."""
        found = self.ask("names", folder=folder, most=_MOST_LISTED)
        return [*found["names"], *(["..."] if found["more"] else [])]

    def collect(self) -> Collected:
        """Everything in the work folder."""
        limits = self._limits
        try:
            found = self.ask(
                "collect", most_each=limits.file_kb << 10, most_all=limits.collected_kb << 10,
                most_entries=limits.files - _SPARE_FILES,
            )  # fmt: skip
        except SandboxRefusal as refusal:
            raise SandboxRuined(f"the work folder cannot be collected: {refusal.code}") from refusal
        files = {path: base64.b64decode(content) for path, content in sorted(found["files"].items())}
        return Collected(files, tuple(found["skipped"]))

    def close(self) -> None:
        """Remove the container; the next use starts another."""
        if self._container is not None:
            self._container.close()
            self._container = None

    def _started(self) -> _Container:
        if self._container is None:
            made = self.sandboxes
            settings = container_settings(made, self._image)
            most = 2 * (self._limits.collected_kb << 10) + (1 << 20)
            self._container = _Container(made.engine, settings, most)
            self.started += 1
        return self._container

    def ask(self, operation: str, takes_s: float = _SMALL_S, **arguments: Any) -> dict[str, Any]:
        """One request to the worker; whoever is to blame where there is no answer."""
        container = self._started()
        try:
            answer = container.channel.ask({"op": operation, **arguments}, takes_s + self._limits.grace_s)
        except (Silent, Closed, Forged) as broken:
            blame = blamed(self.sandboxes.engine, container.id, broken, container.channel.errors, self._limits)
            self.close()
            raise blame from broken
        if code := answer.get("refused"):
            raise SandboxRefusal(code)
        if broken_inside := answer.get("broken"):
            self.close()
            raise SandboxRuined(f"the worker could not {operation}: {broken_inside}")
        return answer
