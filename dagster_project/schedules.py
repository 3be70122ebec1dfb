"""What happens by the clock. Schedules are off until someone switches them on."""

from typing import Final

import dagster as dg

from dagster_project.jobs import reprobe_frontier

GOING_ON: Final = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dg.schedule(job=reprobe_frontier, cron_schedule="0 3 * * *", execution_timezone="UTC")
def nightly_frontier_reprobe(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Probe the frontier again each night, unless the last probing is still going on."""
    going_on = dg.RunsFilter(job_name=reprobe_frontier.name, statuses=GOING_ON)
    runs = context.instance.get_runs(going_on, limit=1)
    if runs:
        return dg.SkipReason(f"run {runs[0].run_id} is still probing")
    return dg.RunRequest()


SCHEDULES: Final = [nightly_frontier_reprobe]
