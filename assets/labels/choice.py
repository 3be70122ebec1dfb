"""Which class a request is given: what the classifier says, what a rule says over it, and where neither is sure.

Below `annotator.py`.

Shapes: Q requests, L classes.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.labels.classifier import Matrix

_OVERRULES = 0.85
"""Ours: how sure the classifier must be of another leaf to overrule a rule."""


class Asked(NamedTuple):
    """What a request asks, its particulars taken out: all that the classifier sees of it."""

    text: str
    features: frozenset[str]
    spoken: tuple[int, ...]
    """Classes that the rules name, most telling first."""
    among: tuple[str, ...] = ()
    """Leaves that it may be; none: all of them."""


class Told(NamedTuple):
    """What the classifier says of one request, by the numbers of the classes."""

    chosen: int
    second: int
    sure: float
    by_rule: bool
    aside: int
    """Number of the example aside that is nearest."""
    probability_L: Matrix


def chosen_classes(probability_QL: Matrix, asked: Sequence[Asked]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The class of each request, and whether a rule decided it."""
    chosen_Q = probability_QL.argmax(axis=1)
    spoken_Q = np.zeros(len(asked), dtype=np.bool_)
    for row, one in enumerate(asked):
        if one.spoken and (chosen_Q[row] in one.spoken or probability_QL[row, chosen_Q[row]] < _OVERRULES):
            chosen_Q[row], spoken_Q[row] = one.spoken[0], True
    return chosen_Q, spoken_Q


def choose_among(one: Asked, classes: Sequence[str], probability_L: Matrix) -> tuple[int, bool]:
    """The class of a request that may only be one of some leaves, and whether a rule decided it."""
    allowed = [number for number, leaf in enumerate(classes) if leaf in one.among]
    named = next((number for number in one.spoken if number in allowed), None)
    if named is not None:
        return named, True
    choice = allowed or list(range(len(classes) - 1))  # only Others are: the leaf that it is most like
    return choice[int(probability_L[choice].argmax())], False


def second_classes(probability_QL: Matrix, chosen_Q: NDArray[np.int64]) -> NDArray[np.int64]:
    """The most probable class of each request beside the one chosen."""
    others_QL = probability_QL.copy()
    others_QL[np.arange(len(chosen_Q)), chosen_Q] = -1.0
    second_Q: NDArray[np.int64] = others_QL.argmax(axis=1)
    return second_Q


def likeliest_other(classes: Sequence[str], probability_L: Matrix, others: frozenset[str]) -> str:
    """Of these, the Other of the deepest node that holds most of the probability; the uppermost if none does."""
    mass: dict[str, float] = {}
    for leaf, share in zip(classes, probability_L.tolist(), strict=True):
        for node in _nodes_above(leaf):
            mass[node] = mass.get(node, 0.0) + share
    likely = [node for node, share in mass.items() if share > 0.5 and f"{node}.other" in others]
    if likely:
        return f"{max(likely, key=lambda node: node.count('.'))}.other"
    return min(others or {"other"}, key=lambda leaf: (leaf.count("."), leaf))


@cache
def _nodes_above(leaf: str) -> tuple[str, ...]:
    """The nodes on the way to a leaf, from the top."""
    parts = leaf.split(".")
    return tuple(".".join(parts[:depth]) for depth in range(1, len(parts)))
