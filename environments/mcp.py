"""Worlds over FastMCP: the same tools, schemas and observations as in direct calls, one isolated session per client.

An MCP session is a session of the world: lent at `initialize`, clean, and given back when the client ends it or has
been silent too long. Protocol versions without sessions are declined at discovery, so that a client which speaks both
kinds falls back to the handshake.

Source: Model Context Protocol, streamable HTTP; pipeline stage 5.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.resources import TextResource
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool as ListedTool
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequestParams,
    DiscoverRequest,
    DiscoverResult,
    InitializeRequest,
    InitializeResult,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.middleware import Middleware as Around
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from environments.owner import add_owner_routes
from environments.sessions import Session, Sessions, SessionsFull, UnknownSession
from environments.task import Task
from environments.tool import Effect, Tool, observation_text
from environments.world import World, WorldFailure

PATH = "/mcp"
POLICY_URI = "loopwright://policy"
TASK_URI = "loopwright://task"
_NO_SESSIONS = "this world keeps a state for each client: connect with MCP's initialize, which opens a session"


class Served(NamedTuple):
    """A world ready to be served."""

    app: ASGIApp
    sessions: Sessions


def served_world(
    make: Callable[[], World],
    *,
    task: Task | None = None,
    limit: int = 64,
    idle_s: float = 600.0,
    at_once: int = 1,
    token: str | None = None,
    local: bool = True,
) -> Served:
    """The ASGI application that serves a world.

    Args:
        make: opens a session of the world.
        task: what every session begins with, its faults and its tools alone among them; None for the world as it is.
        limit: most sessions at once; further clients are refused.
        idle_s: seconds without a request or an open stream after which a session is taken back.
        at_once: calls of different sessions that run side by side (`environments.sessions.Sessions`).
        token: lets its bearer read and set the state of sessions, on paths that no agent sees; None for nobody.
        local: answer only requests that name this machine, so that no web page reaches it through a browser.

    Raises:
        WorldFailure: the world is broken.
        UnplayableTask: the task cannot be played in it.
    """
    sessions = Sessions(make, task=task, limit=limit, at_once=at_once)
    world = sessions.world
    server = FastMCP(
        f"loopwright {world.name}",
        version=world.version,
        instructions=world.policy or None,
        middleware=[_Door(sessions)],
        tools=[listed(tool) for tool in sessions.tools],
    )
    if world.policy:
        server.add_resource(TextResource(uri=POLICY_URI, name="policy", text=world.policy, mime_type="text/markdown"))
    if task is not None:
        server.add_resource(TextResource(uri=TASK_URI, name="task", text=task.instruction, mime_type="text/plain"))
    if token is not None:
        add_owner_routes(server, sessions, token)
    app = server.http_app(
        path=PATH,
        json_response=True,
        session_idle_timeout=idle_s,
        middleware=[Around(_Gate, sessions=sessions)],
        host_origin_protection="auto" if local else False,
    )
    return Served(app, sessions)


def listed(tool: Tool) -> ListedTool:
    """A tool as MCP lists it: name, first line, exact schema and what calling it may do."""
    parameters = tool.schema()["function"]["parameters"]
    return ListedTool(
        name=tool.name, description=tool.description, parameters=parameters, annotations=annotations_of(tool)
    )


def annotations_of(tool: Tool) -> ToolAnnotations:
    """READ and WRITE in MCP's words; a WRITE that must carry an idempotency key may be sent again."""
    reads = tool.effect is Effect.READ
    return ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=not reads,
        idempotent_hint=reads or "idempotency_key" in tool.required,
        open_world_hint=False,
    )


class _Door(Middleware):
    """Where MCP's messages meet the sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def on_discover(
        self, context: MiddlewareContext[DiscoverRequest], call_next: CallNext[DiscoverRequest, Any]
    ) -> DiscoverResult | dict[str, Any]:
        """Offer the protocol versions that have sessions, and no others."""
        raise _needs_a_session()

    async def on_initialize(
        self,
        context: MiddlewareContext[InitializeRequest],
        call_next: CallNext[InitializeRequest, InitializeResult | None],
    ) -> InitializeResult | None:
        """Lend a session of the world for as long as the connection lasts."""
        connection = _connection_of(context)
        try:
            await self._sessions.open(connection.session_id)
        except SessionsFull as full:
            raise MCPError(code=INVALID_REQUEST, message=str(full)) from full
        except WorldFailure as failure:
            raise MCPError(code=INTERNAL_ERROR, message=f"the world is broken: {failure}") from failure
        connection.exit_stack.push_async_callback(self._sessions.close, connection.session_id)
        return await call_next(context)

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Call the tool in the client's own session; what it refuses is an ordinary result."""
        session, said = self._session_of(context), context.message
        try:
            observation = await session.call(said.name, said.arguments or {})
        except (WorldFailure, UnknownSession) as failure:
            raise ToolError(
                f"the world is broken, and nothing here says anything about the call: {failure}"
            ) from failure
        return ToolResult(content=[TextContent(type="text", text=observation_text(observation))])

    def _session_of(self, context: MiddlewareContext[Any]) -> Session:
        session_id = _connection_of(context).session_id
        if session_id is None:
            raise _needs_a_session()
        try:
            return self._sessions.of(session_id)
        except UnknownSession as unknown:
            raise MCPError(code=INVALID_REQUEST, message=str(unknown)) from unknown


def _connection_of(context: MiddlewareContext[Any]) -> Any:
    """The SDK's connection behind a message; its session object is made anew for each, the connection is not."""
    assert context.fastmcp_context is not None
    return context.fastmcp_context.session._connection


def _needs_a_session() -> MCPError:
    supported: Mapping[str, Any] = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": "without sessions"}
    return MCPError(code=UNSUPPORTED_PROTOCOL_VERSION, message=_NO_SESSIONS, data=supported)


class _Gate:
    """Turns clients away before anything is set up for them while every session is lent."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 503."""
        if scope["type"] == "http" and self._sessions.full and _opens(scope):
            error = {"code": INVALID_REQUEST, "message": self._sessions.full_line()}
            refusal = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 503, {"Retry-After": "5"})
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _opens(scope: Scope) -> bool:
    """Whether a request asks for a session; a discovery does not, and is let through to be declined."""
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    version = headers.get("mcp-protocol-version", HANDSHAKE_PROTOCOL_VERSIONS[-1])
    opens = scope["path"] == PATH and scope["method"] == "POST" and "mcp-session-id" not in headers
    return opens and version in HANDSHAKE_PROTOCOL_VERSIONS
