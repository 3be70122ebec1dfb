"""One session of a task of Harbor's: its image in a sandbox, whose folders are filled anew for each episode."""

import hashlib
import inspect
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from environments.sandbox import SandboxError, SandboxRefusal, SandboxRuined
from environments.sandboxes.carried import Left, StandingSandbox
from environments.task import Task
from environments.tool import ToolRefusal, tools_of
from environments.world import RowChange, WorldFailure
from environments.worlds.harbor import data_model, tools
from environments.worlds.harbor.data_model import changes_of, setting_of
from environments.worlds.harbor.grounds import Grounds
from environments.worlds.workspace import session
from environments.worlds.workspace import tools as file_tools
from environments.worlds.workspace.session import SandboxSession

_POLICY = Path(__file__).with_name("policy.md")
REPORTED = ("/logs/artifacts", "/logs/agent")
"""What may be carried over of the folder for reports; the place of the reward may not."""


@cache
def _code_version() -> str:
    modules = (data_model, tools, session, file_tools)
    source = "".join(map(inspect.getsource, modules)) + _POLICY.read_text(encoding="utf-8")
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


class HarborWorld(SandboxSession):
    """Files and a shell in the container of a task of Harbor's; an `environments.world.World`."""

    name = "harbor"

    def __init__(self, grounds: Grounds | None = None) -> None:
        """Set up a session; its container starts when a tool is first used.

        Args:
            grounds: where containers come from; None: Docker, within our own limits.
        """
        super().__init__()
        self._grounds = grounds or Grounds()
        self._sandbox: StandingSandbox | None = None
        self._ready = False
        self._task: Task | None = None
        self._seen: tuple[int, list[RowChange]] | None = None
        self._session = tools.HarborTools(self._begun, self._record)
        self._tools = tools_of(self._session)

    @property
    def version(self) -> str:
        """Hash of code, limits and how images are made ready; what is in an image is part of its tasks."""
        return f"harbor-{_code_version()}-{self._grounds.version}"

    @property
    def policy(self) -> str:
        """What the agent is told about the place."""
        return _POLICY.read_text(encoding="utf-8")

    def reset(self) -> None:
        """Fill the folders anew and forget the ledger; a container that was not used is left alone."""
        self._effects.clear()
        self._calls, self._task, self._seen = 0, None, None
        if self._used or self._lost is not None:
            self._restore()
        self._used, self._lost = False, None

    def begin(self, task: Task) -> None:
        """Get ready for a task: its image is made, unless it is there; the container that is kept serves one image.

        Raises:
            UnplayableTask: the image cannot be made.
            WorldFailure: the engine failed, or lacks an image that the task builds on.
        """
        setting = setting_of(task)
        try:
            made = self._grounds.for_agent(task)
            if self._sandbox is None or self._sandbox.sandboxes != made:
                self.close()
                self._sandbox = made.open()
        except SandboxError as failure:
            raise WorldFailure(f"{self.name}: {failure}") from failure
        self._task, self._seen = task, None
        self._used, self._lost = False, None
        self._session.seconds_left = self._grounds.caps.seconds(setting)

    def changes(self) -> Sequence[RowChange]:
        """Paths that differ from the image, put together by the task's own commands where it has any."""
        if self._seen is None or self._seen[0] != self._calls:
            self._seen = (self._calls, self._changes())
        return self._seen[1]

    def state_hash(self) -> str:
        """Hash of all that differs from the image, and of the ledger."""
        with self._broken("state_hash"):
            if self._lost is None:
                left = self._left() if self._ready and self._sandbox is not None else Left((), ())
                return hashlib.sha256(repr((left, self._effects)).encode()).hexdigest()[:16]
        return f"lost: {self._lost}"

    def close(self) -> None:
        """Remove the container."""
        if self._sandbox is not None:
            self._sandbox.close()
        self._sandbox, self._ready = None, False

    def _begun(self) -> StandingSandbox:
        """The container, filled."""
        if self._task is None or self._sandbox is None:
            raise ToolRefusal("no_task")
        if not self._ready:
            self._restore()
        return self._sandbox

    def _restore(self) -> None:
        if self._sandbox is None:
            return
        try:
            self._sandbox.restore({})
        except (SandboxError, SandboxRefusal) as failure:
            raise WorldFailure(f"{self.name}: {failure}") from failure
        self._ready = True

    def _changes(self) -> list[RowChange]:
        script = self._task.goal.script if self._task is not None else None
        if not self._used and not (script and (script.collect or script.apart)):
            return []  # nothing has been started for it yet
        with self._broken("changes"):
            if self._lost is None:
                begun = self._begun()
                for command in script.collect if script else ():
                    begun.run(command)
                left = self._left()
                return changes_of(left.entries, left.skipped)
        return self._lost_row()

    def _left(self) -> Left:
        """What goes to where the tests run."""
        script = self._task.goal.script if self._task is not None else None
        if self._sandbox is None:
            raise SandboxRuined("there is no container")
        if script is not None and script.carried is not None:
            return self._sandbox.changed((*script.carried, REPORTED[0]), whole=script.apart)
        return self._sandbox.changed((*self._sandbox.sandboxes.layout.places, *REPORTED))
