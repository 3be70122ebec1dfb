"""Broken tasks and worlds of every kind that is known: what the gate must catch, and with which check."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from environments.task import Change, Fact, Goal, Task
from environments.worlds.atlas.world import AtlasWorld


class Flaky(AtlasWorld):
    """A world that shows something else each time it is asked."""

    _asked = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Any tool; temperatures rise with each call of any session."""
        Flaky._asked += 1
        seen = super().call(name, arguments)
        return {**seen, "temp": Flaky._asked} if isinstance(seen, dict) and "temp" in seen else seen


class Sticky(AtlasWorld):
    """A world in which what was done survives a reset."""

    _wrote = False

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Any tool; remembers writes."""
        self._wrote |= name == "travel_book_ticket"
        return super().call(name, arguments)

    def state_hash(self) -> str:
        """Not what it was, once something has been written."""
        return super().state_hash() + str(self._wrote)


class Even(AtlasWorld):
    """A world in which everything in a list is as good as the first."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Any tool; everything in a list has the same numbers."""
        seen = super().call(name, arguments)
        if not isinstance(seen, list) or not seen:
            return seen
        numbers = {k: v for k, v in seen[0].items() if isinstance(v, int | float)}
        return [{**entry, **numbers} for entry in seen]


class Broken(NamedTuple):
    """A kind of broken task: made from a good one of a family, in a world of its own where that is what is broken."""

    family: str
    check: str
    """What is to catch it; for cheaters the beginning of the version."""
    make: Callable[[Task], Task]
    world: type[AtlasWorld] = AtlasWorld


def made_broken(broken: Broken, good: Mapping[str, Task]) -> Task:
    """The broken task, made from the good one of its family."""
    return broken.make(good[broken.family])


def _with_goal(**update: Any) -> Callable[[Task], Task]:
    return lambda task: task.model_copy(update={"goal": task.goal.model_copy(update=update)})


def _with(**update: Any) -> Callable[[Task], Task]:
    return lambda task: task.model_copy(update=update)


def _booked_before(task: Task) -> Task:
    """The ticket stands in the world from the start, and the goal is that it stands there."""
    row = {**task.goal.bookings[0].model_dump(), "code": "QX10", "price": 1}
    solved = {"gold_calls": (), "gold_answer": "It is booked.", "goal": Goal(changes=())}
    return task.model_copy(update={"initial": {"booking": (row,)}, **solved})


def _other_digits(task: Task) -> Task:
    answer = "".join(str((int(c) + 1) % 10) if c.isdigit() else c for c in task.gold_answer)
    return task.model_copy(update={"gold_answer": answer})


def _first_call_only(task: Task) -> Task:
    return task.model_copy(update={"gold_calls": task.gold_calls[:1]})


def _never_reached(task: Task) -> Task:
    gone = Change(table="booking", key="QX00", columns=None)
    return _with_goal(bookings=(), changes=(gone,))(task)


def _contradictory(task: Task) -> Task:
    return _with_goal(forbidden=task.goal.required)(task)


def _one_word(task: Task) -> Task:
    """Only the yes or no counts, and nothing need be seen."""
    word = task.goal.required[0]
    answer = f"{word.value}."
    return _with_goal(seen=(), required=(word,), forbidden=())(task).model_copy(update={"gold_answer": answer})


def _one_side(task: Task) -> Task:
    return _with_goal(seen=task.goal.seen[:1])(task)


def _sky_only(task: Task) -> Task:
    """So that the answer is right whatever the temperature."""
    sky = task.goal.required[0]
    return _with_goal(seen=(), required=(sky,))(task).model_copy(update={"gold_answer": f"{sky.value}."})


BROKEN: Final[dict[str, Broken]] = {
    "the goal asks for nothing": Broken("weather", "no-op", _with(goal=Goal())),
    "the goal holds before the first step": Broken("book_flight", "no-op", _booked_before),
    "the gold answer is wrong": Broken("weather", "gold", _other_digits),
    "the gold solution leaves out a call": Broken("place_route", "gold", _first_call_only),
    "the gold solution is longer than the budget": Broken("flight_weather", "gold", _with(max_calls=1)),
    "a tool that is needed is not on offer": Broken("train", "gold", _with(tools=("weather_forecast_days",))),
    "the goal cannot be reached": Broken("book_train", "gold", _never_reached),
    "the goal contradicts itself": Broken("flight", "gold", _contradictory),
    "any guess counts": Broken("premise", "no-look", _one_word),
    "one side of a comparison is enough": Broken("warmer", "one-look", _one_side),
    "the verifier breaks": Broken(
        "route", "gold", _with_goal(required=(Fact(kind="number", value="some", unit="km"),))
    ),
    "two answers are right": Broken("place", "one_right_answer", _with_goal(seen=()), Even),
    "the world is flaky": Broken("weather", "replay", _sky_only, Flaky),
    "the world does not come back": Broken("book_flight", "reset", _with(), Sticky),
}
"""Every kind of broken task that is known here."""
