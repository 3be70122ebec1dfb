"""How a task of atlas is solved, and what its verifier must find: plans made by running the gold calls in the world."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from environments.task import Booking, Call, Fact
from environments.tool import Effect
from environments.verifiers.outcome import shown
from environments.worlds.atlas.world import AtlasWorld

Slots = Mapping[str, str]
"""a b c cities, d date phrase, m n mode phrases, k kind, p euros, s sky: what the wordings name."""

MODE_OF_PHRASE = {"by car": "driving", "on foot": "walking", "by bike": "bicycling", "by public transport": "transit"}
_MONTH_DAY = re.compile(
    r"(?i)^(?:on )?june (\d{1,2})(?:st|nd|rd|th)?$|^(?:on )?(?:the )?(\d{1,2})(?:st|nd|rd|th)? (?:of )?june$"
)


@dataclass(frozen=True)
class Plan:
    """The solution of a task and what its verifier must find."""

    calls: tuple[Call, ...] = ()
    answer: str = ""
    required: tuple[Fact, ...] = ()
    forbidden: tuple[Fact, ...] = ()
    bookings: tuple[Booking, ...] = ()
    seen: tuple[str, ...] = ()
    """Digests of what the READ calls showed."""
    reason: str | None = None
    evidence_error: str | None = None


@dataclass
class Session:
    """Runs the gold calls of one plan; `failed` once a tool has refused."""

    slots: Slots
    calls: list[Call] = field(default_factory=list)
    failed: bool = False
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = _planning_world()
        self.world.reset()
        self.date = date_argument(self.slots["d"]) if "d" in self.slots else ""

    def call(self, name: str, **arguments: Any) -> Any:
        """Run and record one call."""
        self.calls.append(Call(name=name, arguments=arguments))
        seen = self.world.call(name, arguments)
        self.failed |= isinstance(seen, dict) and "error" in seen
        if self.world.tools()[name].effect is Effect.READ:
            self.seen += shown(seen)
        return seen

    def weather(self, slot: str) -> Any:
        """The forecast of the city in `slot`."""
        return self.call("weather_forecast_days", location=self.slots[slot], date=self.date)

    def fares(self, kind: str, origin: str, destination: str) -> Any:
        """Flights or trains between two cities by name."""
        return self.call(f"travel_search_{kind}s", origin=origin, destination=destination, date=self.date)

    def plan(self, answer: str, *required: Fact, forbidden: tuple[Fact, ...] = ()) -> Plan:
        """The finished plan."""
        return Plan(tuple(self.calls), answer, required, forbidden, seen=tuple(dict.fromkeys(self.seen)))


@cache
def _planning_world() -> AtlasWorld:
    return AtlasWorld()


def date_argument(phrase: str) -> str:
    """How a date phrase is passed to a tool: `on June 12` -> 2026-06-12, `on Friday` -> Friday, `tomorrow` as it is."""
    if match := _MONTH_DAY.match(phrase.strip()):
        return f"2026-06-{int(match[1] or match[2]):02d}"
    return phrase.strip().removeprefix("on ").removeprefix("On ")


def mode_argument(phrase: str) -> str:
    """How a way to travel is passed to a tool: `by car` -> driving; a mode is passed as it is."""
    return MODE_OF_PHRASE.get(phrase, phrase)


def number(value: object, unit: str) -> Fact:
    """A number fact."""
    return Fact(kind="number", value=str(value), unit=unit)


def word(value: str) -> Fact:
    """A closed-vocabulary word fact."""
    return Fact(kind="word", value=value)


def name(value: str) -> Fact:
    """A name fact."""
    return Fact(kind="name", value=value)


def code(value: str) -> Fact:
    """A flight, train or booking code."""
    return Fact(kind="code", value=value)
