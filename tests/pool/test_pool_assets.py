"""The pool and label assets end to end on a folder of Parquet, with the checks that guard them."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import dagster as dg
import polars as pl
import pytest

from assets import keys
from assets.labels import assets as labels
from assets.labels import checks as label_checks
from assets.pool import assets as pool
from assets.pool import checks as pool_checks
from assets.pool.preview import DROPPED, preview
from assets.pool.story import find, story, told
from dagster_project.leaves import materialize_leaves
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from tests.pool.builders import FUNNEL, checks_of, filled
from tests.pool.test_lexical import jaccard

TEXTS = [
    "what is the weather in rome tomorrow",
    "what is the weather in rome tomorrow thanks",
    "what is the weather in oslo tomorrow",
    "tell me the weather of rome for tomorrow",
    "best museum in rome",
    "the best museum in rome",
    "cheapest flight from rome to oslo on friday",
    "cheapest flight from oslo to rome on friday",
    "cheapest flight from rome to oslo on friday and the weather there",
    "how do i cook rice",
    "set an alarm for seven",
    "明天北京天气怎么样",
]
ASSETS, CHECKS = FUNNEL, checks_of(label_checks, pool_checks)


def materialize(lake: Lake) -> dg.ExecuteInProcessResult:
    run_config = {"ops": {"pool__candidate_pool": {"config": {"size": 6}}}}
    return materialize_leaves(
        [*ASSETS, *CHECKS], resources={"lake": lake, "teacher": ChatEndpoint()}, run_config=run_config
    )


class Factory(NamedTuple):
    """A lake that the whole funnel was materialized into, and the run that did it."""

    root: Path
    result: dg.ExecuteInProcessResult


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> Factory:
    root = tmp_path_factory.mktemp("lake")
    return Factory(root, materialize(filled(root, TEXTS)))


@pytest.fixture
def lake(factory: Factory, tmp_path: Path) -> Lake:
    """A copy that a test may spoil."""
    shutil.copytree(factory.root, tmp_path / "lake")
    return Lake(root=str(tmp_path / "lake"))


def test_every_check_holds(factory: Factory) -> None:
    evaluations = factory.result.get_asset_check_evaluations()
    assert [check.check_name for check in evaluations if not check.passed] == []
    assert len(evaluations) == len(CHECKS)


def test_the_funnel_keeps_sets_aside_or_drops_every_query_and_says_why(lake: Lake) -> None:
    lexical, aside = lake.read(DROPPED, "lexical"), lake.read("labels/irrelevance_set")
    assert ("q00001", "q00000") in lexical.select("query_id", "survivor").rows()
    assert set(aside["query_id"]) == {"q00009", "q00010"}
    assert aside.sort("query_id")["difficulty"].to_list() == [0, -1]

    kept = lake.read("pool/candidate_pool")
    gone = [lake.read(DROPPED, layer) for layer in ("lexical", "labels", "semantic", "geometric")]
    assert len(kept) == 6
    assert sorted([*kept["query_id"], *pl.concat(gone)["query_id"]]) == [f"q{i:05d}" for i in range(len(TEXTS))]
    support = lake.read("queries/distinct_queries")["support"].sum()
    set_aside = lake.read("pool/lexical_survivors").join(aside.select("query_id"), on="query_id")["support"].sum()
    assert kept["support"].sum() + set_aside == support


def test_one_table_names_every_query_that_went_with_its_layer_and_distance(lake: Lake) -> None:
    gone = lake.read("pool/dropped")
    assert gone["query_id"].is_unique().all()
    assert len(gone) + len(lake.read("pool/candidate_pool")) == len(TEXTS)
    lexical = gone.filter(pl.col("layer") == "lexical")
    assert len(lexical)
    assert lexical["distance"].is_null().all(), "letters have no distance"
    near = gone.filter(pl.col("layer").is_in(["semantic", "geometric"]))
    assert near["distance"].to_list() == pytest.approx([(2 - 2 * s) ** 0.5 for s in near["similarity"]])
    assert gone.filter(pl.col("layer") == "labels")["survivor"].is_null().all()


def test_the_lexical_layer_says_in_its_log_how_far_it_is(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"lake": filled(tmp_path, TEXTS)}
        run = dg.materialize([pool.lexical_survivors], resources=resources, instance=instance)
        log = "\n".join(entry.user_message for entry in instance.all_logs(run.run_id))
    assert re.search(r"queries read: 12/12, [\d.]+/s, 0 s left", log)
    assert re.search(r"rows compared for the preview: \d+/\d+, [\d.]+/s, 0 s left", log)


def test_both_layers_store_pairs_and_the_catalogue_counts_them(factory: Factory) -> None:
    lake = Lake(root=str(factory.root))
    for asset, table in (
        (pool.lexical_survivors, "pool/lexical_pairs"),
        (pool.semantic_survivors, "pool/semantic_pairs"),
    ):
        *_, event = factory.result.asset_materializations_for_node(asset.node_def.name)
        assert event.metadata["pairs_stored"].value == len(lake.read(table)) > 0
    assert [found.layer for found in preview(lake, lexical=0.9, semantic=0.9)] == ["lexical", "semantic"]


def test_a_query_can_tell_what_became_of_it(lake: Lake) -> None:
    assert find(lake, "q00001") == find(lake, TEXTS[1]) == ["q00001"]
    assert find(lake, f"  {TEXTS[1].upper()}!!") == ["q00001"], "as any user may have said it"
    assert find(lake, "never said") == []
    went = story(lake, "q00001")
    assert (went[0].layer, went[0].rule, went[0].survivor) == ("lexical", "near_copy", "q00000")
    assert went[1].query_id == "q00000", "the story goes on with who stands for it"
    text = told(lake, went)
    assert TEXTS[1] in text
    assert TEXTS[0] in text
    assert "in the pool in its place" in text
    kept = lake.read("pool/candidate_pool")["query_id"][0]
    assert [s.rule for s in story(lake, kept)] == [None, None, None]
    assert told(lake, story(lake, kept)).endswith("in the pool")
    assert story(lake, "q00009")[-1].rule == "irrelevant"
    assert "set aside" in told(lake, story(lake, "q00009"))
    with pytest.raises(KeyError):
        story(lake, "nobody")


def test_the_mixture_is_shown_of_what_each_layer_left(lake: Lake, factory: Factory) -> None:
    found = pool.layer_spreads(lake, {layer: lake.read(pool.DROPPED, layer) for layer in pool.LAYERS})
    tables = ("queries/distinct_queries", "pool/lexical_survivors")
    sizes = [len(lake.read(t)) for t in (*tables, "pool/semantic_survivors", "pool/candidate_pool")]
    assert [found[layer].queries for layer in ("distinct", "lexical", "semantic", "geometric")] == sizes
    assert min(found["labels"].difficulty) > 0 >= min(found["lexical"].difficulty)
    (made,) = factory.result.asset_materializations_for_node("pool__dropped")
    assert any("mixture" in name for name in made.metadata)


def test_the_pool_and_what_was_dropped_are_all_there_is_or_the_check_fails(lake: Lake) -> None:
    assert pool_checks.everything_is_in_the_pool_or_dropped(lake).passed
    lake.write("pool/dropped", lake.read("pool/dropped").head(3))
    found = pool_checks.everything_is_in_the_pool_or_dropped(lake)
    assert not found.passed
    assert found.metadata["lost"].value > 0


def test_materializing_again_from_shuffled_rows_gives_the_same_versions(lake: Lake) -> None:
    tables = ("pool/lexical_survivors", "labels/query_labels", "pool/semantic_survivors", "pool/candidate_pool")
    before = [lake.version(table) for table in tables]
    for table in ("queries/distinct_queries", "taxonomy/intent_taxonomy"):
        lake.write(table, lake.read(table).sample(fraction=1.0, shuffle=True, seed=1))
    materialize(lake)
    assert [lake.version(table) for table in tables] == before


def test_every_asset_reports_counts_a_sample_and_a_figure(factory: Factory) -> None:
    for asset in ASSETS:
        *_, event = factory.result.asset_materializations_for_node(asset.node_def.name)
        assert event.metadata["dagster/row_count"].value is not None
        assert "sample" in event.metadata
        images = [v for v in event.metadata.values() if isinstance(v.value, str) and v.value.startswith("![figure]")]
        assert images or asset.key == keys.IRRELEVANCE_SET


def test_with_the_planted_truth_the_labels_report_their_accuracy(lake: Lake) -> None:
    ids = [f"q{i:05d}" for i in range(len(TEXTS))]
    lake.write("queries/occurrences", pl.DataFrame({"raw_id": ids, "query_id": ids}))
    weather = "dynamic_information.realtime_weather"
    truth = pl.DataFrame(
        {"raw_id": ids[:4], "leaf": [weather] * 4, "secondary": [None] * 4}, schema_overrides={"secondary": pl.String}
    )
    lake.write("queries/planted_truth", truth)
    result = materialize_leaves([labels.query_labels], resources={"lake": lake, "teacher": ChatEndpoint()})
    *_, event = result.asset_materializations_for_node(labels.query_labels.node_def.name)
    assert event.metadata["truth_accuracy"].value == 1.0


def test_the_numbers_say_what_was_read_and_decided_and_which_epoch_it_is(factory: Factory, lake: Lake) -> None:
    *_, first = factory.result.asset_materializations_for_node(pool.semantic_survivors.node_def.name)
    rows = first.metadata["rows_in"].value
    assert [first.metadata[name].value for name in ("read_before", "read_now", "decided_now")] == [0, rows, rows]
    *_, picked = factory.result.asset_materializations_for_node(pool.candidate_pool.node_def.name)
    assert [picked.metadata[name].value for name in ("epoch", "epoch_rows", "epoch_should_end")] == [1, 6, "no"]
    again = materialize(lake)
    *_, second = again.asset_materializations_for_node(pool.semantic_survivors.node_def.name)
    assert [second.metadata[name].value for name in ("read_now", "decided_now", "decided_before")] == [0, 0, rows]
    config = {"ops": {"pool__candidate_pool": {"config": {"size": 6, "epoch": "new"}}}}
    renewed = materialize_leaves([pool.candidate_pool], resources={"lake": lake}, run_config=config)
    *_, picked = renewed.asset_materializations_for_node(pool.candidate_pool.node_def.name)
    assert picked.metadata["epoch"].value == 2


def test_a_fixed_radius_takes_the_place_of_the_size(lake: Lake) -> None:
    config = {"ops": {"pool__candidate_pool": {"config": {"size": 0, "radius": 0.2}}}}
    materialize_leaves([pool.candidate_pool], resources={"lake": lake}, run_config=config)
    assert len(lake.read("pool/candidate_pool")) > 6


@pytest.mark.parametrize(
    ("table", "check"),
    [
        ("pool/lexical_survivors", pool_checks.every_query_is_kept_or_a_near_copy),
        ("pool/semantic_survivors", pool_checks.every_query_is_kept_set_aside_or_a_paraphrase),
        ("pool/candidate_pool", pool_checks.every_query_is_kept_or_covered),
        ("pool/candidate_pool", pool_checks.every_leaf_is_in_the_pool),
        ("labels/query_labels", label_checks.every_pool_query_is_labelled_once),
        ("labels/irrelevance_set", label_checks.aside_are_exactly_the_queries_without_tools),
    ],
)
def test_a_lost_row_fails_the_check(lake: Lake, table: str, check: dg.AssetChecksDefinition) -> None:
    lake.write(table, lake.read(table).head(1))
    assert check(lake).passed is False  # type: ignore[operator]


def test_a_query_under_another_leaf_fails_the_check(lake: Lake) -> None:
    lake.write("pool/candidate_pool", lake.read("pool/candidate_pool").with_columns(primary=pl.lit("a.b")))
    assert pool_checks.no_query_in_two_leaves(lake).passed is False


def test_a_leaf_that_the_taxonomy_does_not_have_fails_the_check(lake: Lake) -> None:
    lake.write("labels/query_labels", lake.read("labels/query_labels").with_columns(secondary=pl.lit("a.b")))
    assert label_checks.every_label_is_a_leaf_of_the_taxonomy(lake).passed is False
    lake.write("labels/query_labels", lake.read("labels/query_labels").with_columns(secondary=pl.col("primary")))
    assert label_checks.a_second_intent_differs_from_the_first(lake).passed is False


def test_a_similar_pair_left_fails_the_checks(lake: Lake) -> None:
    everything = lake.read("queries/distinct_queries").select("query_id", "support")
    lake.write("pool/lexical_survivors", everything)
    assert pool_checks.no_kept_pair_is_a_near_copy(lake).passed is False


def test_the_check_compares_what_the_layer_compared_the_turn_before_folded(tmp_path: Path) -> None:
    lake, family = Lake(root=str(tmp_path)), "\U0001f468\U0001f469\U0001f467\U0001f466"
    rows = pl.DataFrame({"query_id": ["a", "b"], "normal": [f"{family} t ip", f"{family} trip"], "support": [1, 1]})
    lake.write("queries/distinct_queries", rows.with_columns(context=pl.lit("(And in Paris!)")))
    lake.write("pool/lexical_survivors", rows.select("query_id", "support"))
    lake.write(DROPPED, pl.DataFrame({"query_id": ["c"], "survivor": ["a"], "similarity": [0.75]}), "lexical")
    unfolded, folded = (f"(And in Paris!)\n{family}", f"and in paris\n{family}")
    assert jaccard(f"{unfolded} t ip", f"{unfolded} trip") > 0.75 > jaccard(f"{folded} t ip", f"{folded} trip")
    assert pool_checks.no_kept_pair_is_a_near_copy(lake).passed is True
    lake.write(DROPPED, pl.DataFrame({"query_id": ["c"], "survivor": ["a"], "similarity": [0.7]}), "lexical")
    found = pool_checks.no_kept_pair_is_a_near_copy(lake)
    assert (found.passed, found.metadata["pairs"].value) == (False, "a and b")
