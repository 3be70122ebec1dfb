"""Labelled episodes: finished attempts with marks per dimension, and those that were marked by hand.

A mark says whether there is nothing to object to in a dimension; None where the case is open to argument.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments.episode import Attempt, Step
from environments.task import Call, Goal, Task

BY_HAND = "by_hand"
_LANGUAGES = ("en", "zh")


class Labelled(NamedTuple):
    """An episode with marks."""

    name: str
    kind: str
    """How it came to be: `by_hand`, `gold`, or the corruption."""
    language: str
    source: str
    """What it was made from; episodes of one source are no independent sample."""
    attempt: Attempt
    marks: Mapping[str, bool | None]
    """By dimension."""


class _Marked(BaseModel):
    """One episode, as the file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    rubric: Literal["planning", "retrieval", "consultation"]
    said: str
    steps: tuple[tuple[str, dict[str, Any], Any], ...]
    tools: tuple[str, ...] = ()
    """On offer; those that were called where none are named."""
    answer: str
    marks: tuple[Literal[0, 1], Literal[0, 1], Literal[0, 1]]
    """Reasoning, fidelity, service."""
    why: str = Field(min_length=4)


def marked_by_hand() -> list[Labelled]:
    """Every episode that was marked by hand, in the order of the files.

    Raises:
        ValueError: an episode is ill-formed, or an id comes twice.
    """
    found = [_labelled(one, language) for language in _LANGUAGES for one in _read(language)]
    if len({one.name for one in found}) < len(found):
        raise ValueError("two episodes that were marked by hand have one id")
    return found


def _read(language: str) -> list[_Marked]:
    name = f"marked_{language}.yaml"
    content = yaml.safe_load(files("environments.judges").joinpath(name).read_text(encoding="utf-8"))
    try:
        return [_Marked.model_validate(one) for one in content]
    except ValidationError as error:
        causes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError(f"{name}: {causes}") from error


def _labelled(one: _Marked, language: str) -> Labelled:
    tools = one.tools or tuple(dict.fromkeys(name for name, _, _ in one.steps))
    task = Task(
        world="marked",
        family=BY_HAND,
        depth=len(one.steps),
        instruction=one.said,
        tools=tools,
        goal=Goal(),
        gold_answer="",
        max_calls=len(one.steps) + 1,
        rubric=one.rubric,
    )
    steps = [Step(Call(name=name, arguments=arguments), seen) for name, arguments, seen in one.steps]
    attempt = Attempt(task, 0, seed=0, steps=steps, answer=one.answer.strip(), ended="answered")
    marks = dict(zip(("reasoning", "fidelity", "service"), map(bool, one.marks), strict=True))
    return Labelled(one.id, BY_HAND, language, f"hand {one.said}", attempt, marks)
