"""The tools of workspace: files, a shell and the visible tests, all of them inside the sandbox."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from environments.sandbox import Ran, Sandbox, SandboxRefusal
from environments.tool import Effect, ToolRefusal, tool

T = TypeVar("T")
SHOWN = 16_384
"""Characters of a file that one call shows."""
RUN_TESTS = "python3 -m unittest discover -s tests -t . 2>&1"


class FileTools:
    """Files and a shell; the tools of one session."""

    longest: ClassVar[int] = SHOWN
    """Characters of a command."""

    def __init__(self, sandbox: Callable[[], Sandbox], record: Callable[[str, str, str | None], None]) -> None:
        """Set up a session.

        Args:
            sandbox: gives the session's sandbox.
            record: notes a side effect: tool, key, and what came of it.
        """
        self._sandbox, self._record = sandbox, record

    @tool(Effect.READ)
    def read_file(self, path: str, offset: Annotated[int, Field(ge=0)] = 0) -> dict[str, Any]:
        """Read a text file of the work folder, from a character on; `more` says that there is more."""
        try:
            text = _refused(lambda: self._sandbox().read(path), path).decode("utf-8")
        except UnicodeDecodeError:
            raise ToolRefusal("not_text", path=path) from None
        more = len(text) > offset + SHOWN
        return {"text": text[offset : offset + SHOWN]} | ({"more": True} if more else {})

    @tool(Effect.WRITE)
    def write_file(self, path: str, text: str) -> dict[str, Any]:
        """Write a text file, replacing what was there; folders are made."""
        try:
            content = text.encode("utf-8")
        except UnicodeEncodeError:
            raise ToolRefusal("not_text", path=path) from None
        _refused(lambda: self._sandbox().write(path, content), path)
        self._record("write_file", path, None)
        return {"written": path, "bytes": len(content)}

    @tool(Effect.READ)
    def list_files(self, folder: str = ".") -> list[str]:
        """Names in a folder; folders end with a slash."""
        return _refused(lambda: self._sandbox().names(folder), folder)

    @tool(Effect.WRITE)
    def run(self, command: str) -> dict[str, Any]:
        """Run a shell command in the work folder; what it leaves running is ended, and there is no network."""
        if "\0" in command or len(command) > self.longest:
            raise ToolRefusal("bad_arguments", arguments="command")
        return self._ran("run", command)

    def _ran(self, name: str, command: str) -> dict[str, Any]:
        done = _refused(lambda: self._begun(command), ".")
        self._record(name, command, "timed out" if done.exit is None else str(done.exit))
        return _shown(done)

    def _begun(self, command: str) -> Ran:
        """Run a command, for as long as the sandbox lets it."""
        return self._sandbox().run(command)


class WorkspaceTools(FileTools):
    """The same with the visible tests."""

    @tool(Effect.WRITE)
    def run_tests(self) -> dict[str, Any]:
        """Run the tests in the folder `tests`, with unittest."""
        return self._ran("run_tests", RUN_TESTS)


def _refused(operation: Callable[[], T], path: str) -> T:
    """What the sandbox refuses is what the tool refuses."""
    try:
        return operation()
    except SandboxRefusal as refusal:
        raise ToolRefusal(refusal.code, path=path) from refusal


def _shown(done: Ran) -> dict[str, Any]:
    """How a command ended, without its seconds: the same commands must read the same again."""
    ended: dict[str, Any] = {"timed_out": True} if done.exit is None else {"exit": done.exit}
    return ended | {"output": done.output}
