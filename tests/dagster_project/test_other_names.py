"""A leaf that only has another name: it reaches the lake by itself, and nobody is asked anything."""

from pathlib import Path

import dagster as dg
import pytest

from assets.labels.book import LabelBook
from assets.labels.relabel import labels_under
from assets.partitions import add_partitions
from assets.taxonomy.assets import IntentTaxonomyConfig, intent_taxonomy
from assets.taxonomy.tree import load_taxonomy
from dagster_project import sensors, tree_changes
from dagster_project.jobs import plan_tree_change, rename_leaves
from dagster_project.leaves import materialize_leaves
from dagster_project.sensors import tree_change
from resources.lake import Lake
from tests.labels.test_book import asked
from tests.taxonomy.builders import Counting
from tests.taxonomy.folders import FILE, WEATHER, copied, with_weather_renamed


def read_again(lake: Lake, folder: Path) -> None:
    """The taxonomy materialized from a folder."""
    config = dg.RunConfig({"taxonomy__intent_taxonomy": IntentTaxonomyConfig(folder=str(folder))})
    materialize_leaves([intent_taxonomy], str(folder), resources={"lake": lake}, run_config=config)


def test_a_new_name_alone_reaches_the_lake_and_the_book_without_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, folder = Lake(root=str(tmp_path / "lake")), copied(tmp_path / "tree")
    read_again(lake, folder)
    book, annotator = LabelBook(lake, "counting"), Counting(tree=load_taxonomy(folder))

    def labelled() -> int:
        """Calls that it took to label under the lake's tree."""
        tree = lake.read("taxonomy/intent_taxonomy")
        done = labels_under(tree, asked(9), book, annotator.rows, near_below=0.5)
        lake.write("labels/query_labels", done.labels)
        return done.calls

    assert labelled() == 9
    for module in (sensors, tree_changes):
        monkeypatch.setattr(module, "configured_folder", lambda: folder)
    with dg.DagsterInstance.ephemeral() as instance:
        add_partitions(instance, [leaf.id for leaf in load_taxonomy(folder).leaves])

        def starts() -> list[tuple[str | None, str | None]]:
            """What the sensor starts: job and run key."""
            found = tree_change(dg.build_sensor_context(instance=instance, resources={"lake": lake}))
            assert isinstance(found, dg.SensorResult)
            return [(run.job_name, run.run_key) for run in found.run_requests or []]

        assert starts() == []
        file = folder / FILE
        file.write_text(file.read_text(encoding="utf-8").replace("en: Weather,", "en: Weather now,"), encoding="utf-8")
        [(job, key)] = starts()
        assert (job, starts()) == (rename_leaves.name, [(job, key)]), "the same state is one run"
        read_again(lake, folder)
        assert name_in(lake) == "Weather now"
        assert starts() == []
        assert tree_changes.between(tree_changes.in_force(lake, lake.read("labels/query_labels")),
                                    load_taxonomy(folder), str(folder)).changes == ()  # fmt: skip
        assert labelled() == 0
        with_weather_renamed(folder)
        add_partitions(instance, [leaf.id for leaf in load_taxonomy(folder).leaves])
        assert [job for job, _ in starts()] == [plan_tree_change.name], "another id is a change with a plan"


def name_in(lake: Lake) -> str:
    """What the lake's tree calls the leaf."""
    table = lake.read("taxonomy/intent_taxonomy", columns=["leaf", "name_en"])
    return str(dict(table.iter_rows())[WEATHER])
