"""One demo at a time on a state folder, and what a killed one left behind in Dagster's books."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import dagster as dg

from dagster_project.going_on import GOING_ON, POOL, free_places_of_ended_runs

TAG: Final = "loopwright/demo"
"""On every run that the demo starts."""


class BusyError(ValueError):
    """Another process works on this state."""


@contextmanager
def alone_in(home: Path) -> Iterator[None]:
    """Hold the state folder for this process; the lock ends with the process, however it ends.

    Raises:
        BusyError: another demo holds it.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / "demo.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise BusyError(
                f"another demo (process {lock.read().strip() or 'unknown'}) is at work in {home}: wait for it, "
                "or choose another state folder with LOOPWRIGHT_HOME"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def close_killed_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark the demo's runs that never ended as cancelled and give their places in the pool back; their ids.

    Call it while no other demo can be running.
    """
    dead = instance.get_runs(dg.RunsFilter(tags={TAG: "true"}, statuses=GOING_ON))
    for run in dead:
        instance.report_run_canceled(
            run, message="The process that ran it was killed; the next demo goes on from here."
        )
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in dead]


@contextmanager
def no_run_left_open(instance: dg.DagsterInstance) -> Iterator[None]:
    """Close what a stop between two steps leaves open: Dagster only closes a run that is stopped inside one."""
    try:
        yield
    except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
        close_killed_runs(instance)
        raise


def require_free_pool(instance: dg.DagsterInstance) -> None:
    """Refuse to wait without a word for a run that the pages started.

    Raises:
        BusyError: a run that has not ended holds or awaits a place in the pool of heavy stages.
    """
    free_places_of_ended_runs(instance)
    claimed = instance.event_log_storage.get_concurrency_info(POOL)
    for run_id in sorted(claimed.active_run_ids | claimed.pending_run_ids):
        raise BusyError(
            f"run {run_id} was started on the pages and holds the pool {POOL!r}: wait until it ends, or terminate it "
            "there (Runs, Terminate; with 'force' if its process is dead), then start the demo again"
        )
