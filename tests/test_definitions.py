"""What every asset must show its reader in the catalogue, and that the graph holds together."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets import keys
from dagster_project import profiles
from dagster_project.definitions import defs
from dagster_project.schedules import SCHEDULES

STUB = "dagster/auto_created_stub_asset"
FOUND = sorted(defs.resolve_all_asset_specs(), key=lambda spec: spec.key.path)
SPECS = {spec.key: spec for spec in FOUND if STUB not in spec.metadata}
"""Dagster makes up a stub for a dependency that nobody defines: a phantom, and not one of these."""
SNAPSHOT = Path(__file__).parent / "snapshots" / "asset_specs.json"
UPDATE = "make snapshot"


def snapshot() -> dict[str, Any]:
    """What a reader of the catalogue sees of each asset, and how they hang together."""
    return {
        key.to_user_string(): {
            "code_version": (spec.code_version or "").partition("-")[0],  # what follows is a hash of code
            "deps": sorted(dep.asset_key.to_user_string() for dep in spec.deps),
            "description": (spec.description or "").splitlines()[:1],
            "group": spec.group_name,
            "kinds": sorted(spec.kinds),
            "owners": sorted(spec.owners),
            "partitioned": spec.partitions_def is not None,
        }
        for key, spec in sorted(SPECS.items(), key=lambda item: item[0].to_user_string())
    }


def test_definitions_load() -> None:
    dg.Definitions.validate_loadable(defs)


@pytest.mark.parametrize("key", SPECS, ids=dg.AssetKey.to_user_string)
def test_every_asset_introduces_itself(key: dg.AssetKey) -> None:
    spec = SPECS[key]
    assert spec.description, "no description: the first docstring line is the catalogue entry"
    assert spec.owners, "no owner"
    assert spec.kinds, "no kind"
    assert spec.code_version, "no code version: a change to the code would not show as stale"
    assert spec.group_name == key.path[0], "group, key prefix and folder must be one word"


@pytest.mark.parametrize("key", [*keys.PIPELINE, *keys.BY_THE_CLOCK], ids=dg.AssetKey.to_user_string)
def test_every_key_resolves_to_an_asset(key: dg.AssetKey) -> None:
    assert key in SPECS


@pytest.mark.parametrize("key", SPECS, ids=dg.AssetKey.to_user_string)
def test_every_dependency_is_an_asset_that_comes_before(key: dg.AssetKey) -> None:
    order = {known: place for place, known in enumerate(keys.PIPELINE)}
    for dep in SPECS[key].deps:
        assert dep.asset_key in SPECS, f"{dep.asset_key.to_user_string()} is a phantom"
        assert order.get(dep.asset_key, -1) < order.get(key, len(order)), "assets/keys.py lists them in pipeline order"


def test_the_catalogue_is_as_it_was_reviewed(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("update_snapshots"):
        SNAPSHOT.write_text(json.dumps(snapshot(), indent=2, ensure_ascii=False) + "\n")
    assert snapshot() == json.loads(SNAPSHOT.read_text()), f"run `{UPDATE}` and read the diff"


@pytest.mark.parametrize("name", profiles.names())
def test_every_profile_loads_the_definitions(name: str, tmp_path: Path) -> None:
    script = "import dagster_project.definitions as d; print(d.profile.name)"
    place = {"LOOPWRIGHT_PROFILE": name, "LOOPWRIGHT_HOME": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", **place})
    assert done.stdout == f"{name}\n", done.stderr
    assert not list(tmp_path.iterdir()), "loading definitions writes nothing"


def test_what_a_schedule_makes_is_beside_the_line_and_every_asset_is_one_or_the_other() -> None:
    assert set(keys.PIPELINE) | set(keys.BY_THE_CLOCK) == set(SPECS)
    assert not set(keys.PIPELINE) & set(keys.BY_THE_CLOCK)
    graph = defs.resolve_asset_graph()
    for key in keys.BY_THE_CLOCK:
        assert not graph.get(key).child_keys, "nothing on the line may turn stale with it"


def test_the_jobs_select_the_line_and_the_night() -> None:
    made = {
        name: defs.resolve_job_def(name).asset_layer.selected_asset_keys for name in ("factory", "reprobe_frontier")
    }
    assert made["factory"] == set(keys.PIPELINE)
    assert made["reprobe_frontier"] == {keys.NIGHTLY_PROBES}


def test_schedules_are_off_until_someone_switches_them_on_and_come_at_three() -> None:
    assert [s.default_status for s in SCHEDULES] == [dg.DefaultScheduleStatus.STOPPED] * len(SCHEDULES)
    assert profiles.load("nano").nightly.cron == "0 3 * * *"
