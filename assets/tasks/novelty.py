"""A task among the others: whether it gives its answer away, stands on both sides, or is a training task over again.

The hidden split is to show what was learned, so nothing in it, and nothing in the development split, may have been in
training: not the same group, not the same solution in other words, not nearly the same text. Texts are compared within
equal numbers and names, as in the pool: two places or two days are never copies of each other.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from environments.gate.finding import Finding, Kind, Status
from environments.task import Fact, Task

NEAR: Final = 0.85
"""Jaccard similarity of character trigrams from which two texts are one; ours, the lexical layer's."""
SHORTEST: Final = 12
"""Characters from which a gold answer that stands in the instruction is no accident; ours."""


class Side(NamedTuple):
    """What is known of the training split."""

    solutions: Counter[str]
    groups: set[str]
    texts: dict[str, list[frozenset[str]]]
    """Trigram sets by numbers and names."""


def leakage(tasks: Sequence[Task], *, near: float = NEAR) -> dict[str, list[Finding]]:
    """Findings about each task among the others; those of the hidden and development splits are held against training.

    Args:
        tasks: the whole pool.
        near: similarity from which two texts count as one.
    """
    training = _side([t for t in tasks if t.split == "train"])
    return {t.task_id: list(_findings(t, training, near)) for t in tasks}


def _findings(task: Task, training: Side, near: float) -> Iterable[Finding]:
    given = given_away(task)
    yield _finding("answer_in_instruction", f"the instruction says {given!r}" if given else "")
    if task.split == "train":
        copies = training.solutions[solution(task)] - 1
        yield Finding(Kind.POOL, "novelty", Status.PASSED, f"{copies} others with this solution" if copies else "")
        return
    torn = task.group in training.groups
    yield _finding("one_side", f"group {task.group} is in training too" if torn else "")
    known = bool(task.gold_calls) and training.solutions[solution(task)] > 0
    copied = "a training task has the same solution" if known else _near_copy(task, training, near)
    yield _finding("not_in_training", copied or "")


def _finding(check: str, evidence: str) -> Finding:
    return Finding(Kind.POOL, check, Status.FAILED if evidence else Status.PASSED, evidence)


def _side(tasks: Sequence[Task]) -> Side:
    texts: dict[str, list[frozenset[str]]] = defaultdict(list)
    for task in tasks:
        texts[_about(task)].append(_trigrams(task.instruction))
    return Side(Counter(map(solution, tasks)), {t.group for t in tasks if t.group}, texts)


def solution(task: Task) -> str:
    """What a task comes down to: the same calls to the same end are the same task, whatever its words."""
    calls = [[c.name, c.arguments] for c in task.gold_calls]
    parts = [
        task.world,
        calls,
        task.goal.model_dump(mode="json", include={"required", "bookings", "changes", "reason"}),
    ]
    if not task.gold_calls:
        parts += [" ".join(task.instruction.casefold().split())]
    parts += [fault.model_dump(mode="json") for fault in task.faults]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False).casefold()


def given_away(task: Task) -> str | None:
    """What of the gold answer the instruction already says; a premise, a budget or a choice named by it is no gift.

    Where something must be written, the answer alone earns nothing, and saying again which order it was is no gift.
    """
    if task.goal.reason is not None or task.goal.changes:
        return None
    for said in (task.instruction, *task.wordings):
        text = " ".join(said.casefold().split())
        answer = " ".join(task.gold_answer.casefold().strip(" .").split())
        if len(answer) >= SHORTEST and answer in text:
            return answer
        required = task.goal.required
        if codes := [f.value for f in required if f.kind == "code" and _says(text, f)]:
            return codes[0]
        if required and all(_says(text, f) for f in required):
            return ", ".join(f.value for f in required)
    return None


def _says(text: str, fact: Fact) -> bool:
    """Whether the text holds the value as a word; a number only together with its unit's first letters."""
    value = re.escape(fact.value.casefold())
    unit = rf"\s*{re.escape(fact.unit[:3])}" if fact.kind == "number" and fact.unit else r"(?!\w)"
    return re.search(rf"(?<![\w.]){value}{unit}", text) is not None


def _about(task: Task) -> str:
    """Numbers and names of a text: those with others are never near copies."""
    numbers = re.findall(r"\d+", task.instruction)
    names = re.findall(r"(?<=\s)[A-Z]\w+", task.instruction)
    return " ".join([task.world, *sorted(numbers), *sorted(n.casefold() for n in names)])


def _trigrams(text: str) -> frozenset[str]:
    folded = " ".join(re.findall(r"\w+", text.casefold()))
    return frozenset(folded[i : i + 3] for i in range(max(1, len(folded) - 2)))


def _near_copy(task: Task, training: Side, near: float) -> str | None:
    """Whether a training task says nearly the same."""
    mine = _trigrams(task.instruction)
    for other in training.texts.get(_about(task), ()):
        both = len(mine & other)
        if both / (len(mine) + len(other) - both) >= near:
            return "a training task says nearly the same"
    return None
