"""The brief form is pinned: the nano policy's results hold for these tools, observations and tasks."""

import hashlib
import json
from typing import Any

import pytest

from environments.task import Task
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld


def digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, ensure_ascii=False, sort_keys=True).encode(), digest_size=8).hexdigest()


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [task for split in ("train", "dev", "hidden") for task in fresh_tasks(60, split, 5)]  # type: ignore[arg-type]


def test_its_tools_and_their_schemas_are_what_they_were() -> None:
    world = AtlasWorld()
    assert world.name == "atlas"
    assert list(world.tools()) == [
        "map_search_places", "map_compute_routes", "travel_search_flights", "travel_search_trains",
        "weather_forecast_days", "travel_book_ticket",
    ]  # fmt: skip
    assert digest([tool.schema() for tool in world.tools().values()]) == "f2dc38055d6c5b3c"


def test_its_tasks_are_what_they_were(tasks: list[Task]) -> None:
    assert {task.world for task in tasks} == {"atlas"}
    assert digest([task.task_id for task in tasks]) == "8305dc1b7243ec2b"


def test_its_observations_are_what_they_were(tasks: list[Task]) -> None:
    world, seen = AtlasWorld(), []
    for task in tasks:
        world.reset()
        seen += [world.call(call.name, call.arguments) for call in task.gold_calls]
    assert len(seen) > 200
    assert digest(seen) == "9ea45e8cc66b1a52"
