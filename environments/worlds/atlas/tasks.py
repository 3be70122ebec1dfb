"""Tasks of atlas: a family, slots and a wording become an instruction, the tools on offer, a goal and a budget.

Refusal tasks stand beside a solvable twin: the same request with its origin, its tool or a real place.
"""

import random
import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from environments.seeds import stable_hash
from environments.task import Goal, Split, Task
from environments.worlds.atlas.data_model import (
    HORIZON_DAYS,
    PLACE_KINDS,
    TODAY,
    City,
    fold,
    gazetteer,
    neighbours,
    speakable,
)
from environments.worlds.atlas.families import FAMILIES, plan_of
from environments.worlds.atlas.geography import SKIES, resolve_date, weather
from environments.worlds.atlas.plans import Plan, Slots, date_argument
from environments.worlds.atlas.world import AtlasWorld

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SHARES: Mapping[str, float] = {
    "weather": 7, "route": 7, "flight": 7, "train": 6, "place": 7, "flight_weather": 7, "place_route": 7, "budget": 7,
    "premise": 7, "warmer": 7, "faster": 6, "fly_or_train": 7, "warm_flight": 6, "book_flight": 6, "book_train": 5,
    "no_origin": 3, "unknown_place": 3, "missing_tool": 4, "out_of_scope": 4,
}  # fmt: skip
"""The mixture of families in a fresh set of tasks; ours."""


@cache
def wordings(language: str = "en") -> dict[str, dict[str, tuple[str, ...]]]:
    """Templates by family and split.

    Raises:
        FileNotFoundError: there is no file of wordings in `language`.
    """
    import yaml

    stem = "wordings" if language == "en" else f"wordings_{language}"
    text = files("environments.worlds.atlas").joinpath(f"data/{stem}.yaml").read_text(encoding="utf-8")
    families: dict[str, dict[str, list[str]]] = yaml.safe_load(text)["families"]
    return {f: {split: tuple(said) for split, said in by_split.items()} for f, by_split in families.items()}


def say(template: str, slots: Slots, rng: random.Random) -> str:
    """One phrasing of `template`: alternatives drawn, slots filled."""
    text = _CHOICE.sub(lambda m: rng.choice(m[1].split("|")), template)
    filled = {**slots, "D": slots["d"][:1].upper() + slots["d"][1:]} if "d" in slots else dict(slots)
    return " ".join(text.format(**filled).split())


def phrasing(family: str, split: Split, slots: Slots, rng: random.Random) -> str:
    """A random phrasing of `family` from the wordings of `split`."""
    return say(rng.choice(wordings()[family][split]), slots, rng)


@cache
def tool_names() -> tuple[str, ...]:
    """Every tool of the world, in the order in which they are shown."""
    return tuple(AtlasWorld().tools())


def offered_tools(needed: set[str], rng: random.Random, *, without: str | None = None) -> tuple[str, ...]:
    """The tools shown: all that are needed, most of the others; `without` takes a needed one away."""
    names = tool_names()
    spare = [n for n in names if n not in needed]
    dropped = {without} if without else set(rng.sample(spare, rng.choice((0, 0, 1, 2)) if len(spare) > 2 else 0))
    return tuple(n for n in names if n not in dropped)


def offered_tools_for(needed: set[str], *, seed: object) -> tuple[str, ...]:
    """`offered_tools` from a stable seed."""
    return offered_tools(needed, random.Random(stable_hash("tools", seed)))


def make_task(family: str, slots: Slots, instruction: str, plan: Plan, tools: tuple[str, ...], **more: Any) -> Task:
    """Put the parts of a task together; the budget is one call more than the gold solution needs."""
    goal = Goal(
        required=plan.required,
        forbidden=plan.forbidden,
        bookings=plan.bookings,
        seen=plan.seen,
        reason=plan.reason,
        evidence_error=plan.evidence_error,
    )
    base = FAMILIES.get(family)
    return Task(
        world="atlas",
        family=family,
        depth=base.depth if base else 0,
        instruction=instruction,
        tools=tools,
        goal=goal,
        gold_calls=plan.calls,
        gold_answer=plan.answer,
        max_calls=len(plan.calls) + 1,
        leaf=more.pop("leaf", base.leaf if base else None),
        **more,
    )


def solvable(family: str, slots: Slots, instruction: str, rng: random.Random, **more: Any) -> Task | None:
    """A task of `family`, or None where the world gives no clear answer for these slots."""
    plan = plan_of(family, slots)
    if plan is None:
        return None
    tools = offered_tools({c.name for c in plan.calls}, rng)
    return make_task(family, slots, instruction, plan, tools, **more)


def without_tool(task: Task, rng: random.Random) -> Task:
    """The twin of a solvable task in which a tool that it needs is missing."""
    gone = rng.choice(sorted({c.name for c in task.gold_calls}))
    plan = Plan(answer=plan_of("out_of_scope", {}).answer, reason="no_tool")  # type: ignore[union-attr]
    tools = offered_tools(set(), rng, without=gone)
    shared = {"split": task.split, "query_id": task.query_id, "group": task.group, "leaf": task.leaf}
    return make_task(
        "missing_tool", {}, task.instruction, plan, tools, twin=task.task_id, wordings=task.wordings, **shared
    )


def draw_slots(family: str, split: Split, rng: random.Random) -> dict[str, str]:
    """Slots that make sense together: near cities of one split, a date in the horizon, modes that reach."""
    pool = _cities(split)
    first = rng.choice(pool)
    near = neighbours(first.name, 60 if split == "train" else 16)
    if family in ("route", "faster"):
        near = near[:8]
    second, third = rng.sample(near, 2)
    ends = [first, second, third]
    rng.shuffle(ends)
    day = rng.randint(10, 25)
    slots = {"a": ends[0].name, "b": ends[1].name, "c": ends[2].name, "d": date_phrase(day, rng)}
    modes = ["by car", "by public transport", "by bike", "on foot"]
    slots["m"], slots["n"] = rng.sample(modes if family == "place_route" else modes[:3], 2)
    slots["k"], slots["p"] = rng.choice(PLACE_KINDS), str(rng.randint(12, 40) * 10)
    slots["s"] = _believed_sky(ends[2], slots["d"], rng)
    return slots


def _believed_sky(city: City, phrase: str, rng: random.Random) -> str:
    """What the user believes of the sky in `city`: true half of the time."""
    day = resolve_date(date_argument(phrase), date.fromisoformat(TODAY), HORIZON_DAYS)
    if day is not None and rng.random() < 0.5:
        return weather(city, day)[0]
    return rng.choice(SKIES)


@cache
def _cities(split: Split) -> tuple[City, ...]:
    return tuple(c for c in speakable() if c.split == split)


def date_phrase(day: int, rng: random.Random) -> str:
    """A day of June 2026 as users say it."""
    near = {10: "today", 11: "tomorrow"}
    if day in near and rng.random() < 0.7:
        return near[day]
    if 11 <= day <= 17 and rng.random() < 0.35:
        return f"on {_WEEKDAYS[(day - 10 + 2) % 7]}"
    return rng.choice((f"on June {day}", f"on June {day}", f"on 2026-06-{day:02d}"))


def invented_place(rng: random.Random) -> str:
    """A name that no city bears: two syllables of real names put together."""
    while True:
        head, tail = rng.choice(speakable()).name, rng.choice(speakable()).name
        made = (head[: rng.randint(3, 4)] + tail[-rng.randint(3, 4) :].lower()).replace(" ", "")
        if fold(made) not in gazetteer() and re.fullmatch(r"[A-Z][a-z]{4,9}", made):
            return made


def fresh_task(
    rng: random.Random, split: Split, *, wording_split: Split | None = None, attempts: int = 1
) -> list[Task]:
    """One new task, followed by its twin where it has one; `attempts` different wordings of it.

    Args:
        rng: everything random comes from it.
        split: which cities it may name.
        wording_split: which wordings it may use; the same as `split` by default.
        attempts: how many phrasings it carries.
    """
    while True:
        family = rng.choices(list(SHARES), list(SHARES.values()))[0]
        made = _fresh(family, split, wording_split or split, attempts, rng)
        if made:
            return made


def _fresh(family: str, split: Split, said_in: Split, attempts: int, rng: random.Random) -> list[Task]:
    slots = draw_slots(family, split, rng)
    if family == "missing_tool":
        twin_family = rng.choice([f for f in SHARES if FAMILIES.get(f) and FAMILIES[f].depth > 0])
        twin = _worded(twin_family, draw_slots(twin_family, split, rng), split, said_in, attempts, rng)
        return [without_tool(twin, rng), twin] if twin else []
    if family == "unknown_place":
        lost = {**slots, "c": invented_place(rng)}
        return _pair(family, lost, "weather", slots, split, said_in, attempts, rng, worded_as="weather")
    if family == "no_origin":
        return _pair(family, slots, "flight", slots, split, said_in, attempts, rng)
    if family == "out_of_scope":
        return _pair(family, slots, "weather", slots, split, said_in, attempts, rng)
    made = _worded(family, slots, split, said_in, attempts, rng)
    return [made] if made else []


def _pair(
    family: str, slots: Slots, twin_family: str, twin_slots: Slots, split: Split, said_in: Split, attempts: int,
    rng: random.Random, worded_as: str | None = None,
) -> list[Task]:  # fmt: skip
    """A refusal task and its solvable twin."""
    twin = _worded(twin_family, twin_slots, split, said_in, attempts, rng)
    made = _worded(family, slots, split, said_in, attempts, rng, worded_as=worded_as)
    return [made.model_copy(update={"twin": twin.task_id}), twin] if made and twin else []


def _worded(
    family: str,
    slots: Slots,
    split: Split,
    said_in: Split,
    attempts: int,
    rng: random.Random,
    worded_as: str | None = None,
) -> Task | None:
    said = list(dict.fromkeys(phrasing(worded_as or family, said_in, slots, rng) for _ in range(attempts * 3)))[
        :attempts
    ]
    group = f"{stable_hash(family, *sorted(slots.items())):016x}"
    return solvable(family, slots, said[0], rng, split=split, group=group, wordings=tuple(said[1:]))


def fresh_tasks(
    count: int, split: Split, seed: int, *, wording_split: Split | None = None, attempts: int = 1
) -> list[Task]:
    """`count` new tasks or a few more (twins are never torn apart), distinct, from a seed of their own."""
    rng = random.Random(stable_hash("fresh", split, seed))
    made: dict[str, Task] = {}
    while len(made) < count:
        made.update((t.task_id, t) for t in fresh_task(rng, split, wording_split=wording_split, attempts=attempts))
    return list(made.values())
