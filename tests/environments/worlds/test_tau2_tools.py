"""What retail and airline share is one thing, and each shows it as its own."""

from pathlib import Path

import pytest

from environments.worlds.tau2_tasks import DOMAINS, tau2_tasks, world_of
from environments.worlds.tau2_world import Tau2World
from tests.environments.tau2_folders import small_tau2

BEFORE = {"airline": "send_certificate", "retail": "exchange_delivered_order_items"}
"""The tool behind which each domain shows the two that every domain has."""
NAMED = {
    "airline": ("update_reservation_baggages", {
        "reservation_id": "AAA111", "total_baggages": 1, "nonfree_baggages": 1, "payment_id": "x",
    }, "payment_id"),
    "retail": ("return_delivered_order_items", {
        "order_id": "#W2", "item_ids": [], "payment_method_id": "x",
    }, "payment_method_id"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_tau2(tmp_path_factory.mktemp("tau2"))


def test_the_tools_that_every_domain_has_are_the_same_functions() -> None:
    for name in ("calculate", "transfer_to_human_agents"):
        assert len({getattr(world.tools_class, name) for world in DOMAINS.values()}) == 1


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_domain_shows_them_at_its_own_place_and_writes_to_its_own_state(domain: str, folder: Path) -> None:
    world, other = world_of(domain)(folder), world_of(domain)(folder)
    names = list(world.tools())
    at = names.index(BEFORE[domain])
    assert names[at + 1 :] == ["calculate", "transfer_to_human_agents"]
    assert world.call("calculate", {"expression": "2 * (3 + 4)"}) == {"result": 14.0}
    assert world.call("transfer_to_human_agents", {"summary": "?"}) == {"status": "transferred"}
    assert (len(world.ledger()), len(other.ledger())) == (1, 0)


@pytest.mark.parametrize("domain", DOMAINS)
def test_an_unknown_payment_method_is_named_as_the_tool_names_it(domain: str, folder: Path) -> None:
    tool, arguments, argument = NAMED[domain]
    world: Tau2World = world_of(domain)(folder)
    assert world.call(tool, arguments) == {"error": "unknown_payment_method", argument: "x"}


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_tasks_of_a_domain_are_set_in_its_world(domain: str, folder: Path) -> None:
    taken = tau2_tasks(domain, folder)
    assert {task.world for task in taken.tasks} == {domain}
