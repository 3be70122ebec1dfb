"""Whether a pass rate moved by itself: tonight's attempts against what earlier ones under the same key let expect.

The same policy, world, verifier and sampler must go on passing at the same rates. Comparing a task's rate before and
tonight would alarm without cause: tasks are tried again *because* of how they went, and chance does not repeat
itself (of tasks that were 8 of 8, most are worse the next time). So the question is put to a model that knows all
earlier attempts: success rates of a family are Beta-distributed with unknown mean and spread, a task's own attempts
update its rate, and tonight's successes are drawn from that. The answer depends neither on why a task was chosen nor on
how long it was tried.

Shapes: Q tasks, G points of the grid over mean and spread of a family, D draws.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from environments.seeds import stable_hash
from training.curriculum import Floats

DRAWS: Final = 100_000
MEANS: Final = np.linspace(0.02, 0.98, 25)
WORTHS: Final = np.geomspace(0.5, 128, 9)
"""Grid over a family's mean rate, and over how alike its tasks are (attempts that the family's rate is worth)."""


class Tried(NamedTuple):
    """One task before tonight and tonight."""

    task_id: str
    family: str
    pool: str
    """Its region before tonight."""
    scored: int
    won: int
    scored_tonight: int
    won_tonight: int


class Move(NamedTuple):
    """A group of tasks whose pass rate tonight is not what earlier attempts let expect."""

    kind: str
    """`family` or `pool`."""
    name: str
    tasks: int
    """Tasks tried before and tonight."""
    attempts: int
    """Tonight, at those."""
    before: float
    """Their pass rate before tonight."""
    expected: float
    """Their pass rate tonight, as expected."""
    tonight: float
    """And as it was."""
    probability: float
    """Of a rate at least as far off, if nothing moved."""


def moves(tasks: Sequence[Tried], *, level: float, draws: int = DRAWS, seed: int = 0) -> list[Move]:
    """Families and pools that moved, most certain first.

    Args:
        tasks: every task tried before tonight; those tried tonight too are compared.
        level: chance of any alarm on a night on which nothing moved; shared out among the groups.
        draws: of tonight as expected; with few, no group can be sure enough (`2 / draws` must be below its share).
        seed: of the draws.
    """
    groups: dict[tuple[str, str], list[Tried]] = defaultdict(list)
    expected: dict[tuple[str, str], NDArray[np.int64]] = defaultdict(lambda: np.zeros(draws, dtype=np.int64))
    for family in sorted({t.family for t in tasks}):
        known = [t for t in tasks if t.family == family and t.scored > 0]
        again = sorted(t for t in known if t.scored_tonight > 0)
        for task, won_D in zip(again, _tonight(known, again, draws, stable_hash("moves", seed, family)), strict=True):
            for group in (("family", family), ("pool", task.pool)):
                groups[group].append(task)
                expected[group] += won_D
    found = [_compared(kind, name, members, expected[kind, name]) for (kind, name), members in sorted(groups.items())]
    return sorted((m for m in found if m.probability < level / len(found)), key=lambda m: (m.probability, m[:2]))


def _tonight(known: Sequence[Tried], again: Sequence[Tried], draws: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Successes of each task of `again` as its family lets expect, shape (D,)."""
    if not again:
        return
    draw = np.random.default_rng(seed)
    alpha_G, beta_G, weight_G = _grid(known)
    point_D = draw.choice(len(weight_G), draws, p=weight_G)
    alpha_D, beta_D = alpha_G[point_D], beta_G[point_D]
    for task in again:
        yield draw.binomial(task.scored_tonight, draw.beta(alpha_D + task.won, beta_D + task.scored - task.won))


def _grid(family: Sequence[Tried]) -> tuple[Floats, Floats, Floats]:
    """Beta parameters of the grid, and the weight of each point after the family's earlier attempts."""
    from scipy.special import betaln

    mean_G, worth_G = (m.ravel() for m in np.meshgrid(MEANS, WORTHS))
    alpha_G, beta_G = mean_G * worth_G, (1 - mean_G) * worth_G
    log_G = np.zeros(len(alpha_G))
    for task in sorted(family):
        log_G += betaln(alpha_G + task.won, beta_G + task.scored - task.won) - betaln(alpha_G, beta_G)
    weight_G = np.exp(log_G - log_G.max())
    return alpha_G, beta_G, weight_G / weight_G.sum()


def _compared(kind: str, name: str, members: Sequence[Tried], total_D: NDArray[np.int64]) -> Move:
    won, tried = sum(t.won_tonight for t in members), sum(t.scored_tonight for t in members)
    below, above = int((total_D <= won).sum()), int((total_D >= won).sum())
    return Move(
        kind,
        name,
        tasks=len(members),
        attempts=tried,
        before=sum(t.won for t in members) / sum(t.scored for t in members),
        expected=float(total_D.mean()) / tried,
        tonight=won / tried,
        probability=min(1.0, 2 * (min(below, above) + 1) / (len(total_D) + 1)),
    )
