"""The nightly schedule under a real daemon, on a profile that ticks every minute.

First session of `loopwright ui`: a probing launched by hand is under way, the tick is skipped, and everything is killed
outright, code server and probing included. The scheduler's books are set back ten minutes, as if that were how long ago
it was. Second session: of ten missed nights none is made up for, and the next one probes, although the books still
held the killed run for started; a killed worker ends its run.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import dagster as dg
import psutil
import pytest
from dagster._core.scheduler.instigation import InstigatorTick, TickStatus

from environments.worlds.atlas.tasks import fresh_tasks
from tests.dagster_project.pages import Pages, running_pages, started
from tests.frontier.builders import admit, opened, register_policy

pytestmark = pytest.mark.slow

Found = TypeVar("Found")
JOB, SCHEDULE, TABLE = "reprobe_frontier", "nightly_frontier_reprobe", "frontier/nightly_probes"
PLACE = {"repositoryName": "__repository__", "repositoryLocationName": "dagster_project.definitions"}
LONG = {"ops": {"frontier__nightly_probes": {"config": {"attempts": 60_000, "k": 1_000, "batch": 1_000}}}}
LATE_S = 20
"""Of the profile micro: after so many seconds a tick counts as missed."""
SET_BACK_S = 600


def test_nights_by_the_clock(tmp_path: Path) -> None:
    admit(tmp_path, fresh_tasks(60, "train", 0))
    register_policy(tmp_path, "sft/seed_policy")
    _, registry = opened(tmp_path)
    began = time.time()
    pages = started(tmp_path)
    start_up_s = time.time() - began
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
        by_hand = launch(pages)
        switch_on(pages)
        first = until(lambda: ticks(instance), pages, 90)[0]
        assert (first.status, first.skip_reason) == (TickStatus.SKIPPED, f"run {by_hand} is still probing")
        until(lambda: status(instance, by_hand) is dg.DagsterRunStatus.STARTED, pages, 60)
        kill_all(pages)
        assert status(instance, by_hand) is dg.DagsterRunStatus.STARTED, "nobody was left to close its books"

        set_back(instance)
        time.sleep((LATE_S + 15 - start_up_s - time.time()) % 60)  # so that the last of the missed ticks is late too
        with running_pages(tmp_path) as again:
            [missed] = until(lambda: ticks(instance), again, 90)
            if time.time() - missed.timestamp > LATE_S + 5:  # else a busy machine came up with the next tick
                assert missed.status is TickStatus.SKIPPED
                assert "nights are not made up for" in (missed.skip_reason or "")
            [night] = until(lambda: [t for t in ticks(instance) if t.run_ids], again, 150)[0].run_ids
            switch_off(instance)
            assert status(instance, by_hand) is dg.DagsterRunStatus.FAILURE, "closed by the tick, its place given back"
            until(lambda: status(instance, night) is dg.DagsterRunStatus.SUCCESS, again, 120)
            killed = launch(again)
            kill_worker(instance, killed, again)
            until(lambda: status(instance, killed) is dg.DagsterRunStatus.FAILURE, again, 60)
        assert len(registry.outcomes(TABLE)) == 32, "the night's budget on micro, appended to the ledger"


def launch(pages: Pages) -> str:
    """Launch the job from the pages, with a budget that lasts; returns the run."""
    query = """mutation($p: ExecutionParams!) {launchRun(executionParams: $p) {
        __typename ... on LaunchRunSuccess {run {runId}} ... on PythonError {message}}}"""
    params = {"selector": {**PLACE, "jobName": JOB}, "runConfigData": json.dumps(LONG)}
    return str(pages.ask(query, p=params)["launchRun"]["run"]["runId"])


def switch_on(pages: Pages) -> None:
    """Switch the schedule on."""
    query = "mutation($s: ScheduleSelector!) {startSchedule(scheduleSelector: $s) {__typename}}"
    answer = pages.ask(query, s={**PLACE, "scheduleName": SCHEDULE})
    assert answer["startSchedule"]["__typename"] == "ScheduleStateResult", answer


def switch_off(instance: dg.DagsterInstance) -> None:
    """Switch the schedule off, so that no second night comes while the first is looked at."""
    [state] = [s for s in instance.all_instigator_state() if s.instigator_name == SCHEDULE]
    instance.stop_schedule(state.instigator_origin_id, state.selector_id, None)


def ticks(instance: dg.DagsterInstance) -> list[InstigatorTick]:
    """Ticks that were evaluated, in order."""
    states = [s for s in instance.all_instigator_state() if s.instigator_name == SCHEDULE]
    found = [t for s in states for t in instance.get_ticks(s.instigator_origin_id, s.selector_id)]
    return sorted((t for t in found if t.status is not TickStatus.STARTED), key=lambda t: t.timestamp)


def status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    """What the books say of a run."""
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def until(look: Callable[[], Found], pages: Pages, seconds: float) -> Found:
    """What `look` finds, once it finds anything."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, pages.said()
        time.sleep(0.5)
    return found


def set_back(instance: dg.DagsterInstance) -> None:
    """Let the scheduler's books say that its last look was ten minutes ago."""
    [state] = [s for s in instance.all_instigator_state() if s.instigator_name == SCHEDULE]
    instance.purge_ticks(state.instigator_origin_id, state.selector_id, before=time.time())
    then = time.time() - SET_BACK_S
    before = state.instigator_data._replace(start_timestamp=then, last_iteration_timestamp=then)
    instance.update_instigator_state(state.with_data(before))


def kill_all(pages: Pages) -> None:
    """Kill pages, daemon, code server and every run outright."""
    every = [psutil.Process(pages.process.pid), *psutil.Process(pages.process.pid).children(recursive=True)]
    for process in every:
        process.kill()
    pages.process.wait(30)
    psutil.wait_procs(every, 30)


def kill_worker(instance: dg.DagsterInstance, run_id: str, pages: Pages) -> None:
    """Kill the process of a run outright, as soon as it has named itself."""

    def named() -> list[int]:
        """Numbers that the run's events state."""
        events = instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
        pids = [e.get_dagster_event().engine_event_data.metadata.get("pid") for e in events]
        return [int(str(p.value)) for p in pids if p is not None]

    psutil.Process(until(named, pages, 60)[0]).kill()
