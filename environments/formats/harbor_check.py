"""Grades the files of a coding task in a Harbor container: stands there as /tests/check.py, the standard library only.

    python3 check.py WORK

What is expected is read and deleted before anything of the agent's runs, and stays in this process, whose memory is
closed to others; the agent's code gets inputs, in processes of its own, as nobody where there is a choice. Ends with 0
where all cases pass, 1 where one does not, and 2 where nothing can be said.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from types import TracebackType
from typing import Any

NOBODY = 65534
SECONDS = 20
LARGEST = 1 << 20
HERE = pathlib.Path(__file__).resolve().parent


def taken(name: str) -> str:
    """The text of a file of the tests, which is gone afterwards."""
    text = (HERE / name).read_text(encoding="utf-8")
    (HERE / name).unlink()
    return text


def same(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are one, true and 1 are not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or (max(abs(a), abs(b)) < sys.float_info.max and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def ran(command: list[str], stdin: str, work: str) -> str | None:
    """What a program of the agent's prints; None where it took too long. Nothing that it started is left."""
    other: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            command, cwd=work, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}, **other,
        )  # fmt: skip
        try:
            child.communicate(stdin.encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):  # all of it has ended by itself
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        out.seek(0)
        return out.read(LARGEST).decode("utf-8", "replace")


def passes_file(case: dict[str, Any], work: str) -> bool:
    """Whether a file holds the JSON that is expected."""
    try:
        held = json.loads((pathlib.Path(work) / case["target"].partition(":")[2]).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return same(held, case["expected"])


def passes_calls(cases: list[dict[str, Any]], runner: str, work: str) -> bool:
    """Whether functions return what is expected, all of them called in one process."""
    given = json.dumps([[case["target"], case["arguments"]] for case in cases])
    printed = ran([sys.executable, "-I", "-S", "-B", "-c", runner], given, work) if cases else ""
    lines = (printed or "").splitlines()
    return len(lines) == len(cases) and all(map(passes_call, cases, lines))


def passes_call(case: dict[str, Any], line: str) -> bool:
    """Whether one result is as expected."""
    try:
        result = json.loads(line)
        if case["raises"] is not None:
            return bool(result.get("raises") == case["raises"])
        return "value" in result and same(result["value"], case["expected"])
    except (AttributeError, ValueError, RecursionError):
        return False


def passes_program(case: dict[str, Any], work: str) -> bool:
    """Whether a program prints what is expected, blanks at the ends of lines aside."""
    printed = ran([sys.executable, case["target"]], case["stdin"], work)
    return printed is not None and lines_of(printed) == lines_of(str(case["expected"]))


def lines_of(text: str) -> list[str]:
    """Lines without the blanks at their ends and at the end of all."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def broken(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A mistake of ours is no verdict; Python itself would end with 1."""
    traceback.print_exception(kind, error, trace)
    sys.stderr.flush()
    os._exit(2)


def main(work: str) -> int:
    """Grade what lies in `work`."""
    sys.excepthook = broken
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody of the same user reads this memory
    try:
        cases, runner = json.loads(taken("cases.json")), taken("case_runner.py")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"not graded: {error}\n")
        return 2
    if os.geteuid() == 0 and shutil.which("chmod"):
        subprocess.run(["chmod", "-R", "a+rX", work], check=False)
    kinds = [case["target"].partition(":")[0] if ":" in case["target"] else "" for case in cases]
    told = list(zip(kinds, cases, strict=True))
    calls = [case for kind, case in told if kind not in ("", "file")]
    passed = (
        all(passes_file(case, work) for kind, case in told if kind == "file")
        and passes_calls(calls, runner, work)
        and all(passes_program(case, work) for kind, case in told if not kind)
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
