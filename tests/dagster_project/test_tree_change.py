"""A leaf is split while the pages run: the plan is shown, approved, and exactly its leaves are made anew."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets import keys
from assets.labels.rules import IRRELEVANT
from assets.taxonomy.migration import FOLDER
from dagster_project import profiles
from tests.dagster_project.pages import Pages, running_pages
from tests.taxonomy.folders import INTO, WEATHER, copied, with_weather_split

pytestmark = pytest.mark.slow

TOUCHED = {*INTO, f"{WEATHER}.other"}
STATUS = """query($key: AssetKeyInput!, $leaf: String) { assetNodeOrError(assetKey: $key) {
  ... on AssetNode { staleStatus(partition: $leaf) } } }"""
TIMES = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
  partitionKeys assetMaterializations(limit: 2000) { partition timestamp } } } }"""
RUNS = "query($job: String) { runsOrError(filter: {pipelineName: $job}) { ... on Runs { results { runId status } } } }"
NOTES = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
  assetObservations { metadataEntries { label ... on MarkdownMetadataEntry { mdStr } } } } } }"""


class Factory:
    """A state folder, a profile with a tree of its own, and the command on them."""

    def __init__(self, root: Path) -> None:
        self.home, self.tree, self.profile = root / "home", copied(root / "tree"), root / "own.toml"
        self.home.mkdir()
        own = f'\n[taxonomy.intent_taxonomy]\nfolder = "{self.tree}"\n'
        self.profile.write_text((profiles.PROFILES / "micro.toml").read_text(encoding="utf-8") + own, encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """`loopwright ARGUMENTS`; returns what it said."""
        command = [sys.executable, "-c", "from dagster_project.commands import app; app()", *arguments]
        place = {"LOOPWRIGHT_HOME": str(self.home), "LOOPWRIGHT_PROFILE": str(self.profile), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env={**os.environ, **place}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> Factory:
    made = Factory(tmp_path_factory.mktemp("tree_change"))
    made.run("demo", "--until", "sft/seed_policy")
    return made


def until(what: Callable[[], Any], pages: Pages, seconds: float = 240) -> Any:
    """What `what` gives, as soon as it gives something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(1)
    raise TimeoutError(pages.said())


def ended(pages: Pages, job: str) -> list[str]:
    """How the runs of a job ended, once one has."""
    runs = pages.ask(RUNS, job=job)["runsOrError"]["results"]
    return [run["status"] for run in runs if run["status"] in ("SUCCESS", "FAILURE", "CANCELED")]


def status(pages: Pages, table: str, leaf: str | None = None) -> str:
    return str(pages.ask(STATUS, key={"path": table.split("/")}, leaf=leaf)["assetNodeOrError"]["staleStatus"])


def last_made(pages: Pages, table: str) -> dict[str, float]:
    """When each leaf of a table was last reported."""
    found = pages.ask(TIMES, key={"path": table.split("/")})["assetNodeOrError"]
    times: dict[str, float] = {}
    for event in found["assetMaterializations"]:
        leaf = str(event["partition"])
        times[leaf] = max(times.get(leaf, 0.0), float(event["timestamp"]))
    return times


def test_a_split_shows_its_plan_and_once_approved_makes_its_leaves_anew_and_nothing_else(factory: Factory) -> None:
    tables = [keys.table_of(key) for key in keys.BY_LEAF]
    with running_pages(factory.home, str(factory.profile)) as pages:
        before = {table: last_made(pages, table) for table in tables}
        assert {status(pages, table, WEATHER) for table in tables} == {"FRESH"}
        with_weather_split(factory.tree)
        version = factory.run("taxonomy", "versions").split()[0]
        factory.run("taxonomy", "diff", version, str(factory.tree), "--write")
        [draft] = (factory.tree / FOLDER).glob("*.yaml")
        draft.write_text(draft.read_text().replace("confirmed: false", "confirmed: true"))

        assert set(until(lambda: ended(pages, "plan_tree_change"), pages)) == {"SUCCESS"}
        [shown, *_] = pages.ask(NOTES, key={"path": ["taxonomy", "intent_taxonomy"]})["assetNodeOrError"][
            "assetObservations"
        ]
        [plan] = [entry["mdStr"] for entry in shown["metadataEntries"] if entry["label"] == "plan"]
        assert f"split {WEATHER} ->" in plan
        assert {table: last_made(pages, table) for table in tables} == before, "nothing is made before the approval"

        factory.run("taxonomy", "apply", "--approve-only")
        assert set(until(lambda: ended(pages, "rebuild_leaves"), pages)) == {"SUCCESS"}
        after = {table: last_made(pages, table) for table in tables}
        expected = {f"{WEATHER}.forecast", f"{WEATHER}.hearsay", f"{WEATHER}.other"}
        for table in tables:
            again = {leaf for leaf, when in after[table].items() if when != before[table].get(leaf)}
            assert expected <= again, table
            assert again - expected <= changed_too(plan) | twins(table), (table, again)
            assert {status(pages, table, leaf) for leaf in again} == {"FRESH"}, table
        assert status(pages, "sft/seed_policy") == "STALE", "the checkpoint learned from other trajectories"
        assert WEATHER not in until(lambda: leaves(pages, without=WEATHER), pages), "the leaf is gone"


def twins(table: str) -> set[str]:
    """Leaves with tasks that stand beside tasks of other leaves: refusals, beside a solvable twin."""
    return {IRRELEVANT} if table.startswith(("tasks/", "trajectories/")) else set()


def changed_too(plan: str) -> set[str]:
    """Leaves that stay and change, as the plan names them."""
    [line] = [line for line in plan.splitlines() if line.startswith("leaves that change:")]
    return set(line.split(": ", 2)[2].split(", ")) if line.count(": ") > 1 else set()


def leaves(pages: Pages, without: str) -> list[str]:
    """The partitions of the labels, once one of them is gone."""
    found = pages.ask(TIMES, key={"path": ["labels", "query_labels"]})["assetNodeOrError"]["partitionKeys"]
    return [] if without in found else list(found)
