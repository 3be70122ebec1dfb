"""Worlds by name."""

import pytest

from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.catalogue import world_maker


def test_shipped_worlds_are_found_by_name() -> None:
    world = world_maker("atlas")()
    assert isinstance(world, AtlasWorld)
    assert world.name == "atlas"


def test_an_unknown_world_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no world named 'mars'; there are: .*atlas.*loopwright\.worlds"):
        world_maker("mars")
