"""A world served to stock MCP clients: what they see, what they may do to each other, and what is left when they go."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import httpx
import pytest
from fastmcp import Client
from mcp.client.client import Client as PlainClient
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_MODERN_VERSION

from environments.episode import Scored
from environments.faults.wrapper import TIMEOUT, with_faults
from environments.mcp import POLICY_URI, listed
from environments.task import Call, Task
from environments.tool import Effect, observation_text
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import Script
from tests.environments.faults.builders import GOLD, Shop, do, fault, played, shop_task
from tests.environments.serving import ROOT, TOKEN, Serving, eventually, served_shop

CALLS = [
    *GOLD,
    do("list_orders"),
    do("list_tickets"),
    do("get_order", order_id="Z"),
    do("get_order", order_id=7),
    do("refund", order_id="B", idempotency_key="k1", more=1),
    do("set_status", order_id="B", status="送达 “ok” \u2028"),
    do("get_order", order_id="B"),
    do("sell_everything", now=True),
]
"""Reads, writes, refusals, arguments that do not fit, and a tool that is not there."""
FAULTS = (
    fault("lost_response", "refund"),
    fault("double_delivery", "approve"),
    fault("partial_page", "list_orders", size=2),
    fault("stale_read", "get_order", size=1),
)


@pytest.fixture(scope="module")
def shop() -> Iterator[Serving]:
    with served_shop(limit=20, idle_s=60) as server:
        yield server


def direct(calls: Sequence[Call], task: Task | None = None) -> list[str]:
    """What a policy reads when it calls the tools directly."""
    shop = Shop()
    shop.begin(task or shop_task())
    world = with_faults(shop, task.faults) if task else shop
    return [observation_text(world.call(c.name, c.arguments)) for c in calls]


async def over_mcp(client: Any, calls: Sequence[Call]) -> list[str]:
    """What an MCP client reads."""
    results = [await client.call_tool(c.name, c.arguments) for c in calls]
    assert not any(r.is_error for r in results), "a refusal is an ordinary result"
    return [r.content[0].text for r in results]


def owner(server: Serving, path: str = "") -> Any:
    """What the owner reads."""
    return httpx.get(f"{server.url}/owner/sessions{path}", headers={"Authorization": f"Bearer {TOKEN}"}).json()


def test_a_stock_client_sees_the_tools_with_our_schemas_and_marks(shop: Serving) -> None:
    async def seen() -> list[Any]:
        async with Client(shop.mcp) as client:
            return await client.list_tools()

    tools = Shop().tools()
    found = {t.name: t for t in asyncio.run(seen())}
    assert list(found) == list(tools)
    for name, tool in tools.items():
        function, marks = tool.schema()["function"], found[name].annotations
        assert (found[name].description, found[name].input_schema) == (function["description"], function["parameters"])
        reads = tool.effect is Effect.READ
        assert (marks.read_only_hint, marks.destructive_hint, marks.idempotent_hint) == (reads, not reads, reads)


def test_every_tool_of_atlas_is_listed_with_its_exact_schema() -> None:
    for tool in AtlasWorld().tools().values():
        assert listed(tool).to_mcp_tool().input_schema == tool.schema()["function"]["parameters"]


@pytest.mark.parametrize("kind", [Client, PlainClient])
def test_direct_calls_and_calls_of_either_client_read_the_same_bytes(shop: Serving, kind: Any) -> None:
    async def read() -> list[str]:
        async with kind(shop.mcp) as client:
            return await over_mcp(client, CALLS)

    assert asyncio.run(read()) == direct(CALLS)


def test_so_do_they_when_the_task_makes_calls_go_wrong() -> None:
    task = shop_task(*FAULTS, max_calls=len(CALLS))
    with served_shop(task=task.model_dump_json()) as server:

        async def read() -> list[list[str]]:
            async with Client(server.mcp) as one, Client(server.mcp) as other:
                assert (await one.read_resource("loopwright://task"))[0].text == task.instruction
                return [await over_mcp(client, CALLS) for client in (one, other)]

        texts = direct(CALLS, task)
        assert observation_text(TIMEOUT) in texts
        assert asyncio.run(read()) == [texts, texts]


def test_a_session_of_a_task_offers_its_tools_alone() -> None:
    task = shop_task().model_copy(update={"tools": ("refund", "approve")})
    with served_shop(task=task.model_dump_json()) as server:

        async def read() -> tuple[list[str], list[str]]:
            async with Client(server.mcp) as client:
                return [t.name for t in await client.list_tools()], await over_mcp(client, [do("list_orders"), GOLD[0]])

        names, texts = asyncio.run(read())
    assert (names, texts) == (["refund", "approve"], ['{"error": "unknown_tool"}', '{"approved": "A"}'])


ASKED = [do("list_orders"), do("fly"), do("refund", order_id="Z"), *GOLD, do("list_tickets")]


@pytest.mark.parametrize(
    ("task", "carried_out"),
    [
        (shop_task(max_calls=4), 4),
        (shop_task(max_calls=len(ASKED)), len(ASKED)),
        (shop_task(fault("slow_call", "approve", size=3), max_calls=5), 4),
    ],
    ids=["too few calls", "as many as are needed", "time that runs out during a slow call"],
)
def test_a_tasks_limit_on_calls_ends_a_session_where_it_ends_a_rollout(task: Task, carried_out: int) -> None:
    [here] = played([task], Script(*ASKED, "done."))
    assert isinstance(here.verdict, Scored)
    with served_shop(task=task.model_dump_json()) as server:

        async def read() -> tuple[list[str], Any]:
            async with Client(server.mcp) as client:
                return await over_mcp(client, ASKED), owner(server, f"/{owner(server)['open'][0]}")

        texts, left = asyncio.run(read())
    seen = [observation_text(step.observation) for step in here.steps]
    beyond = observation_text({"error": here.ended, "detail": here.verdict.evidence})
    assert (texts, len(seen)) == ([*seen, *[beyond] * (len(ASKED) - len(seen))], carried_out)
    assert left["steps"] == [[s.call.name, s.call.arguments, s.observation] for s in here.steps]
    assert left["ended"] == (None if carried_out == len(ASKED) else "budget")


def test_sixteen_clients_at_once_write_and_read_nothing_but_their_own(shop: Serving) -> None:
    async def play(number: int) -> list[str]:
        async with Client(shop.mcp) as client:
            writes = [do("set_status", order_id="A", status=f"of {number}")] + [do("refund", order_id="B")] * (
                number % 5
            )
            await over_mcp(client, writes)
            return await over_mcp(client, [do("get_order", order_id="A"), do("list_tickets")])

    async def all_at_once() -> list[list[str]]:
        return await asyncio.gather(*map(play, range(16)))

    for number, (order, tickets) in enumerate(asyncio.run(all_at_once())):
        assert json.loads(order)["status"] == f"of {number}"
        assert json.loads(tickets)["count"] == number % 5


def test_calls_that_one_client_sends_side_by_side_are_each_carried_out_once(shop: Serving) -> None:
    async def read() -> list[int]:
        async with Client(shop.mcp) as client:
            found = await asyncio.gather(*(over_mcp(client, [do("refund", order_id="A")]) for _ in range(12)))
            return sorted(json.loads(text)["ticket"] for text in chain(*found))

    assert asyncio.run(read()) == list(range(1, 13))


def test_one_client_too_many_is_refused_in_one_line_and_let_in_when_another_has_gone() -> None:
    with served_shop(limit=1) as server:

        async def crowd() -> list[str]:
            async with Client(server.mcp) as client:
                await over_mcp(client, GOLD)
                with pytest.raises(MCPError, match="all 1 sessions of world 'shop' are in use"):
                    async with Client(server.mcp):
                        pass
                assert await over_mcp(client, [do("list_tickets")])
            async with PlainClient(server.mcp) as client:
                return await over_mcp(client, [do("list_tickets")])

        assert json.loads(asyncio.run(crowd())[0])["count"] == 0, "a session comes back clean"


def test_a_client_that_insists_on_a_protocol_without_sessions_is_told_why_not(shop: Serving) -> None:
    async def insist() -> None:
        async with PlainClient(shop.mcp, mode=LATEST_MODERN_VERSION) as client:
            await client.call_tool("list_orders", {})

    with pytest.raises(BaseExceptionGroup) as raised:
        asyncio.run(insist())
    assert raised.group_contains(MCPError, match="keeps a state for each client")


def test_the_session_of_a_killed_client_is_taken_back_and_its_end_state_stays_readable() -> None:
    played = (
        "import asyncio, sys\nfrom fastmcp import Client\n"
        "async def main():\n async with Client(sys.argv[1]) as c:\n"
        "  await c.call_tool('refund', {'order_id': 'A'})\n  print('written', flush=True)\n  await asyncio.sleep(600)\n"
        "asyncio.run(main())"
    )
    with served_shop(limit=1, idle_s=2) as server:
        client = subprocess.Popen(
            [sys.executable, "-c", played, server.mcp], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        with client:
            assert client.stdout is not None
            assert client.stdout.readline() == "written\n"
            [session] = owner(server)["open"]
            client.kill()
        assert eventually(lambda: owner(server)["open"] == [])
        left = owner(server, f"/{session}")
        assert (left["over"], left["calls"], [c["table"] for c in left["changes"]]) == (True, 1, ["ticket"])

        async def after() -> list[str]:
            async with Client(server.mcp) as client:
                [fresh] = owner(server)["open"]
                assert owner(server, f"/{fresh}")["state_hash"] == Shop().state_hash()
                return await over_mcp(client, [do("list_tickets")])

        assert json.loads(asyncio.run(after())[0])["count"] == 0


def test_the_owners_side_is_closed_without_the_token_and_no_tool_leads_there(shop: Serving) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
        for path in ("world", "sessions", "sessions/x"):
            assert httpx.get(f"{shop.url}/owner/{path}", headers=headers).status_code == 401
    assert httpx.get(f"{shop.url}/owner/sessions/x", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 404


def test_a_web_page_that_names_another_host_is_not_answered(shop: Serving) -> None:
    response = httpx.post(shop.mcp, headers={"Host": "evil.example", "Origin": "http://evil.example"}, json={})
    assert response.is_client_error


def test_a_policy_document_is_a_resource() -> None:
    from environments.mcp import served_world

    class Strict(Shop):
        policy = "Never refund twice."

    async def read() -> tuple[str | None, str]:
        app: Any = served_world(Strict).app
        async with Client(app.state.fastmcp_server, mode="legacy") as client:
            text = (await client.read_resource(POLICY_URI))[0].text
            return client.initialize_result.instructions, text

    assert asyncio.run(read()) == ("Never refund twice.", "Never refund twice.")
