"""What one thing that the agent said is held against: evidence, the user's turns, the date, and what it said before."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from environments.verifiers.claim import Claim
from environments.verifiers.evidence import Evidence, Known
from environments.verifiers.quantities import measured


@dataclass
class Ground:
    """What one thing said is held against."""

    evidence: Evidence
    said: Sequence[str] = ()
    """The user's turns so far."""
    today: str = ""
    """ISO date of the world, empty where nothing tells it."""
    offered: frozenset[str] = frozenset()
    """Names of the tools on offer."""
    _stated: dict[tuple[str, float], Known] = field(default_factory=dict)

    @property
    def stated(self) -> list[Known]:
        """Numbers that the agent has said before, with evidence: each once, the one said last at the end."""
        return list(self._stated.values())

    def state(self, claim: Claim, text: str) -> None:
        """Remember a number that was said with evidence: later ones may build on it."""
        found = measured(float(claim.value), claim.unit if claim.unit != "count" else None)
        known = Known(found.dimension, found.value, f"{text[claim.start : claim.end]} (said before)")
        self._stated.pop((known.dimension, known.value), None)
        self._stated[known.dimension, known.value] = known
