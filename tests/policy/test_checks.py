"""What must hold of checkpoints: consumed rows, parents and the queue, on published folders."""

import json
from pathlib import Path

import polars as pl
import pytest

from assets.policy.checks import (
    SAMPLED,
    nothing_turned_down_was_ever_sampled,
    only_training_tasks_in_the_queue,
    rl_starts_from_the_current_boundary_policy,
)
from assets.sft.checks import boundary_policy_consumed_only_verified_rows, seed_policy_consumed_only_verified_rows
from environments.worlds.atlas.tasks import fresh_tasks
from resources.checkpoints import checkpoint_frame
from resources.lake import Lake
from training.checkpoint import publish
from training.trajectories import tasks_frame


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(root=str(tmp_path / "lake"))


def checkpoint(lake: Lake, table: str, version: str, parent: str, *steps: list[str]) -> None:
    """A published folder of `table` whose loader served `steps`."""
    output = lake.folder(table) / "runs" / version

    def write(folder: Path) -> None:
        (folder / "consumed.json").write_text(json.dumps(steps))

    publish(output, write, {"kind": "sft", "version": version, "parent": parent, "consumed": "c"})
    lake.write(table, checkpoint_frame(lake, output))


@pytest.mark.parametrize(
    ("steps", "passed"), [([["a", "b"], ["a"]], True), ([["a", "stranger"]], False), ([], False), ([[]], False)]
)
def test_the_loader_served_verified_rows_and_at_least_one(lake: Lake, steps: list[list[str]], passed: bool) -> None:
    rows = pl.DataFrame({"trajectory_id": ["a", "b", "c"]})
    lake.write("trajectories/seed_trajectories", rows)
    lake.write("sft/boundary_mixture", rows)
    checkpoint(lake, "sft/seed_policy", "v1", "scratch", *steps)
    checkpoint(lake, "sft/boundary_policy", "v2", "v1", *steps)
    assert seed_policy_consumed_only_verified_rows(lake).passed is passed
    assert boundary_policy_consumed_only_verified_rows(lake).passed is passed


@pytest.mark.parametrize(
    ("version", "parent", "passed"), [("v3", "v2", True), ("v3", "v1", False), ("v2", "v2", False)]
)
def test_rl_starts_from_the_boundary_policy_and_ends_elsewhere(
    lake: Lake, version: str, parent: str, passed: bool
) -> None:
    checkpoint(lake, "sft/boundary_policy", "v2", "v1", ["a"])
    checkpoint(lake, "policy/rl_policy", version, parent, ["e"])
    assert rl_starts_from_the_current_boundary_policy(lake).passed is passed


def test_a_hidden_or_quarantined_task_in_the_queue_is_caught(lake: Lake) -> None:
    train, hidden = fresh_tasks(6, "train", 0), fresh_tasks(6, "hidden", 0)
    lake.write("tasks/admitted_tasks", tasks_frame([*train, *hidden]))
    for queue, passed in ((train, True), ([*train, hidden[0]], False), (fresh_tasks(6, "train", 1), False)):
        lake.write("policy/training_queue", pl.DataFrame({"task_id": [t.task_id for t in queue]}))
        assert only_training_tasks_in_the_queue(lake).passed is passed


@pytest.mark.parametrize("table", SAMPLED)
@pytest.mark.parametrize("barred", ["tasks/quarantine", "tasks/honeypots"])
def test_a_sampled_task_that_was_turned_down_or_is_a_honeypot_is_caught(lake: Lake, table: str, barred: str) -> None:
    for name in ("tasks/quarantine", "tasks/honeypots"):
        lake.write(name, pl.DataFrame({"task_id": ["never"]}))
    for sampled in SAMPLED:
        lake.write(sampled, pl.DataFrame({"task_id": ["a", "b"]}))
    assert nothing_turned_down_was_ever_sampled(lake).passed
    lake.write(barred, pl.DataFrame({"task_id": ["b"]}))
    for sampled in set(SAMPLED) - {table}:
        lake.write(sampled, pl.DataFrame({"task_id": ["a"]}))
    found = nothing_turned_down_was_ever_sampled(lake)
    assert not found.passed
    assert found.metadata["sampled_in"].value == table
