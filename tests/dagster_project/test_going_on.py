"""Which runs hold the night back, and what happens to those whose process is gone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.events import EngineEventData

from assets import keys
from dagster_project.going_on import going_on, is_dead
from dagster_project.jobs import reprobe_frontier
from dagster_project.schedules import NIGHT, nightly_frontier_reprobe

STARTED, ASKED_FOR = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.NOT_STARTED


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as made:
        yield made


def evaluated(instance: dg.DagsterInstance, *, late_s: float = 0) -> dg.RunRequest | dg.SkipReason:
    """The tick that was planned `late_s` ago, as evaluated now."""
    planned = datetime.now(UTC) - timedelta(seconds=late_s)
    found = nightly_frontier_reprobe(dg.build_schedule_context(instance, scheduled_execution_time=planned))
    assert isinstance(found, dg.RunRequest | dg.SkipReason)
    return found


def add(
    instance: dg.DagsterInstance, status: dg.DagsterRunStatus = STARTED, pid: int | None = None, **other: object
) -> str:
    """A run on the books, with the process that it named."""
    given = {"job_name": reprobe_frontier.name, **other}
    run = instance.add_run(dg.DagsterRun(status=status, **given))  # type: ignore[arg-type]
    if pid is not None:
        instance.report_engine_event("Started process for run", run, EngineEventData.in_process(pid))
    return run.run_id


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_free_night_is_one_run(instance: dg.DagsterInstance) -> None:
    assert isinstance(evaluated(instance), dg.RunRequest)


def test_two_overlapping_ticks_are_one_run(instance: dg.DagsterInstance) -> None:
    first = evaluated(instance)
    assert isinstance(first, dg.RunRequest)
    run_id = add(instance, ASKED_FOR, tags={"dagster/run_key": first.run_key or ""})
    second = evaluated(instance)
    assert isinstance(second, dg.SkipReason)
    assert second.skip_message == f"run {run_id} is still probing"


def test_the_same_tick_evaluated_twice_asks_for_the_same_run(instance: dg.DagsterInstance) -> None:
    planned = dg.build_schedule_context(instance, scheduled_execution_time=datetime.now(UTC))
    first, second = (nightly_frontier_reprobe(planned) for _ in range(2))
    assert isinstance(first, dg.RunRequest)
    assert isinstance(second, dg.RunRequest)
    assert first.run_key == second.run_key, "the daemon starts one run for a key"


def test_a_missed_night_is_not_made_up_for(instance: dg.DagsterInstance) -> None:
    found = evaluated(instance, late_s=NIGHT.late_s + 5)
    assert isinstance(found, dg.SkipReason)
    assert "nights are not made up for" in (found.skip_message or "")


@pytest.mark.parametrize("status", [ASKED_FOR, dg.DagsterRunStatus.STARTING, STARTED])
def test_a_probing_from_its_page_holds_the_night_back(
    instance: dg.DagsterInstance, status: dg.DagsterRunStatus
) -> None:
    run_id = add(instance, status, job_name="__ASSET_JOB", asset_selection=frozenset({keys.NIGHTLY_PROBES}))
    found = evaluated(instance)
    assert isinstance(found, dg.SkipReason)
    assert run_id in (found.skip_message or "")


def test_runs_of_other_assets_and_ended_ones_do_not(instance: dg.DagsterInstance) -> None:
    add(instance, job_name="__ASSET_JOB", asset_selection=frozenset({keys.RAW_QUERIES}))
    add(instance, job_name="factory")
    add(instance, dg.DagsterRunStatus.SUCCESS)
    assert not list(going_on(instance, reprobe_frontier.name, keys.NIGHTLY_PROBES))
    assert isinstance(evaluated(instance), dg.RunRequest)


def test_a_run_whose_process_lives_holds_the_night_back(instance: dg.DagsterInstance) -> None:
    add(instance, pid=os.getpid())
    assert isinstance(evaluated(instance), dg.SkipReason)


def test_a_run_whose_process_was_killed_is_closed_and_holds_nothing_back(instance: dg.DagsterInstance) -> None:
    run_id = add(instance, pid=gone())
    assert isinstance(evaluated(instance), dg.RunRequest)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.status is dg.DagsterRunStatus.FAILURE


def test_a_number_that_another_process_got_since_does_not_pass_for_the_run(instance: dg.DagsterInstance) -> None:
    run_id = add(instance, pid=gone())
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert is_dead(instance, run)
    long_ago = instance.get_run_by_id(add(instance, pid=1))
    assert long_ago is not None
    assert not is_dead(instance, long_ago), "process 1 was there before the run"


def test_the_place_in_the_pool_of_a_killed_run_is_given_back(instance: dg.DagsterInstance) -> None:
    storage = instance.event_log_storage
    storage.set_concurrency_slots("gpu", 1)
    run_id = add(instance, pid=gone())
    assert storage.claim_concurrency_slot("gpu", run_id, "step").is_claimed
    assert isinstance(evaluated(instance), dg.RunRequest)
    assert storage.get_concurrency_info("gpu").active_slot_count == 0
