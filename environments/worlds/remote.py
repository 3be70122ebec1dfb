"""A world served elsewhere, as a world for rollouts: calls go through MCP, grading through the owner's paths.

What a policy does reaches the tools by the door that every agent uses; what a verifier reads (changes, ledger, state
hash) comes from the side where the state is, with the owner's token. A request is never sent twice: after a lost
response nobody knows whether the call took effect, so the attempt has no result.

The requests are written here and not by an MCP client library: a rollout calls a thousand sessions from one thread, and
the library's client keeps an event loop, a background task and an open stream for each.

Source: Model Context Protocol, streamable HTTP; `environments.mcp` serves the other side.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, TypeVar

import httpx

from environments.fault import FaultKind, UnplayableTask
from environments.task import Task
from environments.tool import Effect, Tool
from environments.world import RowChange, SideEffect, Waited, World, WorldFailure, WorldPool

T = TypeVar("T")
PROTOCOL: Final = "2025-06-18"
_UNPLAYABLE: Final = 422
_ACCEPT: Final = {"Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class RemoteTool(Tool):
    """A tool whose signature stands in another process: known by its schema alone."""

    shown: Mapping[str, Any]
    """Name, description and parameters, as the other side gives them."""

    @property
    def description(self) -> str:
        """First line of the docstring on the other side."""
        return str(self.shown["description"])

    @property
    def required(self) -> list[str]:
        """Names of the arguments that have no default, in order."""
        return list(self.shown["parameters"].get("required", ()))

    def schema(self) -> dict[str, Any]:
        """The tool in the OpenAI function-calling format."""
        return {"type": "function", "function": dict(self.shown)}

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        """Run the tool where it is; it checks the arguments itself."""
        return self.function(arguments)


class RemoteServer:
    """A server of `loopwright serve`; opens the sessions that a `WorldPool` lends."""

    def __init__(self, url: str, token: str, *, timeout_s: float = 60.0) -> None:
        """Say where a world is served; nothing is asked yet.

        Args:
            url: of the server, without a path: `http://127.0.0.1:8000`.
            token: the owner's.
            timeout_s: longest wait for one response.
        """
        self.url = url.rstrip("/")
        self._owner = {"Authorization": f"Bearer {token}"}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=8)
        self._http = httpx.Client(base_url=self.url, timeout=timeout_s, limits=limits)
        self._numbers = itertools.count(1)
        self._sessions: list[str] = []

    @cached_property
    def described(self) -> dict[str, Any]:
        """What the world says of itself, asked once.

        Raises:
            WorldFailure: there is no such server, or the token is not its owner's.
        """
        found: dict[str, Any] = self.owner("GET", "/world").json()
        return found

    def session(self) -> "RemoteWorld":
        """Open a session.

        Raises:
            WorldFailure: the server is not there, or has no session left.
        """
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "loopwright", "version": "1"}}
        response = self.mcp({"method": "initialize", "params": hello, "id": next(self._numbers)}, {})
        result_in(response)
        session_id = response.headers["mcp-session-id"]
        self.mcp({"method": "notifications/initialized"}, headers_of(session_id))
        self._sessions.append(session_id)
        kind = RewindableRemoteWorld if self.described["rewindable"] else RemoteWorld
        return kind(self, session_id)

    def call(self, session_id: str, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool through MCP.

        Raises:
            WorldFailure: the world is broken, or no response came.
        """
        params = {"name": name, "arguments": dict(arguments)}
        asked = {"method": "tools/call", "params": params, "id": next(self._numbers)}
        result = result_in(self.mcp(asked, headers_of(session_id)))
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise WorldFailure(text)
        return json.loads(text)

    def mcp(self, message: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        """Send one message of MCP."""
        return self._send("POST", "/mcp", headers={**_ACCEPT, **headers}, json={"jsonrpc": "2.0", **message})

    def owner(self, method: str, path: str, body: str | None = None) -> httpx.Response:
        """Ask the owner's side.

        Raises:
            WorldFailure: no answer, or one that says the session is over or its world broken.
            UnplayableTask: the task in the body cannot be played.
        """
        return self._send(method, f"/owner{path}", headers=self._owner, content=body)

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **request)
        except httpx.HTTPError as error:
            raise WorldFailure(f"{self.url}{path}: {error or type(error).__name__}") from error
        if response.status_code == _UNPLAYABLE:
            raise UnplayableTask(response.json()["error"])
        if response.is_error:
            raise WorldFailure(f"{self.url}{path}: {response.status_code} {response.text[:300]}")
        return response

    def close(self) -> None:
        """End every session that was opened here; one that is over already, or a server that is gone, is left alone."""
        for session_id in self._sessions:
            try:
                self._send("DELETE", "/mcp", headers=headers_of(session_id))
            except WorldFailure:
                continue
        self._sessions.clear()
        self._http.close()


def headers_of(session_id: str) -> dict[str, str]:
    """What a message of a session carries."""
    return {"Mcp-Session-Id": session_id, "MCP-Protocol-Version": PROTOCOL}


def result_in(response: httpx.Response) -> dict[str, Any]:
    """The result in a response of MCP.

    Raises:
        WorldFailure: it holds an error, or is none.
    """
    try:
        body = response.json()
    except ValueError as error:
        raise WorldFailure(f"{response.url}: not a response of MCP: {response.text[:300]!r}") from error
    if "result" not in body:
        raise WorldFailure(f"{response.url}: {body.get('error', {}).get('message', body)}")
    result: dict[str, Any] = body["result"]
    return result


class RemoteWorld:
    """One session of a world served elsewhere; an `environments.world.World`."""

    def __init__(self, server: RemoteServer, session_id: str) -> None:
        """Use an open session; `RemoteServer.session` opens one."""
        self.server, self.session_id = server, session_id
        self.name, self.version = str(server.described["name"]), str(server.described["version"])
        self.policy: str = server.described["policy"]
        self.today: str = server.described["today"]
        self.refusal_codes: Sequence[str] = server.described["refusal_codes"]
        self.units: Mapping[str, str] = server.described["units"]
        self.fault_kinds = frozenset(map(FaultKind, server.described["fault_kinds"]))
        self._state: dict[str, Any] | None = None

    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, every one of them a call to the server."""
        found = {}
        for shown in self.server.described["tools"]:
            name, signature = shown["name"], {k: v for k, v in shown.items() if k != "effect"}
            found[name] = RemoteTool(name, Effect(shown["effect"]), partial(self.call, name), signature)
        return found

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one tool; refusals and unknown tools come back as data.

        Raises:
            WorldFailure: the world is broken, or no response came.
        """
        self._state = None
        return self.server.call(self.session_id, name, arguments)

    def reset(self) -> None:
        """Bring the state back to its start."""
        self._ask("POST", "/reset")

    def begin(self, task: Task) -> None:
        """Set the initial state of a task, right after a reset; changes count from here."""
        self._ask("POST", "/begin", task.model_dump_json())

    def state_hash(self) -> str:
        """Hash of the whole state; equal after every reset."""
        return str(self._read()["state_hash"])

    def changes(self) -> Sequence[RowChange]:
        """The rows that differ from what they were when the task began, by table and key."""
        return [RowChange(**change) for change in self._read()["changes"]]

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect since the reset, in order."""
        return [SideEffect(**effect) for effect in self._read()["ledger"]]

    def _read(self) -> dict[str, Any]:
        """The state, asked once between two calls."""
        if self._state is None:
            self._state = self._ask("GET", "").json()
        return self._state

    def _ask(self, method: str, path: str, body: str | None = None) -> httpx.Response:
        self._state = None
        return self.server.owner(method, f"/sessions/{self.session_id}{path}", body)


class RewindableRemoteWorld(RemoteWorld):
    """One that can also show rows as they were; an `environments.world.Rewindable`."""

    @contextmanager
    def with_rows(self, rows: Mapping[tuple[str, str], Mapping[str, Any] | None]) -> Iterator[None]:
        """For the length of a block, other rows by table and key (None: no such row)."""
        shown = [[table, key, row] for (table, key), row in rows.items()]
        self._ask("POST", "/rows", json.dumps({"rows": shown}))
        try:
            yield
        finally:
            self._ask("DELETE", "/rows")


class RemotePool(WorldPool):
    """Sessions of one server, asked side by side: while one waits for its response, the others' are on the way."""

    lanes = 4

    def __init__(self, server: RemoteServer, *, side_by_side: int = 16) -> None:
        """Lend the sessions of `server`, and keep up to `side_by_side` requests on the way."""
        super().__init__(server.session)
        self._threads = ThreadPoolExecutor(side_by_side, thread_name_prefix="remote-world")

    def each(self, act: Callable[..., T], *of: Iterable[Any]) -> Waited[T]:
        """Begin `act` on the parts of each attempt, side by side."""
        begun = [self._threads.submit(act, *parts) for parts in zip(*of, strict=True)]
        return lambda: [one.result() for one in begun]

    def settle(self, worlds: Sequence[World]) -> Waited[None]:
        """Ask for the end states; one that cannot be read says so when it is asked for alone."""
        return self.each(_read_if_possible, worlds)


def _read_if_possible(world: RemoteWorld) -> None:
    with suppress(WorldFailure):
        world.changes()


_OF_THE_CONTRACT: tuple[type[World], ...] = (RemoteWorld, RewindableRemoteWorld)
