"""The contract of a judge: questions about finished attempts in, a grade with its reason out, or no grade.

A judge that is dead, times out or does not make sense gives `NoGrade`: by type, so that it is never taken for a zero.
Judges are graded themselves (macro-F1 on labelled episodes, `judges/agreement.py`) before they may gate data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from environments.episode import Attempt, Dimension

FIVE: Final = ("worst", "poor", "fair", "good", "excellent")
"""The scale of a dimension, after TravelBench's judge; `excellent` is what has nothing to object to."""
MET: Final = ("not met", "met")
"""The scale of a leaf of an eval tree."""
PERFECT: Final = 1.0 - 1e-6


@dataclass(frozen=True, slots=True)
class Question:
    """One dimension of a rubric, or one leaf of an eval tree: what a judge is asked in one go."""

    name: str
    text: str
    """What is asked, in full: the judge sees no other part of the rubric."""
    grades: tuple[str, ...] = FIVE
    """The grades to choose from, worst first."""
    kind: str = ""
    """Of a dimension: which of the rubric's dimensions it is, whatever the rubric calls it; empty for a leaf."""


@dataclass(frozen=True, slots=True)
class Grade:
    """One answered question: the reason comes before the grade."""

    reason: str
    score: float
    """In [0, 1]."""

    @property
    def is_perfect(self) -> bool:
        """Whether there is nothing to object to."""
        return self.score >= PERFECT


@dataclass(frozen=True, slots=True)
class NoGrade:
    """The judge has no answer: its server, its budget or its words. Never a zero."""

    cause: str


class Rated(NamedTuple):
    """What a rubric makes of the grades of its questions."""

    score: float
    """In [0, 1]; 1 only where every dimension that counts is perfect."""
    dimensions: tuple[Dimension, ...]


class Asked(NamedTuple):
    """One question about one attempt."""

    attempt: Attempt
    question: Question


class Judge(Protocol):
    """Grades attempts, question by question."""

    @property
    def version(self) -> str:
        """Hash of model, sampling and prompt, or of the program."""
        ...

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """The grade of each question, in order; what is asked together may be answered side by side."""
        ...
