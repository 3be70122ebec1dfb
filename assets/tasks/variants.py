"""More tasks from one: the user's wording with other cities, days and kinds, and the refusal beside a solvable task.

A variant keeps its original's group, split and query, so that it never crosses the hidden line (pipeline law 7). The
variants of a request about a place that the world does not know name places that it does: they are its solvable side.
"""

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from environments.seeds import stable_hash
from environments.task import Task
from environments.worlds.atlas.families import FAMILIES, plan_of
from environments.worlds.atlas.plans import date_argument
from environments.worlds.atlas.tasks import draw_slots, invented_place, make_task, offered_tools_for, without_tool

LOST_PLACES = 4
"""Weather tasks become tasks about a place that does not exist so many times as often as they lose their tool."""
MONTH_DAY = re.compile(r"June \d{1,2}")


class Slotted(NamedTuple):
    """A task with the slots that its instruction words."""

    task: Task
    slots: dict[str, str]


def variants(original: Slotted, count: int) -> list[Slotted]:
    """Up to `count` variants; fewer where the wording hides a slot or the world gives no clear answer."""
    if original.task.family not in FAMILIES or not _replaceable(original):
        return []
    made: dict[str, Slotted] = {}
    for number in range(count * 3):
        rng = random.Random(stable_hash("variant", original.task.task_id, number))
        variant = _variant(original, rng)
        if variant is not None and variant.task.task_id != original.task.task_id:
            made.setdefault(variant.task.task_id, variant)
        if len(made) == count:
            break
    return list(made.values())


def _replaceable(original: Slotted) -> bool:
    said = original.task.instruction
    return bool(original.slots) and all(len(_spans(said, v)) == 1 for k, v in original.slots.items() if k in "abck")


def _spans(text: str, value: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text))


def _variant(original: Slotted, rng: random.Random) -> Slotted | None:
    task, slots = original
    family = "weather" if task.family == "unknown_place" else task.family
    drawn = draw_slots(family, task.split, rng)
    fresh = {**slots, **{k: _in_case_of(slots[k], drawn[k]) for k in slots if k in "abck"}}
    text = task.instruction
    if day := _other_day(text, slots, rng):
        text, fresh["d"] = day
    for key in slots:
        if key in "abck":
            text = re.sub(rf"(?<!\w){re.escape(slots[key])}(?!\w)", f"\x00{key}\x00", text)
    for key in fresh:
        text = text.replace(f"\x00{key}\x00", fresh[key])
    plan = plan_of(family, fresh)
    if plan is None:
        return None
    tools = offered_tools_for({c.name for c in plan.calls}, seed=(text, rng.random()))
    return Slotted(make_task(family, fresh, text, plan, tools, **_kept(task)), fresh)


def _in_case_of(old: str, new: str) -> str:
    """`new` in lower or upper case, if that is how the user wrote `old`."""
    if old.islower():
        return new.lower()
    return new.upper() if old.isupper() and len(old) > 1 else new


def _kept(task: Task) -> dict[str, object]:
    return {"leaf": task.leaf, "query_id": task.query_id, "group": task.group, "split": task.split}


def _other_day(text: str, slots: dict[str, str], rng: random.Random) -> tuple[str, str] | None:
    """Another day in the same form, where the text says `June 12` or an ISO date."""
    day = rng.randint(10, 25)
    iso = f"2026-06-{day:02d}"
    if "d" not in slots:
        return None
    if len(MONTH_DAY.findall(text)) == 1:
        return MONTH_DAY.sub(f"June {day}", text), iso
    said = date_argument(slots["d"])
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", said) and text.count(said) == 1:
        return text.replace(said, iso), iso
    return None


def refusals(originals: Sequence[Slotted], share: float) -> list[Task]:
    """Refusal twins for a share of the solvable tasks: a missing tool, or for weather a place that does not exist.

    Args:
        originals: admitted or compiled solvable tasks.
        share: how many of them get a twin, by hash of their id.
    """
    made = []
    for task, slots in originals:
        rng = random.Random(stable_hash("refusal", task.task_id))
        lost_share = min(0.5, share * LOST_PLACES) if task.family == "weather" else 0.0
        drawn = rng.random()
        if not task.gold_calls or drawn >= lost_share + share:
            continue
        lost = _lost_place(task, slots, rng) if drawn < lost_share else None
        made.append(lost or without_tool(task, rng))
    return made


def _lost_place(task: Task, slots: dict[str, str], rng: random.Random) -> Task | None:
    if len(_spans(task.instruction, slots["c"])) != 1:
        return None
    lost = {**slots, "c": invented_place(rng)}
    text = re.sub(rf"(?<!\w){re.escape(slots['c'])}(?!\w)", lost["c"], task.instruction)
    plan = plan_of("unknown_place", lost)
    if plan is None:
        return None
    tools = offered_tools_for({c.name for c in plan.calls}, seed=text)
    return make_task("unknown_place", lost, text, plan, tools, twin=task.task_id, **_kept(task))
