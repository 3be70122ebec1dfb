"""What policies are judged on: cities and wordings that no training stage ever saw, and the log's own hidden part.

The development suite chooses each policy's temperature; the hidden ones are only ever scored. Each task carries one
wording per attempt, so that repeating one phrasing is not mistaken for reliability.
"""

from collections.abc import Sequence

from environments.seeds import stable_hash
from environments.task import Task
from environments.worlds.atlas.tasks import fresh_tasks


def development_suite(count: int, k: int, seed: int) -> list[Task]:
    """Fresh tasks of development cities and wordings."""
    return fresh_tasks(count, "dev", seed, attempts=k)


def hidden_suite(count: int, k: int, seed: int) -> list[Task]:
    """Fresh tasks of hidden cities and hidden wordings."""
    return fresh_tasks(count, "hidden", seed, attempts=k)


def log_suite(admitted: Sequence[Task], count: int) -> list[Task]:
    """Up to about `count` hidden tasks whose instruction is a query of the log, as users wrote it, with their twins."""
    hidden = {t.task_id: t for t in admitted if t.split == "hidden"}
    order = sorted(hidden.values(), key=lambda t: stable_hash("log suite", t.task_id))
    chosen: dict[str, Task] = {}
    for task in order:
        if len(chosen) >= count:
            break
        chosen[task.task_id] = task
        if task.twin is not None and task.twin in hidden:
            chosen[task.twin] = hidden[task.twin]
    return sorted(chosen.values(), key=lambda t: t.task_id)
