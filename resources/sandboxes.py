"""Sandboxes for coding tasks: which image, which engine, which limits."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial

import dagster as dg
from pydantic import ConfigDict, PositiveFloat, PositiveInt

from environments.sandbox import Limits
from environments.sandboxes.containers import DockerSandboxes
from environments.verifiers.hidden_cases import HiddenCases
from environments.world import World
from environments.worlds.workspace.world import WorkspaceWorld

_DEFAULT = Limits()


class SandboxSettings(dg.ConfigurableResource):
    """Docker containers without network and rights, within limits; none is started before it is used."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    host: str = ""
    """Address of the engine; empty takes what Docker's own variables say (`DOCKER_HOST`)."""
    image: str = ""
    """With `/bin/sh` and `python3`; empty makes one of this machine's Python and busybox."""
    runtime: str = ""
    """Another runtime of the engine, such as `runsc`; empty: its default."""
    memory_mb: PositiveInt = _DEFAULT.memory_mb
    """Memory of a sandbox, its files included."""
    cpus: PositiveFloat = _DEFAULT.cpus
    """Processors of a sandbox."""
    processes: PositiveInt = _DEFAULT.processes
    """Processes and threads of a sandbox."""
    work_mb: PositiveInt = _DEFAULT.work_mb
    """Size of the work folder, and of /tmp."""
    files: PositiveInt = _DEFAULT.files
    """Files and folders in the work folder, and in /tmp."""
    command_s: PositiveFloat = _DEFAULT.command_s
    """Wall time of one command."""
    command_cpu_s: PositiveInt = _DEFAULT.command_cpu_s
    """CPU seconds of each process of a command."""
    output_kb: PositiveInt = _DEFAULT.output_kb
    """Kept of a command's output."""
    collected_kb: PositiveInt = _DEFAULT.collected_kb
    """The most that is collected of a work folder."""

    def sandboxes(self) -> DockerSandboxes:
        """Where sandboxes come from.

        Raises:
            ValueError: the limits contradict each other.
        """
        own = {field.name for field in fields(Limits)} & set(type(self).model_fields)
        limits = Limits(**{name: getattr(self, name) for name in own})
        return DockerSandboxes(limits=limits, image=self.image, host=self.host, runtime=self.runtime)

    def workspace(self) -> tuple[Callable[[], World], HiddenCases]:
        """What opens a session of the world `workspace`, and the verifier of its tasks."""
        found = self.sandboxes()
        return partial(WorkspaceWorld, found), HiddenCases(found)
