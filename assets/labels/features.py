"""What a request contains, as names that the rules of `rules.yaml` are written in.

A feature is a signal of the lexicon, a filled slot, or a simple fact about the slots (two modes, cities to choose
from).
"""

from collections.abc import Set

from assets.labels.constraints import Constraints, Reading

_ROLES = {"option": "options", "origin": "origin", "destination": "destination"}
GROUND = frozenset({"driving", "walking", "bicycling", "transit"})
SLOTS = frozenset(
    {
        "city",
        "unresolved",
        "day",
        "kind",
        "hotel",
        "budget",
        "sky",
        "write",
        "party",
        "options",
        "journey",
        "origin",
        "destination",
    }
    | {"flight", "train", "ground", "transit", "two_modes", "cheapest", "best", "fastest", "warmest"}
)
"""Every feature that is not a signal."""


def features_of(reading: Reading, found: Constraints) -> frozenset[str]:
    """The names of everything that the request contains."""
    facts = {
        "city": bool(found.cities),
        "unresolved": bool(found.unresolved),
        "day": found.date is not None,
        "kind": found.kind is not None,
        "hotel": found.kind == "hotel",
        "budget": found.budget is not None,
        "sky": found.sky is not None,
        "write": found.write,
        "party": found.party is not None,
    }
    named = {name for name, holds in facts.items() if holds}
    named.update(reading.said.signals, reading.said.sorts)
    if found.cities:
        named |= _of_roles({city.role for city in found.cities})
    if found.modes:
        named |= _of_modes(set(found.modes))
    return frozenset(named)


def _of_roles(roles: Set[str]) -> set[str]:
    named = {_ROLES[role] for role in roles if role in _ROLES}
    return named | {"journey"} if {"origin", "destination"} <= roles else named


def _of_modes(modes: Set[str]) -> set[str]:
    named = {"flight", "train", "transit"} & modes
    if not GROUND.isdisjoint(modes):
        named.add("ground")
    if len(modes) > 1:
        named.add("two_modes")
    return named
