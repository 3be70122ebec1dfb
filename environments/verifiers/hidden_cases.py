"""The verifier of coding tasks: hidden tests on the files that the agent left, in a sandbox that it never worked in.

Only files go over, committed to a repository or not; links, pipes and what else lies there do not. The tests' inputs
go in, what comes out is compared here, and the expected values never enter the sandbox: there is no test file to
patch, no reward file to write, no exit code to fake and no gold to read. All tests must pass.

Source: faults 13 (an agent that writes its own reward, edits the verifier, reads the gold); pipeline stage 7.
"""

import hashlib
import inspect
import json
import math
import reprlib
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from environments.episode import Attempt, Scored
from environments.sandbox import Sandbox, SandboxError, Sandboxes, SandboxRefusal, SandboxRuined
from environments.task import Case
from environments.verifier import VerifierError
from environments.verifiers import case_runner
from environments.verifiers.state import same
from environments.world import World, WorldFailure
from environments.worlds.workspace.data_model import LOST, final_files

_RESULTS_KB: Final = 1024
_SHOWN: Final = 200
_TOLD: Final = reprlib.Repr()
"""Shows a result however deep it nests."""
_TOLD.maxstring = _TOLD.maxother = _SHOWN


class HiddenCases:
    """Grades the files of an attempt; an `environments.verifier.Verifier`."""

    def __init__(self, sandboxes: Sandboxes, *, fresh: bool = True) -> None:
        """Set it up.

        Args:
            sandboxes: where files are tried.
            fresh: a container of its own for every attempt; else one is kept and restored between attempts, which is
                tens of times faster and trusts the restoring.
        """
        self._sandboxes, self._fresh = sandboxes, fresh
        self._kept: Sandbox | None = None

    @cached_property
    def version(self) -> str:
        """Hash of the verifier's code and of where it runs."""
        source = inspect.getsource(inspect.getmodule(HiddenCases) or HiddenCases) + inspect.getsource(case_runner)
        code = hashlib.blake2b(source.encode(), digest_size=8).hexdigest()
        return f"hidden-cases-{code}-{self._sandboxes.version}"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Grade one finished attempt; its own exhausted budget, or a sandbox that it ruined, is a scored zero.

        Raises:
            VerifierError: the task has no hidden tests.
            WorldFailure: the engine failed.
        """
        cases = attempt.task.goal.cases
        if not cases:
            raise VerifierError(f"task {attempt.task.task_id} has no hidden tests (goal.cases)")
        if attempt.answer is None:
            return _zero(attempt.ended or "no_answer", attempt.failure or "")
        changes = world.changes()
        if lost := [c for c in changes if c.table == LOST]:
            return _zero("sandbox_lost", str((lost[0].after or {}).get("cause")))
        failed = self._failed(cases, final_files(attempt.task, changes))
        return _zero(*failed) if failed else Scored(1.0, outcome=1.0, vetoed=False, cause="ok")

    def close(self) -> None:
        """Remove the kept sandbox."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _failed(self, cases: Sequence[Case], files: Mapping[str, bytes]) -> tuple[str, str] | None:
        """The first test that does not pass, cheap ones first."""
        if failed := _failed_files(cases, files):
            return failed
        if all(case.target.startswith("file:") for case in cases):
            return None
        try:
            return self._tried(cases, files)
        except SandboxError as failure:
            raise WorldFailure(f"hidden tests: {failure}") from failure

    def _tried(self, cases: Sequence[Case], files: Mapping[str, bytes]) -> tuple[str, str] | None:
        sandbox = self._kept or self._sandboxes.open()
        try:
            sandbox.restore(files)
            return _failed_calls(cases, sandbox) or _failed_programs(cases, sandbox)
        except SandboxRuined as ruin:
            return "ruined_the_tests", str(ruin)
        except SandboxRefusal as refusal:
            return "files_do_not_fit", refusal.code
        finally:
            if self._fresh:
                sandbox.close()
            else:
                self._kept = sandbox


def _zero(cause: str, evidence: str) -> Scored:
    return Scored(0.0, outcome=0.0, vetoed=False, cause=cause, evidence=evidence[:_SHOWN])


def _failed_files(cases: Sequence[Case], files: Mapping[str, bytes]) -> tuple[str, str] | None:
    for case in cases:
        kind, _, path = case.target.partition(":")
        if kind == "file" and not _holds(files.get(path), case.expected):
            return "failed_case", f"{path} is not as it must be"
    return None


def _holds(content: bytes | None, expected: Any) -> bool:
    """Whether a file holds the JSON that is expected."""
    try:
        return content is not None and same(json.loads(content), expected)
    except (ValueError, RecursionError):
        return False


def _failed_calls(cases: Sequence[Case], sandbox: Sandbox) -> tuple[str, str] | None:
    """All calls in one process, their results compared here."""
    calls = [c for c in cases if ":" in c.target and not c.target.startswith("file:")]
    if not calls:
        return None
    command = f"exec python3 -I -S -B -c {shlex.quote(inspect.getsource(case_runner))}"
    given = json.dumps([[c.target, c.arguments] for c in calls]).encode()
    ran = sandbox.run(command, stdin=given, output_kb=_RESULTS_KB)
    results = _results(ran.output if not ran.left_out else "")
    for case, result in zip(calls, results, strict=False):
        if not _passes(case, result):
            return (
                "failed_case",
                f"{case.target}{json.dumps(case.arguments, ensure_ascii=False)} gives {_TOLD.repr(result)}",
            )
    if len(results) < len(calls):
        how = "ran out of time" if ran.exit is None else f"ended with exit code {ran.exit}"
        return "failed_case", f"{calls[len(results)].target} {how} before it gave a result"
    return None


def _results(output: str) -> list[dict[str, Any]]:
    """The results up to the first line that is none."""
    found: list[dict[str, Any]] = []
    for line in output.splitlines():
        try:
            result = json.loads(line)
        except (ValueError, RecursionError):
            return found
        if not isinstance(result, dict):
            return found
        found.append(result)
    return found


def _passes(case: Case, result: Mapping[str, Any]) -> bool:
    if case.raises is not None:
        return result.get("raises") == case.raises
    try:
        return "value" in result and _finite(result["value"]) and same(result["value"], _listed(case.expected))
    except RecursionError:  # nested as deep as JSON can be read
        return False


def _listed(value: Any) -> Any:
    """Expected values as they come out of JSON: tuples are lists."""
    return json.loads(json.dumps(value))


def _finite(value: Any) -> bool:
    """Whether no number in it is NaN, which JSON has no word for and Python's does."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list) else True


def _failed_programs(cases: Sequence[Case], sandbox: Sandbox) -> tuple[str, str] | None:
    """Each program in a process of its own; only what it prints counts, line by line."""
    for case in cases:
        if ":" in case.target:
            continue
        ran = sandbox.run(f"exec python3 {shlex.quote(case.target)} 2>/dev/null", stdin=case.stdin.encode())
        if _lines(ran.output) != _lines(str(case.expected)) or ran.exit is None or ran.left_out:
            printed = "ran out of time" if ran.exit is None else f"printed {ran.output[:_SHOWN]!r}"
            return "failed_case", f"{case.target} {printed}"
    return None


def _lines(text: str) -> list[str]:
    """Lines without the blanks at their ends and at the end of all."""
    return [line.rstrip() for line in text.rstrip().splitlines()]
