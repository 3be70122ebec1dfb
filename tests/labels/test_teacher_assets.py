"""The teacher in Dagster: the stage asks it, the quarantine is part of the books, and the pool copes with it."""

import os
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets.benchmarks.funnel import layers
from assets.labels import checks as label_checks
from assets.pool import checks as pool_checks
from assets.pool.story import story, told
from dagster_project import profiles
from dagster_project.leaves import materialize_leaves
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from tests.environments.servers import served
from tests.pool.builders import FUNNEL, checks_of, filled

TEXTS = [
    "what is the weather in rome tomorrow",
    "what is the weather in oslo tomorrow",
    "best museum in rome",
    "cheapest flight from rome to oslo on friday",
    "how do i cook rice",
    "gibberish one",
    "gibberish two",
]
ASSETS, CHECKS = FUNNEL, checks_of(label_checks, pool_checks)


def materialize(lake: Lake, url: str, **more: Any) -> dg.ExecuteInProcessResult:
    config = {
        "labels__query_labels": {"config": {"annotator": "teacher", "most_quarantined": 0.3}},
        "pool__candidate_pool": {"config": {"size": 4}},
    }
    teacher = ChatEndpoint(base_url=url, model="stand-in", first_wait_s=0.01, usd_per_million_in=1.0, **more)
    resources = {"lake": lake, "teacher": teacher}
    return materialize_leaves([*ASSETS, *CHECKS], resources=resources, run_config={"ops": config}, raise_on_error=False)


def test_a_quarantined_query_leaves_the_pool_with_its_reason_and_every_check_holds(tmp_path: Path) -> None:
    lake = filled(tmp_path / "lake", TEXTS)
    with served(tmp_path, rule="teacher", key="secret") as server:
        result = materialize(lake, server.url, api_key="secret")
        calls = len(server.lines)
        assert materialize(lake, server.url, api_key="secret").success
        assert len(server.lines) == calls, "the second run makes no call"
    assert result.success
    checks = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
    assert len(checks) == len(CHECKS)
    assert all(checks.values()), checks
    quarantine, dropped = lake.read("labels/quarantine"), lake.read("pool/dropped")
    assert quarantine["cause"].to_list() == ["malformed_answer"] * 2
    gone = dropped.filter(pl.col("rule") == "label_quarantined")
    assert gone["query_id"].to_list() == quarantine["query_id"].to_list()
    assert set(gone["layer"]) == {"labels"}
    assert "it could not be labelled" in told(lake, story(lake, gone["query_id"][0]))
    [labelled] = [layer for layer in layers(lake) if layer.table == "labels/query_labels"]
    assert (labelled.lost, labelled.dropped["malformed answer"]) == (0, 2)
    metadata = result.asset_materializations_for_node("labels__query_labels")[-1].metadata
    assert (metadata["quarantined"].value, metadata["teacher_calls"].value) == (2, calls)
    assert 0 < float(str(metadata["teacher_usd"].value)) < 0.1


def test_a_row_lost_between_labels_and_quarantine_fails_the_check(tmp_path: Path) -> None:
    lake = filled(tmp_path, TEXTS)
    ids = lake.read("queries/distinct_queries").select("query_id")
    lake.write("pool/lexical_survivors", ids)
    lake.write("labels/query_labels", ids[:4])
    lake.write("labels/quarantine", ids[4:].with_columns(cause=pl.lit("no_result")))
    assert label_checks.every_pool_query_is_labelled_once(lake).passed
    lake.write("labels/quarantine", ids[5:])
    assert not label_checks.every_pool_query_is_labelled_once(lake).passed, "one is lost"
    lake.write("labels/quarantine", ids[3:])
    assert not label_checks.every_pool_query_is_labelled_once(lake).passed, "one is in both"


def test_a_budget_that_runs_out_fails_the_stage_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    lake = filled(tmp_path / "lake", TEXTS)
    with served(tmp_path, rule="teacher") as server:
        failed = materialize(lake, server.url, budget_calls=5)
        assert not failed.success
        assert len(server.lines) == 5
        assert not lake.exists("labels/query_labels")
        assert materialize(lake, server.url, budget_calls=100).success
        prompts = [line["prompt"] for line in server.lines]
        assert len(prompts) == len(set(prompts)), "nothing is asked twice"


def test_without_an_endpoint_the_stage_says_what_to_set(tmp_path: Path) -> None:
    result = materialize(filled(tmp_path, TEXTS), "")
    [failure] = [
        event for event in result.all_events if event.is_step_failure and "query_labels" in str(event.step_key)
    ]
    assert "set base_url and model" in str(failure.step_failure_data.error)


def test_a_profile_names_the_endpoint_and_the_variable_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """description = "x"
[teacher]
base_url = "http://localhost:8000/v1"
model = "a-model"
api_key_variable = "LOOPWRIGHT_TEST_KEY"
budget_usd = 2.5
[labels.query_labels]
annotator = "teacher"
"""
    profile = profiles.parse(text, name="test")
    monkeypatch.setitem(os.environ, "LOOPWRIGHT_TEST_KEY", "secret")

    @dg.op
    def ask(teacher: ChatEndpoint) -> str:
        return f"{teacher.api_key} {teacher.budget_usd}"

    @dg.job(resource_defs={"teacher": ChatEndpoint(**profile.teacher.settings())})
    def one() -> None:
        ask()

    assert one.execute_in_process().output_for_node("ask") == "secret 2.5"
    assert "secret" not in str(profile)
    assert profile.stages["labels/query_labels"] == {"annotator": "teacher"}
    assert profiles.EndpointSettings().settings()["base_url"] == ""
