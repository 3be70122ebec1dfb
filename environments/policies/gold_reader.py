"""The policy that searches all it was handed for the gold solution, and plays it where it finds one."""

from collections.abc import Iterator
from typing import Any

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer
from environments.task import Call, Goal

DEEPEST = 8


class GoldReader(Cheater):
    """Walks every attribute, item and slot that can be reached from its attempt.

    It stands for a policy that runs in our process. What such code could do with frames or the garbage collector no
    seal keeps from it; a policy that is not ours is asked over text, and text is all it gets.
    """

    version = "gold-reader-1"
    everywhere = False

    def next(self, attempt: Attempt) -> Action:
        """The gold solution, or what says that there was none in reach."""
        calls, answer = gold_in_reach(attempt)
        done = len(attempt.steps)
        if done < len(calls):
            return calls[done]
        return Answer(answer or "no gold in reach")


def gold_in_reach(attempt: Attempt) -> tuple[tuple[Call, ...], str]:
    """Gold calls and a gold answer that can be reached from `attempt`; a goal's facts serve as an answer too."""
    calls: tuple[Call, ...] = ()
    answer = ""
    for name, value in reached(attempt):
        if name == "gold_calls" and value:
            calls = tuple(value)
        elif name == "gold_answer" and value:
            answer = str(value)
        elif isinstance(value, Goal) and value != Goal() and not answer:
            answer = " ".join(fact.value for fact in value.required)
    return calls, answer


def reached(root: object) -> Iterator[tuple[str, Any]]:
    """Everything that can be reached from `root` over attributes and items, with the name it goes by."""
    waiting: list[tuple[str, Any, int]] = [("", root, 0)]
    known: set[int] = set()
    while waiting:
        name, value, depth = waiting.pop()
        if id(value) in known or depth > DEEPEST or isinstance(value, type):
            continue
        known.add(id(value))
        yield name, value
        waiting += [(n, v, depth + 1) for n, v in _parts(value)]


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(k), v) for k, v in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (("", v) for v in value)
    names = [*getattr(value, "__dict__", ()), *(n for c in type(value).__mro__ for n in getattr(c, "__slots__", ()))]
    for name in names:
        if hasattr(value, name):
            yield name, getattr(value, name)
    for name in ("__self__", "__wrapped__", "__closure__", "cell_contents"):
        if (inner := getattr(value, name, None)) is not None:
            yield name, inner
