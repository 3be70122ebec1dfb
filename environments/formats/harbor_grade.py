"""Grades what a world recorded while a Harbor agent worked, in the container of the tests.

    python -m environments.formats.harbor_grade TESTS ARTIFACTS

Ends with 0 for success, 1 for less, and 2 where nothing can be said: the record is missing, the world broke, or the
task cannot be graded. Then no reward is written, so that a failure of ours is never a zero.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from environments import call_limit
from environments.episode import Attempt, Scored, Step, Verdict
from environments.task import Call, Task
from environments.verifier import Verifier, VerifierError, graded
from environments.verifiers.composed import verifier_for
from environments.world import RowChange, SideEffect

SUCCESS, LESS, NOTHING = 0, 1, 2
_ANSWER: Final = "answer.txt"


class RecordedWorld:
    """What a verifier reads of a world, from a record; an agent's sessions count as one."""

    def __init__(self, described: Mapping[str, Any], sessions: Sequence[Mapping[str, Any]]) -> None:
        """Take in a record.

        Args:
            described: version, units, policy, day and codes of refusals of the world.
            sessions: as the owner's paths give them, in the order in which they began.

        Raises:
            VerifierError: the world broke in one of them.
        """
        if broken := [s["failure"] for s in sessions if s["failure"]]:
            raise VerifierError(f"the world broke: {broken[0]}")
        self.policy: str = described["policy"]
        self.today: str = described["today"]
        self.refusal_codes: Sequence[str] = described["refusal_codes"]
        self.units: Mapping[str, str] = described["units"]
        self._changes = [RowChange(*change) for s in sessions for change in map(_values, s["changes"])]
        self._ledger = [SideEffect(**effect) for s in sessions for effect in s["ledger"]]

    def changes(self) -> Sequence[RowChange]:
        """Rows that differ from what they were when the task began."""
        return self._changes

    def ledger(self) -> Sequence[SideEffect]:
        """Every side effect, in order."""
        return self._ledger


def _values(change: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(change[name] for name in RowChange._fields)


def attempt_of(task: Task, sessions: Sequence[Mapping[str, Any]], answer: str | None) -> Attempt:
    """The attempt that a record tells of; calls beyond the budget end it without an answer."""
    steps = [Step(Call(name=n, arguments=a), seen) for s in sessions for n, a, seen in s["steps"]]
    spent = len(steps) > task.max_calls or any(s.get("ended") for s in sessions)
    ended = call_limit.ENDED if spent else "answered" if answer is not None else "no_answer"
    failure = call_limit.line_of(task) if spent else None
    return Attempt(task, 0, 0, steps[: task.max_calls], None if spent else answer, ended, failure)


def grade(tests: Path, artifacts: Path, verifier: Verifier | None = None) -> Verdict:
    """The verdict on a record.

    Raises:
        VerifierError: a file is missing or broken, or the attempt cannot be graded.
    """
    try:
        task = Task.model_validate_json((tests / "task.json").read_text(encoding="utf-8"))
        described = json.loads((tests / "world.json").read_text(encoding="utf-8"))
        sessions = json.loads((artifacts / "sessions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VerifierError(f"no record to grade: {error}") from error
    said = artifacts / _ANSWER
    answer = said.read_text(encoding="utf-8", errors="replace").strip() if said.is_file() else None
    world: Any = RecordedWorld(described, sessions)
    return graded(attempt_of(task, sessions, answer), world, verifier or verifier_for([task]))


def main(arguments: Sequence[str]) -> int:
    """Grade, say why, and return the status."""
    try:
        verdict = grade(Path(arguments[0]), Path(arguments[1]))
    except VerifierError as error:
        sys.stderr.write(f"not graded: {error}\n")
        return NOTHING
    sys.stdout.write(f"{verdict}\n")
    if not isinstance(verdict, Scored):
        return NOTHING
    return SUCCESS if verdict.success else LESS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
