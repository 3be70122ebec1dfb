"""What a request contains, as names that the rules of `rules.yaml` are written in.

A feature is a signal of the lexicon, a filled slot, or a simple fact about the slots (two modes, cities to choose
from).
"""

from assets.labels.constraints import Constraints, Reading

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
    roles = {city.role for city in found.cities}
    modes = set(found.modes)
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
        "options": "option" in roles,
        "origin": "origin" in roles,
        "destination": "destination" in roles,
        "journey": {"origin", "destination"} <= roles,
        "flight": "flight" in modes,
        "train": "train" in modes,
        "transit": "transit" in modes,
        "ground": bool(modes & GROUND),
        "two_modes": len(modes) > 1,
    }
    named = {name for name, holds in facts.items() if holds}
    sorts = {hit.meaning.heads["sorts"] for hit in reading.hits if "sorts" in hit.meaning.heads}
    return frozenset(named | sorts | reading.signals)
