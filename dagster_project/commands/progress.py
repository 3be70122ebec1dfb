"""What a run in this process is doing, stage by stage: a bar at a terminal, plain lines in a pipe.

Stages and training processes report through `context.log`; a listener among Dagster's loggers hears them and every
event of the run. What stages and their children print goes to a file instead of across the bars.
"""

import logging
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TextIO

import dagster as dg
from dagster_shared.error import SerializableErrorInfo
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from assets.versions import WHOLE

EVERY_S: Final = 30.0
"""Least seconds between two progress lines of one stage in a pipe."""
ADVANCE: Final = re.compile(
    r"(?P<what>[\w/ .-]+): (?P<done>\d+(?:,\d{3})*)(?:/| of )(?P<total>\d+(?:,\d{3})*)(?: [a-z]+)*"
    r"(?:, (?P<rate>[\d.]+)/s)?(?:, (?P<left>[\d.]+) s left)?(?:; (?P<note>.*))?"
)


class Advance(NamedTuple):
    """How far a stage is."""

    done: int
    total: int
    said: str
    """Done, total, rate, time left and the stage's own remark, as one line."""


def advance_in(line: str, running_s: float) -> Advance | None:
    """The progress that a log line reports (`sft steps: 31/60, 2.0/s, 14 s left; loss 3.04`), or None.

    Args:
        line: what was logged.
        running_s: for how long the stage has run; gives rate and time left where the line has none.
    """
    found = ADVANCE.fullmatch(line.strip())
    if found is None:
        return None
    done, total = (int(found[name].replace(",", "")) for name in ("done", "total"))
    if total <= 0:
        return None
    rate = float(found["rate"]) if found["rate"] else done / max(running_s, 1e-3)
    left = float(found["left"]) if found["left"] else (total - done) / max(rate, 1e-9)
    remark = f"; {found['note']}" if found["note"] else ""
    said = f"{found['what']} {done:,}/{total:,}, {rate:,.1f}/s, {duration(left)} left{remark}"
    return Advance(min(done, total), total, said)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Screen(Protocol):
    """Where progress is shown."""

    def say(self, line: str) -> None:
        """Print one line that stays."""

    def started(self, stage: str) -> None:
        """A stage began."""

    def advanced(self, stage: str, advance: Advance) -> None:
        """A stage says how far it is."""

    def ended(self) -> None:
        """The stage that ran is over."""


class Lines:
    """Plain lines, at most one every `EVERY_S` seconds about a stage that runs."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = 0.0

    def say(self, line: str) -> None:
        """Print one line at once."""
        self._out.write(f"{line}\n")
        self._out.flush()

    def started(self, stage: str) -> None:
        """Count from now."""
        self._last = time.monotonic()

    def advanced(self, stage: str, advance: Advance) -> None:
        """A line, unless the last one is recent."""
        if time.monotonic() - self._last >= EVERY_S:
            self._last = time.monotonic()
            self.say(f"        {stage}: {advance.said}")

    def ended(self) -> None:
        """Nothing to clear."""


class Bars:
    """One live bar for the stage that runs; finished ones stay as lines above it."""

    def __init__(self, console: Console) -> None:
        said = TextColumn("{task.fields[said]}", table_column=Column(no_wrap=True, overflow="ellipsis"))
        columns = (TextColumn("        {task.description}"), BarColumn(20), said)
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._task: TaskID | None = None

    def say(self, line: str) -> None:
        """Print one line above the bar."""
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def started(self, stage: str) -> None:
        """A bar without an end, until the stage says how far it is."""
        self.ended()
        self._progress.start()
        self._task = self._progress.add_task(stage, total=None, said="")

    def advanced(self, stage: str, advance: Advance) -> None:
        """Move the bar."""
        if self._task is not None:
            self._progress.update(
                self._task, total=advance.total, completed=advance.done, said=advance.said, refresh=True
            )

    def ended(self) -> None:
        """Take the bar away."""
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
            self._progress.stop()


def screen_on(out: TextIO) -> Screen:
    """Bars at a terminal, lines elsewhere."""
    return Bars(Console(file=out)) if out.isatty() else Lines(out)


class Checks(NamedTuple):
    """What the checks of a run said."""

    passed: int
    failed: list[str]
    """Those that stop the line."""
    warned: list[str]
    """Those that only warn."""

    def __str__(self) -> str:
        """One line for the reader."""
        said = f"{self.passed} checks passed"
        for names, word in ((self.failed, "failed"), (self.warned, "warned")):
            said += f"; {len(names)} {word}: {', '.join(names)}" if names else ""
        return said


class Listener(logging.Handler):
    """Hears the events and log lines of runs in this process and tells them to the screen."""

    def __init__(self, screen: Screen, stages: Mapping[str, str], *, total: int) -> None:
        """Listen.

        Args:
            screen: where to show.
            stages: table name by step key.
            total: how many stages there are, for the count in front.
        """
        super().__init__()
        self.screen, self.stages, self.total = screen, stages, total
        self.held = 0
        """Stages that needed no making."""
        self.made: dict[str, float] = {}
        """Seconds of each stage finished, by table name."""
        self.checks = Checks(0, [], [])
        self._began: dict[str, float] = {}
        self._rows: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record; everything that is not about a stage passes by."""
        about = getattr(record, "dagster_meta", None)
        if not isinstance(about, dict):
            return
        event, stage = about.get("dagster_event"), self.stages.get(about.get("step_key") or "")
        if event is not None:
            self._event(event, stage)
        elif stage is not None:
            line = about.get("orig_message") or record.getMessage()
            advance = advance_in(line, time.monotonic() - self._began.get(stage, time.monotonic()))
            if advance is not None:
                self.screen.advanced(stage, advance._replace(said=advance.said.removeprefix(f"{stage} ")))

    def _event(self, event: dg.DagsterEvent, stage: str | None) -> None:
        kind = event.event_type
        if kind is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            self._checked(event)
        elif stage is None:
            return
        elif kind is dg.DagsterEventType.STEP_START:
            self._began[stage] = time.monotonic()
            self.screen.started(stage)
        elif kind is dg.DagsterEventType.ASSET_MATERIALIZATION:
            shown = event.materialization.metadata
            rows = shown.get(WHOLE) or shown.get("dagster/row_count")
            self._rows[stage] = int(rows.value) if isinstance(rows, dg.IntMetadataValue) and rows.value else 0
        elif kind is dg.DagsterEventType.STEP_SUCCESS:
            self._finished(stage)
        elif kind is dg.DagsterEventType.STEP_FAILURE:
            self.screen.ended()
            error = event.step_failure_data.error
            stopped = error is not None and is_stop(raised_by_stage(error))
            self.screen.say(f"        {stage:34} {'stopped' if stopped else 'failed'}")

    def _finished(self, stage: str) -> None:
        self.made[stage] = time.monotonic() - self._began[stage]
        self.screen.ended()
        rows = f"{self._rows[stage]:,} rows" if self._rows.get(stage) else ""
        done = f"[{min(self.held + len(self.made), self.total):2}/{self.total}]"
        self.screen.say(f"{done} {stage:34} {duration(self.made[stage]):>12}   {rows}".rstrip())

    def _checked(self, event: dg.DagsterEvent) -> None:
        found = event.asset_check_evaluation_data
        name = f"{found.asset_key.to_user_string()}: {found.check_name}"
        if found.passed:
            self.checks = self.checks._replace(passed=self.checks.passed + 1)
        elif found.severity is dg.AssetCheckSeverity.ERROR:
            self.checks.failed.append(name)
        else:
            self.checks.warned.append(name)


def raised_by_stage(error: SerializableErrorInfo) -> SerializableErrorInfo:
    """What the stage raised, of a failure as Dagster wraps it; what that was raised from says less."""
    while error.cause is not None and (error.cls_name or "").startswith("Dagster"):
        error = error.cause
    return error


def is_stop(error: SerializableErrorInfo) -> bool:
    """Whether the stage ended because the user stopped it."""
    return error.cls_name == dg.DagsterExecutionInterruptedError.__name__


def heard_by(defs: dg.Definitions, listener: Listener) -> dg.Definitions:
    """The same definitions, whose runs tell `listener` instead of printing.

    It takes the place of Dagster's console logger, so that a run's configuration says nothing of it and can be
    started again from the pages.
    """

    @dg.logger(config_schema={})
    def console(_: Any) -> logging.Logger:
        """A logger with one listener and no output."""
        logger = logging.Logger("loopwright", logging.DEBUG)
        logger.addHandler(listener)
        return logger

    return dg.Definitions.merge(defs, dg.Definitions(loggers={"console": console}))


@contextmanager
def printing_into(path: Path) -> Iterator[TextIO]:
    """Send what this process and its children print to a file; yields the real standard output."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with path.open("ab") as written, os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace") as out:
        errors = os.dup(2)
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
        try:
            yield out
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            out.flush()
            os.dup2(out.fileno(), 1)
            os.dup2(errors, 2)
            os.close(errors)
