"""The teacher over real HTTP, against a server process that misbehaves; the server's log is the judge."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from assets.labels.agreement import agreement
from assets.labels.annotator import Label
from assets.labels.options import tree_of
from assets.labels.rules import IRRELEVANT
from assets.labels.table import LABEL_SCHEMA
from assets.labels.taught import TeacherError, require_few_quarantined
from assets.labels.teacher import MALFORMED, NO_ANSWER, NO_BUDGET, Refused
from environments.budget import Limits
from environments.transport import EndpointUnusable
from tests.environments.servers import answered, served
from tests.environments.stand_in_rule import options_in, request_in
from tests.labels.teaching import UNREADABLE, queries, taught, taxonomy, teacher_at

MISBEHAVES = {"timeout": 0.03, "broken": 0.03, "busy": 0.03, "cut": 0.03, "wrong": 0.03}
WEATHER = "dynamic_information.realtime_weather"


def label(url: str, folder: Path, text: str, context: str | None = None, **more: object) -> Label:
    [found] = teacher_at(url, folder, **more).annotate([text], [context])
    assert isinstance(found, Label), found
    return found


def test_every_query_is_labelled_or_quarantined_with_its_cause_and_the_second_run_makes_no_call(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher", faults=MISBEHAVES, stall_s=2.5) as server:
        first = taught(server.url, tmp_path, timeout_s=2.0, attempts=8)
        faults = Counter(line.get("fault") or line["outcome"] for line in server.lines)
        assert min(faults[name] for name in ("timeout", "broken", "429", "cut", "wrong")) > 0, faults
        met = pl.concat([first.labels["query_id"], first.quarantine["query_id"]]).sort().to_list()
        assert met == queries()["query_id"].to_list()
        assert len(first.quarantine) >= UNREADABLE
        assert len(first.quarantine) <= UNREADABLE + 3, "a repair may fail too, rarely"
        assert set(first.quarantine["cause"]) == {MALFORMED}
        assert "I would rather not say." in first.quarantine["raw"].to_list()
        assert max(Counter(answered(server)).values()) == 1
        calls = len(server.lines)
        again = taught(server.url, tmp_path, timeout_s=2.0, attempts=8)
        assert len(server.lines) == calls
        assert again.labels.equals(first.labels)
        assert again.quarantine.equals(first.quarantine)
        assert again.usage.calls == 0


def test_labels_have_the_form_and_the_sense_of_the_embedded_annotators(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        made = taught(server.url, tmp_path)
    assert dict(made.labels.schema) == LABEL_SCHEMA
    leaves = {*taxonomy()["leaf"], IRRELEVANT}
    for column in ("primary", "secondary", "runner_up"):
        assert set(made.labels[column].drop_nulls()) <= leaves
    said = made.labels.join(queries(), on="query_id")
    truth = said.select(
        pl.when(pl.col("text").str.contains("cook")).then(pl.lit(IRRELEVANT)).otherwise(pl.col("primary"))
    ).to_series()
    found = agreement(made.labels["primary"].to_list(), truth.to_list(), made.labels["confidence"].to_list())
    assert found.irrelevance_recall == found.irrelevance_precision == 1.0
    assert made.numbers["quarantined"] == UNREADABLE
    assert made.usage.questions == made.usage.calls


def test_a_request_is_read_and_walked_down_with_its_second_intent_apart(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        found = label(server.url, tmp_path, "cheapest flight from Lima to Oslo and the weather there")
        lines = server.lines
    assert found.secondary is not None
    assert found.secondary.startswith("dynamic_information")
    assert not found.primary.startswith("dynamic_information.realtime_weather")
    assert {city.city: city.role for city in found.constraints.cities} == {"Lima": "origin", "Oslo": "destination"}
    assert 0 < found.confidence < 0.9, "the steps of a walk multiply"
    assert options_in(lines[0]["asked"]) == {}, "the first call does not depend on the tree"
    requests = [request_in(line["asked"]) for line in lines[1:]]
    assert set(requests) == {requests[0], "the weather there"}
    assert "labelled by itself" in lines[1]["asked"][1]["content"]


def test_a_request_without_tools_is_set_aside_by_one_call(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        found = label(server.url, tmp_path, "how do i cook rice")
        assert len(server.lines) == 1
    assert (found.primary, found.difficulty) == (IRRELEVANT, 0)
    assert json.loads(found.axes)["reason"] == "answered without tools"


def test_below_its_confidence_a_teacher_abstains_to_the_other_of_the_node(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        teacher = teacher_at(server.url, tmp_path)
        teacher.abstain_below = 0.95
        [found] = teacher.annotate(["weather in Rome tomorrow"])
    assert isinstance(found, Label)
    assert found.primary == "other"
    assert found.runner_up is not None
    assert found.runner_up.endswith(".other"), "an inner node stands for itself by its Other"


def test_a_choice_among_given_leaves_takes_one_more_call(tmp_path: Path) -> None:
    among = [WEATHER, "discovery.area_summaries"]
    with served(tmp_path, rule="teacher") as server:
        teacher = teacher_at(server.url, tmp_path)
        teacher.annotate(["weather in Rome tomorrow"])
        before = len(server.lines)
        [found] = teacher.annotate(["weather in Rome tomorrow"], among=among)
        assert len(server.lines) == before + 1
        assert set(options_in(server.lines[-1]["asked"])) == set(among)
        [only] = teacher.annotate(["weather in Rome tomorrow"], among=among[:1])
        assert len(server.lines) == before + 1, "one leaf leaves nothing to choose"
    assert isinstance(found, Label)
    assert isinstance(only, Label)
    assert (found.primary, found.runner_up, only.primary) == (*among, WEATHER)
    with pytest.raises(ValueError, match=r"choose among leaves of the taxonomy, got discovery;"):
        teacher.annotate(["x"], among=["discovery"])


def test_a_rename_makes_no_call(tmp_path: Path) -> None:
    renamed = taxonomy().with_columns(name_en=pl.col("name_en") + " (new)", name_zh=pl.lit("新"))
    with served(tmp_path, rule="teacher") as server:
        first = taught(server.url, tmp_path)
        calls = len(server.lines)
        again = taught(server.url, tmp_path, tree=tree_of(renamed))
        assert len(server.lines) == calls
    assert again.labels.equals(first.labels)


def test_a_split_of_one_leaf_makes_calls_at_its_node_only(tmp_path: Path) -> None:
    leaf = taxonomy().filter(pl.col("leaf") == WEATHER)
    halves = [
        leaf.with_columns(leaf=pl.lit(f"{WEATHER}_{half}"), definition=pl.lit(text))
        for half, text in (("now", "The weather at this hour"), ("ahead", "The weather of a coming day"))
    ]
    split = pl.concat([taxonomy().filter(pl.col("leaf") != WEATHER), *halves])
    with served(tmp_path, rule="teacher") as server:
        first = taught(server.url, tmp_path)
        calls = len(server.lines)
        again = taught(server.url, tmp_path, tree=tree_of(split))
        new = server.lines[calls:]
        at_the_node = [line for line in server.lines[:calls] if "realtime_weather" in options_in(line["asked"])]
    assert new
    node = {"realtime_weather_now", "realtime_weather_ahead"}
    assert all(node < set(options_in(line["asked"])) for line in new)
    assert len(new) == len(at_the_node) < calls / 4
    elsewhere = ~pl.col("primary").str.starts_with("dynamic_information")
    untouched = first.labels.filter(elsewhere, pl.col("secondary").is_null()).drop("annotator")
    assert again.labels.drop("annotator").join(untouched, on="query_id", how="semi").equals(untouched)


def test_a_dead_endpoint_gives_no_label_and_fails_the_stage(tmp_path: Path) -> None:
    made = taught("http://127.0.0.1:9", tmp_path, 10, attempts=2)
    assert made.labels.is_empty()
    assert set(made.quarantine["cause"]) == {NO_ANSWER}
    says = r"10 of 10 queries have no label \(no_result 10\); at most 5% may\. For example q000: .* no connection"
    with pytest.raises(TeacherError, match=says):
        require_few_quarantined(made, 0.05)
    require_few_quarantined(made, 1.0)


def test_an_answer_cut_at_its_bound_says_so(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher", finish="length") as server:
        [found] = teacher_at(server.url, tmp_path).annotate(["gibberish"])
    assert isinstance(found, Refused)
    assert found.problem.startswith("cut at 400 tokens (max_tokens)")


def test_a_wrong_key_stops_everything(tmp_path: Path) -> None:
    with served(tmp_path, key="secret") as server:
        with pytest.raises(EndpointUnusable, match="the API key is missing or wrong"):
            teacher_at(server.url, tmp_path).annotate(queries()["text"].to_list())
        assert len(server.lines) <= 8


def test_a_spent_budget_leaves_the_rest_for_a_run_with_a_larger_one(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        made = taught(server.url, tmp_path, limits=Limits(calls=50))
        assert len(server.lines) == 50
        assert set(made.quarantine["cause"]) >= {NO_BUDGET}
        rest = taught(server.url, tmp_path, limits=Limits(calls=10_000))
        whole = taught(server.url, tmp_path / "fresh") if (tmp_path / "fresh").mkdir() is None else rest
        assert rest.labels.equals(whole.labels)
        assert max(Counter(answered(server)).values()) == 2, "once for each of the two stores"


def test_a_malformed_answer_is_shown_its_fault_once(tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        [found] = teacher_at(server.url, tmp_path).annotate(["gibberish"])
        assert len(server.lines) == 2
        shown = server.lines[1]["asked"]
    assert isinstance(found, Refused)
    assert not found.may_pass
    assert shown[2] == {"role": "assistant", "content": "I would rather not say."}
    assert shown[3]["content"].startswith("That answer cannot be used:")
