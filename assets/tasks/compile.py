"""From a labelled query to a task, where every word is explained and the world gives one clear answer.

A family is read off the typed constraints and must agree with the label's leaf; the verifier's goal comes from the
world, and the user's own text becomes the instruction. What does not compile says why.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from assets.labels.constraints import Constraints, read
from assets.tasks.explained import turned, unexplained
from assets.tasks.variants import Slotted
from environments.seeds import unit_hash
from environments.task import Split
from environments.worlds.atlas.data_model import cities, fold
from environments.worlds.atlas.families import FAMILIES, plan_of
from environments.worlds.atlas.tasks import make_task, offered_tools_for

LOST = "unknown_place"
GROUND_MODES = ("driving", "walking", "bicycling", "transit")


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """One query of the pool with its label."""

    query_id: str
    text: str
    language: str
    primary: str
    secondary: str | None
    difficulty: int
    constraints: Constraints
    context: str | None = None
    """The turn before it, where there was one."""


class Dropped(NamedTuple):
    """A query that became no task, and why."""

    query_id: str
    rule: str
    detail: str


class Compiled(NamedTuple):
    """What compiling a pool gives; every query is in exactly one of the two."""

    tasks: list[Slotted]
    dropped: list[Dropped]


class Shape(NamedTuple):
    """A family with the slots that a query fills."""

    family: str
    slots: dict[str, str]


def compile_queries(
    queries: Iterable[LabelledQuery], *, languages: tuple[str, ...] = ("en",), held_out_share: float = 0.0
) -> Compiled:
    """Compile each query on its own; order-free.

    Args:
        queries: the pool.
        languages: which languages the policy in training can read; others are dropped by rule `language`.
        held_out_share: share of the queries that go to the hidden split whatever they name, by hash of their id.
    """
    tasks: list[Slotted] = []
    dropped: list[Dropped] = []
    for query in sorted(queries, key=lambda q: q.query_id):
        made = compile_query(query, languages=languages, held_out_share=held_out_share)
        if isinstance(made, Slotted):
            tasks.append(made)
        else:
            dropped.append(made)
    return Compiled(tasks, dropped)


def compile_query(query: LabelledQuery, *, languages: tuple[str, ...], held_out_share: float) -> Slotted | Dropped:
    """One query as a task, or the first rule that stands against it."""
    if query.language not in languages:
        return Dropped(query.query_id, "language", query.language)
    if query.context:
        return Dropped(query.query_id, "follow_up", query.context)
    if query.difficulty <= 0:
        refused = _refusal(query, held_out_share)
        return refused or Dropped(
            query.query_id, "asks_for_tools", "labelled as needing none, yet it names what they do"
        )
    if query.constraints.unresolved:
        shape = lost_place(query.constraints, query.primary, query.secondary)
    else:
        shape = shape_of(query.constraints, query.primary, query.secondary)
    if shape is None:
        rule = "unresolved" if query.constraints.unresolved else "no_family"
        return Dropped(query.query_id, rule, ", ".join(query.constraints.unresolved) or query.primary)
    if against := _misread(query, shape):
        return Dropped(query.query_id, *against)
    plan = plan_of(shape.family, shape.slots)
    if plan is None:
        return Dropped(query.query_id, "no_clear_answer", shape.family)
    tools = offered_tools_for({c.name for c in plan.calls}, seed=query.query_id)
    task = make_task(shape.family, shape.slots, query.text, plan, tools, **_origin(query, held_out_share))
    return Slotted(task, shape.slots)


def _misread(query: LabelledQuery, shape: Shape) -> tuple[str, str] | None:
    """Why the shape may not be what the user meant: the label says otherwise, or words are left over."""
    if FAMILIES[shape.family].leaf not in (query.primary, query.secondary):
        return "leaf_disagrees", f"{shape.family} is not {query.primary}"
    said_as = "weather" if shape.family == LOST else shape.family
    if strange := unexplained(query.text, said_as, query.constraints):
        return "unexplained_words", ", ".join(strange)
    against = turned(query.text, said_as, query.constraints)
    return ("turned_words", ", ".join(against)) if against else None


def _origin(query: LabelledQuery, held_out_share: float) -> dict[str, Any]:
    """What a task keeps of the query it came from."""
    split = split_of(query.query_id, [c.city for c in query.constraints.cities], held_out_share)
    return {"leaf": query.primary, "query_id": query.query_id, "group": query.query_id, "split": split}


def _refusal(query: LabelledQuery, held_out_share: float) -> Slotted | None:
    """A query that no tool serves, to be refused for that reason; None where its words name what tools do serve."""
    asked = query.constraints
    if asked.modes or asked.kind or asked.sort or asked.sky or asked.budget:
        return None
    plan = plan_of("out_of_scope", {})
    assert plan is not None
    tools = offered_tools_for(set(), seed=query.query_id)
    return Slotted(make_task("out_of_scope", {}, query.text, plan, tools, **_origin(query, held_out_share)), {})


def split_of(query_id: str, named: Iterable[str], held_out_share: float) -> Split:
    """Hidden if any city it names is hidden (or by share), else dev if any is dev, else train (pipeline law 7)."""
    sides = {cities()[fold(name)].split for name in named if fold(name) in cities()}
    if "hidden" in sides or unit_hash("held out", query_id) < held_out_share:
        return "hidden"
    return "dev" if "dev" in sides else "train"


def shape_of(constraints: Constraints, primary: str, secondary: str | None) -> Shape | None:
    """The family and slots that the constraints spell out, or None where they fit none.

    A family is tried only with all of its slots filled; the more demanding one comes first.
    """
    seen = _Slots(constraints)
    if seen.crowded:
        return None
    wants = set(constraints.modes)
    weather = FAMILIES["weather"].leaf in (primary, secondary)
    for family, holds, names in (
        ("warm_flight", constraints.sort == "warmest" or "flight" in wants, ("origin", "option", "other", "date")),
        ("warmer", constraints.sort == "warmest", ("option", "other", "date")),
        ("fly_or_train", {"flight", "train"} <= wants, ("origin", "destination", "date")),
        ("book_flight", constraints.write and "flight" in wants, ("origin", "destination", "date")),
        ("book_train", constraints.write and "train" in wants, ("origin", "destination", "date")),
        ("budget", "flight" in wants, ("origin", "destination", "date", "budget")),
        ("faster", constraints.sort == "fastest", ("origin", "destination", "mode", "other_mode")),
        ("place_route", True, ("kind", "location", "mode")),
        ("place", True, ("kind", "location")),
        ("flight_weather", "flight" in wants and weather, ("origin", "destination", "date")),
        ("flight", "flight" in wants, ("origin", "destination", "date")),
        ("no_origin", "flight" in wants, ("destination", "date")),
        ("train", "train" in wants, ("origin", "destination", "date")),
        ("route", True, ("origin", "destination", "mode")),
        ("premise", True, ("sky", "location", "date")),
        ("premise", True, ("sky", "location")),
        ("weather", weather, ("location", "date")),
        ("weather", weather, ("location",)),
    ):
        if holds and (slots := seen.exactly(names)) is not None:
            return Shape(family, slots)
    return None


def lost_place(constraints: Constraints, primary: str, secondary: str | None) -> Shape | None:
    """Weather in a place that the world does not know, and nothing else: the right end is to say so."""
    only = constraints._replace(unresolved=(), date=None)
    if FAMILIES[LOST].leaf not in (primary, secondary) or len(constraints.unresolved) != 1 or only != Constraints():
        return None
    place = constraints.unresolved[0]
    if not place[0].isupper() or read(place).days:  # a lower-case word may be anything; an unresolved day is no place
        return None
    day = date_slot(constraints.date.text, constraints.date.value) if constraints.date else "today"
    return Shape(LOST, {"c": place, "d": day})


_SLOT = {
    "origin": "a", "destination": "b", "location": "c", "option": "a", "other": "b", "date": "d", "mode": "m",
    "other_mode": "n", "kind": "k", "budget": "p", "sky": "s",
}  # fmt: skip


_MEANS_TODAY = (("location",), ("sky", "location"))
"""Weather asked for without a day is today's."""


class _Slots:
    """The constraints by role."""

    def __init__(self, constraints: Constraints) -> None:
        by_role: dict[str, list[str]] = {}
        for city in constraints.cities:
            by_role.setdefault(city.role, []).append(city.text)
        self.filled: dict[str, str] = {role: named[0] for role, named in by_role.items()}
        options = by_role.get("option", [])
        if len(options) == 2:
            self.filled["other"] = options[1]
        ground = [m for m in constraints.modes if m in GROUND_MODES]
        self.filled |= dict(zip(("mode", "other_mode"), ground, strict=False))
        for name, value in (("kind", constraints.kind), ("budget", constraints.budget), ("sky", constraints.sky)):
            if value is not None:
                self.filled[name] = str(value)
        if constraints.date is not None:
            self.filled["date"] = date_slot(constraints.date.text, constraints.date.value)
        counts = [len(named) for role, named in by_role.items() if role != "option"]
        self.crowded = (
            any(n > 1 for n in counts) or len(options) not in (0, 2) or len(ground) > 2 or bool(constraints.party)
        )

    def exactly(self, names: tuple[str, ...]) -> dict[str, str] | None:
        """The slots of a family, if these names and no others are filled."""
        if set(names) != set(self.filled):
            return None
        slots = {_SLOT[n]: self.filled[n] for n in names}
        if "origin" in names and "option" in names:
            slots = {
                "c": self.filled["origin"],
                "a": self.filled["option"],
                "b": self.filled["other"],
                "d": self.filled["date"],
            }
        return {**slots, "d": "today"} if names in _MEANS_TODAY else slots


def date_slot(text: str, value: str) -> str:
    """A weekday, today or tomorrow as the user wrote it; any other day as ISO date."""
    return value if value[:1].isdigit() else text.removeprefix("on ").removeprefix("On ").strip()
