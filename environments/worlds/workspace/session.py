"""What every session has whose world is a sandbox: tools, a ledger, and who is to blame when the sandbox breaks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from environments.sandbox import SandboxError, SandboxRuined
from environments.tool import Tool
from environments.world import RowChange, SideEffect, WorldFailure
from environments.worlds.workspace.data_model import LOST


class SandboxSession:
    """The part of an `environments.world.World` that does not depend on where its sandbox comes from.

    A sandbox that the agent ruins stays lost for the rest of its episode: every call says so, and the end state is one
    row that no goal asks for. Only what fails outside the sandbox is a `WorldFailure`.
    """

    name = "sandbox"
    units: Mapping[str, str] = {}
    refusal_codes: Sequence[str] = ()
    today = ""
    """No day: a sandbox shows the machine's clock, and no task turns on it."""

    def __init__(self) -> None:
        self._effects: list[SideEffect] = []
        self._calls, self._used = 0, False
        self._lost: str | None = None
        self._tools: Mapping[str, Tool] = {}

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

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        return list(self._effects)

    def _lost_row(self) -> list[RowChange]:
        """The one row that a ruined sandbox shows in place of its files."""
        return [RowChange(LOST, "lost", None, {"cause": self._lost})]

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
