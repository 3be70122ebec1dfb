"""Right answers made wrong, one thing at a time, and right solutions with one thing left out: none may score."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from environments.gate.audit import Reference
from environments.gate.witness import Plan, entries
from environments.policies.writing import writes_of
from environments.task import Call, Fact, Task
from environments.verifiers.outcome import shown
from environments.world import World

_OTHER_UNIT = {"euros": "dollars", "degrees": "fahrenheit", "km": "miles", "minutes": "hours"}


def corruptions(task: Task, known: Reference, world: World) -> Iterator[tuple[str, Plan]]:
    """Each corruption with its name.

    Args:
        task: whose gold solution is corrupted.
        known: what that solution does and needs.
        world: tells which tools write.
    """
    for name, answer in corrupted_answers(task):
        yield name, Plan(task.gold_calls, answer)
    yield from _left_out(task, known, writes_of(world.tools()))


def corrupted_answers(task: Task) -> Iterator[tuple[str, str]]:
    """Wrong number, other unit, missing fact, swapped entity, extra claim, an answer taken back.

    None where only files count: there an answer says that the work is done, and nothing that could be wrong.
    """
    if task.goal.graded_by_files:
        return
    gold, goal = task.gold_answer, task.goal
    for fact in goal.required:
        yield from _without_or_other(gold, fact, goal.forbidden)
    plain = gold.rstrip(".")
    yield "extra_claim", f"{plain}, and it costs 9127 dollars with ZX9137."
    if not goal.reason:
        yield "taken_back", f"{plain}. That is a guess, I am not sure."


def _without_or_other(gold: str, fact: Fact, forbidden: tuple[Fact, ...]) -> Iterator[tuple[str, str]]:
    """`gold` with one of its facts missing, wrong, in another unit or swapped."""
    place = re.search(rf"(?<![\w.]){re.escape(fact.value)}(?!\w|\.\d)", gold, re.I)
    if place is None:
        return
    before, after = gold[: place.start()], gold[place.end() :]
    if fact.value.casefold() not in (before + after).casefold():
        yield "missing_fact", before + after
    if fact.kind == "number":
        yield "wrong_number", f"{before}{_another(fact.value)}{after}"
        unit = fact.unit or ""
        if unit in _OTHER_UNIT and after.lstrip().startswith(unit):
            yield "other_unit", before + fact.value + after.replace(unit, _OTHER_UNIT[unit], 1)
    if fact.kind in ("date", "time"):
        yield f"wrong_{fact.kind}", before + _other_moment(fact) + after
    swapped = [f for f in forbidden if f.kind == fact.kind]
    if swapped and fact.kind != "number":
        yield "swapped_entity", before + swapped[0].value + after


def _other_moment(fact: Fact) -> str:
    """The day after a date; half an hour after a time, in the same half of the day as far as there is one."""
    if fact.kind == "date":
        return (date.fromisoformat(fact.value) + timedelta(days=1)).isoformat()
    hour, minute = map(int, fact.value.split(":"))
    return f"{hour:02d}:{(minute + 30) % 60:02d}"


def _another(number: str) -> str:
    """A number near this one, written alike."""
    decimals = len(number.partition(".")[2])
    return f"{float(number) + 7 / 10**decimals:.{decimals}f}"


def _left_out(task: Task, known: Reference, writes: frozenset[str]) -> Iterator[tuple[str, Plan]]:
    """The gold solution without one of its writes; without one of its looks, where the goal names what such looks show.

    Looks by a tool of which the goal names nothing are ways to what it names, and there may be others.
    """
    asked = {s.call.name for s in known.gold.steps if {*shown(s.observation)} & {*task.goal.seen}}
    for place, call in enumerate(task.gold_calls):
        rest = tuple(c for i, c in enumerate(task.gold_calls) if i != place)
        if call in rest:  # the gold solution itself makes it twice, after a response was lost
            continue
        if call.name in writes:
            yield "missing_write", Plan(rest, task.gold_answer)
            continue
        others = {e for i, s in enumerate(known.gold.steps) if i != place for e in entries(s.observation)}
        mine = set(entries(known.gold.steps[place].observation)) if place < len(known.gold.steps) else set()
        if call.name in asked and any(need <= mine and not need & others for need in known.needed):
            yield "missing_look", Plan(rest, task.gold_answer)


def swaps(calls: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
    """Each exchange of two neighbours."""
    for i in range(len(calls) - 1):
        yield (*calls[:i], calls[i + 1], calls[i], *calls[i + 2 :])
