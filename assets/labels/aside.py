"""Requests that the tools are not for: the groups of `irrelevance.yaml`, a class of their own to the annotator."""

import json
from functools import cache
from typing import NamedTuple

from assets.labels.words import read_yaml


class AsideGroup(NamedTuple):
    """A kind of request that the tools are not for."""

    difficulty: int
    """-1: nobody can do it here; 0: it needs no tool."""
    reason: str
    examples: tuple[str, ...]


@cache
def aside_groups() -> dict[str, AsideGroup]:
    """The groups of `irrelevance.yaml` by name."""
    listed = read_yaml("irrelevance.yaml")["groups"]
    return {name: AsideGroup(g["difficulty"], g["reason"], tuple(g["examples"])) for name, g in listed.items()}


@cache
def difficulty_aside(group: str) -> tuple[int, str]:
    """The difficulty of a group's requests, and as JSON the group with its reason."""
    found = aside_groups()[group]
    return found.difficulty, json.dumps({"group": group, "reason": found.reason}, ensure_ascii=False)
