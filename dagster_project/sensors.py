"""What happens after a run: its artefacts go into the registry, whether it ended well or not."""

from typing import Final

import dagster as dg

from dagster_project.registration import register_run
from resources.registry import Registry

ENDED: Final = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


def _registers(status: dg.DagsterRunStatus) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=status,
        name=f"register_{status.value.lower()}",
        minimum_interval_seconds=10,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Record what the run materialized, and from what, in the registry.",
    )
    def register(context: dg.RunStatusSensorContext, registry: Registry) -> None:
        """Record the artefacts of the run that just ended."""
        made = register_run(context.instance, context.dagster_run.run_id, registry)
        context.log.info("registered %d artefacts of run %s", len(made), context.dagster_run.run_id)

    return register


SENSORS: Final = [_registers(status) for status in ENDED]
