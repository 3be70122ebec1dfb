"""Whatever is called in the worlds read from tau2, nothing breaks, and a reset brings the start back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.tool import Effect
from environments.world import World
from environments.worlds.catalogue import world_maker
from tests.environments.tau2_folders import airline_tasks, shop_tasks, small_tau2

WORDS = st.sampled_from(
    ["#W1", "#W2", "#W4", "101", "102", "201", "gift_card_7", "credit_card_1", "ada_byron_1001", "no longer needed",
     "AAA111", "HAT901", "BOS", "JFK", "SEA", "2024-05-20", "economy", "business", "yes", "no", "", "1 + 1"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.one_of(WORDS, st.lists(WORDS, max_size=2), st.integers(-1, 60), st.none())
SOUND = {
    name: [(a["name"], a["arguments"]) for raw in tasks for a in raw["evaluation_criteria"]["actions"]]
    for name, tasks in (("retail", shop_tasks()), ("airline", airline_tasks()))
}
Walk = Sequence[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_tau2(tmp_path_factory.mktemp("tau2"))


def walks(world: World, name: str) -> st.SearchStrategy[Walk]:
    """Calls that make sense among calls of any tool with any arguments."""
    any_call = st.sampled_from(sorted(world.tools())).flatmap(
        lambda tool: st.tuples(
            st.just(tool), st.fixed_dictionaries(dict.fromkeys(world.tools()[tool].arguments.model_fields, VALUES))
        )
    )
    return st.lists(st.one_of(any_call, st.sampled_from(SOUND[name])), max_size=8)


@pytest.mark.parametrize("name", ["retail", "airline"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_calls_come_back_as_data_and_leave_nothing_behind_a_reset(
    name: str, data: st.DataObject, folder: Path
) -> None:
    maker = world_maker(name, folder=folder)
    world, other = maker(), maker()
    start, walk = world.state_hash(), data.draw(walks(world, name))
    shown = []
    for tool, arguments in walk:
        before, written = world.state_hash(), len(world.ledger())
        shown.append(json.dumps(world.call(tool, arguments)))
        if world.tools()[tool].effect is Effect.READ or '"error"' in shown[-1]:
            assert world.state_hash() == before
        assert len(world.ledger()) >= written
    end = world.state_hash()
    assert other.state_hash() == start, "sessions are apart"
    assert [json.dumps(other.call(tool, arguments)) for tool, arguments in walk] == shown
    assert other.state_hash() == end
    world.reset()
    assert (world.state_hash(), list(world.ledger())) == (start, [])
