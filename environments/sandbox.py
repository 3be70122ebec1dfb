"""The contract of a sandbox: where an agent's programs run within limits, and which comes back to a known state.

Two things may go wrong, and they are told apart by which side of the wall broke. `SandboxError` is ours (no engine, a
container that somebody removed): the attempt has no result. `SandboxRuined` is what ran inside (it used up the memory,
or broke the worker): that is the agent's own budget, and its attempt is scored. Whatever breaks inside a sandbox that
was clean when it was lent counts as ruined, or breaking it would be a way round a zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class SandboxError(RuntimeError):
    """The engine, or what we asked of it, failed; nothing may be concluded about the agent."""


class SandboxRuined(RuntimeError):
    """What ran inside broke the sandbox or used it up; its files are lost."""


class SandboxRefusal(Exception):
    """A file operation that cannot be done: a code that programs read (`not_found`, `outside`, `no_space` ...)."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox, and one command in it, may use."""

    memory_mb: int = 256
    """All of it: processes, their files in memory, and the work folder."""
    cpus: float = 1.0
    processes: int = 64
    """Processes and threads at once, the worker among them."""
    work_mb: int = 64
    """Size of the work folder."""
    files: int = 4096
    """Files and folders in the work folder; as many again in /tmp."""
    command_s: float = 20.0
    """Wall time of one command."""
    command_cpu_s: int = 10
    """CPU time of each process of a command."""
    output_kb: int = 16
    """What is kept of a command's output: its beginning and its end."""
    file_kb: int = 1024
    """The largest file that is read, written or collected."""
    collected_kb: int = 8192
    """The most that is collected in all."""
    grace_s: float = 20.0
    """How long the worker may be silent beyond its time, on a busy machine, before the sandbox is given up."""
    idle_s: int = 3600
    """After so long without a question the worker ends, and the sandbox with it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. Nothing that it started is left running."""

    exit: int | None
    """Exit code, negative for a signal; None where it ran out of time."""
    output: str
    """Standard output and errors as they came, the middle left out where there was too much."""
    left_out: int
    """Bytes of output that were dropped."""
    seconds: float
    outlived: int = 0
    """How many processes were left to themselves: they outlived the one that had started them."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What lies in the work folder."""

    files: Mapping[str, bytes]
    """Regular files by their path in the work folder, committed to some repository or not."""
    skipped: tuple[str, ...]
    """What is no regular file, or has a name that is no text."""


class Sandbox(Protocol):
    """One isolated machine, with a work folder in which commands run."""

    def restore(self, files: Mapping[str, bytes]) -> None:
        """Back to the start: no process, no file but `files`; a sandbox that cannot be brought back is replaced.

        Raises:
            SandboxRefusal: the files do not fit.
            SandboxError: the engine failed.
        """
        ...

    def run(
        self,
        command: str,
        *,
        stdin: bytes = b"",
        wall_s: float | None = None,
        cpu_s: int | None = None,
        output_kb: int | None = None,
    ) -> Ran:
        """Run a shell command in the work folder, within the limits of the sandbox or tighter ones.

        Raises:
            SandboxRuined: what ran broke the sandbox.
            SandboxError: the engine failed.
        """
        ...

    def read(self, path: str) -> bytes:
        """The content of one file.

        Raises:
            SandboxRefusal: no such file, or none that may be read.
        """
        ...

    def write(self, path: str, content: bytes) -> None:
        """Write one file, and the folders that it needs.

        Raises:
            SandboxRefusal: the place does not allow it, or has no room.
        """
        ...

    def names(self, folder: str = ".") -> list[str]:
        """What lies in a folder, folders with a slash at the end, in order.

        Raises:
            SandboxRefusal: no such folder.
        """
        ...

    def collect(self) -> Collected:
        """Everything in the work folder.

        Raises:
            SandboxRuined: it is more than the limits allow.
        """
        ...

    def close(self) -> None:
        """Remove it."""
        ...


class Sandboxes(Protocol):
    """Where sandboxes come from."""

    @property
    def version(self) -> str:
        """What decides how programs run in them: image and limits."""
        ...

    def open(self) -> Sandbox:
        """A sandbox of one's own, started when it is first used.

        Raises:
            SandboxError: there is no engine.
        """
        ...
