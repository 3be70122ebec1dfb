"""Rollouts through a served world: the same episodes as in this process, graded on the other side."""

from collections.abc import Iterator
from contextlib import closing
from threading import Event

import pytest

from environments.episode import Attempt, Invalid, NoResult
from environments.fault import FaultKind
from environments.policies.scripted import CHEATERS, Gold
from environments.policy import Action
from environments.world import Rewindable, WorldFailure, WorldPool
from environments.worlds.remote import RemotePool, RemoteServer
from tests.environments.builders import Script
from tests.environments.faults.builders import GOLD, Shop, do, fault, played, shop_task
from tests.environments.serving import TOKEN, Serving, served_shop

TASKS = [
    shop_task(),
    shop_task(fault("lost_response", "refund"), gold=(*GOLD, GOLD[1])),
    shop_task(fault("double_delivery", "refund")),
    shop_task(fault("slow_call", "approve", size=9)),
    shop_task(fault("stale_read", "list_tickets"), gold=(*GOLD, do("list_tickets"))),
    shop_task(initial={"orders": ({"id": "A", "status": "paid", "amount": 99},)}),
]


@pytest.fixture(scope="module")
def shop() -> Iterator[Serving]:
    with served_shop(limit=12) as server:
        yield server


@pytest.fixture
def remote(shop: Serving) -> Iterator[RemoteServer]:
    server = RemoteServer(shop.url, TOKEN)
    yield server
    server.close()


def test_a_served_world_says_of_itself_what_the_world_says(remote: RemoteServer) -> None:
    here, there = Shop(), remote.session()
    assert (there.name, there.version, there.policy, there.units) == (here.name, here.version, here.policy, here.units)
    assert (there.today, list(there.refusal_codes)) == (here.today, list(here.refusal_codes))
    assert isinstance(there, Rewindable)
    assert [t.schema() for t in there.tools().values()] == [t.schema() for t in here.tools().values()]
    assert [t.effect for t in there.tools().values()] == [t.effect for t in here.tools().values()]
    assert there.tools()["refund"].required == ["order_id"]
    assert there.tools()["get_order"]({"order_id": "A"}) == here.tools()["get_order"]({"order_id": "A"})


@pytest.mark.parametrize("one_by_one", [True, False])
def test_episodes_through_a_served_world_are_those_of_this_process(remote: RemoteServer, one_by_one: bool) -> None:
    pool = WorldPool(remote.session) if one_by_one else RemotePool(remote)
    for policy in (Gold(), *(cheater() for cheater in CHEATERS)):
        there, here = played(TASKS, policy, pool=pool), played(TASKS, policy)
        assert [e.row() for e in there] == [e.row() for e in here]
    assert [e.row()["reward"] for e in played(TASKS, Gold(), pool=pool)] == [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]


class InLanes(Gold):
    """Holds nothing of a batch, so it is its own copy."""

    def beside(self) -> "InLanes":
        """For one more batch."""
        return self


def test_lanes_through_a_served_world_change_no_episode() -> None:
    tasks = TASKS * 12  # two lanes at least
    with served_shop(limit=len(tasks)) as server, closing(RemoteServer(server.url, TOKEN)) as remote:
        pool = RemotePool(remote)
        for _ in range(2):  # the second time in sessions that were used before
            there = played(tasks, InLanes(), pool=pool)
            assert [e.row() for e in there] == [e.row() for e in played(tasks, Gold())]


def test_a_pool_of_a_served_world_begins_and_does_not_wait(remote: RemoteServer) -> None:
    pool, asked = RemotePool(remote), Event()
    answered = pool.each(lambda _: asked.wait(10), range(3))
    asked.set()
    assert answered() == [True] * 3
    assert pool.lanes > 1


def test_after_a_reset_the_state_is_as_at_first(remote: RemoteServer) -> None:
    world = remote.session()
    seed = world.state_hash()
    for name, arguments in (("delete_order", {"order_id": "A"}), ("refund", {"order_id": "B"})):
        world.call(name, arguments)
    assert world.state_hash() != seed
    world.reset()
    assert (world.state_hash(), world.changes(), world.ledger()) == (seed, [], []) == (Shop().state_hash(), [], [])


def test_rows_shown_as_they_were_are_shown_for_a_block_only(remote: RemoteServer) -> None:
    world = remote.session()
    assert isinstance(world, Rewindable)
    seed = world.state_hash()
    with world.with_rows({("orders", "A"): None, ("orders", "B"): {"id": "B", "status": "lost", "amount": 2}}):
        assert world.call("get_order", {"order_id": "A"})["error"] == "unknown_order"
        assert world.call("get_order", {"order_id": "B"})["status"] == "lost"
    assert world.state_hash() == seed


def test_a_task_that_cannot_be_played_there_is_invalid_and_the_session_goes_on(remote: RemoteServer) -> None:
    [episode] = played([shop_task(fault(FaultKind.HOMONYM, "get_order"))], Gold(), pool=WorldPool(remote.session))
    assert isinstance(episode.verdict, Invalid)


def test_a_server_that_dies_gives_no_result_and_never_a_zero() -> None:
    class Killing(Script):
        """Kills the server before its second action."""

        def next(self, attempt: Attempt) -> Action:
            """The gold call that is due."""
            if attempt.steps:
                server.kill()
            return GOLD[len(attempt.steps)]

    with served_shop() as server, closing(RemoteServer(server.url, TOKEN)) as remote:
        [episode] = played([shop_task()], Killing(), pool=WorldPool(remote.session))
    assert isinstance(episode.verdict, NoResult)
    assert len(episode.steps) == 1


def test_too_many_sessions_a_wrong_token_and_no_server_are_each_named(shop: Serving, remote: RemoteServer) -> None:
    with pytest.raises(WorldFailure, match="all 12 sessions of world 'shop' are in use"):
        [remote.session() for _ in range(13)]
    with closing(RemoteServer(shop.url, "guess")) as server, pytest.raises(WorldFailure, match="need the token"):
        _ = server.described
    nobody = closing(RemoteServer("http://127.0.0.1:9", TOKEN))
    with nobody as server, pytest.raises(WorldFailure, match=r"127\.0\.0\.1:9"):
        server.session()
