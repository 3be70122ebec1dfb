"""The checks of the frontier fail on what they are there for."""

from pathlib import Path

import polars as pl
import pytest

from assets.frontier.checks import (
    boundary_probes_are_of_tasks_never_trained_on,
    seed_probes_are_of_tasks_never_trained_on,
)
from resources.checkpoints import checkpoint_frame, trained_on
from resources.lake import Lake
from training.checkpoint import publish
from training.consumed import ConsumedRows


@pytest.mark.parametrize(
    ("probed", "holds"), [(["c", "d"], True), (["b", "c"], False), (["a", "b"], True)], ids=["new", "some", "all"]
)
def test_a_probe_of_tasks_that_were_trained_on_is_refused(tmp_path: Path, probed: list[str], *, holds: bool) -> None:
    lake = Lake(root=str(tmp_path))
    lake.write("trajectories/seed_trajectories", pl.DataFrame({"task_id": ["a", "b"]}))
    lake.write("frontier/seed_probes", pl.DataFrame({"task_id": probed}))
    assert seed_probes_are_of_tasks_never_trained_on(lake).passed is holds


def trained(lake: Lake, stage: str, table: str, rows: dict[str, str], *steps: list[str]) -> None:
    """A policy whose loader served these rows of a table: trajectory -> task."""
    served = ConsumedRows()
    for step in steps:
        served.add(step)
    output = lake.folder(stage) / "runs" / "one"

    def write(folder: Path) -> None:
        served.seal(folder / "consumed.json")

    publish(output, write, {"version": stage, "parent": "scratch", "kind": "sft", "consumed": served.digest})
    lake.write(stage, checkpoint_frame(lake, output))
    lake.write(table, pl.DataFrame({"trajectory_id": list(rows), "task_id": list(rows.values())}))


def test_what_the_second_training_served_is_not_measured_before_reinforcement(tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path))
    trained(lake, "sft/seed_policy", "trajectories/seed_trajectories", {"r1": "a", "r2": "b"}, ["r1"], ["r1"])
    trained(lake, "sft/boundary_policy", "sft/boundary_mixture", {"r1": "a", "r3": "c", "r4": "d"}, ["r3"], ["r1"])
    assert trained_on(lake, "sft/seed_policy") == {"a"}, "b was there and never served"
    assert trained_on(lake, "sft/boundary_policy") == {"a", "c"}
    for probed, holds in ((["b", "d"], True), (["a", "d"], False), (["c", "d"], False), (["a", "c"], True)):
        lake.write("frontier/boundary_probes", pl.DataFrame({"task_id": probed}))
        assert boundary_probes_are_of_tasks_never_trained_on(lake).passed is holds
    lake.write("sft/boundary_mixture", pl.DataFrame({"trajectory_id": ["r1"], "task_id": ["a"]}))
    with pytest.raises(ValueError, match=r"consumed 1 rows that sft/boundary_mixture has no more.*again first"):
        trained_on(lake, "sft/boundary_policy")
