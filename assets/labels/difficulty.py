"""How hard a request is, -1 to 5, from three axes that are stored beside it.

    tools        1..3  load of choosing tools: one that the request names, two or a choice, three or more
    depth        1..3  length of the chain of calls that depend on each other
    constraints  0..3  how much must hold at once: up to 3 stated constraints, up to 5, up to 7, more

    difficulty = tools + depth + constraints - 1, kept within 1..5

so that 1-2 is an explicit mapping onto one call and 4-5 needs implicit reasoning. -1: nothing the tools can do; 0: no
tool is needed. A second intent adds a tool, and a step unless it can be answered beside the first.

Source: the AMAP report names the scale and the three dimensions; how they combine is not published and is ours.
"""

from functools import cache
from typing import Any, NamedTuple

from assets.labels.words import read_yaml

_STEPS = (3, 5, 7)


class Axes(NamedTuple):
    """The three axes of one request."""

    tools: int
    depth: int
    constraints: int

    @property
    def difficulty(self) -> int:
        """The axes combined, 1..5."""
        return max(1, min(5, self.tools + self.depth + self.constraints - 1))


def axes_of(primary: str, secondary: str | None, constraint_count: int) -> Axes:
    """The axes of a request by its leaves and the number of constraints it states.

    Args:
        primary: leaf id.
        secondary: leaf id of a second intent, or None.
        constraint_count: `Constraints.stated`.
    """
    tools, depth = _base(primary)
    if secondary is not None:
        other_tools, other_depth = _base(secondary)
        tools = min(3, max(tools, other_tools) + 1)
        depth = min(3, max(depth, other_depth) + (secondary not in _table()["side_by_side"]))
    return Axes(tools, depth, sum(constraint_count > step for step in _STEPS))


@cache
def _base(leaf: str) -> tuple[int, int]:
    axes = _table()["axes"]
    while leaf not in axes:
        leaf = leaf.rpartition(".")[0]
    return axes[leaf]["tools"], axes[leaf]["depth"]


@cache
def _table() -> dict[str, Any]:
    return read_yaml("difficulty.yaml")
