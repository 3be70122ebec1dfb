"""The whole factory on micro, twice from nothing, once killed on the way: the same data versions, nothing lost."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from assets import keys
from assets.benchmarks.funnel import layers
from resources.lake import Lake
from resources.registry import Artefact, Registry

pytestmark = pytest.mark.slow

PIPELINE = [keys.table_of(key) for key in keys.PIPELINE]
KILLED_AT = (
    "trajectories/seed_trajectories/runs/*/*/part-*.parquet",
    "sft/seed_policy/runs/*/state/checkpoint-*/complete",
    "policy/rl_policy/runs/*/state/checkpoint-*/complete",
)
"""Files whose appearance says that a stage is in its midst: sampling, SFT, RL."""


class Factory:
    """One state folder and the processes that fill it."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home, self.lake = home, Lake(root=str(home / "lake"))
        self.place = {**os.environ, "LOOPWRIGHT_HOME": str(home), "OMP_NUM_THREADS": "1", **environment}
        home.mkdir()

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """`loopwright demo` in a process of its own."""
        command = [sys.executable, "-c", "from dagster_project.commands import app; app()", "demo", *arguments]
        with (self.home / "run.log").open("ab") as log:
            return subprocess.Popen(command, env=self.place, stdout=log, stderr=subprocess.STDOUT)

    def kill_when(self, pattern: str) -> None:
        """Start a demo and kill it outright when a file of the lake appears."""
        process = self.start()
        while not list(Path(self.lake.root).glob(pattern)):
            assert process.poll() is None, self.said()
            time.sleep(0.02)
        process.kill()
        process.wait()

    def said(self) -> str:
        """What the demos printed."""
        return (self.home / "run.log").read_text()

    def made(self) -> dict[str, Artefact]:
        """The latest artefact of every stage."""
        registry = Registry(url=f"sqlite:///{self.home / 'registry.db'}")
        return {key: found for key in PIPELINE if (found := registry.artefact(key)) is not None}

    def versions(self) -> dict[str, str]:
        """Data version by stage."""
        return {key: artefact.data_version for key, artefact in self.made().items()}

    def links(self) -> dict[str, set[str]]:
        """By stage, the stages that its latest artefact was made from."""
        registry = Registry(url=f"sqlite:///{self.home / 'registry.db'}")
        return {key: {a.key for a in registry.made_from(key, version)} for key, version in self.versions().items()}


class Factories(NamedTuple):
    """Two finished factories of other paths, hash seeds and thread counts."""

    one: Factory
    """Made in one go, and then made anew on its own state."""
    first: dict[str, str]
    """Its data versions before it was made anew."""
    links: dict[str, set[str]]
    """What they were made from."""
    other: Factory
    """Killed three times on the way."""


@pytest.fixture(scope="module")
def factories(tmp_path_factory: pytest.TempPathFactory) -> Factories:
    """Both, side by side: the one is made anew while the other, which was killed, goes on."""
    root = tmp_path_factory.mktemp("factories")
    one = Factory(root / "one", PYTHONHASHSEED="1", POLARS_MAX_THREADS="1")
    other = Factory(root / "other", PYTHONHASHSEED="2", POLARS_MAX_THREADS="2")
    going_on = [one.start()]
    try:
        for pattern in KILLED_AT:
            other.kill_when(pattern)
        going_on.append(other.start())
        assert going_on[0].wait(1_200) == 0, one.said()
        first, links = one.versions(), one.links()
        going_on.append(one.start("--again"))
        assert going_on[1].wait(1_200) == 0, other.said()
        assert going_on[2].wait(1_200) == 0, one.said()
    finally:
        for process in going_on:
            process.kill()
            process.wait()
    return Factories(one, first, links, other)


def test_every_stage_is_made_registered_and_linked(factories: Factories) -> None:
    assert list(factories.first) == PIPELINE
    fed_by = factories.links
    assert fed_by["pool/lexical_survivors"] == {"queries/distinct_queries"}
    begin = {"queries/raw_queries", "taxonomy/intent_taxonomy", "tasks/judge_grades"}
    assert {key for key, inputs in fed_by.items() if not inputs} == begin


def test_made_twice_from_nothing_and_killed_on_the_way_the_versions_are_the_same(factories: Factories) -> None:
    assert factories.first == factories.other.versions()
    assert factories.other.said().count("an earlier demo was killed") == len(KILLED_AT)


def test_every_layer_keeps_or_drops_each_row(factories: Factories) -> None:
    found = {layer.name: layer.lost for layer in layers(factories.one.lake)}
    assert len(found) == 8
    assert found == dict.fromkeys(found, 0)


def test_made_anew_on_its_own_state_the_versions_are_the_same(factories: Factories) -> None:
    assert factories.one.versions() == factories.first


def test_what_holds_is_not_made_again(factories: Factories) -> None:
    other = factories.other
    assert other.start().wait(300) == 0, other.said()
    assert f"{len(PIPELINE)} of {len(PIPELINE)} stages hold from before" in other.said()
