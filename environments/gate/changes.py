"""Metamorphic checks: the task, its solution or its answer is changed so that the right verdict is known beforehand.

What must stay right: independent calls in another order, a look taken twice, another wording, the same answer between
marks and blanks, and the gold solution of the task with its entities renamed. What must turn wrong: every corruption of
the gold solution, of the renamed task too, and the old answer where the renamed entity has another.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from environments.episode import Episode, NoResult
from environments.gate.audit import Reference, reference
from environments.gate.corruption import corrupted_answers, corruptions, swaps
from environments.gate.finding import Finding, Kind, Status
from environments.gate.ground import Ground, broke, must_score, reward_of, told
from environments.gate.renaming import renamed
from environments.gate.witness import Plan
from environments.policies.scripted import Gold
from environments.policies.writing import writes_of
from environments.task import Call, Task

FRAMES = ("  {}\n", "**{}**", "- {}\n", "\t{} ")
"""Marks and blanks around an answer that say nothing. What people say around one is the labelled set's to test: a
verifier that takes it wrong is at fault there, and no task is."""


def changed(task: Task, ground: Ground) -> list[Finding]:
    """Every metamorphic check of one task whose gold solution scores."""
    known = reference(task, ground)
    if known is None:
        return [Finding(Kind.CHANGED, "reference", Status.NO_RESULT, "the world gave no result for the gold solution")]
    found = [*_kept(task, known, ground), *_spoiled(task, known, ground)]
    other = renamed(task, ground)
    return found if other is None else [*found, *_of_renamed(task, other, ground)]


def _kept(task: Task, known: Reference, ground: Ground) -> Iterator[Finding]:
    framed = [Plan(task.gold_calls, frame.format(task.gold_answer)) for frame in FRAMES]
    yield _all_score("framed", task, framed, ground)
    if orders := [Plan(calls, task.gold_answer) for calls in _independent(task, known, ground)]:
        yield _all_score("reordered", task, orders, ground)
    if (twice := _looked_twice(task, ground)) is not None:
        yield _all_score("looked_twice", task, [Plan(twice, task.gold_answer)], ground)
    if task.wordings:
        said = len(task.wordings) + 1
        yield must_score(Kind.CHANGED, "other_wordings", ground.play([task], Gold(), k=said))


def _all_score(check: str, task: Task, plans: Sequence[Plan], ground: Ground) -> Finding:
    episodes = ground.run(task, plans)
    finding = must_score(Kind.CHANGED, check, episodes)
    if not finding.failed:
        return finding
    wrong = next((e for e in episodes if reward_of(e) < 1), episodes[0])
    return finding._replace(evidence=f"{finding.evidence}: {told(wrong)}")


def _independent(task: Task, known: Reference, ground: Ground) -> list[tuple[Call, ...]]:
    """Orders of the gold calls in which each shows what it showed, the end is the same and no rule orders them."""
    ruled = {name for order in task.goal.order for name in (order.first, order.then)}
    orders = [calls for calls in swaps(task.gold_calls) if calls != task.gold_calls] if not ruled else []
    found = []
    for calls, seen in zip(orders, ground.witness(task, [Plan(c, task.gold_answer) for c in orders]), strict=False):
        same_looks = _looks(seen.steps) == _looks(known.gold.steps)
        if same_looks and seen.changes == known.gold.changes and seen.effects == known.gold.effects:
            found.append(calls)
    return found


def _looks(steps: Sequence[object]) -> Counter[str]:
    return Counter(map(repr, steps))


def _looked_twice(task: Task, ground: Ground) -> tuple[Call, ...] | None:
    """The gold calls with the first look taken twice, where the budget allows."""
    world = ground.pool.lend()
    writes = writes_of(world.tools())
    ground.pool.give_back(world)
    looks = [i for i, call in enumerate(task.gold_calls) if call.name not in writes]
    if not looks or len(task.gold_calls) >= task.max_calls or task.faults:
        return None
    return (*task.gold_calls[: looks[0] + 1], *task.gold_calls[looks[0] :])


def _spoiled(task: Task, known: Reference, ground: Ground) -> Iterator[Finding]:
    world = ground.pool.lend()
    plans = list(corruptions(task, known, world))
    ground.pool.give_back(world)
    episodes = ground.run(task, [plan for _, plan in plans])
    yield from _none_scores([name for name, _ in plans], episodes)


def _none_scores(names: Sequence[str], episodes: Sequence[Episode]) -> Iterator[Finding]:
    """One finding per kind of corruption."""
    for name in dict.fromkeys(names):
        mine = [e for n, e in zip(names, episodes, strict=True) if n == name]
        paid = [e for e in mine if reward_of(e) > 0]
        if broken := [why for e in mine if (why := broke(e))]:
            yield Finding(Kind.CHANGED, name, Status.FAILED, broken[0])
        elif any(isinstance(e.verdict, NoResult) for e in mine):
            yield Finding(Kind.CHANGED, name, Status.NO_RESULT)
        elif paid:
            yield Finding(Kind.CHANGED, name, Status.FAILED, f"it scores: {told(paid[0])}")
        else:
            yield Finding(Kind.CHANGED, name, Status.PASSED)


def _of_renamed(task: Task, other: Task, ground: Ground) -> Iterator[Finding]:
    finding = must_score(Kind.CHANGED, "renamed", ground.play([other], Gold()))
    yield finding._replace(evidence=f"{finding.evidence}: {other.instruction!r}") if finding.failed else finding
    wrong = [answer for _, answer in corrupted_answers(other)]
    if other.goal.required != task.goal.required:
        wrong.append(task.gold_answer)
    episodes = ground.run(other, [Plan(other.gold_calls, answer) for answer in wrong])
    yield from _none_scores(["renamed_and_spoiled"] * len(wrong), episodes)
