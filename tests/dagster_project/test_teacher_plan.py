"""`loopwright taxonomy plan` with a teacher: defaults that say so, then what was measured, then what really happens."""

import json
from pathlib import Path
from typing import Any

import pytest

from assets.labels.assets import query_labels
from assets.taxonomy.assets import intent_taxonomy
from dagster_project import profiles, tree_changes
from dagster_project.leaves import materialize_leaves
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from tests.dagster_project.test_taxonomy import labelled, typed
from tests.environments.servers import served
from tests.labels.test_table import queries
from tests.taxonomy.folders import copied, with_weather_split

PRICES = {"usd_per_million_in": 2.0, "usd_per_million_out": 8.0}


def taught(lake: Lake, folder: Path, url: str) -> dict[str, Any]:
    """The queries labelled by a teacher under the tree of a folder; the numbers shown."""
    settings = {"taxonomy__intent_taxonomy": {"folder": str(folder)}, "labels__query_labels": {"annotator": "teacher"}}
    config = {"ops": {name: {"config": own} for name, own in settings.items()}}
    resources = {"lake": lake, "teacher": ChatEndpoint(base_url=url, model="stand-in", **PRICES)}
    done = materialize_leaves([intent_taxonomy, query_labels], str(folder), resources=resources, run_config=config)
    return {n: v.value for n, v in done.asset_materializations_for_node("labels__query_labels")[-1].metadata.items()}


def test_a_plan_names_its_rates_and_its_calls_tokens_and_money_are_what_then_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, profile = Lake(root=str(tmp_path / "lake")), tmp_path / "own.toml"
    lake.write("queries/distinct_queries", queries(30))
    lake.write("pool/lexical_survivors", queries(30).select("query_id"))
    prices = "\n".join(f"{name} = {price}" for name, price in PRICES.items())
    profile.write_text(f"{(profiles.PROFILES / 'micro.toml').read_text()}\n[teacher]\n{prices}\n")
    monkeypatch.setenv("LOOPWRIGHT_PROFILE", str(profile))
    monkeypatch.setattr(tree_changes, "configured_annotator", lambda: "teacher")  # bound when this process began
    before, after = copied(tmp_path / "before"), with_weather_split(copied(tmp_path / "after"))
    labelled(lake, before)
    first = json.loads(typed("plan", "", str(after), "--json", home=tmp_path).stdout)
    assert first["rates"]["source"].startswith("defaults of a teacher: no run of one was measured yet; the labels are")
    assert first["price"]["tokens_in"] > 0 < first["price"]["usd"]
    with served(tmp_path, rule="teacher") as server:
        taught(lake, before, server.url)
        plan = json.loads(typed("plan", "", str(after), "--json", home=tmp_path).stdout)
        assert plan["rates"]["source"].startswith("measured in runs of teacher-")
        sent = [line["prompt_tokens"] for line in server.lines]
        assert plan["rates"]["tokens_in_per_call"] == sum(sent) / len(sent)
        assert taught(lake, after, server.url)["teacher_calls"] == plan["price"]["calls"] > 0
        asked = server.lines[len(sent) :]
    tokens_in, tokens_out = (sum(line[name] for line in asked) for name in ("prompt_tokens", "completion_tokens"))
    usd = (tokens_in * 2.0 + tokens_out * 8.0) / 1e6
    assert len(asked) == plan["price"]["calls"]
    for told, real in ((plan["price"]["tokens_in"], tokens_in), (plan["price"]["usd"], usd)):
        assert 1 / 3 < told / real < 3, (told, real)
    assert "rates: measured in runs of teacher-" in typed("plan", "", str(before), home=tmp_path).stdout
