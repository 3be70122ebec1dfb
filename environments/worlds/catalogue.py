"""The worlds by name: the ones that ship with Loopwright, and those that other packages offer as entry points."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from environments.honeypots.world import HoneypotWorld
from environments.world import World
from environments.worlds.airline.world import AirlineWorld
from environments.worlds.atlas.full.records import FILES
from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.desk.world import DeskWorld
from environments.worlds.harbor.world import HarborWorld
from environments.worlds.retail.world import RetailWorld
from environments.worlds.tau2_folder import HOW, domain_folder
from environments.worlds.workspace.world import WorkspaceWorld

ENTRY_POINTS = "loopwright.worlds"
PLACES_WORLD = "atlas_places"
"""Atlas over a folder of real places."""
_SHIPPED: dict[str, Callable[[], World]] = {
    "atlas": AtlasWorld, "atlas_full": partial(AtlasWorld, brief=False), "desk": DeskWorld,
}  # fmt: skip
_OF_AN_ENGINE: dict[str, Callable[[], World]] = {"harbor": HarborWorld, "workspace": WorkspaceWorld}
_WITHOUT_A_FOLDER = {**_SHIPPED, **_OF_AN_ENGINE}
_OF_A_TAU2_FOLDER: dict[str, Callable[[Path], World]] = {"airline": AirlineWorld, "retail": RetailWorld}
_FOR_PROMOTION: dict[str, Callable[[], World]] = {"honeypot": HoneypotWorld}
"""Named in no list: nothing is made or trained in them."""


def shipped_worlds() -> tuple[str, ...]:
    """Names of the worlds that ship with Loopwright and need neither a folder nor a container engine."""
    return tuple(_SHIPPED)


def world_maker(name: str, *, folder: Path | None = None) -> Callable[[], World]:
    """What opens a session of the world `name`; it can be sent to another process.

    Args:
        name: of a shipped world, or of an entry point.
        folder: the tau2 folder of `retail` and `airline`, or the folder of real places of `atlas_places`; the others do
            not read one.

    Raises:
        ValueError: no such world, and the message lists those there are; or it needs a folder and got none.
        FileNotFoundError: the folder does not hold that world.
    """
    if name in _WITHOUT_A_FOLDER:
        return _WITHOUT_A_FOLDER[name]
    if name in _FOR_PROMOTION:
        return _FOR_PROMOTION[name]
    if name in _OF_A_TAU2_FOLDER:
        return _of_a_folder(name, folder)
    if name == PLACES_WORLD:
        return _of_places(folder)
    offered = {e.name: e for e in entry_points(group=ENTRY_POINTS)}
    if name not in offered:
        known = ", ".join(sorted({*_WITHOUT_A_FOLDER, *_OF_A_TAU2_FOLDER, PLACES_WORLD, *offered}))
        raise ValueError(f"no world named {name!r}; there are: {known}. Others enter as entry points {ENTRY_POINTS!r}")
    maker: Callable[[], World] = offered[name].load()
    return maker


class Folders(NamedTuple):
    """Where the worlds lie that are read from a folder; goes to other processes as it is."""

    tau2: Path | None = None
    """Of `retail` and `airline`."""
    places: Path | None = None
    """Of `atlas_places`."""

    def maker(self, name: str) -> Callable[[], World]:
        """What opens a session of the world `name`, wherever it lies.

        Raises:
            ValueError: no such world, or its folder is not set.
            FileNotFoundError: the folder does not hold it.
        """
        return world_maker(name, folder=self.places if name == PLACES_WORLD else self.tau2)


def _of_a_folder(name: str, folder: Path | None) -> Callable[[], World]:
    if folder is None:
        raise ValueError(
            f"the world {name!r} is read from a tau2 folder and got none: set [worlds] tau2_folder in the profile or "
            f"LOOPWRIGHT_TAU2, or call world_maker({name!r}, folder=...); {HOW}"
        )
    return partial(_OF_A_TAU2_FOLDER[name], domain_folder(folder, name))


def _of_places(folder: Path | None) -> Callable[[], World]:
    if folder is None:
        raise ValueError(
            f"the world {PLACES_WORLD!r} is read from a folder of real places and got none: set [worlds] "
            "places_folder in the profile or LOOPWRIGHT_PLACES, or call "
            f"world_maker({PLACES_WORLD!r}, folder=...); it holds {', '.join(FILES)}, as CrossWOZ's databases"
        )
    return partial(AtlasWorld, places=folder)
