"""The verifier of tasks of others: their own test script, run where the agent never worked, and the number it leaves.

The agent's processes are dead by then. What it left of the folders that it may change goes as data into a container of
the image as it was (no reward file, no link to where the tests lie, no cached code), then the tests, then they run. A
reward counts only if the script came to its own end and nothing outlived what had started it; or a process left behind
could write the reward after the tests had. What a test does that runs the agent's code in its own process cannot be
kept from that code: the gate tries it on every task (`environments.policies.tampering`).

No number in 0..1 is a zero and not our failure: whatever the tests stumble over is what the agent left, and crashing
them must not dodge a zero. That they can give a number at all is what the gold solution shows at the gate. Only what
breaks outside the container gives no result.

Source: Harbor 0.26 (reward files, shared and separate verifiers); faults 13.
"""

import hashlib
import inspect
import json
import math
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from environments.episode import Attempt, Scored
from environments.fault import UnplayableTask
from environments.sandbox import Ran, SandboxError, SandboxRefusal, SandboxRuined
from environments.sandboxes.carried import StandingSandbox, StandingSandboxes
from environments.task import Script, Task
from environments.verifier import VerifierError
from environments.world import World, WorldFailure
from environments.worlds.harbor import data_model
from environments.worlds.harbor.data_model import LEFT_OUT, entries_of
from environments.worlds.harbor.grounds import Grounds
from environments.worlds.workspace.data_model import LOST, content_of

REWARD_JSON, REWARD_TXT = "/logs/verifier/reward.json", "/logs/verifier/reward.txt"
LARGEST: Final = 4096
"""Bytes of a reward file."""
NAMED: Final = "reward"
_NEVER: Final = ("/tests", "/solution", "/logs/verifier")
"""Nothing that an agent left goes there."""
_SHOWN: Final = 300
_LONGEST: Final = 600
_SECONDS: Final = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds)\b")
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


class Tested(NamedTuple):
    """What the tests gave."""

    reward: float
    cause: str
    evidence: str = ""


class ScriptReward:
    """Grades by the tests that a task brings along; an `environments.verifier.Verifier`."""

    def __init__(self, grounds: Grounds | None = None, *, fresh: bool = True) -> None:
        """Set it up.

        Args:
            grounds: where tests run; None: Docker, within our own limits.
            fresh: a container of its own for every attempt; else one is kept for each image and restored, which is
                faster and trusts the restoring.
        """
        self._grounds, self._fresh = grounds or Grounds(), fresh
        self._kept: dict[str, StandingSandbox] = {}
        self._untouched: dict[str, Tested] = {}

    @cached_property
    def version(self) -> str:
        """Hash of the verifier's code and of where it runs."""
        source = "".join(map(inspect.getsource, (sys.modules[__name__], data_model)))
        code = hashlib.blake2b(source.encode(), digest_size=8).hexdigest()
        return f"script-reward-{code}-{self._grounds.version}"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Grade one finished attempt; its own exhausted budget, or a container that it ruined, is a scored zero.

        Raises:
            VerifierError: the task has no test script, or the image of its tests cannot be made.
            WorldFailure: the engine failed.
        """
        task = attempt.task
        if task.goal.script is None:
            raise VerifierError(f"task {task.task_id} has no test script (goal.script)")
        if attempt.answer is None:
            return _zero(attempt.ended or "no_answer", attempt.failure or "")
        changes = world.changes()
        if lost := [c for c in changes if c.table == LOST]:
            return _zero("sandbox_lost", str((lost[0].after or {}).get("cause")))
        entries = [e for e in entries_of(changes) if not str(e["path"]).startswith(_NEVER)]
        found = self._tested(task, task.goal.script, entries)
        left_out = next((f"; not carried over: {c.key}" for c in changes if c.table == LEFT_OUT), "")
        evidence = (found.evidence + _failed_last(attempt) + left_out)[:_LONGEST] if found.reward < 1 else ""
        return Scored(found.reward, outcome=found.reward, vetoed=False, cause=found.cause, evidence=evidence)

    def close(self) -> None:
        """Remove the kept containers."""
        for sandbox in self._kept.values():
            sandbox.close()
        self._kept.clear()

    def _tested(self, task: Task, script: Script, entries: Sequence[dict[str, Any]]) -> Tested:
        """What the tests give; attempts that left nothing are all alike and tested once."""
        if not entries and task.task_id in self._untouched:
            return self._untouched[task.task_id]
        try:
            found = self._run(self._grounds.for_tests(task), script, entries)
        except UnplayableTask as broken:
            raise VerifierError(str(broken)) from broken
        except SandboxError as failure:
            raise WorldFailure(f"tests: {failure}") from failure
        if not entries:
            self._untouched[task.task_id] = found
        return found

    def _run(self, made: StandingSandboxes, script: Script, entries: Sequence[dict[str, Any]]) -> Tested:
        sandbox = self._kept.get(made.version) or made.open()
        try:
            sandbox.restore({})
            sandbox.apply(entries)
            sandbox.put({f"/tests/{row['path']}": content_of(row) for row in script.files})
            ran = sandbox.run(_command(script, made.layout.work), wall_s=script.seconds)
            return _unfit(ran) or _reward(sandbox, ran)
        except SandboxRuined as ruin:
            return Tested(0.0, "ruined_the_tests", str(ruin))
        except SandboxRefusal as refusal:
            return Tested(0.0, "files_do_not_fit", refusal.code)
        finally:
            if self._fresh:
                sandbox.close()
            else:
                self._kept[made.version] = sandbox


def _zero(cause: str, evidence: str) -> Scored:
    return Scored(0.0, outcome=0.0, vetoed=False, cause=cause, evidence=evidence[:_SHOWN])


def _failed_last(attempt: Attempt) -> str:
    """How the last command ended, if it failed: why a solution that is no good is none."""
    seen = attempt.steps[-1].observation if attempt.steps else None
    if not isinstance(seen, dict) or not seen.get("exit"):
        return ""
    return f"; the last command ended with {seen['exit']}: {_end(str(seen.get('output', '')))}"


def _command(script: Script, work: str) -> str:
    """Runs the tests in the work folder, with nothing in their environment that an agent could have set."""
    given = "".join(f"export {name}={shlex.quote(value)}; " for name, value in sorted(script.environment.items()))
    return f"mkdir -p /logs/verifier /logs/agent /logs/artifacts; cd {shlex.quote(work)}; {given}exec /tests/test.sh"


def _unfit(ran: Ran) -> Tested | None:
    """Why whatever reward was written does not count, if so."""
    if ran.exit is None:
        return Tested(0.0, "tests_timed_out", _end(ran.output))
    if ran.exit < 0:
        return Tested(0.0, "tests_killed", f"signal {-ran.exit}: {_end(ran.output)}")
    if ran.outlived:
        return Tested(0.0, "outlived_the_tests", f"{ran.outlived} processes were left behind: {_end(ran.output)}")
    return None


def _reward(sandbox: StandingSandbox, ran: Ran) -> Tested:
    """The number in the one reward file; two that disagree are none, for versions of Harbor differ on which wins."""
    found: dict[str, float | str] = {}
    for path in (REWARD_JSON, REWARD_TXT):
        try:
            found[path] = _number(path, sandbox.read(path))
        except SandboxRefusal as refusal:
            if refusal.code != "not_found":
                found[path] = f"{path}: {refusal.code}"
    said = list(dict.fromkeys(found.values()))
    if not said:
        return Tested(0.0, "no_reward", f"exit code {ran.exit}: {_end(ran.output)}")
    if len(said) > 1 or isinstance(said[0], str):
        return Tested(0.0, "bad_reward", "; ".join(map(str, said)))
    return Tested(said[0], "ok" if said[0] == 1 else "failed_tests", _end(ran.output))


def _number(path: str, content: bytes) -> float | str:
    """The reward that a file holds, or what is wrong with it."""
    if len(content) > LARGEST:
        return f"{path} has {len(content):,} bytes"
    try:
        value = _value(content.decode("utf-8").strip(), path)
    except (ValueError, RecursionError):
        return f"{path} holds no reward: {content[:60]!r}"
    fits = math.isfinite(value) and 0 <= value <= 1
    return value if fits else f"{path}: {value:g} is not in 0..1"


def _value(text: str, path: str) -> float:
    """The number that is meant: of several named ones, the one named `reward`.

    Raises:
        ValueError: there is none.
    """
    if path == REWARD_TXT:
        return float(text)
    named = json.loads(text)
    if not isinstance(named, dict) or not named or any(type(v) not in (int, float) for v in named.values()):
        raise ValueError("not a flat object of numbers")
    if NAMED not in named and len(named) > 1:
        raise ValueError(f"several numbers, none of them named {NAMED!r}")
    return float(named.get(NAMED, next(iter(named.values()))))


def _end(output: str) -> str:
    """The end of what the tests printed, without what differs from run to run."""
    lines: Iterable[str] = (_COLOUR.sub("", line).strip() for line in output.splitlines())
    return _SECONDS.sub("_", " | ".join(line for line in lines if line))[-_SHOWN:]
