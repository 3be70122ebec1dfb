"""What a policy sends, in a form that every world, verifier and file can take: text that is UTF-8, shallow arguments.

A server that cuts an emoji in two leaves half of it, and JSON may nest without end. Neither may break a run of ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from environments.policy import Action, Malformed
from environments.task import Call

DEEPEST: Final = 32
"""Levels of nesting in the arguments of a call; no tool takes more than three."""


def wellformed(action: Action) -> Action:
    """The action, with what is no text replaced; a call with arguments too deep to be read is malformed."""
    if not isinstance(action, Call):
        return action if is_text(action.text) else replace(action, text=_text(action.text))
    depth = _depth(action.arguments)
    if depth > DEEPEST:
        return Malformed(f"{action.name}: arguments nested more than {DEEPEST} deep", "malformed")
    if is_text(action.name) and is_all_text(action.arguments):
        return action
    return Call(name=_text(action.name), arguments=_whole(action.arguments))


def is_text(value: str) -> bool:
    """Whether it can be written as UTF-8: half of a surrogate pair cannot."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def _depth(value: Any) -> int:
    """Levels of nesting, counted no further than needed."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        level = [part for one in level if isinstance(one, Mapping | list) for part in _parts(one)]
        depth += 1
    return depth


def _parts(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else list(value)


def is_all_text(value: Any) -> bool:
    """Whether every text in nested JSON can be written as UTF-8."""
    if isinstance(value, Mapping):
        return all(is_text(str(key)) and is_all_text(part) for key, part in value.items())
    if isinstance(value, list):
        return all(map(is_all_text, value))
    return not isinstance(value, str) or is_text(value)


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_text(str(key)): _whole(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return _text(value) if isinstance(value, str) else value
