"""The tools of a task of Harbor's: files and a shell in its container, for as long as its agent may take."""

from collections.abc import Callable
from typing import ClassVar

from environments.sandbox import Ran, Sandbox
from environments.tool import ToolRefusal
from environments.worlds.workspace.tools import FileTools


class HarborTools(FileTools):
    """The tools of one session."""

    longest: ClassVar[int] = 100_000
    """The kernel takes no argument beyond 128 KB."""

    def __init__(self, sandbox: Callable[[], Sandbox], record: Callable[[str, str, str | None], None]) -> None:
        """Set up a session; see `FileTools`."""
        super().__init__(sandbox, record)
        self.seconds_left = 0.0
        """Of the time that all commands may take together."""

    def _begun(self, command: str) -> Ran:
        """Run a command within the time that is left."""
        if self.seconds_left <= 0:
            raise ToolRefusal("time_is_up")
        done = self._sandbox().run(command, wall_s=self.seconds_left)
        self.seconds_left -= done.seconds
        return done
