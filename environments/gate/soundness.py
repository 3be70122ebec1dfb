"""Whether a task is whole: solvable by its gold solution, in a world that comes back, with a verdict that stands."""

from collections.abc import Iterator, Sequence
from typing import Any

from environments.episode import Episode, NoResult, Step
from environments.gate.finding import Finding, Kind, Status
from environments.gate.ground import Ground, Twice, must_score
from environments.policies.scripted import Gold
from environments.task import Task
from environments.verifiers.state import state_failure
from environments.world import World, WorldFailure

GOLD_RUNS = 3


def soundness(tasks: Sequence[Task], ground: Ground) -> dict[str, list[Finding]]:
    """Gold solution, its replay, repeated verdict, start, reset and rivals of each task."""
    played = ground.by_task(tasks, Gold(), GOLD_RUNS, Twice(ground.verifier))
    world = ground.make_world()
    return {t.task_id: [*_of_gold(t, played[t.task_id]), *_of_state(t, world)] for t in tasks}


def _of_gold(task: Task, episodes: Sequence[Episode]) -> Iterator[Finding]:
    yield must_score(Kind.SOUND, "gold", episodes)
    runs = [e.steps for e in episodes if not isinstance(e.verdict, NoResult)]
    differ = any(run != runs[0] for run in runs[1:])
    evidence = "the same calls showed different results in fresh worlds" if differ else ""
    yield Finding(Kind.SOUND, "replay", Status.FAILED if differ else Status.PASSED, evidence)
    rival = _rival(task, episodes[0].steps) if episodes else None
    yield Finding(Kind.SOUND, "one_right_answer", Status.FAILED if rival else Status.PASSED, rival or "")


def _of_state(task: Task, world: World) -> Iterator[Finding]:
    """Whether the goal holds before the first step, and whether two resets bring the start back."""
    try:
        initial = _reset_hash(world)
        world.begin(task)
        wanted = bool(task.goal.bookings or task.goal.changes)
        holds = wanted and state_failure(task.goal, world) is None
        for call in task.gold_calls:
            world.call(call.name, call.arguments)
        after = {_reset_hash(world), _reset_hash(world)}
    except WorldFailure as failure:
        yield Finding(Kind.SOUND, "reset", Status.NO_RESULT, str(failure))
        return
    evidence = "the goal state holds before the first step" if holds else ""
    yield Finding(Kind.SOUND, "start", Status.FAILED if holds else Status.PASSED, evidence)
    changed = sorted(after - {initial})
    evidence = f"{initial} became {changed[0]} after a reset" if changed else ""
    yield Finding(Kind.SOUND, "reset", Status.FAILED if changed else Status.PASSED, evidence)


def _reset_hash(world: World) -> str:
    world.reset()
    return world.state_hash()


def _rival(task: Task, steps: Sequence[Step]) -> str | None:
    """Another entry of a result that is as good as the right one: the same numbers under another name."""
    asked = {f.value for f in task.goal.required if f.kind in ("name", "code")}
    for step in steps:
        entries = [e for e in step.observation if isinstance(e, dict)] if isinstance(step.observation, list) else []
        for right in (e for e in entries if asked & set(map(str, e.values()))):
            numbers = _numbers(right)
            twins = [e for e in entries if e != right and numbers and _numbers(e) == numbers]
            if twins and not asked & set(map(str, twins[0].values())):
                return f"{twins[0]} is as good an answer as {right}"
    return None


def _numbers(entry: dict[str, Any]) -> dict[str, float]:
    return {k: float(v) for k, v in entry.items() if isinstance(v, int | float) and not isinstance(v, bool)}
