"""How a task of the full atlas is solved: sessions that run the gold calls and note what an answer turns on.

`seen` holds the rows of comparisons alone (weather, timetables, the page asked for): there are many ways to search for
a place, and what an answer says of one is held to what the tools showed by the veto.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from environments.task import Call, Fact
from environments.verifiers.outcome import shown
from environments.worlds.atlas.data_model import fold, gazetteer
from environments.worlds.atlas.full.data_model import WEEKDAYS, Land, Place
from environments.worlds.atlas.full.folder import FolderLand
from environments.worlds.atlas.plans import Plan, Session, name, number
from environments.worlds.atlas.world import AtlasWorld

COMPARED = ("travel_search_flights", "travel_search_trains", "weather_current_conditions", "weather_forecast_days")
"""Tools of which every row that the gold solution saw must have been seen."""
WEEKDAYS_ZH = "一二三四五六日"


@lru_cache(maxsize=4)
def planning_world(places: Path | None) -> AtlasWorld:
    """The world in which plans are made."""
    return AtlasWorld(brief=False, places=places)


@dataclass
class FullSession(Session):
    """Runs the gold calls of one plan in the full form."""

    places: Path | None = None

    def __post_init__(self) -> None:
        self.world = planning_world(self.places)
        self.world.reset()
        self.date = self.slots.get("d", "")

    @property
    def land(self) -> Land:
        """What exists."""
        return self.world.land

    def call(self, name: str, **arguments: Any) -> Any:
        """Run and record one call."""
        self.calls.append(Call(name=name, arguments=arguments))
        found = self.world.call(name, arguments)
        self.failed |= isinstance(found, dict) and "error" in found
        if name in COMPARED:
            self.seen += shown(found)
        return [] if self.failed else found

    def see(self, row: Mapping[str, Any]) -> None:
        """Note a row that an answer turns on."""
        self.seen += shown(dict(row))

    def price(self, value: object) -> tuple[str, Fact]:
        """An amount in the land's currency: as text and as a fact."""
        return f"{value} {self.land.currency}", number(value, self.land.currency)

    def weekday(self, english: str) -> str:
        """A weekday as the task's language says it."""
        return english if self.slots.get("z") != "zh" else f"星期{WEEKDAYS_ZH[WEEKDAYS.index(english)]}"

    def city(self, slot: str) -> str:
        """A city's name as the task's language says it."""
        found = gazetteer()[fold(self.slots[slot])]
        return found.zh if found.zh and self.slots.get("z") == "zh" else found.name

    def readable(self, row: Mapping[str, Any]) -> bool:
        """Whether a row's name reads as a name and as nothing else; real ones hold digits and letters at times."""
        return not isinstance(self.land, FolderLand) or plain_name(str(row["name"]))

    def moment(self) -> datetime:
        """The day and hour that the slots name, local."""
        return datetime.fromisoformat(f"{self.slots['d']}T{self.slots['h']}")


def plain_name(text: str) -> bool:
    """Whether a name holds nothing but Chinese signs and brackets."""
    return all("一" <= sign <= "鿿" or sign in "()（）·" for sign in text)


def unlike(best: Mapping[str, Any], rows: list[dict[str, Any]]) -> tuple[Fact, ...]:
    """Names of the rows that are not `best`, and not part of its name either."""
    others = dict.fromkeys(str(r["name"]) for r in rows)
    return tuple(name(n) for n in others if n not in best["name"])


def open_then(session: FullSession, row: Mapping[str, Any]) -> bool | None:
    """Whether the place of a row is open at the slots' moment; None where its hours are unknown."""
    place = _place_of(session, row)
    if place is None or place.hours is None:
        return None
    return place.hours.open_at(session.moment())


def clear_then(session: FullSession, row: Mapping[str, Any]) -> bool:
    """Whether the answer is the same half an hour earlier and later, so that nobody argues about the minute."""
    place = _place_of(session, row)
    if place is None or place.hours is None:
        return False
    at = session.moment()
    around = {place.hours.open_at(at.replace(hour=at.hour - 1, minute=31)), place.hours.open_at(at.replace(minute=29))}
    return around == {place.hours.open_at(at)}


def _place_of(session: FullSession, row: Mapping[str, Any]) -> Place | None:
    every = session.land.places(str(row["region"]), str(row["kind"]))
    return next((p for p in every if p.name == row["name"]), None)


__all__ = ["FullSession", "Plan", "clear_then", "open_then", "plain_name", "planning_world", "unlike"]
