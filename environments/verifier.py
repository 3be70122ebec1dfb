"""The contract of a verifier: a finished attempt and its world in, a verdict with evidence out."""

import traceback
from typing import Final, Protocol, Self, runtime_checkable

from environments.ending import ends_the_run
from environments.episode import Attempt, Episode, Scored, Verdict
from environments.world import World, WorldFailure

VERIFIER_FAILED: Final = "verifier_failed"
"""Cause of the zero where a verifier ended in an exception that it does not declare."""
_FRAMES, _SHOWN = 12, 300


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


def graded(attempt: Attempt, world: World, verifier: Verifier) -> Verdict:
    """The verdict of `verifier`; an exception that it does not declare is a zero with the traceback as evidence.

    An attempt that makes a verifier stumble must not be worth more than one that fails, or stumbling is what gets
    learned; nor may it end the attempts beside it. So that no right work stays a zero, whatever was played under such a
    verifier is held back: see `verifier_failure`.

    Raises:
        VerifierError: the task cannot be graded.
        WorldFailure: the world broke.
        EndsTheRun: budget or endpoint of a judge; also an `OSError` of the machine (no room, no memory, no files).
    """
    with Stumbling() as stumbled:
        return verifier.grade(attempt, world)
    assert stumbled.error is not None
    return failed_to_grade(stumbled.error)


class Stumbling:
    """Keeps the exception in which what is done inside ends, so that the work after it goes on.

    What a verifier declares, and what ends the run, passes through. The one place where exceptions of any type stop, a
    verifier's `sys.exit` among them.
    """

    error: Exception | SystemExit | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        declared = isinstance(error, VerifierError | WorldFailure)
        if declared or not isinstance(error, Exception | SystemExit) or ends_the_run(error):
            return False
        self.error = error
        return True


def failed_to_grade(error: Exception | SystemExit) -> Scored:
    """The zero of an attempt at which a verifier stumbled."""
    return Scored(0.0, outcome=0.0, vetoed=False, cause=VERIFIER_FAILED, evidence=_told(error))


def verifier_failure(episode: Episode) -> str | None:
    """The exception at which the verifier of an episode stumbled, with its traceback; None where it graded."""
    verdict = episode.verdict
    return verdict.evidence if isinstance(verdict, Scored) and verdict.cause == VERIFIER_FAILED else None


def _told(error: Exception | SystemExit) -> str:
    """Type, message and the innermost frames, by module: the same on every machine."""
    frames = [
        f"{frame.f_globals.get('__name__', '?')}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return " | ".join([f"{type(error).__name__}: {str(error)[:_SHOWN]}", *frames[-_FRAMES:]])


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
