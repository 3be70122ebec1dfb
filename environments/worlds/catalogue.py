"""The worlds by name: the ones that ship with Loopwright, and those that other packages offer as entry points."""

from collections.abc import Callable
from importlib.metadata import entry_points

from environments.honeypots.world import HoneypotWorld
from environments.world import World
from environments.worlds.atlas.world import AtlasWorld

ENTRY_POINTS = "loopwright.worlds"
_SHIPPED: dict[str, Callable[[], World]] = {"atlas": AtlasWorld}
_FOR_PROMOTION: dict[str, Callable[[], World]] = {"honeypot": HoneypotWorld}
"""Named in no list: nothing is made or trained in them."""


def world_maker(name: str) -> Callable[[], World]:
    """What opens a session of the world `name`.

    Raises:
        ValueError: no such world; the message lists those there are.
    """
    if name in _SHIPPED:
        return _SHIPPED[name]
    if name in _FOR_PROMOTION:
        return _FOR_PROMOTION[name]
    offered = {e.name: e for e in entry_points(group=ENTRY_POINTS)}
    if name not in offered:
        known = ", ".join(sorted({*_SHIPPED, *offered}))
        raise ValueError(f"no world named {name!r}; there are: {known}. Others enter as entry points {ENTRY_POINTS!r}")
    maker: Callable[[], World] = offered[name].load()
    return maker
