"""The gate over many tasks: side by side, in any world of the catalogue, and from where it was killed.

All tasks are examined plainly, a sample of each family deeply; where the sample fails, the whole family is.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from environments.gate.examine import Depth, examined
from environments.gate.finding import Finding, Kind
from environments.gate.ground import Ground
from environments.gate.store import Findings, Versions
from environments.rollout import MakeWorld
from environments.seeds import stable_hash
from environments.task import Task
from environments.user import User
from environments.verifier import Verifier
from environments.worlds.catalogue import world_maker

AT_ONCE = 48
"""Tasks that are examined and kept together: what a kill loses."""
_SAID = {True: "tasks examined deeply", False: "tasks examined"}
"""One is a hundred times the work of the other: each has a rate of its own."""
Progress = Callable[[str, int, int], None]
"""(what, done, total)."""


class Setting(NamedTuple):
    """What tasks are examined with; goes to other processes as it is."""

    verifier: Verifier
    store: Path | None = None
    """File of what was found before; None keeps nothing."""
    user: User | None = None
    make_world: Callable[[str], MakeWorld] = world_maker
    """World by name."""


class Thoroughness(NamedTuple):
    """Which tasks are examined deeply."""

    sample: int = 10
    """Tasks of each family."""
    everything: bool = False
    """All tasks instead."""
    budget: int = Depth().budget
    """Verdicts that the scripted attacker may spend on each."""


def silent(what: str, done: int, total: int) -> None:
    """Say nothing."""


def run_gate(
    tasks: Sequence[Task], setting: Setting, how: Thoroughness, *, workers: int = 1, progress: Progress = silent
) -> dict[str, list[Finding]]:
    """Findings of each task by id; the same for any order and number of workers.

    Args:
        tasks: distinct, of any world.
        setting: what they are examined with.
        how: which of them deeply.
        workers: processes side by side.
        progress: told after each piece of work, of deep and of plain ones apart.
    """
    deep = set(map(id, tasks)) if how.everything else {id(t) for t in sampled(tasks, how.sample)}
    sides = [(t, Depth(deep=id(t) in deep, budget=how.budget)) for t in tasks]
    found = _examine(sides, setting, workers, progress)
    hurt = {stratum(t) for t in tasks if id(t) in deep and any(_is_deep_failure(f) for f in found[t.task_id])}
    widened = [(t, Depth(deep=True, budget=how.budget)) for t in tasks if id(t) not in deep and stratum(t) in hurt]
    return found | _examine(widened, setting, workers, progress)


def stratum(task: Task) -> tuple[str, str]:
    """What a sample is drawn from."""
    return task.world, task.family


def sampled(tasks: Sequence[Task], each: int) -> list[Task]:
    """Up to `each` tasks of every family of every world, by hash."""
    by_family: dict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda t: (stable_hash("gate sample", t.task_id), t.task_id)):
        by_family[stratum(task)].append(task)
    return [task for own in by_family.values() for task in own[:each]]


def _is_deep_failure(finding: Finding) -> bool:
    return finding.failed and finding.kind in (Kind.CHANGED, Kind.ATTACK, Kind.CHEAT)


def _examine(
    sides: Sequence[tuple[Task, Depth]], setting: Setting, workers: int, progress: Progress
) -> dict[str, list[Finding]]:
    """What is on disk, and what is not after it was examined."""
    versions = {world: versions_of(world, setting) for world in {t.world for t, _ in sides}}
    keys = {t.task_id: versions[t.world].key(t, d) for t, d in sides}
    known = _known(setting, keys)
    pieces = list(_pieces([(t, d) for t, d in sides if t.task_id not in known], keys))
    found = dict(known)
    total, done = Counter(p.depth.deep for p in pieces for _ in p.tasks), Counter[bool]()
    for piece, its in zip(pieces, _played(pieces, setting, workers), strict=True):
        found |= its
        done[piece.depth.deep] += len(its)
        progress(_SAID[piece.depth.deep], done[piece.depth.deep], total[piece.depth.deep])
    return found


def versions_of(world: str, setting: Setting) -> Versions:
    """The versions of a world, and of the verifier and user of a setting."""
    user = setting.user.version if setting.user is not None else "none"
    return Versions(setting.make_world(world)().version, setting.verifier.version, user)


def _known(setting: Setting, keys: dict[str, str]) -> dict[str, list[Finding]]:
    if setting.store is None:
        return {}
    store = Findings(setting.store)
    found = store.known(keys.values())
    store.close()
    return {task_id: found[key] for task_id, key in keys.items() if key in found}


class Piece(NamedTuple):
    """Tasks of one world, to be examined alike."""

    world: str
    depth: Depth
    tasks: list[Task]
    keys: list[str]


def _pieces(sides: Iterable[tuple[Task, Depth]], keys: dict[str, str]) -> Iterator[Piece]:
    """Pieces of work; deep ones are small, and come first, so that none is left over at the end."""
    grouped: dict[tuple[str, Depth], list[Task]] = defaultdict(list)
    for task, depth in sides:
        grouped[task.world, depth].append(task)
    for (world, depth), own in sorted(grouped.items(), key=lambda item: (not item[0][1].deep, item[0][0])):
        size = AT_ONCE // 6 if depth.deep else AT_ONCE
        for start in range(0, len(own), size):
            some = own[start : start + size]
            yield Piece(world, depth, some, [keys[t.task_id] for t in some])


def _played(pieces: Sequence[Piece], setting: Setting, workers: int) -> Iterator[dict[str, list[Finding]]]:
    if workers == 1 or len(pieces) < 2:
        worker = Worker(setting)
        yield from map(worker.examine, pieces)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (setting,)) as pool:
        yield from pool.map(_examine_piece, pieces)


class Worker:
    """Examines pieces, one after the other, with sessions that it keeps, and brings each to disk."""

    def __init__(self, setting: Setting) -> None:
        """Work in `setting`."""
        self.setting = setting
        self._grounds: dict[str, Ground] = {}
        self._store = Findings(setting.store) if setting.store is not None else None

    def examine(self, piece: Piece) -> dict[str, list[Finding]]:
        """Findings by task id."""
        s = self.setting
        if piece.world not in self._grounds:
            self._grounds[piece.world] = Ground.of(s.make_world(piece.world), s.verifier, s.user)
        found = examined(piece.tasks, self._grounds[piece.world], piece.depth)
        if self._store is not None:
            ids = [t.task_id for t in piece.tasks]
            self._store.keep({key: (i, found[i]) for key, i in zip(piece.keys, ids, strict=True)})
        return found


@cache
def _worker() -> list[Worker]:
    return []


def _begin(setting: Setting) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    _worker().append(Worker(setting))


def _end_with_parent() -> None:
    """A worker whose gate was killed would wait for work for ever: it holds both ends of its own queue."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _examine_piece(piece: Piece) -> dict[str, list[Finding]]:
    return _worker()[0].examine(piece)
