"""What happens by the clock. Schedules are off until someone switches them on."""

from datetime import UTC, datetime
from typing import Final

import dagster as dg

from assets import keys
from dagster_project import profiles
from dagster_project.going_on import close, free_places_of_ended_runs, going_on, is_dead
from dagster_project.jobs import reprobe_frontier

NIGHT: Final = profiles.active().nightly


@dg.schedule(job=reprobe_frontier, cron_schedule=NIGHT.cron, execution_timezone="UTC")
def nightly_frontier_reprobe(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Probe the frontier again each night, unless a probing is still going on or the night was missed."""
    planned = context.scheduled_execution_time
    late_s = (datetime.now(UTC) - planned).total_seconds()
    if late_s > NIGHT.late_s:
        return dg.SkipReason(
            f"missed by {late_s:.0f} s: no daemon ran at {planned:%Y-%m-%d %H:%M} UTC; nights are not made up for"
        )
    for run in list(going_on(context.instance, reprobe_frontier.name, keys.NIGHTLY_PROBES)):
        if not is_dead(context.instance, run):
            return dg.SkipReason(f"run {run.run_id} is still probing")
        context.log.info("run %s was killed: closing its books", run.run_id)
        close(context.instance, run, "The process that ran it is gone; the next night goes on from what it recorded.")
    free_places_of_ended_runs(context.instance)
    return dg.RunRequest(run_key=f"{planned:%Y-%m-%dT%H:%M}Z")


SCHEDULES: Final = [nightly_frontier_reprobe]
