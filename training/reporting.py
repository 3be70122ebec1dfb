"""Progress and final numbers of a run: through Dagster Pipes when Dagster started it, to the log when a person did."""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

log = logging.getLogger(__name__)
EVERY_S = 15.0
"""Least time between two progress lines."""


class Reporter:
    """Where a run says how far it is."""

    def __init__(self, pipes: Any = None) -> None:
        """Say it to `pipes` (a Dagster context, of Pipes or of an asset), or to the log."""
        self._pipes = pipes
        self._what = ""
        self._started = self._last = self._seen = time.monotonic()
        self._done = 0

    def say(self, line: str) -> None:
        """One line for whoever watches."""
        (self._pipes.log.info if self._pipes else log.info)(line)

    def progress(self, what: str, done: int, total: int, note: str = "") -> None:
        """Say done, total, rate and time left, at most every `EVERY_S` seconds and at the end."""
        now = time.monotonic()
        if done < self._done or what != self._what:  # the next of several runs in this process: its rate is its own
            self._started = self._seen
        self._seen, self._done, self._what = now, done, what
        if now - self._last < EVERY_S and done < total:
            return
        self._last = now
        rate = done / max(now - self._started, 1e-9)
        left = (total - done) / max(rate, 1e-9)
        self.say(f"{what}: {done}/{total}, {rate:.1f}/s, {left:.0f} s left{'; ' + note if note else ''}")

    def finish(self, numbers: Mapping[str, float | int | str]) -> None:
        """Hand the run's final numbers over."""
        if self._pipes:
            self._pipes.report_custom_message(dict(numbers))
        else:
            log.info("finished: %s", dict(numbers))


@contextmanager
def reporter() -> Iterator[Reporter]:
    """A reporter for this process; by hand or under Dagster, the same script runs."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    if "DAGSTER_PIPES_CONTEXT" not in os.environ:
        yield Reporter()
        return
    from dagster_pipes import open_dagster_pipes

    with open_dagster_pipes() as pipes:
        yield Reporter(pipes)
