"""The same task about something else: its entities renamed everywhere at once, so that the verdict must follow.

A world whose tasks bring their own rows is renamed as text: instruction, rows, goal and gold together. Where the
answer depends on the entity (another city has other weather), the world itself plans the task anew.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from environments.gate.ground import Ground
from environments.gate.witness import Plan
from environments.policies.writing import leaves
from environments.seeds import stable_hash
from environments.task import Task
from environments.verifiers.outcome import shown
from environments.worlds.atlas.renaming import moved

PLANNED: Final[dict[str, Callable[[Task], Task | None]]] = {"atlas": moved}
"""Worlds that plan the renamed task themselves."""
NAMES: Final = ("Ottavia", "Brennick", "Kessaro", "Lindqvarn", "Morvayne", "Pellandro", "Tamsworth", "Ysolde")
"""What entities are called afterwards; no world has them."""
_RENAMED: Final = ("instruction", "wordings", "initial", "goal", "gold_calls", "gold_answer", "user")
_NAME: Final = re.compile(r"[A-Z][a-z]{2,}")


def renamed(task: Task, ground: Ground) -> Task | None:
    """The task about something else; None where nothing in it can be renamed."""
    if task.world in PLANNED:
        return PLANNED[task.world](task)
    return renamed_rows(task, ground) if task.initial else None


def renamed_rows(task: Task, ground: Ground) -> Task | None:
    """The task with the names that both its rows and its instruction hold replaced wherever they stand."""
    rows = (str(value) for _, value in leaves(task.initial))
    known = {word for value in rows for word in _NAME.findall(value)}
    names = [word for word in dict.fromkeys(_NAME.findall(task.instruction)) if word in known]
    if not names:
        return None
    start = stable_hash("rename", task.task_id)
    to = {name: NAMES[(start + i) % len(NAMES)] for i, name in enumerate(names[: len(NAMES)])}
    said = task.model_dump(mode="json")
    made = Task.model_validate(said | {field: _replaced(said[field], to) for field in _RENAMED})
    return _seen_anew(task, made, ground)


def _replaced(value: Any, to: dict[str, str]) -> Any:
    """`value` with whole words replaced in all its texts, keys aside."""
    if isinstance(value, dict):
        return {key: _replaced(inner, to) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, to) for inner in value]
    if isinstance(value, str):
        return re.sub(rf"\b(?:{'|'.join(map(re.escape, to))})\b", lambda m: to[m[0]], value)
    return value


def _seen_anew(task: Task, made: Task, ground: Ground) -> Task | None:
    """The renamed task with the digests of what its own world shows, in the places of the old ones."""
    heard = [ground.witness(t, [Plan(t.gold_calls, t.gold_answer)]) for t in (task, made)]
    if not all(heard):
        return None
    old, new = ([d for s in h[0].steps for d in shown(s.observation)] for h in heard)
    to = dict(zip(old, new, strict=False))
    seen = _known(to, task.goal.seen)
    return made.model_copy(update={"goal": made.goal.model_copy(update={"seen": seen})})


def _known(to: dict[str, str], digests: Iterable[str]) -> tuple[str, ...]:
    return tuple(to.get(digest, digest) for digest in digests)
