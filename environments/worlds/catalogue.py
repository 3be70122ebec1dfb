"""The worlds by name: the ones that ship with Loopwright, and those that other packages offer as entry points."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

from environments.world import World
from environments.worlds.atlas.world import AtlasWorld

ENTRY_POINTS = "loopwright.worlds"
_SHIPPED: dict[str, Callable[[], World]] = {"atlas": AtlasWorld, "atlas_full": partial(AtlasWorld, brief=False)}
_OF_PLACES = "atlas_places"


def world_maker(name: str, *, folder: Path | None = None) -> Callable[[], World]:
    """What opens a session of the world `name`; it can be sent to another process.

    Args:
        name: of a shipped world, or of an entry point.
        folder: the folder of real places of `atlas_places`; the others do not read one.

    Raises:
        ValueError: no such world, and the message lists those there are; or it needs a folder and got none.
    """
    if name in _SHIPPED:
        return _SHIPPED[name]
    if name == _OF_PLACES:
        return _of_places(folder)
    offered = {e.name: e for e in entry_points(group=ENTRY_POINTS)}
    if name not in offered:
        known = ", ".join(sorted({*_SHIPPED, _OF_PLACES, *offered}))
        raise ValueError(f"no world named {name!r}; there are: {known}. Others enter as entry points {ENTRY_POINTS!r}")
    maker: Callable[[], World] = offered[name].load()
    return maker


def _of_places(folder: Path | None) -> Callable[[], World]:
    if folder is None:
        raise ValueError(
            f"the world {_OF_PLACES!r} is read from a folder of places and got none: call world_maker({_OF_PLACES!r}, "
            "folder=...) with a folder that holds attraction_db.json, hotel_db.json, restaurant_db.json, metro_db.json and "
            "taxi_db.json, as CrossWOZ's databases"
        )
    return partial(AtlasWorld, places=folder)
