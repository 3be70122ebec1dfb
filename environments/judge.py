"""The contract of a judge: a question about an answer in, a grade with its reason out.

Judges are graded themselves (macro-F1 on labelled episodes) before they may gate data.
"""

from dataclasses import dataclass
from typing import Protocol

from environments.episode import Attempt


@dataclass(frozen=True, slots=True)
class Grade:
    """One judged dimension: the reason comes before the grade."""

    reason: str
    score: float
    """In [0, 1]."""


class Judge(Protocol):
    """Grades one dimension of an attempt."""

    @property
    def version(self) -> str:
        """Hash of model and prompt, or of the program."""
        ...

    def judge(self, attempt: Attempt, dimension: str) -> Grade:
        """Grade `attempt` in `dimension`."""
        ...
