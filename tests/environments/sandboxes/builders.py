"""Sandboxes for the tests, with limits that a test can reach."""

from environments.sandbox import Limits
from environments.sandboxes.containers import DockerSandboxes

TIGHT = Limits(
    memory_mb=128, processes=32, work_mb=16, files=1000, command_s=1.0, command_cpu_s=1, output_kb=4, grace_s=20
)


def sandboxes(host: str, limits: Limits = TIGHT) -> DockerSandboxes:
    """Containers of that engine."""
    return DockerSandboxes(limits=limits, host=host)
