"""One session of workspace: a work folder in a sandbox, which is wiped and checked between episodes."""

import hashlib
import inspect
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from environments.sandbox import Sandbox, SandboxError, Sandboxes, SandboxRefusal
from environments.sandboxes.containers import DockerSandboxes
from environments.task import Task
from environments.tool import tools_of
from environments.world import RowChange, WorldFailure
from environments.worlds.workspace import data_model, session, tools
from environments.worlds.workspace.data_model import differences, hash_of, initial_files
from environments.worlds.workspace.session import SandboxSession

POLICY = Path(__file__).with_name("policy.md")


@cache
def _code_version() -> str:
    source = "".join(inspect.getsource(m) for m in (data_model, session, tools)) + POLICY.read_text(encoding="utf-8")
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


class WorkspaceWorld(SandboxSession):
    """Files, a shell and tests; an `environments.world.World`."""

    name = "workspace"

    def __init__(self, sandboxes: Sandboxes | None = None) -> None:
        """Set up a session; its sandbox starts when it is first used.

        Args:
            sandboxes: where it comes from; None: Docker, with the default limits.

        Raises:
            SandboxError: there is no engine.
        """
        super().__init__()
        self._sandboxes = sandboxes or default_sandboxes()
        self._sandbox: Sandbox = self._sandboxes.open()
        self._started: dict[str, bytes] = {}
        self._tools = tools_of(tools.WorkspaceTools(lambda: self._sandbox, self._record))

    @property
    def version(self) -> str:
        """Hash of code, image and limits."""
        return f"workspace-{_code_version()}-{self._sandboxes.version}"

    @property
    def policy(self) -> str:
        """What the agent is told about the place."""
        return POLICY.read_text(encoding="utf-8")

    def reset(self) -> None:
        """Empty the work folder and forget the ledger; a sandbox that was not used is left alone."""
        self._effects.clear()
        self._calls = 0
        if self._used or self._started or self._lost is not None:
            self._fill({})

    def begin(self, task: Task) -> None:
        """Fill the work folder with the task's files.

        Raises:
            WorldFailure: the engine failed, or the files do not fit.
        """
        self._fill(initial_files(task))

    def changes(self) -> Sequence[RowChange]:
        """The files that differ from those at the start; one row of `sandbox` where they are lost."""
        with self._broken("changes"):
            if self._lost is None:
                return differences(self._started, self._files())
        return self._lost_row()

    def state_hash(self) -> str:
        """Hash of all files and the ledger."""
        with self._broken("state_hash"):
            if self._lost is None:
                return hash_of(self._files(), self._effects)
        return f"lost: {self._lost}"

    def close(self) -> None:
        """Remove the sandbox."""
        self._sandbox.close()

    def _files(self) -> dict[str, bytes]:
        if not (self._used or self._started):
            return {}  # nothing has been started for it yet
        return dict(self._sandbox.collect().files)

    def _fill(self, files: dict[str, bytes]) -> None:
        try:
            self._sandbox.restore(files)
        except (SandboxError, SandboxRefusal) as failure:
            raise WorldFailure(f"{self.name}: {failure}") from failure
        self._started, self._used, self._lost = files, False, None


@cache
def default_sandboxes() -> DockerSandboxes:
    """Docker with the default limits, one connection for all sessions of this process."""
    return DockerSandboxes()
