"""The contract of a verifier: a finished attempt and its world in, a verdict with evidence out."""

from typing import Protocol

from environments.episode import Attempt, Verdict
from environments.world import World


class VerifierError(RuntimeError):
    """The verifier itself broke: the attempt is `invalid`, never a zero."""


class Verifier(Protocol):
    """Grades a finished attempt."""

    @property
    def version(self) -> str:
        """Hash of everything that decides the verdict."""
        ...

    def grade(self, attempt: Attempt, world: World) -> Verdict:
        """Grade one attempt in the world it ended in.

        Raises:
            VerifierError: the attempt cannot be graded.
        """
        ...
