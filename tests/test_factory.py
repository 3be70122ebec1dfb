"""The whole factory on micro, twice from nothing: the same data versions, whatever the hash seed and threads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assets import keys
from resources.registry import Artefact, Registry

pytestmark = pytest.mark.slow

PIPELINE = [keys.table_of(key) for key in keys.PIPELINE]


class Factory:
    """One state folder and the process that fills it."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = home
        home.mkdir()
        place = {**os.environ, "LOOPWRIGHT_HOME": str(home), "OMP_NUM_THREADS": "1", **environment}
        command = [sys.executable, "-c", "from dagster_project.commands import app; app()", "materialize", "*"]
        with (home / "run.log").open("wb") as log:
            self.process = subprocess.Popen(command, env=place, stdout=log, stderr=subprocess.STDOUT)

    def made(self) -> dict[str, Artefact]:
        """The artefacts of the run, once it has ended well."""
        assert self.process.wait(1_200) == 0, (self.home / "run.log").read_text()[-3_000:]
        registry = Registry(url=f"sqlite:///{self.home / 'registry.db'}")
        return {key: found for key in PIPELINE if (found := registry.artefact(key)) is not None}


@pytest.fixture(scope="module")
def factories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Factory, Factory]:
    """Two factories at work side by side, under different hash seeds and thread counts."""
    root = tmp_path_factory.mktemp("factories")
    return (
        Factory(root / "one", PYTHONHASHSEED="1", POLARS_MAX_THREADS="1"),
        Factory(root / "other", PYTHONHASHSEED="2", POLARS_MAX_THREADS="2"),
    )


def test_every_stage_is_made_registered_and_linked(factories: tuple[Factory, Factory]) -> None:
    made = factories[0].made()
    assert list(made) == PIPELINE
    registry = Registry(url=f"sqlite:///{factories[0].home / 'registry.db'}")
    fed_by = {key: {a.key for a in registry.made_from(key, made[key].data_version)} for key in PIPELINE}
    assert fed_by["pool/lexical_pool"] == {"queries/distinct_queries"}
    assert {key for key, inputs in fed_by.items() if not inputs} == {"queries/raw_queries", "taxonomy/intent_taxonomy"}


def test_made_twice_from_nothing_the_versions_are_the_same(factories: tuple[Factory, Factory]) -> None:
    one, other = ({key: a.data_version for key, a in factory.made().items()} for factory in factories)
    assert one == other
