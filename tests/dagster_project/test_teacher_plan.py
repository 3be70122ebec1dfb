"""What `loopwright taxonomy plan` tells of an annotator, beside what it then does.

A teacher's rates: defaults that say so, then measured ones; and labels by another annotator than the profile's.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from assets.labels.assets import QueryLabelsConfig, query_labels
from assets.labels.rules import IRRELEVANT
from assets.taxonomy.assets import intent_taxonomy
from assets.taxonomy.tree import load_taxonomy
from dagster_project import profiles, tree_changes, trees
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


def by(annotator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile's annotator, whose settings were bound when this process began."""
    config = QueryLabelsConfig(annotator=annotator)  # type: ignore[arg-type]
    for module in (trees, tree_changes):
        monkeypatch.setattr(module, "configured_labels", lambda: config)


def with_prices(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile of one's own, with the stand-in as teacher."""
    prices = "\n".join(f"{name} = {price}" for name, price in PRICES.items())
    own = f'[teacher]\nmodel = "stand-in"\n{prices}\n'
    profile.write_text(f"{(profiles.PROFILES / 'micro.toml').read_text()}\n{own}")
    monkeypatch.setenv("LOOPWRIGHT_PROFILE", str(profile))


def planned(home: Path, after: Path) -> dict[str, Any]:
    """The plan as another program reads it."""
    told = typed("plan", "", str(after), "--json", home=home)
    assert told.exit_code == 0, told.stderr
    plan: dict[str, Any] = json.loads(told.stdout)
    return plan


def test_a_plan_names_its_rates_and_its_calls_tokens_and_money_are_what_then_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, profile = Lake(root=str(tmp_path / "lake")), tmp_path / "own.toml"
    lake.write("queries/distinct_queries", queries(30))
    lake.write("pool/lexical_survivors", queries(30).select("query_id"))
    with_prices(profile, monkeypatch)
    by("teacher", monkeypatch)
    before, after = copied(tmp_path / "before"), with_weather_split(copied(tmp_path / "after"))
    labelled(lake, before)
    first = planned(tmp_path, before)
    assert first["rates"]["source"] == "defaults of a teacher: no run of this one was measured yet"
    assert first["by"].startswith("teacher-")
    assert (first["rows"], first["price"]["calls"]) == ({"asked": 0, "labelled": 30}, 120)
    assert first["price"]["tokens_in"] > 0 < first["price"]["usd"]
    with served(tmp_path, rule="teacher") as server:
        assert taught(lake, before, server.url)["calls"] == first["rows"]["labelled"]
        plan = planned(tmp_path, after)
        assert plan["rates"]["source"].startswith("measured in runs of teacher-")
        assert plan["rates"]["calls_per_query"] == len(server.lines) / 30
        sent = [line["prompt_tokens"] for line in server.lines]
        assert plan["rates"]["tokens_in_per_call"] == sum(sent) / len(sent)
        assert taught(lake, after, server.url)["teacher_calls"] == plan["price"]["calls"] == plan["rows"]["asked"] > 0
        asked = server.lines[len(sent) :]
    tokens_in, tokens_out = (sum(line[name] for line in asked) for name in ("prompt_tokens", "completion_tokens"))
    usd = (tokens_in * 2.0 + tokens_out * 8.0) / 1e6
    assert len(asked) == plan["price"]["calls"]
    for told, real in ((plan["price"]["tokens_in"], tokens_in), (plan["price"]["usd"], usd)):
        assert 1 / 3 < told / real < 3, (told, real)
    assert "rates: measured in runs of teacher-" in typed("plan", "", str(before), home=tmp_path).stdout
    back = planned(tmp_path, before)
    assert (back["by"], back["price"]["calls"]) == ("", 0), "its labels of that tree are in the book"


def test_under_another_annotator_s_labels_a_plan_counts_what_that_of_the_profile_then_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    lake.write("queries/distinct_queries", queries(30))
    lake.write("pool/lexical_survivors", queries(20).select("query_id"))
    before, after = copied(tmp_path / "before"), with_weather_split(copied(tmp_path / "after"))
    with served(tmp_path, rule="teacher") as server:
        taught(lake, before, server.url)
        by("embedded", monkeypatch)
        anew = planned(tmp_path, after)
        assert anew["rows"] == {"asked": 0, "labelled": 20}, "it has labelled none of them"
        assert len(anew["leaves"]["changed"]) + len(anew["leaves"]["appear"]) == len(leaves_known(after))
        assert labelled(lake, before)["calls"] == 20
        taught(lake, before, server.url)
    lake.write("pool/lexical_survivors", queries(30).select("query_id"))
    plan = planned(tmp_path, after)
    assert plan["rows"]["asked"] > 0
    assert plan["rows"]["labelled"] == 10, "those that came since"
    assert plan["by"].startswith("embedded-")
    assert "by this plan every one is by embedded-" in typed("plan", "", str(after), home=tmp_path).stdout
    assert labelled(lake, after)["calls"] == sum(plan["rows"].values()) == plan["price"]["calls"]
    assert planned(tmp_path, after)["by"] == ""


def leaves_known(folder: Path) -> set[str]:
    return {IRRELEVANT, *(leaf.id for leaf in load_taxonomy(folder).leaves)}
