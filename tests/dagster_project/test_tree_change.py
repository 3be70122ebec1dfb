"""A leaf is split while the pages run: the plan is shown, approved, and exactly its leaves are made anew."""

import pytest

from assets import keys
from assets.labels.rules import IRRELEVANT
from tests.dagster_project.factories import APPEAR, Factory, changed_too, known_leaves, last_made, status, until
from tests.dagster_project.pages import Pages, running_pages
from tests.taxonomy.folders import WEATHER, with_weather_split

pytestmark = pytest.mark.slow

RUNS = "query($job: String) { runsOrError(filter: {pipelineName: $job}) { ... on Runs { results { runId status } } } }"
NOTES = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
  assetObservations { metadataEntries { label ... on MarkdownMetadataEntry { mdStr } } } } } }"""


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> Factory:
    made = Factory(tmp_path_factory.mktemp("tree_change"))
    made.run("demo", "--until", "sft/seed_policy")
    return made


def ended(pages: Pages, job: str) -> list[str]:
    """How the runs of a job ended, once one has."""
    runs = pages.ask(RUNS, job=job)["runsOrError"]["results"]
    return [run["status"] for run in runs if run["status"] in ("SUCCESS", "FAILURE", "CANCELED")]


def test_a_split_shows_its_plan_and_once_approved_makes_its_leaves_anew_and_nothing_else(factory: Factory) -> None:
    tables = [keys.table_of(key) for key in keys.BY_LEAF]
    with running_pages(factory.home, str(factory.profile)) as pages:
        before = {table: last_made(pages, table) for table in tables}
        assert {status(pages, table, WEATHER) for table in tables} == {"FRESH"}
        with_weather_split(factory.tree)
        assert f"removal {WEATHER}" in until(lambda: shown(pages), pages), "a split nobody confirmed"
        factory.confirm()
        plan = until(lambda: told if f"split {WEATHER} ->" in (told := shown(pages)) else "", pages)
        assert set(ended(pages, "plan_tree_change")) == {"SUCCESS"}
        assert {table: last_made(pages, table) for table in tables} == before, "nothing is made before the approval"

        factory.run("taxonomy", "apply", "--approve-only")
        assert set(until(lambda: ended(pages, "rebuild_leaves"), pages)) == {"SUCCESS"}
        after = {table: last_made(pages, table) for table in tables}
        for table in tables:
            again = {leaf for leaf, when in after[table].items() if when != before[table].get(leaf)}
            assert again >= APPEAR, table
            assert again - APPEAR <= changed_too(plan) | twins(table), (table, again)
            assert {status(pages, table, leaf) for leaf in again} == {"FRESH"}, table
        assert status(pages, "sft/seed_policy") == "STALE", "the checkpoint learned from other trajectories"
        assert WEATHER not in until(lambda: leaves(pages, without=WEATHER), pages), "the leaf is gone"


def shown(pages: Pages) -> str:
    """The plan that the taxonomy's page shows; empty where there is none."""
    notes = pages.ask(NOTES, key={"path": ["taxonomy", "intent_taxonomy"]})["assetNodeOrError"]["assetObservations"]
    entries = [entry for note in notes[:1] for entry in note["metadataEntries"] if entry["label"] == "plan"]
    return "".join(str(entry["mdStr"]) for entry in entries)


def twins(table: str) -> set[str]:
    """Leaves with tasks that stand beside tasks of other leaves: refusals, beside a solvable twin."""
    return {IRRELEVANT} if table.startswith(("tasks/", "trajectories/")) else set()


def leaves(pages: Pages, without: str) -> list[str]:
    """The partitions of the labels, once one of them is gone."""
    found = known_leaves(pages, "labels/query_labels")
    return [] if without in found else found
