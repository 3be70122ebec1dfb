"""Sessions of a world that others play in: each lent to one client, bounded in number, clean when lent again.

Knows nothing of how clients come in (`environments.mcp`). Calls of one session run one after the other in the order in
which they arrive; how many of different sessions run side by side is the server's choice.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

import anyio
from anyio import to_thread

from environments import call_limit
from environments.episode import Step
from environments.fault import UnplayableTask
from environments.faults.wrapper import with_faults
from environments.task import Call, Task
from environments.tool import Tool
from environments.world import RowChange, SideEffect, World, WorldFailure, WorldPool

P = ParamSpec("P")
T = TypeVar("T")


class SessionsFull(RuntimeError):
    """Every session is lent; the message says what to do."""


class UnknownSession(LookupError):
    """There is no such session, or it is over."""


@dataclass(frozen=True, slots=True)
class EndState:
    """What a verifier reads of a session, now or after its client has gone."""

    changes: Sequence[RowChange]
    ledger: Sequence[SideEffect]
    state_hash: str
    calls: int
    failure: str | None
    """Why the world broke; None where it did not."""
    over: bool
    steps: Sequence[Step] = ()
    """Every call that was carried out or refused, in order, with what came back."""
    ended: str | None = None
    """`budget` where the client asked for more calls than the session's task allows."""


@dataclass(slots=True)
class Session:
    """One client's world."""

    world: World
    """With the task's faults on the way to it, where it has any."""
    lent: World
    offered: frozenset[str]
    threads: anyio.CapacityLimiter
    """Shared by all sessions of a server."""
    task: Task | None = None
    """Whose limit on calls holds; None where none does."""
    failure: str | None = None
    over: bool = False
    shown: AbstractContextManager[None] | None = None
    """Ends the showing of other rows (`Rewindable.with_rows`), where it goes on."""
    steps: list[Step] = field(default_factory=list)
    ended: str | None = None
    _turn: anyio.Lock = field(default_factory=anyio.Lock)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one tool; refusals, tools that are not on offer and calls beyond the limit come back as data.

        Raises:
            WorldFailure: the world is broken, now or since an earlier call.
            UnknownSession: the session is over.
        """
        return await self.on_world(self._answer, name, arguments)

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """What a rollout in this process would do with the call; nobody else's turn meanwhile."""
        if self.ended is None and self._used() >= self._limit():
            self.ended = call_limit.ENDED
        if self.ended is not None and self.task is not None:
            return call_limit.beyond(self.task)
        offered = name in self.offered
        observation = self.world.call(name, arguments) if offered else {"error": "unknown_tool"}
        self.steps.append(Step(Call(name=name, arguments=dict(arguments)), observation))
        if self._used() > self._limit():  # the time ran out during a slow call
            self.ended = call_limit.ENDED
        return observation

    def _used(self) -> int:
        return call_limit.used(self.steps, self.world)

    def _limit(self) -> float:
        return math.inf if self.task is None else self.task.max_calls

    def start_again(self) -> None:
        """Forget what was called: the world was brought back to its start."""
        self.steps, self.ended = [], None

    async def on_world(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a method of the world when it is this call's turn; whatever it raises, the world counts as broken.

        Raises:
            WorldFailure: the world is broken, now or since an earlier call.
            UnknownSession: the session is over.
            UnplayableTask: where that is what was asked of it; the world stays whole.
        """
        async with self._turn:
            if self.over:
                raise UnknownSession("the session is over")
            if self.failure is not None:
                raise WorldFailure(self.failure)
            self.failure = f"{function.__name__} broke off"
            try:
                with anyio.CancelScope(shield=True):  # a client that hangs up leaves no half-done call
                    done = await to_thread.run_sync(lambda: function(*args, **kwargs), limiter=self.threads)
            except WorldFailure as error:
                self.failure = str(error)
                raise
            except UnplayableTask:
                self.failure = None
                raise
            self.failure = None
            return done

    def state(self) -> EndState:
        """The state of the world, which is whole; call it by `on_world`."""
        world = self.lent
        told = (world.changes(), world.ledger(), world.state_hash(), len(self.steps), None, self.over)
        return EndState(*told, steps=tuple(self.steps), ended=self.ended)


class Sessions:
    """The sessions of one served world."""

    def __init__(
        self, make: Callable[[], World], *, task: Task | None = None, limit: int = 64, at_once: int = 1
    ) -> None:
        """Open one session and look whether the task can be played in it.

        Args:
            make: opens a session of the world.
            task: what every session begins with; None for the world as it is.
            limit: most sessions at once; the end states of as many are kept.
            at_once: calls of different sessions that run side by side. Rollouts in this process run one at a time, so
                no world has to bear more; one whose calls wait for something outside gains by it.

        Raises:
            WorldFailure: the world is broken.
            UnplayableTask: the task cannot be played in it.
        """
        self.task, self.limit = task, limit
        self._pool = WorldPool(make)
        self._lending = anyio.Lock()
        self._threads = anyio.CapacityLimiter(at_once)
        self._opening = 0
        self._open: dict[str, Session] = {}
        self._ended: OrderedDict[str, EndState] = OrderedDict()
        first = self._lend()
        self.world = first.lent
        """Says of all sessions what their world is: name, version, policy, units; its state is somebody else's."""
        self.tools = _in_order(first.lent.tools(), task)
        self._pool.give_back(first.lent)

    @property
    def full(self) -> bool:
        """Whether no further session can be opened now."""
        return len(self._open) + self._opening >= self.limit

    def full_line(self) -> str:
        """What a client is told that finds every session lent."""
        return f"all {self.limit} sessions of world {self.world.name!r} are in use: end one, or try again later"

    async def open(self, session_id: str) -> Session:
        """Lend a clean session, in the initial state of the task.

        Raises:
            SessionsFull: there are as many as may be.
            WorldFailure: the world is broken.
        """
        if self.full:
            raise SessionsFull(self.full_line())
        self._opening += 1
        try:
            async with self._lending:
                session = await to_thread.run_sync(self._lend, limiter=self._threads)
        finally:
            self._opening -= 1
        self._open[session_id] = session
        return session

    def of(self, session_id: str | None) -> Session:
        """The open session of a client.

        Raises:
            UnknownSession: there is none.
        """
        found = self._open.get(session_id or "")
        if found is None:
            raise UnknownSession(f"no open session {session_id!r}; a session begins with MCP's initialize")
        return found

    def ids(self) -> list[str]:
        """The open sessions, oldest first."""
        return list(self._open)

    def ended(self) -> list[str]:
        """The sessions that are over and whose end is still known, oldest first."""
        return list(self._ended)

    async def state(self, session_id: str) -> EndState:
        """The state of a session, or that in which its client left it.

        Raises:
            UnknownSession: there is none, or it ended too long ago.
            WorldFailure: the world is broken.
        """
        if session_id in self._ended:
            return self._ended[session_id]
        session = self.of(session_id)
        return await session.on_world(session.state)

    async def close(self, session_id: str) -> None:
        """Take a session back; nothing happens where it is not open. A broken world is never lent again."""
        session = self._open.pop(session_id, None)
        if session is None:
            return
        try:
            state = await session.on_world(session.state)
        except WorldFailure as failure:
            state = EndState((), (), "", len(session.steps), str(failure), True, tuple(session.steps), session.ended)
        else:
            state = replace(state, failure=None, over=True)
            self._pool.give_back(session.lent)
        session.over = True
        self._ended[session_id] = state
        while len(self._ended) > self.limit:
            self._ended.popitem(last=False)

    def _lend(self) -> Session:
        lent = self._pool.lend()
        world, offered = lent, frozenset(lent.tools())
        if self.task is not None:
            lent.begin(self.task)
            world = with_faults(lent, self.task.faults) if self.task.faults else lent
            offered &= frozenset(self.task.tools)
        return Session(world, lent, offered, self._threads, self.task)


def _in_order(tools: Mapping[str, Tool], task: Task | None) -> list[Tool]:
    """The tools on offer in the order in which they are shown: the task's, where there is one."""
    return [tools[name] for name in (tools if task is None else task.tools) if name in tools]
