"""Tasks of the full atlas: a family, slots and a wording in English or Chinese become an instruction and a goal.

They are no part of the mixture that the nano policy is trained on; their world is `atlas_full`, or `atlas_places` for
those over a folder of real places.
"""

import random
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from environments.seeds import stable_hash
from environments.task import Goal, Split, Task
from environments.worlds.atlas.full.families import families, plan_of
from environments.worlds.atlas.full.plans import planning_world
from environments.worlds.atlas.full.slots import Language, draw_slots, spoken
from environments.worlds.atlas.plans import Plan, Slots
from environments.worlds.atlas.tasks import invented_place, say

SPARE_CALLS = 2
"""Calls allowed beyond those of the gold solution."""
TRIES = 400
"""So many draws of slots before a family is taken to have no task in a split."""


@cache
def wordings(language: Language) -> dict[str, dict[Split, tuple[str, ...]]]:
    """Templates by family and split."""
    families: dict[str, dict[Split, list[str]]] = _read(language)["families"]
    return {family: _by_split(by) for family, by in families.items()}


@cache
def frames(language: Language) -> dict[Split, tuple[str, ...]]:
    """What is said around a request, by split."""
    return _by_split(_read(language)["frames"])


def _by_split(templates: dict[Split, list[str]]) -> dict[Split, tuple[str, ...]]:
    return {split: tuple(said) for split, said in templates.items()}


@cache
def _read(language: Language) -> dict[str, Any]:
    import yaml

    text = (
        files("environments.worlds.atlas.full").joinpath(f"data/wordings_{language}.yaml").read_text(encoding="utf-8")
    )
    read: dict[str, Any] = yaml.safe_load(text)
    return read


def phrasings(
    family: str,
    slots: Slots,
    split: Split,
    language: Language,
    count: int,
    rng: random.Random,
    places: Path | None = None,
) -> list[str]:
    """Up to `count` different ways to ask for a task."""
    said: dict[str, None] = {}
    for _ in range(4 * count):
        request = say(rng.choice(wordings(language)[family][split]), spoken(slots, language, rng, places), rng)
        said[say(rng.choice(frames(language)[split]), {"said": _sentence(request)}, rng)] = None
    return list(said)[:count]


def _sentence(request: str) -> str:
    """A request with a capital at its start and a mark at its end, so that other sentences can stand beside it."""
    mark = "" if request[-1] in ".?!。？！）" else "." if request[-1].isascii() else "。"
    return request[:1].upper() + request[1:] + mark


def solvable(
    family: str, slots: Slots, instruction: str, rng: random.Random, *, places: Path | None = None, **more: Any
) -> Task | None:
    """A task of `family`, or None where the world gives no clear answer for these slots."""
    plan = plan_of(family, slots, places)
    if plan is None:
        return None
    return _task(family, instruction, plan, _offered({c.name for c in plan.calls}, rng, places), places, **more)


def _offered(needed: set[str], rng: random.Random, places: Path | None, without: str | None = None) -> tuple[str, ...]:
    """The tools shown: all that are needed and most others, or all but one."""
    names = tuple(planning_world(places).tools())
    spare = [n for n in names if n not in needed]
    dropped = {without} if without else set(rng.sample(spare, rng.choice((0, 0, 1, 3))))
    return tuple(n for n in names if n not in dropped)


def _task(family: str, instruction: str, plan: Plan, tools: tuple[str, ...], places: Path | None, **more: Any) -> Task:
    base = families(places).get(family)
    goal = Goal(
        required=plan.required, forbidden=plan.forbidden, bookings=plan.bookings, seen=plan.seen, reason=plan.reason,
        evidence_error=plan.evidence_error,
    )  # fmt: skip
    return Task(
        world=planning_world(places).name, family=family, depth=base.depth if base else 0, instruction=instruction,
        tools=tools, goal=goal, gold_calls=plan.calls, gold_answer=plan.answer, max_calls=len(plan.calls) + SPARE_CALLS,
        leaf=more.pop("leaf", base.leaf if base else None), **more,
    )  # fmt: skip


def fresh_family(
    family: str, split: Split, language: Language, rng: random.Random, *, places: Path | None = None, attempts: int = 1
) -> Task | None:
    """One new task of a family, with `attempts` wordings; None where this draw of slots gives no clear answer."""
    slots = draw_slots(family, split, language, rng, places)
    if family == "unknown_place":
        slots = {**slots, "c": invented_place(rng)}
    return _worded(family, slots, split, language, rng, places, attempts)


def _worded(
    family: str, slots: Slots, split: Split, language: Language, rng: random.Random, places: Path | None, attempts: int,
) -> Task | None:  # fmt: skip
    said = phrasings(family, slots, split, language, attempts, rng, places)
    used = sorted((k, v) for k, v in slots.items() if k in families(places)[family].slots)
    group = f"{stable_hash(planning_world(places).name, family, *used):016x}"
    return solvable(family, slots, said[0], rng, places=places, split=split, group=group, wordings=tuple(said[1:]))


def without_tool(task: Task, rng: random.Random, places: Path | None = None) -> Task:
    """The twin of a solvable task that lacks a tool which nothing else can stand in for."""
    from environments.verifiers.outcome import REFUSALS

    plan = Plan(answer=REFUSALS["no_tool"], reason="no_tool")
    tools = _offered(set(), rng, places, without=rng.choice(families(places)[task.family].needs))
    shared = {"split": task.split, "group": task.group, "leaf": task.leaf, "wordings": task.wordings}
    return _task("missing_tool", task.instruction, plan, tools, places, twin=task.task_id, **shared)


def tasks_of(
    family: str,
    count: int,
    split: Split,
    language: Language,
    seed: int,
    *,
    places: Path | None = None,
    attempts: int = 1,
) -> list[Task]:
    """`count` distinct tasks of one family, with a twin behind each refusal.

    Raises:
        ValueError: the split has no such task.
    """
    rng = random.Random(stable_hash("full", family, split, language, seed))
    made: dict[str, Task] = {}
    for _ in range(TRIES + 40 * count):
        if sum(t.family == family for t in made.values()) >= count:
            return list(made.values())
        made.update((t.task_id, t) for t in _pair(family, split, language, rng, places, attempts))
    raise ValueError(f"{family} gives only {len(made)} of {count} tasks in {split}; ask for fewer or for another split")


def _pair(
    family: str, split: Split, language: Language, rng: random.Random, places: Path | None, attempts: int
) -> Sequence[Task]:
    """A task, behind it the solvable twin of a refusal."""
    if family == "missing_tool":
        twin_family = rng.choice([f for f, made in families(places).items() if made.needs])
        twin = fresh_family(twin_family, split, language, rng, places=places, attempts=attempts)
        return (without_tool(twin, rng, places), twin) if twin else ()
    if family in ("no_origin", "unknown_place"):
        twin_family = "flight_by" if family == "no_origin" else "best_day"
        slots = draw_slots(twin_family, split, language, rng)
        lost = {**slots, "c": invented_place(rng)} if family == "unknown_place" else slots
        twin = _worded(twin_family, slots, split, language, rng, places, attempts)
        made = _worded(family, lost, split, language, rng, places, attempts)
        return (made.model_copy(update={"twin": twin.task_id}), twin) if made and twin else ()
    made = fresh_family(family, split, language, rng, places=places, attempts=attempts)
    return (made,) if made else ()


def fresh_tasks(
    count: int, split: Split, seed: int, *, languages: Sequence[Language] = ("en", "zh"), places: Path | None = None,
    attempts: int = 1,
) -> list[Task]:  # fmt: skip
    """About `count` new tasks, every family and language in turn, from a seed of their own."""
    names = [*families(places), *(() if places else ("missing_tool",))]
    each = max(1, count // (len(names) * len(languages)))
    return [
        task
        for family in names
        for language in languages
        for task in tasks_of(family, each, split, language, seed, places=places, attempts=attempts)
    ]
