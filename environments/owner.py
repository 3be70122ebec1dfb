"""The owner's side of a served world: paths by which the bearer of a token sets and reads the state of sessions.

Agents come in through MCP and see tools only; what grades them (changes, ledger, state hash) is read here, on the side
where the state is.
"""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Final

from fastmcp import FastMCP
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from environments.fault import UnplayableTask
from environments.sessions import EndState, Session, Sessions, UnknownSession
from environments.task import Task
from environments.world import Rewindable, World, WorldFailure

ROOT: Final = "/owner"
GONE, BROKEN, UNPLAYABLE, WRONG = 404, 502, 422, 400
"""Status of a request about a session that is over, whose world is broken, whose task cannot be played; and of one
that cannot be read."""
_DONE = Response(status_code=204)
_Handler = Callable[[Request], Awaitable[Response]]


class Rows(BaseModel):
    """Rows by table and key for `with_rows`."""

    rows: list[tuple[str, str, dict[str, Any] | None]]


def add_owner_routes(server: FastMCP, sessions: Sessions, token: str) -> None:
    """Add the owner's paths to a server."""
    owner = _Owner(sessions)
    for path, method, handler in (
        ("/world", "GET", owner.world),
        ("/sessions", "GET", owner.listing),
        ("/sessions/{session}", "GET", owner.state),
        ("/sessions/{session}/reset", "POST", owner.reset),
        ("/sessions/{session}/begin", "POST", owner.begin),
        ("/sessions/{session}/rows", "POST", owner.rewind),
        ("/sessions/{session}/rows", "DELETE", owner.restore),
    ):
        server.custom_route(ROOT + path, [method], include_in_schema=False)(_guarded(handler, token))


def _guarded(handler: _Handler, token: str) -> _Handler:
    """The handler for the bearer of the token; others get 401, and what goes wrong its status and one line."""
    expected = f"Bearer {token}".encode()

    async def guarded(request: Request) -> Response:
        """Check the token first."""
        if not hmac.compare_digest(request.headers.get("authorization", "").encode(), expected):
            return _problem(401, "the owner's paths need the token that the server was started with")
        try:
            return await handler(request)
        except UnknownSession as unknown:
            return _problem(GONE, str(unknown))
        except WorldFailure as failure:
            return _problem(BROKEN, str(failure))
        except UnplayableTask as unplayable:
            return _problem(UNPLAYABLE, str(unplayable))
        except ValidationError as wrong:
            return _problem(WRONG, str(wrong))

    return guarded


def _problem(status: int, line: str) -> Response:
    return JSONResponse({"error": line}, status)


def as_json(state: EndState) -> dict[str, Any]:
    """A state as the owner reads it."""
    return {
        "changes": [change._asdict() for change in state.changes],
        "ledger": [asdict(effect) for effect in state.ledger],
        "state_hash": state.state_hash,
        "calls": state.calls,
        "failure": state.failure,
        "over": state.over,
        "ended": state.ended,
        "steps": [[step.call.name, step.call.arguments, step.observation] for step in state.steps],
    }


def description_of(world: World) -> dict[str, Any]:
    """What a world says of itself."""
    return {
        "name": world.name,
        "version": world.version,
        "policy": world.policy,
        "today": world.today,
        "refusal_codes": list(world.refusal_codes),
        "units": dict(world.units),
        "fault_kinds": sorted(getattr(world, "fault_kinds", ())),
        "rewindable": isinstance(world, Rewindable),
        "tools": [{**tool.schema()["function"], "effect": tool.effect} for tool in world.tools().values()],
    }


class _Owner:
    """The handlers."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def _session(self, request: Request) -> Session:
        return self._sessions.of(request.path_params["session"])

    async def world(self, request: Request) -> Response:
        """What the world is."""
        return JSONResponse(description_of(self._sessions.world))

    async def listing(self, request: Request) -> Response:
        """The sessions that are open, and those whose end is known, oldest first."""
        known = {"open": self._sessions.ids(), "ended": self._sessions.ended()}
        return JSONResponse({**known, "limit": self._sessions.limit})

    async def state(self, request: Request) -> Response:
        """The state of a session, or that in which its client left it."""
        return JSONResponse(as_json(await self._sessions.state(request.path_params["session"])))

    async def reset(self, request: Request) -> Response:
        """Bring a session back to its start."""
        session = self._session(request)
        await session.on_world(session.world.reset)
        session.start_again()
        return _DONE

    async def begin(self, request: Request) -> Response:
        """Set the initial state of the task in the body, with every tool; faults and limit are for its rollout."""
        task = Task.model_validate_json(await request.body())
        session = self._session(request)
        session.world, session.offered, session.task = session.lent, frozenset(session.lent.tools()), None
        await session.on_world(session.lent.begin, task)
        session.start_again()
        return _DONE

    async def rewind(self, request: Request) -> Response:
        """Show other rows until they are restored."""
        session, wanted = self._session(request), Rows.model_validate_json(await request.body())
        if not isinstance(session.lent, Rewindable) or session.shown is not None:
            return _problem(WRONG, "the world cannot show rows as they were, or shows some already: restore them first")
        block = session.lent.with_rows({(table, key): row for table, key, row in wanted.rows})
        await session.on_world(block.__enter__)
        session.shown = block
        return _DONE

    async def restore(self, request: Request) -> Response:
        """End what `rewind` began."""
        session = self._session(request)
        if session.shown is None:
            return _problem(WRONG, "no other rows are shown")
        block, session.shown = session.shown, None
        await session.on_world(block.__exit__, None, None, None)
        return _DONE
