"""Report tasks: a program that reads a log in a format known from a sample, skips what is broken, prints figures."""

import random
from dataclasses import dataclass
from typing import Any, Final

from environments.task import Call, Case, Task
from environments.worlds.workspace.plan import Plan, result_of, task_of, write

_SERVICES: Final = ("api", "auth", "billing", "cache", "mail", "search")
_LEVELS: Final = ("INFO", "WARN", "ERROR")
_FIELDS: Final = ("time", "service", "level", "millis")


@dataclass(frozen=True)
class _Format:
    """How lines are written."""

    separator: str
    order: tuple[str, ...]
    comment: str
    unit: str

    def line(self, row: dict[str, Any]) -> str:
        """One row as a line."""
        shown = {**row, "millis": f"{row['millis']}{self.unit}"}
        return self.separator.join(str(shown[name]) for name in self.order)


def report(rng: random.Random) -> Task:
    """Write a program from a description and a sample log."""
    shape = _Format(rng.choice(("|", ";", "\t", " , ")), tuple(rng.sample(_FIELDS, 4)), rng.choice("#%!"),
                    rng.choice(("", "ms", " ms")))  # fmt: skip
    level, kind = rng.choice(_LEVELS), rng.choice(("slowest", "mean", "count"))
    source = _program(shape, level, kind)
    logs = [_log(shape, rng, size) for size in (0, 1, 6, 25, 60)]
    cases = tuple(Case(target="report.py", stdin=log, expected=_printed(source, log)) for log in logs)
    files = {"sample.log": _log(shape, rng, 14), "README.txt": _readme(shape)}
    said = (
        "Write report.py, which reads a log like sample.log from its standard input. For the lines of level "
        f"{level} it prints, for each service in alphabetical order, a line `service: figure`, where the figure is "
        f"{_WORDS[kind]}. Lines that start with the comment sign and empty lines do not count. Lines that do not have "
        "exactly four fields, or whose duration is no whole number, are broken; the last line printed is `broken: ` "
        "and their number. README.txt says how lines are written."
    )
    gold = (Call(name="read_file", arguments={"path": "README.txt"}), write("report.py", source),
            Call(name="run", arguments={"command": "python3 report.py < sample.log"}))  # fmt: skip
    return task_of(Plan("report", 3, said, files, gold, cases))


_WORDS: Final = {
    "slowest": "the largest duration in milliseconds",
    "mean": "the mean duration in milliseconds, rounded down",
    "count": "the number of its lines",
}
_CODE: Final = {"slowest": "max(found)", "mean": "sum(found) // len(found)", "count": "len(found)"}


def _readme(shape: _Format) -> str:
    sign = {"\t": "a tab", " , ": "a comma between blanks"}.get(shape.separator, repr(shape.separator))
    written = f"with {shape.unit!r} behind them" if shape.unit else "as plain numbers"
    return (
        f"One event per line, its fields separated by {sign}: {', '.join(shape.order)}.\n"
        f"Durations (millis) are written {written}; "
        f"one written otherwise is broken.\nComments start with {shape.comment}.\n"
    )


def _program(shape: _Format, level: str, kind: str) -> str:
    """The gold program; `printed` is what it prints, for use here."""
    place = {name: shape.order.index(name) for name in _FIELDS}
    cut = f"[: -{len(shape.unit)}]" if shape.unit else ""
    ends = f" or not parts[{place['millis']}].endswith({shape.unit!r})" if shape.unit else ""
    return (
        "import sys\n\n\ndef printed(text):\n    services, broken = {}, 0\n    for line in text.splitlines():\n"
        f"        if not line.strip() or line.startswith({shape.comment!r}):\n            continue\n"
        f"        parts = line.split({shape.separator!r})\n"
        f"        if len(parts) != 4{ends} or not parts[{place['millis']}]{cut}.isdigit():\n"
        "            broken += 1\n            continue\n"
        f"        if parts[{place['level']}] == {level!r}:\n"
        f"            services.setdefault(parts[{place['service']}], []).append(int(parts[{place['millis']}]{cut}))\n"
        f'    lines = [f"{{name}}: {{{_CODE[kind]}}}" for name, found in sorted(services.items())]\n'
        '    return "\\n".join([*lines, f"broken: {broken}"])\n\n\n'
        'if __name__ == "__main__":\n    print(printed(sys.stdin.read()))\n'
    )


def _printed(source: str, log: str) -> str:
    return str(result_of(source, "printed", log))


def _log(shape: _Format, rng: random.Random, count: int) -> str:
    """A log with comments, empty and broken lines among the good ones."""
    lines = []
    for i in range(count):
        line = shape.line({
            "time": f"10:{i // 60:02d}:{i % 60:02d}", "service": rng.choice(_SERVICES), "level": rng.choice(_LEVELS),
            "millis": rng.choice((0, 3, 9, 10, 250, 999, 4000)) + rng.randint(0, 3),
        })  # fmt: skip
        lines.append(_flawed(line, shape, rng))
    return "".join(line + "\n" for line in lines)


def _flawed(line: str, shape: _Format, rng: random.Random) -> str:
    """The line, or now and then a broken, commented or empty one."""
    parts, millis, flaw = line.split(shape.separator), shape.order.index("millis"), rng.random()
    if flaw < 0.06:
        return line.replace(shape.separator, " ", 1)
    if flaw < 0.1:
        return shape.separator.join([*parts[:millis], rng.choice(("-5", "1.5s", "")), *parts[millis + 1 :]])
    if flaw < 0.14:
        return shape.separator.join([*parts, "again"])
    if flaw < 0.2:
        return shape.comment + line
    return "" if flaw < 0.23 else line
