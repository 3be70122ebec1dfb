"""Worlds by name."""

from pathlib import Path

import pytest

from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.catalogue import world_maker


def test_shipped_worlds_are_found_by_name() -> None:
    world = world_maker("atlas")()
    assert isinstance(world, AtlasWorld)
    assert world.name == "atlas"


def test_other_packages_offer_worlds_as_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = tmp_path / "toy_worlds-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-worlds\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[loopwright.worlds]\nmars = toy_mars:Mars\n")
    source = "from environments.worlds.atlas.world import AtlasWorld\nclass Mars(AtlasWorld):\n    name = 'mars'\n"
    (tmp_path / "toy_mars.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    assert world_maker("mars")().name == "mars"
    with pytest.raises(ValueError, match="there are: atlas, mars, workspace"):
        world_maker("venus")


def test_an_unknown_world_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no world named 'mars'; there are: .*atlas.*loopwright\.worlds"):
        world_maker("mars")
