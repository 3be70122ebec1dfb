"""Labels against experts' files: who is matched, what is left out and why, what the catalogue and the check show."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets.labels.assets import query_labels
from assets.labels.checks import labels_are_what_experts_say
from assets.labels.held_back import AGREEMENT, HeldBack, against_experts, agreement_row, read_held_back
from assets.queries.normalise import distinct_queries
from assets.taxonomy.tree import load_taxonomy
from dagster_project.leaves import materialize_leaves
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from tests.environments.servers import served

WEATHER, POI = "dynamic_information.realtime_weather", "discovery.poi_search.constrained_poi_search"
CITIES = ("Lagos", "Oslo", "Quito", "Lima", "Bern", "Basel")
ASKED = [form.format(city) for form in ("What is the weather in {} tomorrow", "how do i cook rice") for city in CITIES]


def distinct(texts: Sequence[str], context: str | None = None) -> pl.DataFrame:
    """These texts as the distinct queries of a log."""
    rows = {"raw_id": [f"{i}" for i in range(len(texts))], "text": list(texts), "context": [context] * len(texts)}
    raw = pl.DataFrame(rows, schema_overrides={"context": pl.String})
    return distinct_queries(raw.with_columns(time=pl.lit(None, dtype=pl.Datetime))).queries


def labelled(pairs: dict[str, tuple[str, str | None, float]]) -> pl.DataFrame:
    """A label table: text -> primary, secondary, confidence."""
    ids = {text: distinct([text])["query_id"][0] for text in pairs}
    rows = [(ids[text], *label) for text, label in pairs.items()]
    schema = {"query_id": pl.String, "primary": pl.String, "secondary": pl.String, "confidence": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def tree(*examples: str) -> pl.DataFrame:
    """Three leaves under two nodes, the first with examples."""
    leaves = ["a.x.1", "a.x.2", "b.y.1"]
    empty: list[list[str]] = [[], [], []]
    lists = {"examples": [list(examples), [], []], "counter_examples": empty, "synonyms": empty}
    return pl.DataFrame({"leaf": leaves, **lists}, schema_overrides=dict.fromkeys(lists, pl.List(pl.String)))


def said(path: Path, *lines: str) -> HeldBack:
    path.write_text("\n".join(["query,tags,annotator", *lines]))
    return read_held_back(path)


def test_experts_and_labels_are_matched_by_their_folded_text_and_compared_at_every_level(tmp_path: Path) -> None:
    labels = labelled({
        "one": ("a.x.1", None, 1.0), "two": ("a.x.2", "b.y.1", 1.0), "three": ("b.y.1", None, 0.0),
        "four": ("irrelevant", None, 1.0),
    })  # fmt: skip
    held = said(
        tmp_path / "e.csv", "  ONE!,a.x.1,ann", "two,a.x.1;b.y.1,ann", "Three?,a.x.1,ann", "four,irrelevant,ann"
    )
    found = against_experts(labels, held, tree()).numbers
    assert (found["matched"], found["accuracy"], found["level1"], found["level2"]) == (4, 0.5, 0.75, 0.75)
    assert (found["secondary"], found["calibration_error"]) == (1.0, 0.25)
    assert found["kappa"] == pytest.approx((0.5 - 0.25) / 0.75)  # chance: 1/4 * 3/4 for a.x.1, 1/4 * 1/4 for irrelevant
    assert against_experts(labels, held, tree()).confused == (("a.x.1", "a.x.2", 1), ("a.x.1", "b.y.1", 1))


def test_of_several_experts_the_most_frequent_tag_is_first_and_a_second_needs_more_than_half(tmp_path: Path) -> None:
    held = said(
        tmp_path / "e.csv",
        "one,b;a,ann", "two,a,ann", "Two,b;c,bob", "two!,b,cat", "three,z;a,ann", "three,z;a,bob", "three,a;z,cat",
    )  # fmt: skip
    ids = {name: distinct([name])["query_id"][0] for name in ("one", "two", "three")}
    found = {query: (first, second) for query, first, second in held.rows.iter_rows()}
    assert found == {ids["one"]: ("b", "a"), ids["two"]: ("b", None), ids["three"]: ("z", "a")}


def test_what_is_no_leaf_stands_in_the_tree_or_has_no_label_is_left_out_and_counted(tmp_path: Path) -> None:
    labels = labelled({text: ("a.x.1", None, 1.0) for text in ("one", "two", "three", "four")})
    lines = ["one,weather,ann", "two,a.x.1;elsewhere,ann", "three,a.x.1,ann", "four,a.x.1,ann", "five,a.x.1,ann"]
    found = against_experts(labels, said(tmp_path / "e.csv", *lines, "six,weather,ann", ",x,ann"), tree("Three."))
    assert found.numbers["matched"] == 1
    assert found.left_out == {"unknown_tag": 3, "in_the_tree": 1, "not_labelled": 1}
    assert found.unknown == {"weather": 2, "elsewhere": 1}
    assert found.numbers["unknown_tags_named"] == "weather (2), elsewhere (1)"
    assert found.numbers["unreadable"] == 1


def test_a_query_that_needs_the_turn_before_it_is_not_what_an_expert_saw(tmp_path: Path) -> None:
    after = distinct(["and tomorrow"], context="weather in Rome").select(
        "query_id", primary=pl.lit("a.x.1"), secondary=pl.lit(None, dtype=pl.String), confidence=pl.lit(1.0)
    )
    found = against_experts(after, said(tmp_path / "e.csv", "and tomorrow,a.x.1,ann"), tree())
    assert (found.agreement, found.left_out["not_labelled"], found.confused) == (None, 1, ())
    assert agreement_row(found, 0.5).row(0) == (0, None, 0.5)


def test_label_studio_s_export_is_read_too_and_a_bad_file_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    chosen = {"result": [{"value": {"taxonomy": [["a", "x", "1"], ["b", "y", "1"]]}}], "completed_by": 1}
    path.write_text(json.dumps([{"data": {"query": "one"}, "annotations": [chosen]}]))
    assert read_held_back(path).rows.select("leaf", "secondary").rows() == [("a.x.1", "b.y.1")]
    path.write_text("[]")
    with pytest.raises(ValueError, match=r"export.json holds no expert label \(no rows\)"):
        read_held_back(path)
    with pytest.raises(ValueError, match=r"no expert label \(1 no tags\)"):
        said(tmp_path / "e.csv", "one,,ann")


def materialized(lake: Lake, teacher: ChatEndpoint | None = None, **settings: Any) -> dg.ExecuteInProcessResult:
    """The labels of `ASKED`."""
    queries = distinct(ASKED)
    lake.write("queries/distinct_queries", queries)
    lake.write("pool/lexical_survivors", queries.select("query_id"))
    lake.write("taxonomy/intent_taxonomy", load_taxonomy().table())
    config = {"labels__query_labels": {"config": {"annotator": "teacher" if teacher else "embedded", **settings}}}
    resources = {"lake": lake, "teacher": teacher or ChatEndpoint()}
    stages = [query_labels, labels_are_what_experts_say]
    return materialize_leaves(stages, resources=resources, run_config={"ops": config}, raise_on_error=False)


def shown(done: dg.ExecuteInProcessResult) -> dict[str, Any]:
    return {n: v.value for n, v in done.asset_materializations_for_node("labels__query_labels")[-1].metadata.items()}


def experts_file(path: Path) -> str:
    """Experts that are right about the weather and would have rice cooked elsewhere."""
    lines = [f"{text},{WEATHER if 'weather' in text else POI},ann" for text in dict.fromkeys(ASKED)]
    path.write_text("\n".join(["query,tags,annotator", *lines, "what is this,nonsense,ann"]))
    return str(path)


def right_share(lake: Lake) -> float:
    """Share of the queries whose label is what the experts of `experts_file` say."""
    labels = lake.read("labels/query_labels").join(distinct(ASKED).select("query_id", "text"), on="query_id")
    truth = pl.when(pl.col("text").str.contains("weather")).then(pl.lit(WEATHER)).otherwise(pl.lit(POI))
    return float(labels.select((pl.col("primary") == truth).mean()).item())


def test_the_catalogue_shows_the_figures_and_a_check_warns_below_its_bound(tmp_path: Path) -> None:
    lake, file = Lake(root=str(tmp_path / "lake")), experts_file(tmp_path / "experts.csv")
    done = materialized(lake, expert_labels=file, least_expert_accuracy=0.9)
    figures, with_experts = shown(done), lake.read("labels/query_labels")
    assert (figures["experts_matched"], figures["experts_unknown_tag"]) == (7, 1)
    assert figures["experts_accuracy"] == pytest.approx(6 / 7) == right_share(lake)
    assert "image/png" in figures["experts_confusion"]
    [check] = done.get_asset_check_evaluations()
    assert (check.passed, check.severity, done.success) == (False, dg.AssetCheckSeverity.WARN, True)
    lake.write(AGREEMENT, lake.read(AGREEMENT).with_columns(least=0.0))
    assert labels_are_what_experts_say(lake).passed, "without a bound it never warns"
    plain = materialized(Lake(root=str(tmp_path / "other")))
    assert not [name for name in shown(plain) if name.startswith("experts_")]
    assert Lake(root=str(tmp_path / "other")).read("labels/query_labels").equals(with_experts), "nothing is learned"


def test_a_teacher_is_measured_alike(tmp_path: Path) -> None:
    lake, file = Lake(root=str(tmp_path / "lake")), experts_file(tmp_path / "experts.csv")
    with served(tmp_path, rule="teacher") as server:
        figures = shown(materialized(lake, ChatEndpoint(base_url=server.url, model="stand-in"), expert_labels=file))
    assert figures["annotator"].startswith("teacher")
    assert (figures["experts_matched"], figures["experts_accuracy"]) == (7, pytest.approx(right_share(lake)))
    assert {f"experts_{name}" for name in ("level1", "level2", "kappa", "calibration_error", "confusion")} <= set(
        figures
    )


def test_a_file_that_is_not_there_ends_the_stage_before_anything_is_asked(tmp_path: Path) -> None:
    done = materialized(Lake(root=str(tmp_path)), expert_labels=str(tmp_path / "none.csv"))
    [failure] = [event for event in done.all_events if event.is_step_failure]
    assert "no file of expert tags at" in str(failure.step_failure_data.error)
    assert not Lake(root=str(tmp_path)).exists("labels/query_labels")
