"""Worlds by name."""

import pickle
from pathlib import Path

import pytest

from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.catalogue import world_maker
from tests.environments.places_folder import small_places
from tests.environments.tau2_folders import small_tau2


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
    with pytest.raises(ValueError, match=r"there are: .*atlas, .*desk, .*mars, .*workspace"):
        world_maker("venus")


def test_an_unknown_world_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no world named 'mars'; there are: .*atlas.*loopwright\.worlds"):
        world_maker("mars")


def test_atlas_has_a_full_form_and_one_over_a_folder_of_places(tmp_path: Path) -> None:
    assert (world_maker("atlas_full")().name, len(world_maker("atlas_full")().tools())) == ("atlas_full", 11)
    with pytest.raises(ValueError, match=r"'atlas_places' is read from a folder.*attraction_db.json.*CrossWOZ"):
        world_maker("atlas_places")
    with pytest.raises(FileNotFoundError, match=r"lacks attraction_db.json, .*taxi_db.json"):
        world_maker("atlas_places", folder=tmp_path)()
    made = pickle.loads(pickle.dumps(world_maker("atlas_places", folder=small_places(tmp_path))))()
    assert made.name == "atlas_places"


@pytest.mark.parametrize("name", ["airline", "retail"])
@pytest.mark.parametrize("under", ["", "tasks/tau2", "data/tau2/domains"])
def test_a_world_of_a_tau2_folder_is_found_wherever_tau2_lies_in_it(tmp_path: Path, name: str, under: str) -> None:
    small_tau2(tmp_path / under)
    world = world_maker(name, folder=tmp_path)()
    assert (world.name, world.policy.splitlines()[0]) == (name, f"# The policy of the {name}")
    own = world_maker(name, folder=tmp_path / under / name)()
    assert (own.version, own.state_hash()) == (world.version, world.state_hash())
    renamed = (tmp_path / under / name).rename(tmp_path / "exported")
    assert world_maker(name, folder=renamed)().state_hash() == world.state_hash()


def test_a_world_that_needs_a_folder_says_how_to_give_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tau2_folder in the profile or LOOPWRIGHT_TAU2.*checkout of tau2-bench"):
        world_maker("retail")
    with pytest.raises(FileNotFoundError, match=r"holds no tau2 domain 'retail'.*checkout of tau2-bench"):
        world_maker("retail", folder=tmp_path)
    small_tau2(tmp_path)
    (tmp_path / "retail/db.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"db.json is missing.*git lfs pull"):
        world_maker("retail", folder=tmp_path)
    (tmp_path / "airline/db.json").write_text('{"users": {}}')
    with pytest.raises(ValueError, match="lacks flights, reservations"):
        world_maker("airline", folder=tmp_path)()


def test_what_opens_a_session_can_be_sent_to_another_process(tmp_path: Path) -> None:
    maker = pickle.loads(pickle.dumps(world_maker("airline", folder=small_tau2(tmp_path))))
    assert maker().name == "airline"
