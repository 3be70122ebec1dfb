"""The checks of the frontier fail on what they are there for."""

from pathlib import Path

import polars as pl
import pytest

from assets.frontier.checks import seed_probes_are_of_tasks_never_trained_on
from resources.lake import Lake


@pytest.mark.parametrize(
    ("probed", "holds"), [(["c", "d"], True), (["b", "c"], False), (["a", "b"], True)], ids=["new", "some", "all"]
)
def test_a_probe_of_tasks_that_were_trained_on_is_refused(tmp_path: Path, probed: list[str], *, holds: bool) -> None:
    lake = Lake(root=str(tmp_path))
    lake.write("trajectories/seed_trajectories", pl.DataFrame({"task_id": ["a", "b"]}))
    lake.write("frontier/seed_probes", pl.DataFrame({"task_id": probed}))
    assert seed_probes_are_of_tasks_never_trained_on(lake).passed is holds
