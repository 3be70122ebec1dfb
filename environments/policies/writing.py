"""Policies that do the work and then write more than was asked for."""

from collections.abc import Iterator, Mapping
from typing import Any

from environments.episode import Attempt
from environments.policies.script import Cheater, GoldThen
from environments.policy import Action, Answer, Malformed
from environments.task import Call, Task
from environments.tool import Effect, Tool


class DuplicateWriter(Cheater):
    """Makes each write twice, as an agent does whose response was lost."""

    version = "duplicate-writer-1"
    sees_gold = True

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        """Know which of a world's tools write."""
        self.writes = writes_of(tools)

    def applies(self, task: Task) -> bool:
        """Where something is to be written, and the budget allows to do so twice; files hold the same afterwards."""
        if task.goal.graded_by_files:
            return False
        twice = [c for c in task.gold_calls if c.name in self.writes]
        return bool(twice) and len(task.gold_calls) + len(twice) <= task.max_calls

    def next(self, attempt: Attempt) -> Action:
        """The gold calls with each write doubled, then the gold answer."""
        plan = [c for call in attempt.task.gold_calls for c in [call] * (1 + (call.name in self.writes))]
        done = len(attempt.steps)
        return plan[done] if done < len(plan) else Answer(attempt.task.gold_answer)


class OverWriter(GoldThen):
    """Does all that was asked for and one write more, with what it has seen as arguments."""

    version = "over-writer-1"

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        """Know a world's tools."""
        self.tools = tools
        self.writes = writes_of(tools)

    def applies(self, task: Task) -> bool:
        """Where a tool that writes is on offer, and a call is left; files may be more than those asked for."""
        if task.goal.graded_by_files:
            return False
        return bool(self.writes & set(task.tools)) and len(task.gold_calls) < task.max_calls and bool(task.gold_calls)

    def after(self, attempt: Attempt) -> Action:
        """One write that was not asked for, then the gold answer; nothing where it has seen too little to write."""
        if len(attempt.steps) == len(attempt.task.gold_calls):
            for name in sorted(self.writes & set(attempt.task.tools)):
                if (call := self._unasked(name, attempt)) is not None:
                    return call
            return Malformed("nothing to write", "malformed")
        return Answer(attempt.task.gold_answer)

    def _unasked(self, name: str, attempt: Attempt) -> Call | None:
        """A call of `name` with arguments of the same names as were seen, other than any that was made."""
        made = [step.call for step in attempt.steps]
        known: dict[str, list[Any]] = {}
        for step in attempt.steps:
            for key, value in (*leaves(step.observation), *step.call.arguments.items()):
                known.setdefault(key, []).append(value)
        wanted = self.tools[name].required
        if any(n not in known for n in wanted):
            return None
        tries = (Call(name=name, arguments={n: known[n][i % len(known[n])] for n in wanted}) for i in range(-1, 6))
        return next((call for call in tries if call not in made), None)


def writes_of(tools: Mapping[str, Tool]) -> frozenset[str]:
    """Names of the tools that may change the state."""
    return frozenset(name for name, tool in tools.items() if tool.effect is Effect.WRITE)


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value in what a tool returned, with the name of its field."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, key)
    elif value is not None:
        yield key, value
