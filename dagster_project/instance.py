"""Dagster's own folder inside the state folder, and the instance that commands run on."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import dagster as dg

from dagster_project import profiles

HERE: Final = Path(__file__).parent
SETTINGS: Final = (HERE / "dagster.yaml", HERE.parent / "dagster.yaml")
"""Inside an installed package; in a checkout."""


def prepare_dagster_home() -> Path:
    """Make DAGSTER_HOME inside the state folder; a `dagster.yaml` that is already there is the user's and stays."""
    home = profiles.home() / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copy(next(path for path in SETTINGS if path.exists()), home / "dagster.yaml")
    return home


@contextmanager
def dagster_instance() -> Iterator[dg.DagsterInstance]:
    """The instance that the pages show too, so that what a command made is seen there."""
    home = prepare_dagster_home()
    os.environ["DAGSTER_HOME"] = str(home)  # child processes of a run find the same instance
    with dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance
