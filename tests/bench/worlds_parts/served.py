"""A world served for a bench, and many clients of it at once."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from environments.worlds.remote import RemoteServer

ROOT = Path(__file__).parents[3]
ADDRESS = {"address2": "", "city": "Austin", "state": "TX", "country": "USA", "zip": "78712"}
USER = "yusuf_rossi_9620"


class Server(NamedTuple):
    """A server that runs."""

    url: str
    token: str


@contextmanager
def served(world: str, folder: Path | None, sessions: int) -> Iterator[Server]:
    """`loopwright serve` for the length of a block."""
    with tempfile.TemporaryDirectory() as place:
        token = Path(place) / "token"
        program = "from dagster_project.commands import app; app()"
        command = [sys.executable, "-c", program, "serve", world, "--port", "0", "--sessions", str(sessions)]
        command += ["--owner-token", str(token), *(["--folder", str(folder)] if folder else [])]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                url = next(word for word in line.split() if word.startswith("http://"))
                yield Server(url.removesuffix(":").removesuffix("/mcp"), token.read_text(encoding="utf-8").strip())
            finally:
                process.terminate()


class Crowd(NamedTuple):
    """What many clients at once found."""

    calls: int
    seconds: float
    cross_reads: int
    unclean: int
    """Sessions whose state hash after a reset is not that of a fresh one."""


def crowd(server: Server, clients: int, rounds: int) -> Crowd:
    """Stock clients that all write to the same customer of retail and read it back, each in its own session."""
    return asyncio.run(_crowd(server, clients, rounds))


async def _crowd(server: Server, clients: int, rounds: int) -> Crowd:
    from fastmcp import Client

    async def play(number: int, client: Any) -> int:
        wrong = 0
        for turn in range(rounds):
            own = f"{turn} Street of {number}"
            await client.call_tool("modify_user_address", {"user_id": USER, "address1": own, **ADDRESS})
            read = json.loads((await client.call_tool("get_user_details", {"user_id": USER})).content[0].text)
            wrong += read["address"]["address1"] != own
        return wrong

    entered = [Client(f"{server.url}/mcp") for _ in range(clients)]
    await asyncio.gather(*(client.__aenter__() for client in entered))
    try:
        started = time.perf_counter()
        wrong = await asyncio.gather(*(play(n, client) for n, client in enumerate(entered)))
        seconds = time.perf_counter() - started
        unclean = await asyncio.to_thread(_unclean, server)
    finally:
        await asyncio.gather(*(client.__aexit__(None, None, None) for client in entered))
    return Crowd(clients * rounds * 2, seconds, sum(wrong), unclean)


def _unclean(server: Server) -> int:
    """Reset every open session, and count those that are not as at first."""
    remote = RemoteServer(server.url, server.token)
    try:
        sessions = remote.owner("GET", "/sessions").json()["open"]
        first = remote.session()
        first.reset()
        seed = first.state_hash()
        for session in sessions:
            remote.owner("POST", f"/sessions/{session}/reset")
        return sum(remote.owner("GET", f"/sessions/{s}").json()["state_hash"] != seed for s in sessions)
    finally:
        remote.close()
