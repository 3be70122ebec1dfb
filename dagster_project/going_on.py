"""Runs that have not ended by Dagster's books, and what to do about those whose process is gone.

Dagster's code server notices when a run's process is killed, as long as it lives itself; a run that was killed together
with it (or `loopwright materialize`, which has none) stays started on the books for ever, and so does its place in the
pool. Every run notes the number of its process, so we can look.
"""

import time
from collections.abc import Iterator
from typing import Final

import dagster as dg
import psutil

POOL: Final = "gpu"
GOING_ON: Final = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
SILENT_S: Final = 600.0
"""Seconds after which a run that never named its process does not start any more."""
CLOCKS_S: Final = 5.0
"""Event log and process table may differ by as much."""


def going_on(instance: dg.DagsterInstance, job: str, key: dg.AssetKey) -> Iterator[dg.DagsterRun]:
    """Runs of `job`, or of `key` from its page or the command line, that have not ended by the books."""
    for run in instance.get_runs(dg.RunsFilter(statuses=GOING_ON)):
        if run.job_name == job or key in (run.asset_selection or ()):
            yield run


def is_dead(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the run's process is gone without having said so.

    Waiting in the queue is not dead: the daemon starts it. Where a launcher can ask after its workers elsewhere
    (containers), Dagster's run monitoring does, and we do not guess.
    """
    if run.status is dg.DagsterRunStatus.QUEUED or instance.run_launcher.supports_check_run_worker_health:
        return False
    noted = _processes(instance, run.run_id)
    if not noted:
        record = instance.get_run_record_by_id(run.run_id)
        return record is not None and time.time() - record.update_timestamp.timestamp() > SILENT_S
    return not any(_runs(number, since) for number, since in noted)


def close(instance: dg.DagsterInstance, run: dg.DagsterRun, message: str) -> None:
    """Mark a dead run as failed and give its place in the pool back."""
    instance.report_run_failed(run, message)
    instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


def free_places_of_ended_runs(instance: dg.DagsterInstance) -> None:
    """Give back what runs still hold of the pool although they have ended."""
    if not instance.event_log_storage.supports_global_concurrency_limits:
        return
    claimed = instance.event_log_storage.get_concurrency_info(POOL)
    for run_id in sorted(claimed.active_run_ids | claimed.pending_run_ids):
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            instance.event_log_storage.free_concurrency_slots_for_run(run_id)


def _processes(instance: dg.DagsterInstance, run_id: str) -> list[tuple[int, float]]:
    """The processes that worked on a run, and when each said so."""
    found = []
    for event in instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        number = event.get_dagster_event().engine_event_data.metadata.get("pid")
        if number is not None:
            found.append((int(str(number.value)), event.timestamp))
    return found


def _runs(number: int, since: float) -> bool:
    """Whether process `number` is alive and was there at time `since`: numbers are used again."""
    try:
        process = psutil.Process(number)
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= since + CLOCKS_S)
    except psutil.NoSuchProcess:
        return False
