"""The contract of a verifier: a finished attempt and its world in, a verdict with evidence out."""

from typing import Protocol, runtime_checkable

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


@runtime_checkable
class JudgedVerifier(Verifier, Protocol):
    """A verifier part of whose reward comes from a judge with rubrics."""

    @property
    def judge_version(self) -> str:
        """Hash of the judge: model and prompt, or program."""
        ...

    @property
    def rubric_version(self) -> str:
        """Hash of the rubrics it grades by."""
        ...


def judged_by(verifier: Verifier) -> dict[str, str]:
    """The parts `judge` and `rubric` of the key under which `verifier` scores."""
    if not isinstance(verifier, JudgedVerifier):
        return {"judge": "none", "rubric": "none"}
    return {"judge": verifier.judge_version, "rubric": verifier.rubric_version}
