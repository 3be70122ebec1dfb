"""Tasks from files that people edit: every record that is none is named with its place and field, and the others count.

A goal that is not what its author meant is worse than none. So a field that no task has is refused and not ignored, and
of two different tasks with one id neither is chosen silently.

Source: pipeline law 8 (bad input gets a clear error, the good rows go on).
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from environments.fault import Fault
from environments.task import Booking, Call, Case, Change, Fact, Goal, Order, Saying, Task, UserGoal, Written

_MODELS: Final[tuple[type[BaseModel], ...]] = (
    Task, Goal, Fact, Call, Booking, Change, Order, Case, Written, Saying, UserGoal, Fault,
)  # fmt: skip
_FIELDS: Final = tuple(sorted({name for model in _MODELS for name in model.model_fields}))


class Record(NamedTuple):
    """A task and where it stands."""

    number: int
    """Line of a text file, or row of a table, from 1."""
    task: Task


class Refused(NamedTuple):
    """A record that is no task, or none that can be used."""

    number: int
    field: str
    """Where in the record, `goal.required.0.value` for example; empty where it is about the whole."""
    problem: str


class TaskFile(NamedTuple):
    """What a file holds, in its order."""

    records: list[Record]
    refused: list[Refused]
    """A record with several mistakes has one entry for each."""

    @property
    def tasks(self) -> list[Task]:
        """What can be used."""
        return [record.task for record in self.records]


def read_records(texts: Iterable[tuple[int, str]]) -> TaskFile:
    """The tasks in numbered texts of JSON; blank ones count for nothing.

    Of records with the same task the first is used. Where they differ in what is no part of a task's id (gold solution,
    split, twin), none is: which of them was meant nobody can tell.
    """
    read: dict[str, list[Record]] = defaultdict(list)
    refused: list[Refused] = []
    for number, text in texts:
        if twice := _said_twice(text):
            refused.append(Refused(number, twice, "said twice in this record: keep the one meant"))
            continue
        try:
            task = Task.model_validate_json(text, extra="forbid") if text.strip() else None
        except ValidationError as error:
            refused += [_refused(number, mistake) for mistake in error.errors()]
        else:
            if task is not None and (problem := _problem(task)):
                refused.append(Refused(number, *problem))
            elif task is not None:
                read[task.task_id].append(Record(number, task))
    records: list[Record] = []
    for same in read.values():
        differs = any(record.task != same[0].task for record in same)
        records += [] if differs else same[:1]
        refused += _repeated(same, differs=differs)
    return TaskFile(sorted(records, key=lambda r: r.number), sorted(refused))


def texts_in(content: str) -> list[str]:
    """The records of a file of JSON lines, or of one JSON array, as they are written there."""
    lines = content.split("\n")  # a text may hold other ends of a line
    if not content.lstrip().startswith("["):
        return lines
    decoder, texts, at = json.JSONDecoder(), list[str](), content.index("[") + 1
    try:
        while match := re.compile(r"\s*,?\s*(?=[^\s\]])").match(content, at):
            _, at = decoder.raw_decode(content, match.end())
            texts.append(content[match.end() : at])
    except (ValueError, RecursionError):
        return lines  # no array: what reads the lines says so
    return texts if content[at:].strip() == "]" else lines


def in_worlds(found: TaskFile, problem_of: Callable[[str], str | None]) -> TaskFile:
    """The file without the tasks of worlds that cannot be opened; `problem_of` says what is wrong with one, or None."""
    problems = {world: problem_of(world) for world in sorted({r.task.world for r in found.records})}
    out = [Refused(r.number, "world", why) for r in found.records if (why := problems[r.task.world])]
    return TaskFile([r for r in found.records if not problems[r.task.world]], sorted([*found.refused, *out]))


def _said_twice(text: str) -> str | None:
    """A field that one object of a JSON text has twice, of which readers take the last in silence."""
    twice: list[str] = []

    def noted(pairs: list[tuple[str, object]]) -> None:
        """Note what is there twice; the values do not matter."""
        twice.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)

    try:
        json.loads(text, object_pairs_hook=noted)
    except (ValueError, RecursionError):
        return None  # no JSON: what reads it as a task says so
    return twice[0] if twice else None


def _problem(task: Task) -> tuple[str, str] | None:
    """Field and what is wrong with it, of a task that nobody could solve."""
    if not task.instruction.strip():
        return "instruction", "blank: nobody could know what is asked"
    for place, fact in enumerate(task.goal.required):
        if fact.kind == "number" and not re.fullmatch(r"[+-]?\d+(?:\.\d+)?", fact.value):
            return f"goal.required.{place}.value", f"a number is written 1234.5, not {fact.value!r}"
    return None


def _repeated(same: Sequence[Record], *, differs: bool) -> list[Refused]:
    """What is refused of the records of one task id."""
    numbers = [record.number for record in same]
    if not differs:
        return [Refused(n, "", f"the same task as number {numbers[0]}, which is used") for n in numbers[1:]]
    fields = [name for name in Task.model_fields if len({str(getattr(r.task, name)) for r in same}) > 1]
    why = f"numbers {', '.join(map(str, numbers))} are one task and differ in {', '.join(fields)}: keep the one meant"
    return [Refused(n, fields[0], why) for n in numbers]


def _refused(number: int, mistake: Any) -> Refused:
    place = [str(part) for part in mistake["loc"]]
    if mistake["type"] != "extra_forbidden":
        return Refused(number, ".".join(place), mistake["msg"])
    near = get_close_matches(place[-1], _FIELDS, n=1)
    return Refused(number, ".".join(place), "no task has this field" + (f"; {near[0]!r} was meant?" if near else ""))
