"""Calls the functions of hidden tests inside a sandbox and reports what came back; the standard library only.

It knows the arguments and not what is expected, so nothing that the agent's code does in this process (reading files,
patching modules, leaving early, returning objects that equal everything) can tell it what would pass.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

PLAIN = (str, int, float, bool, type(None))
DEEP = 50


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON carries it; a type that only looks like one of JSON's is refused, a tuple is a list."""
    kind = type(value)
    if depth > DEEP:
        raise TypeError("deeper than 50 levels")
    if kind in PLAIN:
        return value
    if kind in (list, tuple):
        return [plain(item, depth + 1) for item in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    raise TypeError("no JSON value: " + kind.__name__)


class Ended:
    """Notes how a call ended, whatever it raised: an agent's code may also try to leave."""

    def __init__(self) -> None:
        self.raised: str | None = None

    def __enter__(self) -> Ended:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        self.raised = None if kind is None else kind.__name__
        return True


def result(target: str, arguments: list[Any]) -> dict[str, Any]:
    """What one call gives: a value, or the name of an exception."""
    module, _, function = target.partition(":")
    value = None
    with Ended() as ended:
        value = getattr(importlib.import_module(module), function)(*arguments)
    if ended.raised is not None:
        return {"raises": ended.raised}
    try:
        return {"value": plain(value)}
    except TypeError as error:
        return {"unfit": str(error)}


def main() -> None:
    """Read the calls, keep the way out to ourselves, report each result as it comes."""
    calls = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    sys.path.insert(0, os.getcwd())
    for target, arguments in calls:
        out.write(json.dumps(result(target, arguments)) + "\n")
        out.flush()
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
