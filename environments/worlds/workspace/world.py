"""One session of workspace: a work folder in a sandbox, which is wiped and checked between episodes."""

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from environments.sandbox import Sandbox, SandboxError, Sandboxes, SandboxRefusal, SandboxRuined
from environments.sandboxes.containers import DockerSandboxes
from environments.task import Task
from environments.tool import Tool, tools_of
from environments.world import RowChange, SideEffect, WorldFailure
from environments.worlds.workspace import data_model, tools
from environments.worlds.workspace.data_model import LOST, differences, hash_of, initial_files

_POLICY = Path(__file__).with_name("policy.md")


@cache
def _code_version() -> str:
    source = "".join(inspect.getsource(m) for m in (data_model, tools)) + _POLICY.read_text(encoding="utf-8")
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


class WorkspaceWorld:
    """Files, a shell and tests; an `environments.world.World`.

    A sandbox that the agent ruins stays lost for the rest of its episode: every call says so, and the end state is one
    row that no goal asks for. Only what fails outside the sandbox is a `WorldFailure`.
    """

    name = "workspace"
    units: Mapping[str, str] = {}
    refusal_codes: Sequence[str] = ()

    def __init__(self, sandboxes: Sandboxes | None = None) -> None:
        """Set up a session; its sandbox starts when it is first used.

        Args:
            sandboxes: where it comes from; None: Docker, with the default limits.

        Raises:
            SandboxError: there is no engine.
        """
        self._sandboxes = sandboxes or default_sandboxes()
        self._sandbox: Sandbox = self._sandboxes.open()
        self._started: dict[str, bytes] = {}
        self._effects: list[SideEffect] = []
        self._calls, self._used = 0, False
        self._lost: str | None = None
        self._session = tools.WorkspaceTools(lambda: self._sandbox, self._record)
        self._tools = tools_of(self._session)

    @property
    def version(self) -> str:
        """Hash of code, image and limits."""
        return f"workspace-{_code_version()}-{self._sandboxes.version}"

    @property
    def policy(self) -> str:
        """What the agent is told about the place."""
        return _POLICY.read_text(encoding="utf-8")

    @property
    def today(self) -> str:
        """No day: the sandbox shows the machine's clock, and no task turns on it."""
        return ""

    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return self._tools

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one tool; a sandbox that is lost answers every call with an error.

        Raises:
            WorldFailure: the engine failed.
        """
        self._calls += 1
        if name not in self._tools:
            return {"error": "unknown_tool"}
        with self._broken(name):
            if self._lost is None:
                self._used = True
                return self._tools[name](arguments)
        return {"error": "sandbox_lost", "cause": self._lost}

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
        return [RowChange(LOST, "lost", None, {"cause": self._lost})]

    def state_hash(self) -> str:
        """Hash of all files and the ledger."""
        with self._broken("state_hash"):
            if self._lost is None:
                return hash_of(self._files(), self._effects)
        return f"lost: {self._lost}"

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        return list(self._effects)

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

    def _record(self, name: str, key: str, after: str | None) -> None:
        self._effects.append(SideEffect(len(self._effects) + 1, "agent", name, key, None, after, self._calls))

    @contextmanager
    def _broken(self, what: str) -> Iterator[None]:
        """What broke inside is the agent's, and the rest of the block is left out; what broke outside is ours."""
        try:
            yield
        except SandboxRuined as ruin:
            self._lost = str(ruin)
            self._record(what, LOST, self._lost)
        except SandboxError as failure:
            raise WorldFailure(f"{self.name}: {failure}") from failure


@cache
def default_sandboxes() -> DockerSandboxes:
    """Docker with the default limits, one connection for all sessions of this process."""
    return DockerSandboxes()
