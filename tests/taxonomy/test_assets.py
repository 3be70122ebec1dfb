"""The taxonomy as Dagster makes it, from the default tree and from a folder of one's own."""

from pathlib import Path

import dagster as dg
import pytest

from assets.taxonomy import checks
from assets.taxonomy.assets import IntentTaxonomyConfig, intent_taxonomy
from assets.taxonomy.schema import TaxonomyError
from dagster_project.leaves import materialize_leaves
from resources.lake import Lake

CHECKS = [value for value in vars(checks).values() if isinstance(value, dg.AssetChecksDefinition)]


def run(lake: Lake, folder: str = "") -> dg.ExecuteInProcessResult:
    config = dg.RunConfig({"taxonomy__intent_taxonomy": IntentTaxonomyConfig(folder=folder)})
    return materialize_leaves([intent_taxonomy, *CHECKS], resources={"lake": lake}, run_config=config)


def test_the_default_tree_is_stored_and_passes_its_checks(tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    result = run(lake)
    assert [e.passed for e in result.get_asset_check_evaluations()] == [True, True]
    numbers = result.asset_materializations_for_node("taxonomy__intent_taxonomy")[-1].metadata
    assert [numbers[name].value for name in ("level_1", "level_2", "leaves", "others")] == [5, 16, 30, 12]
    assert len(lake.read("taxonomy/intent_taxonomy")) == 42


def test_a_faulty_folder_stops_the_run_and_stores_nothing(tmp_path: Path) -> None:
    tmp_path.joinpath("food.yaml").write_text("id: food\n")
    lake = Lake(root=str(tmp_path / "lake"))
    with pytest.raises(TaxonomyError, match=r"food\.yaml:1: children: is missing"):
        run(lake, str(tmp_path))
    assert not lake.exists("taxonomy/intent_taxonomy")


def test_a_table_without_an_other_fails_its_check(tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    run(lake)
    table = lake.read("taxonomy/intent_taxonomy")
    lake.write("taxonomy/intent_taxonomy", table.filter(table["leaf"] != "discovery.other"))
    result = checks.every_node_has_an_other(lake)
    assert isinstance(result, dg.AssetCheckResult)
    assert not result.passed
