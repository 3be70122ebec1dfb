"""A task of atlas about other cities, planned anew: the same wording, day and kind, and another right answer."""

import re
from collections.abc import Iterator
from typing import Final

from environments.seeds import stable_hash
from environments.task import Task
from environments.verifiers.claims import SKY_WORDS
from environments.worlds.atlas.data_model import fold, neighbours, speakable
from environments.worlds.atlas.families import plan_of
from environments.worlds.atlas.tasks import make_task

TRIES: Final = 12
_FARE: Final = {"a": (0, "origin"), "b": (0, "destination"), "d": (0, "date")}
_WAY: Final = {"a": (0, "origin"), "b": (0, "destination"), "m": (0, "modes")}
_PLACE: Final = {"k": (0, "query"), "c": (0, "center")}
_SKY: Final = {"c": (0, "location"), "d": (0, "date")}
_TWO_SKIES: Final = {"a": (0, "location"), "b": (1, "location"), "d": (0, "date")}
_SLOTS: Final[dict[str, dict[str, tuple[int, str]]]] = {
    "weather": _SKY, "premise": _SKY, "route": _WAY, "flight": _FARE, "train": _FARE, "place": _PLACE,
    "flight_weather": _FARE, "place_route": {**_PLACE, "m": (1, "modes")}, "budget": _FARE, "warmer": _TWO_SKIES,
    "faster": _WAY, "fly_or_train": _FARE, "warm_flight": {**_TWO_SKIES, "c": (2, "origin")}, "book_flight": _FARE,
    "book_train": _FARE,
}  # fmt: skip
"""Where the slots of a family stand in its gold calls: (call, argument)."""
_CITIES: Final = ("a", "b", "c")


def moved(task: Task) -> Task | None:
    """The task about other cities of its split; None where none was found that gives a clear answer."""
    slots = slots_of(task)
    if slots is None:
        return None
    for cities in _others(task, {name: slots[name] for name in _CITIES if name in slots}):
        if (plan := plan_of(task.family, {**slots, **cities})) is None:
            continue
        to = {fold(slots[name]): city for name, city in cities.items()}
        said = _said(task.instruction, to)
        wordings = tuple(_said(text, to) for text in task.wordings)
        more = {"split": task.split, "leaf": task.leaf, "wordings": wordings}
        return make_task(task.family, {**slots, **cities}, said, plan, task.tools, **more)
    return None


def slots_of(task: Task) -> dict[str, str] | None:
    """What the task names, read off its gold calls; None where its family is not known here, or its cities not said."""
    places = _SLOTS.get(task.family)
    if places is None or task.goal.reason is not None:
        return None
    slots: dict[str, str] = {}
    for name, (call, argument) in places.items():
        value = task.gold_calls[call].arguments.get(argument) if call < len(task.gold_calls) else None
        if value is None:
            return None
        slots[name] = value[0] if isinstance(value, list) else str(value)
        if name == "m" and isinstance(value, list) and len(value) > 1:
            slots["n"] = value[1]
    said = fold(task.instruction)
    if any(name in slots and fold(slots[name]) not in said for name in _CITIES):
        return None
    return _believed(task, slots)


def _believed(task: Task, slots: dict[str, str]) -> dict[str, str] | None:
    """Budget and sky, which no call names but the user."""
    if task.family == "budget":
        amounts = re.findall(r"(?<![\d-])(\d{2,5})(?![\d-])", re.sub(r"\b20\d\d-\d\d-\d\d\b", "", task.instruction))
        return {**slots, "p": max(amounts, key=int)} if amounts else None
    if task.family == "premise":
        skies = [sky for sky in SKY_WORDS if sky in task.instruction.lower()]
        return {**slots, "s": skies[0]} if len(skies) == 1 else None
    return slots


def _others(task: Task, cities: dict[str, str]) -> Iterator[dict[str, str]]:
    """Other cities to put in place of these, by hash; as near to each other as cities of one task are."""
    mine = [c for c in speakable() if c.split == task.split]
    for attempt in range(TRIES if mine else 0):
        first = mine[stable_hash("moved", task.task_id, attempt) % len(mine)]
        near = [c.name for c in neighbours(first.name)]
        found = dict(zip(cities, [first.name, *near[attempt % 5 :]], strict=False))
        if len(found) == len(cities) and not {*map(fold, found.values())} & {*map(fold, cities.values())}:
            yield found


def _said(text: str, to: dict[str, str]) -> str:
    """`text` with each city's name replaced, whole words only, longest first."""
    names = "|".join(re.escape(name) for name in sorted(to, key=len, reverse=True))
    return re.sub(rf"(?i)(?<!\w)(?:{names})(?!\w)", lambda m: to[fold(m[0])], text)
