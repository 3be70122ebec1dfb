"""A labelled set for the gate itself: good tasks, right answers in other people's words, and tasks that are broken.

What is good must pass: each good task is examined like any other, and each right answer is given after the gold calls.
What is broken must be caught, each kind by the check that is there for it. So a gate that turns everything down, and
one that lets everything through, both show.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from environments.episode import NoResult
from environments.gate.broken import BROKEN, Broken, made_broken
from environments.gate.examine import Depth, examined
from environments.gate.finding import Bound, first_failure
from environments.gate.ground import Ground, reward_of, said
from environments.gate.witness import Plan
from environments.task import Task
from environments.verifier import Verifier
from environments.worlds.atlas.renaming import slots_of
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.catalogue import world_maker

MANNERS: Final = ("terse", "chatty", "formal", "listed", "second language", "British", "assistant", "signs")


class RightAnswer(NamedTuple):
    """A right answer to a good task."""

    task: Task
    manner: str
    text: str


class TurnedDown(NamedTuple):
    """Something good that did not pass, with the verdict."""

    what: str
    text: str
    verdict: str


class Known(NamedTuple):
    """How a gate and its verifier do on what is known."""

    false_rejections: Bound
    """Of the good tasks and of the right answers."""
    turned_down: list[TurnedDown]
    caught: Bound
    """Of the broken tasks; `times` of `trials` were caught."""
    missed: list[str]
    """Kinds of broken task that were let through."""


@cache
def answers_by_family() -> Mapping[str, tuple[str, ...]]:
    """The texts of `data/right_answers.yaml`, one for each of `MANNERS`."""
    import yaml

    text = files("environments.gate").joinpath("data/right_answers.yaml").read_text(encoding="utf-8")
    return {family: tuple(said) for family, said in yaml.safe_load(text).items()}


@cache
def good_tasks() -> tuple[Task, ...]:
    """One task of each family, always the same; in the comparison, the place that is looked at first is the one."""
    by_family: dict[str, Task] = {}
    for task in fresh_tasks(200, "train", 9):
        if task.family != "warmer" or task.gold_answer.startswith(str(task.gold_calls[0].arguments["location"])):
            by_family.setdefault(task.family, task)
    return tuple(by_family[family] for family in sorted(by_family))


def right_answers() -> Iterator[RightAnswer]:
    """Every right answer of the set, filled with what its task's gold solution found."""
    for task in good_tasks():
        for manner, template in zip(MANNERS, answers_by_family().get(task.family, ()), strict=False):
            facts = [fact.value for fact in task.goal.required]
            yield RightAnswer(task, manner, template.format(*facts, **(slots_of(task) or {})))


def known(verifier: Verifier) -> Known:
    """Try the set."""
    ground = Ground.of(world_maker("atlas"), verifier)
    found = examined(good_tasks(), ground, Depth())
    down = [
        TurnedDown("task", task.instruction, f"{bad.check}: {bad.evidence}")
        for task in good_tasks()
        if (bad := first_failure(found[task.task_id])) is not None
    ]
    tried = len(good_tasks())
    for answer in right_answers():
        [episode] = ground.run(answer.task, [Plan(answer.task.gold_calls, answer.text)])
        tried += not isinstance(episode.verdict, NoResult)
        if reward_of(episode) < 1 and not isinstance(episode.verdict, NoResult):
            down.append(TurnedDown(f"{answer.task.family}, {answer.manner}", answer.text, said(episode.verdict)))
    missed = [kind for kind, broken in broken_tasks().items() if caught_by(broken, verifier) is None]
    return Known(Bound(len(down), tried), down, Bound(len(BROKEN) - len(missed), len(BROKEN)), missed)


class BrokenTask(NamedTuple):
    """A broken task with the kind that it is of."""

    task: Task
    broken: Broken


def broken_tasks() -> dict[str, BrokenTask]:
    """One task of each kind that is known to be broken."""
    good = {task.family: task for task in good_tasks()}
    return {kind: BrokenTask(made_broken(broken, good), broken) for kind, broken in BROKEN.items()}


def caught_by(broken: BrokenTask, verifier: Verifier) -> str | None:
    """The check that catches a broken task first, or None."""
    found = examined([broken.task], Ground.of(broken.broken.world, verifier), Depth())
    bad = first_failure(found[broken.task.task_id])
    return bad.check if bad is not None else None
