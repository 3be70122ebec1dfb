"""The blocking checks of trajectories and of the frontier fail on what they are there for."""

from pathlib import Path

import polars as pl
import pytest

from assets.frontier.checks import seed_probes_are_of_one_policy_on_training_tasks, the_frontier_is_not_empty
from assets.trajectories.checks import (
    adaptive_trajectories_solve_admitted_training_tasks,
    seed_trajectories_solve_admitted_training_tasks,
)
from environments.worlds.atlas.tasks import fresh_tasks
from resources.lake import Lake
from training.trajectories import tasks_frame

TRAIN, HIDDEN = fresh_tasks(8, "train", 0), fresh_tasks(8, "hidden", 0)
SEED, ADAPTIVE = "trajectories/seed_trajectories", "trajectories/adaptive_trajectories"
CHECKS = {
    SEED: seed_trajectories_solve_admitted_training_tasks,
    ADAPTIVE: adaptive_trajectories_solve_admitted_training_tasks,
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(root=str(tmp_path))
    lake.write("tasks/admitted_tasks", tasks_frame([*TRAIN, *HIDDEN]))
    return lake


def kept(*task_ids: str) -> pl.DataFrame:
    return pl.DataFrame({"trajectory_id": [f"e{i}" for i in range(len(task_ids))], "task_id": list(task_ids)})


@pytest.mark.parametrize("table", CHECKS)
@pytest.mark.parametrize(
    ("task_ids", "passed"),
    [
        ([t.task_id for t in TRAIN], True),
        ([TRAIN[0].task_id, HIDDEN[0].task_id], False),
        ([TRAIN[0].task_id, "quarantined"], False),
        ([TRAIN[0].task_id, TRAIN[0].task_id], False),
        ([], False),
    ],
)
def test_trajectories_are_of_admitted_training_tasks_one_each(
    lake: Lake, table: str, task_ids: list[str], passed: bool
) -> None:
    lake.write(table, kept(*task_ids) if task_ids else kept("x").clear())
    assert CHECKS[table](lake).passed is passed


@pytest.mark.parametrize(
    ("rows", "passed"),
    [
        ([(TRAIN[0].task_id, "k"), (TRAIN[1].task_id, "k")], True),
        ([(TRAIN[0].task_id, "k"), (TRAIN[1].task_id, "other")], False),
        ([(TRAIN[0].task_id, "k"), (HIDDEN[0].task_id, "k")], False),
    ],
)
def test_probes_are_of_one_policy_on_training_tasks(lake: Lake, rows: list[tuple[str, str]], passed: bool) -> None:
    lake.write("sft/seed_policy", pl.DataFrame({"version": ["v"]}))
    lake.write("frontier/seed_probes", pl.DataFrame(rows, schema=["task_id", "key"], orient="row"))
    assert seed_probes_are_of_one_policy_on_training_tasks(lake).passed is passed


@pytest.mark.parametrize(("region", "passed"), [("learnable", True), ("trivial", False), ("noise", False)])
def test_a_frontier_with_nothing_learnable_stops_the_line(lake: Lake, region: str, passed: bool) -> None:
    lake.write("frontier/regions", pl.DataFrame({"task_id": ["t"], "region": [region]}))
    assert the_frontier_is_not_empty(lake).passed is passed
