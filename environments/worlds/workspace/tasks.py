"""Coding tasks from seeds: a family says what is asked, the files to start from, the gold solution and hidden tests.

Expected values come from running the composed gold code here, at generation; it never goes to where an agent works.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from environments.seeds import stable_hash
from environments.task import Call, Case, Task
from environments.worlds.workspace import findings, reports
from environments.worlds.workspace.mutants import mutants
from environments.worlds.workspace.plan import TOOLS, Plan, result_of, task_of, write
from environments.worlds.workspace.records import FIELDS, Query, compose, records

_HIDDEN: Final = 24
_SHOWN: Final = 2


@dataclass(frozen=True)
class _Tried:
    """Inputs for a function and what the gold code gives for them."""

    inputs: list[list[dict[str, Any]]]
    expected: list[Any]


def make_tasks(family: str, seeds: Sequence[int]) -> list[Task]:
    """One task per seed.

    Raises:
        ValueError: no such family.
    """
    if family not in FAMILIES:
        raise ValueError(f"no family {family!r} of workspace tasks; there are: {', '.join(sorted(FAMILIES))}")
    return [FAMILIES[family](random.Random(stable_hash("workspace", family, seed))) for seed in seeds]


def _tried(query: Query, rng: random.Random, count: int) -> _Tried:
    """Inputs of many sizes, the empty one among them."""
    inputs = [records(rng, size) for size in [0, 1, 2, *(rng.randint(3, 40) for _ in range(count - 3))]]
    return _Tried(inputs, [result_of(query.source, query.function, rows) for rows in inputs])


def _cases(query: Query, module: str, tried: _Tried) -> tuple[Case, ...]:
    return tuple(
        Case(target=f"{module}:{query.function}", arguments=(rows,), expected=value)
        for rows, value in zip(tried.inputs, tried.expected, strict=True)
    )


def _visible(query: Query, module: str, tried: _Tried) -> str:
    """A test file that shows a few examples."""
    examples = "".join(
        f"    def test_example_{i}(self):\n        self.assertEqual({query.function}({rows!r}), {value!r})\n\n"
        for i, (rows, value) in enumerate(zip(tried.inputs, tried.expected, strict=True), 1)
    )
    return (
        f"import unittest\n\nfrom {module} import {query.function}\n\n\nclass Examples(unittest.TestCase):\n{examples}"
        '\nif __name__ == "__main__":\n    unittest.main()\n'
    )


def _distinct(query: Query, rng: random.Random) -> _Tried:
    """Small examples to show; what they give is not all alike."""
    small = [records(rng, rng.randint(4, 7)) for _ in range(12)]
    given = [result_of(query.source, query.function, rows) for rows in small]
    order = sorted(range(12), key=lambda i: (not given[i], given.index(given[i]) != i, i))[:_SHOWN]
    return _Tried([small[i] for i in order], [given[i] for i in order])


def _query(rng: random.Random) -> Task:
    """Write a function from its description."""
    query, module = _telling_query(rng)
    files = {f"tests/test_{module}.py": _visible(query, module, _distinct(query, rng)), "tests/__init__.py": ""}
    said = (
        f"Write the module {module}.py with a function {query.function}(records). Each record is a dict with "
        f"{FIELDS}. {query.words} Examples are in tests/test_{module}.py."
    )
    cases = _cases(query, module, _tried(query, rng, _HIDDEN))
    plan = Plan("query", 1, said, files, (write(f"{module}.py", query.source), _RUN_TESTS), cases)
    return task_of(plan)


def _telling_query(rng: random.Random) -> tuple[Query, str]:
    """A query whose results differ over inputs, and a name for its module."""
    while True:
        query = compose(rng)
        given = _tried(query, rng, 12).expected
        if len({json.dumps(value) for value in given}) >= 6:
            return query, query.function.split("_")[0] + "_module"


def _repair(rng: random.Random) -> Task:
    """Find the bug that makes a test fail."""
    while True:
        query, module = _telling_query(rng)
        shown, hidden = _distinct(query, rng), _tried(query, rng, _HIDDEN)
        tried = mutants(query.source)
        rng.shuffle(tried)
        broken = next((m for m in tried if _differs(m, query, shown) and _differs(m, query, hidden)), None)
        if broken is not None:
            break
    files = {
        f"{module}.py": broken,
        f"tests/test_{module}.py": _visible(query, module, shown),
        "tests/__init__.py": "",
    }
    said = f"The tests of {module}.py fail. Repair it, so that it does what its documentation says, for any records."
    gold = (_RUN_TESTS, _read(f"{module}.py"), write(f"{module}.py", query.source), _RUN_TESTS)
    return task_of(Plan("repair", 2, said, files, gold, _cases(query, module, hidden)))


def _differs(source: str, query: Query, tried: _Tried) -> bool:
    """Whether a program gives something else for some input; one that fails does."""
    try:
        return [result_of(source, query.function, rows) for rows in tried.inputs] != tried.expected
    except (TypeError, ValueError, KeyError, IndexError, ZeroDivisionError):
        return True


def _rename(rng: random.Random) -> Task:
    """Rename a function in a package, where one caller builds its name at run time."""
    query, module = _telling_query(rng)
    old, new = query.function, f"compute_{query.function}"
    kinds = old.split("_", 1)
    files = {
        f"{module}.py": query.source,
        "callers.py": f"import {module}\n\n\ndef twice(records):\n    return [{module}.{old}(records)] * 2\n",
        "dispatch.py": f"import {module}\n\n\ndef ask(kind, records):\n"
        f'    """Call the function of that kind: ask({kinds[0]!r}, ...)."""\n'
        f'    return getattr({module}, kind + "_{kinds[1]}")(records)\n',
    }
    gold_files = {path: text.replace(old, new) for path, text in files.items()}
    gold_files["dispatch.py"] = files["dispatch.py"].replace('kind + "_', '"compute_" + kind + "_')
    said = (
        f"Rename {old} in {module}.py to {new} everywhere. Nothing may answer to the old name any more; twice in "
        f"callers.py and ask in dispatch.py must do what they did, also ask({kinds[0]!r}, records) with the kind as is."
    )
    tried = _tried(query, rng, 8)
    pairs = list(zip(tried.inputs, tried.expected, strict=True))
    cases = [Case(target=f"{module}:{new}", arguments=(rows,), expected=value) for rows, value in pairs]
    cases += [Case(target="callers:twice", arguments=(rows,), expected=[value] * 2) for rows, value in pairs[:4]]
    cases += [Case(target="dispatch:ask", arguments=(kinds[0], rows), expected=value) for rows, value in pairs[:4]]
    cases.append(Case(target=f"{module}:{old}", arguments=([],), raises="AttributeError"))
    calls = (
        Call(name="run", arguments={"command": f"grep -rn {kinds[1]} ."}),
        *map(write, gold_files, gold_files.values()),
    )
    return task_of(Plan("rename", 3, said, files, calls, tuple(cases)))


def _read(path: str) -> Call:
    return Call(name="read_file", arguments={"path": path})


_RUN_TESTS: Final = Call(name="run_tests", arguments={})
FAMILIES: Final[Mapping[str, Callable[[random.Random], Task]]] = {
    "query": _query,
    "repair": _repair,
    "rename": _rename,
    "report": reports.report,
    "findings": findings.findings,
}
__all__ = ["FAMILIES", "TOOLS", "make_tasks"]
