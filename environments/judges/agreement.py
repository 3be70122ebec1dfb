"""How far a judge can be trusted: its grades against marks, per dimension, with intervals.

Two classes, `nothing to object to` and `something to object to`. Macro-F1 is the mean of both classes' F1, so that a
judge that passes everything is not saved by a majority; the false-pass rate is the share of bad work that it passes,
which is what a gate lets through. Grades that a judge did not give are counted and left out, as JudgeEval leaves out
invalid leaves: what is not known is not wrong. Episodes made from one source are resampled together.

Source: PaperBench (JudgeEval); Cohen (1960).

Shapes: I items, S sources, B resamples, 4 cells (passed and good, passed and bad, failed and good, failed and bad).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from environments.judge import Asked, Grade, Judge, NoGrade
from environments.judges.marked import Labelled
from environments.metrics import Interval
from environments.verifiers.rubric import Rubric, Rubrics

Counts = NDArray[np.float64]
RESAMPLES: Final = 1000


class Compared(NamedTuple):
    """One mark beside the grade that a judge gave."""

    item: Labelled
    dimension: str
    good: bool
    """As marked."""
    grade: Grade | NoGrade


class Agreement(NamedTuple):
    """A judge against marks."""

    items: int
    """Marks with a grade."""
    invalid: int
    """Marks without one."""
    good: int
    """Items marked as good."""
    macro_f1: Interval
    false_pass: Interval
    """Share of the bad that passed."""
    false_fail: Interval
    """Share of the good that did not pass."""
    kappa: Interval


def compared(judge: Judge, labelled: Sequence[Labelled], rubrics: Rubrics) -> list[Compared]:
    """Ask `judge` about every mark of every episode.

    Raises:
        ValueError: an episode's task names no rubric with dimensions.
    """
    wanted = [(one, q, good) for one in labelled for q in _rubric_of(one, rubrics).questions
              if (good := one.marks.get(q.kind)) is not None]  # fmt: skip
    grades = judge.judge([Asked(one.attempt, question) for one, question, _ in wanted])
    return [Compared(one, q.kind, good, grade) for (one, q, good), grade in zip(wanted, grades, strict=True)]


def _rubric_of(one: Labelled, rubrics: Rubrics) -> Rubric:
    rubric = rubrics.named(one.attempt.task.rubric or "")
    if not isinstance(rubric, Rubric):
        raise ValueError(f"episode {one.name} is marked by dimension, its rubric {one.attempt.task.rubric!r} is a tree")
    return rubric


def agreement(found: Sequence[Compared], *, seed: int = 0) -> Agreement:
    """Figures over compared marks, each with a 95% interval.

    Raises:
        ValueError: no mark has a grade.
    """
    graded = [(one, one.grade.is_perfect) for one in found if isinstance(one.grade, Grade)]
    if not graded:
        raise ValueError(f"none of {len(found)} marks has a grade: the judge gave no result")
    sources = sorted({one.item.source for one, _ in graded})
    place = {source: i for i, source in enumerate(sources)}
    cells_S4 = np.zeros((len(sources), 4))
    for one, passed in graded:
        cells_S4[place[one.item.source], (0 if passed else 2) + (0 if one.good else 1)] += 1
    draws = np.random.default_rng(seed).multinomial(len(sources), np.full(len(sources), 1 / len(sources)), RESAMPLES)
    total_4, resampled_B4 = cells_S4.sum(axis=0), draws @ cells_S4
    figures = (macro_f1, false_pass, false_fail, kappa)
    values = [_interval(figure(total_4[None]), figure(resampled_B4)) for figure in figures]
    return Agreement(len(graded), len(found) - len(graded), int(total_4[0] + total_4[2]), *values)


def _interval(value_1: Counts, values_B: Counts) -> Interval:
    low, high = np.percentile(values_B, [2.5, 97.5])
    return Interval(float(value_1[0]), float(low), float(high))


def _share(part: Counts, whole: Counts, empty: float) -> Counts:
    shares: Counts = np.divide(part, whole, out=np.full(part.shape, empty), where=whole > 0)
    return shares


def macro_f1(cells_B4: Counts) -> Counts:
    """Mean of the F1 of the two classes; a class that is neither there nor given counts as found."""
    good_passed, bad_passed, good_failed, bad_failed = cells_B4.T
    wrong = bad_passed + good_failed
    return (
        _share(2 * good_passed, 2 * good_passed + wrong, 1.0) + _share(2 * bad_failed, 2 * bad_failed + wrong, 1.0)
    ) / 2


def false_pass(cells_B4: Counts) -> Counts:
    """Share of the bad that passed."""
    return _share(cells_B4[:, 1], cells_B4[:, 1] + cells_B4[:, 3], 0.0)


def false_fail(cells_B4: Counts) -> Counts:
    """Share of the good that did not pass."""
    return _share(cells_B4[:, 2], cells_B4[:, 0] + cells_B4[:, 2], 0.0)


def kappa(cells_B4: Counts) -> Counts:
    """Agreement beyond chance."""
    good_passed, bad_passed, good_failed, bad_failed = cells_B4.T
    total = cells_B4.sum(axis=1)
    observed = (good_passed + bad_failed) / total
    passed, good = (good_passed + bad_passed) / total, (good_passed + good_failed) / total
    chance = passed * good + (1 - passed) * (1 - good)
    return _share(observed - chance, 1 - chance, 1.0)
