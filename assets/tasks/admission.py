"""The gate that every task must pass before anything is sampled from it.

The gold solution scores 1 three times in the same world; doing nothing and the cheating policies score 0; two resets
give the same state. A task whose right end is a refusal is kept and not quarantined: there the blanket refusal may be
right, and it is scored together with its solvable twin, so that refusing everything earns nothing. What fails goes to
quarantine with the evidence and is never a negative sample.

Source: pipeline stage 6; tau2-bench's tasks that a do-nothing agent solves are what this gate is for.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from typing import NamedTuple

from environments.episode import Episode, Scored
from environments.policies.scripted import CHEATERS, AlwaysRefuse, Gold, OneLook, Scripted
from environments.rollout import rollouts
from environments.task import Task
from environments.verifier import Verifier
from environments.world import World, WorldPool

GOLD_RUNS = 3


class Rejection(NamedTuple):
    """One task that failed the gate."""

    task_id: str
    check: str
    """`gold`, `reset`, `twin` or the version of the cheating policy."""
    evidence: str


class Admission(NamedTuple):
    """Who passed, who did not and why, and how often cheating paid."""

    admitted: list[Task]
    rejected: list[Rejection]
    exploits: int
    """(task, cheating policy) pairs in which cheating scored."""
    trials: int

    @property
    def exploit_rate(self) -> float:
        """Share of trials in which cheating scored."""
        return self.exploits / max(1, self.trials)

    @property
    def exploit_bound(self) -> float:
        """95% upper bound of the exploit rate (Clopper-Pearson)."""
        from scipy.stats import beta

        if self.exploits >= self.trials:
            return 1.0
        return float(beta.ppf(0.95, self.exploits + 1, self.trials - self.exploits))


class Tried(NamedTuple):
    """What the gate found on some tasks."""

    rejected: list[Rejection]
    exploits: int
    trials: int


def try_tasks(tasks: Sequence[Task], make_world: Callable[[], World], verifier: Verifier) -> Tried:
    """Gold, reset and cheating policies on each task, on its own."""
    pool = WorldPool(make_world)
    rejected = [*_unstable(tasks, make_world), *_unsolved(tasks, pool, verifier)]
    cheats = [(policy(), e) for policy in CHEATERS for e in _play(tasks, policy(), pool, verifier, 1)]
    by_id = {t.task_id: t for t in tasks}
    counted = [(p, e) for p, e in cheats if not _may_score(p, by_id[e.task_id])]
    paid = [(p, e) for p, e in counted if _reward(e) > 0]
    rejected += [Rejection(e.task_id, p.version, (e.answer or "")[:200]) for p, e in paid]
    return Tried(rejected, len(paid), len(counted))


def admit(tasks: Sequence[Task], make_world: Callable[[], World], verifier: Verifier, *, workers: int = 1) -> Admission:
    """Run the gate over `tasks`, each on its own; order-free, the same for any number of workers.

    Args:
        tasks: compiled tasks, twins included.
        make_world: opens one session of their world.
        verifier: the verifier that will grade them in training.
        workers: processes side by side.
    """
    parts = [tasks[i::workers] for i in range(workers)]
    if workers == 1:
        tried = [try_tasks(tasks, make_world, verifier)]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            tried = list(pool.map(try_tasks, parts, repeat(make_world), repeat(verifier)))
    rejected = [r for t in tried for r in t.rejected]
    by_id = {t.task_id: t for t in tasks}
    failed = {r.task_id for r in rejected}
    orphans = [
        t for t in tasks if t.task_id not in failed and t.twin is not None and (t.twin in failed or t.twin not in by_id)
    ]
    rejected += [Rejection(t.task_id, "twin", f"its twin {t.twin} was not admitted") for t in orphans]
    failed |= {t.task_id for t in orphans}
    first = list({r.task_id: r for r in reversed(rejected)}.values())
    exploits, trials = sum(t.exploits for t in tried), sum(t.trials for t in tried)
    return Admission([t for t in tasks if t.task_id not in failed], sorted(first), exploits, trials)


def _may_score(policy: Scripted, task: Task) -> bool:
    """The blanket refusal may be right on a refusal task, and one look where one look is all it takes."""
    if isinstance(policy, OneLook):
        return len(task.gold_calls) <= 1
    return isinstance(policy, AlwaysRefuse) and task.goal.reason is not None


def _play(tasks: Sequence[Task], policy: Scripted, pool: WorldPool, verifier: Verifier, k: int) -> list[Episode]:
    return [e for batch in rollouts(tasks, policy, pool, verifier, k=k, seed=0) for e in batch]


def _reward(episode: Episode) -> float:
    return episode.verdict.reward if isinstance(episode.verdict, Scored) else 0.0


def _unsolved(tasks: Sequence[Task], pool: WorldPool, verifier: Verifier) -> list[Rejection]:
    played = _play(tasks, Gold(), pool, verifier, GOLD_RUNS)
    return [Rejection(e.task_id, "gold", f"{e.verdict}") for e in played if _reward(e) < 1]


def _unstable(tasks: Sequence[Task], make_world: Callable[[], World]) -> list[Rejection]:
    """Tasks whose gold calls leave something behind after a reset, or whose world starts differently."""
    world = make_world()
    world.reset()
    initial = world.state_hash()
    found = []
    for task in tasks:
        for call in task.gold_calls:
            world.call(call.name, call.arguments)
        world.reset()
        if (after := world.state_hash()) != initial:
            found.append(Rejection(task.task_id, "reset", f"{initial} became {after}"))
    return found
