"""The embedded annotator on the taxonomy in force: requests that none of its examples contain."""

import json
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.labels.annotator import Annotator, Intent
from assets.labels.aside import aside_groups
from assets.labels.difficulty import axes_of
from assets.labels.rules import IRRELEVANT, rules, spoken_for
from assets.labels.table import intents_of
from assets.taxonomy.tree import load_taxonomy
from resources.embedder import Embedder

WEATHER = "dynamic_information.realtime_weather"
PRICING = "dynamic_information.dynamic_pricing_and_availability"
FARES = "dynamic_information.realtime_traffic_and_transit.public_transit_fares"
ROUTE = "planning_and_decision.route_planning"
PLACE = "discovery.poi_search.constrained_poi_search"
FEASIBLE = "planning_and_decision.feasibility_assessment"
WARMER = "planning_and_decision.solution_comparison.destination_comparison"
MODES = "planning_and_decision.solution_comparison.transportation_mode_comparison"
CONTROL = "application_interaction.system_control"
POLICIES = "rules_and_policies.travel_policies"

LABELS = [
    ("will it be windy in Lagos this saturday", WEATHER, None),
    ("do i need an umbrella in oslo tomorrow", WEATHER, None),
    ("明天拉各斯会下雨吗", WEATHER, None),
    ("somebody said Lagos gets snow tomorrow, is that true", WEATHER, None),
    ("lowest air fare quito to lima monday", PRICING, None),
    ("周一从基多飞利马最便宜多少钱", PRICING, None),
    ("how much for the train from Bern to Basel", FARES, None),
    ("driving time bern basel", ROUTE, None),
    ("从伯尔尼走路到巴塞尔要多长时间", ROUTE, None),
    ("top rated gallery of Basel", PLACE, None),
    ("can i fly quito lima for 200 euros", FEASIBLE, None),
    ("hotter on friday: Basel or Bern", WARMER, None),
    ("bike or tram, which gets me from Bern to Basel quicker", MODES, None),
    ("plane or train from Bern to Basel, whatever is cheaper", MODES, None),
    ("purchase the cheapest flight from Quito to Lima", CONTROL, None),
    ("帮我买一张周五伯尔尼到巴塞尔最便宜的火车票", CONTROL, None),
    ("do americans need a visa for vietnam", POLICIES, None),
    ("cheapest flight Quito Lima on monday plus the forecast for Lima", PRICING, WEATHER),
    ("best cafe in Basel and walking time from the city to it", PLACE, ROUTE),
    ("cheapest flight from Quito to whichever is warmer, Lima or Bogota", WARMER, PRICING),
    ("sing a song about the rain", IRRELEVANT, None),
    ("how do i boil potatoes", IRRELEVANT, None),
    ("what does my savings account hold", IRRELEVANT, None),
    ("把卧室的灯关掉", IRRELEVANT, None),
    ("reserve a table for three at a restaurant in Basel", IRRELEVANT, None),
]


@cache
def annotator() -> Annotator:
    return Annotator(intents_of(load_taxonomy().table()), Embedder().embed, embedder=Embedder().version)


@pytest.mark.parametrize(("text", "primary", "secondary"), LABELS)
def test_a_request_in_new_words_gets_its_leaves(text: str, primary: str, secondary: str | None) -> None:
    [label] = annotator().annotate([text])
    assert (label.primary, label.secondary) == (primary, secondary)


def test_a_follow_up_means_what_the_turn_before_it_meant() -> None:
    texts = ["and in Basel?", "巴塞尔呢？", "book the cheapest flight from Quito to Lima"]
    contexts = ["best museum in Bern", "伯尔尼明天天气怎么样", "weather in Bern"]
    assert [label.primary for label in annotator().annotate(texts, contexts)] == [PLACE, WEATHER, CONTROL]


def test_the_constraints_of_a_follow_up_are_its_own() -> None:
    [label] = annotator().annotate(["and in Basel?"], ["best museum in Bern on friday"])
    assert [city.city for city in label.constraints.cities] == ["Basel"]
    assert label.constraints.kind is None


def test_nothing_that_can_be_made_out_is_either_aside_or_an_other() -> None:
    for label in annotator().annotate(["zxcv qwer", "umbel froy", "???", "1"]):
        assert label.primary == IRRELEVANT or label.primary.endswith("other")


def test_below_the_bound_a_label_is_the_other_of_its_branch_unless_a_rule_has_spoken() -> None:
    strict = Annotator(intents_of(load_taxonomy().table()), Embedder().embed, embedder="e", abstain_below=1.1)
    texts = ["is the old town of Basel a nice area", "three weeks through Peru", "weather in Basel tomorrow"]
    area, trip, weather = strict.annotate(texts)
    leaves = {leaf.id for leaf in load_taxonomy().leaves}
    assert {area.primary, trip.primary} <= leaves
    assert area.primary == "discovery.other"
    assert trip.primary.startswith("planning_and_decision.") and trip.primary.endswith("other")  # noqa: PT018
    assert trip.runner_up == "planning_and_decision.itinerary_planning.long_trip_itinerary"
    assert weather.primary == WEATHER


def test_a_label_does_not_depend_on_its_neighbours() -> None:
    texts = [text for text, _, _ in LABELS]
    together = annotator().annotate(texts)
    assert [annotator().annotate([text])[0] for text in reversed(texts)] == list(reversed(together))


@settings(deadline=None, max_examples=20)  # the first call fits the annotator
@given(st.permutations(range(len(LABELS))), st.lists(st.integers(0, 2 * len(LABELS)), max_size=6))
def test_no_split_of_the_input_changes_a_label(order: list[int], cuts: list[int]) -> None:
    asked = [(LABELS[i][0], None) for i in order] + [("and in Basel?", LABELS[i][0]) for i in order]
    whole = dict(zip(asked, annotator().annotate(*zip(*asked, strict=True)), strict=True))
    known = dict(zip(sorted(asked), annotator().annotate(*zip(*sorted(asked), strict=True)), strict=True))
    edges = [0, *sorted(cuts), len(asked)]
    parts = [asked[start:stop] for start, stop in pairwise(edges) if start < stop]
    split = [label for part in parts for label in annotator().annotate(*zip(*part, strict=True))]
    assert split == list(whole.values())
    assert whole == known


def test_the_annotators_own_parts_change_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for text, _, _ in LABELS] * 2
    whole = annotator().annotate(texts)
    monkeypatch.setattr("assets.labels.annotator._CHUNK", 7)
    assert annotator().annotate(texts) == whole


def test_requests_that_differ_in_their_particulars_keep_their_own_constraints() -> None:
    cities = ["Basel", "Bern", "Oslo", "Lima"]
    labels = annotator().annotate([f"weather in {city} tomorrow" for city in cities])
    assert [label.constraints.cities[0].city for label in labels] == cities
    assert {label.primary for label in labels} == {WEATHER}


def test_confidence_is_a_probability_and_the_runner_up_another_leaf() -> None:
    for label in annotator().annotate([text for text, _, _ in LABELS]):
        assert 0 <= label.confidence <= 1
        assert label.runner_up != label.primary


def test_requests_aside_are_unexecutable_or_need_no_tool_and_say_why() -> None:
    alarm, poem = annotator().annotate(["set an alarm for seven", "write a poem about rome"])
    assert (alarm.difficulty, poem.difficulty) == (-1, 0)
    assert json.loads(alarm.axes) == {"group": "clock", "reason": "no tool for clocks, calendars and reminders"}


def test_the_version_follows_the_examples_the_embedder_and_the_bound() -> None:
    intents = [Intent("a.b", ("weather today",), ()), Intent("a.c", ("book a flight",), ())]
    embed = Embedder().embed

    def version(listed: list[Intent], embedder: str = "e", bound: float = 0.3) -> str:
        return Annotator(listed, embed, embedder=embedder, abstain_below=bound).version

    assert version(intents) == version(intents[::-1])
    changed = [Intent("a.b", ("weather tomorrow",), ()), intents[1]]
    assert len({version(intents), version(changed), version(intents, "f"), version(intents, bound=0.4)}) == 4


def test_a_taxonomy_without_examples_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="write some into the taxonomy's files"):
        Annotator([Intent("a.other", (), ())], Embedder().embed, embedder="e")


def test_every_rule_names_leaves_of_the_default_taxonomy() -> None:
    leaves = {leaf.id for leaf in load_taxonomy().leaves} | {IRRELEVANT}
    assert all({rule.leaf} | rule.absorbs <= leaves for rule in rules())


def test_a_leaf_that_another_absorbs_is_no_second_intent() -> None:
    features = frozenset({"write", "flight", "cheapest", "journey", "city"})
    assert spoken_for(features, frozenset({CONTROL, PRICING})) == (CONTROL,)
    assert spoken_for(features, frozenset({PRICING})) == (PRICING,)


@pytest.mark.parametrize(
    ("primary", "secondary", "constraints", "difficulty"),
    [
        (WEATHER, None, 2, 1),
        (PRICING, None, 5, 2),
        (WARMER, None, 4, 3),
        (CONTROL, None, 5, 4),
        (PRICING, WEATHER, 5, 3),
        (PLACE, ROUTE, 4, 4),
        (WARMER, PRICING, 6, 5),
        ("planning_and_decision.itinerary_planning.long_trip_itinerary", None, 9, 5),
        ("discovery.other", None, 0, 1),
        ("other", None, 0, 2),
    ],
)
def test_difficulty_grows_with_tools_depth_and_constraints(
    primary: str, secondary: str | None, constraints: int, difficulty: int
) -> None:
    assert axes_of(primary, secondary, constraints).difficulty == difficulty


def test_every_group_aside_has_examples_in_both_languages_and_a_difficulty() -> None:
    for group in aside_groups().values():
        assert group.difficulty in (-1, 0)
        assert group.reason
        assert any("一" <= text[0] <= "鿿" for text in group.examples)
        assert np.mean([text.isascii() for text in group.examples]) > 0.4


def test_a_request_gets_the_best_of_the_leaves_allowed() -> None:
    text = "will it be windy in Lagos this saturday"
    among = [[PRICING, WEATHER], [PRICING, ROUTE], ["dynamic_information.other"], [PRICING, "discovery.other"]]
    free, price_or_way, only_other, unsure = annotator().annotate([text] * 4, among=among)
    assert free.primary == WEATHER
    assert price_or_way.primary in (PRICING, ROUTE)
    assert only_other.primary == "dynamic_information.other"
    assert unsure.primary == "discovery.other"


def test_among_leaves_a_rule_that_names_one_of_them_decides() -> None:
    text = "cheapest flight Quito Lima on monday plus the forecast for Lima"
    first, second = annotator().annotate([text, text], among=[[PRICING, ROUTE], [WEATHER, ROUTE]])
    assert (first.primary, second.primary) == (PRICING, WEATHER)
    assert first.secondary == WEATHER


def test_all_leaves_allowed_is_the_same_as_none_named() -> None:
    texts = [text for text, _, _ in LABELS]
    every = [*(leaf.id for leaf in load_taxonomy().leaves), IRRELEVANT]
    free, named = annotator().annotate(texts), annotator().annotate(texts, among=[every] * len(texts))
    assert [label.primary for label in named] == [label.primary for label in free]


@pytest.mark.parametrize("among", [[[]], [["no.such.leaf"]]])
def test_leaves_that_the_taxonomy_lacks_are_refused(among: list[list[str]]) -> None:
    with pytest.raises(ValueError, match="leaves of the taxonomy to choose among"):
        annotator().annotate(["weather in Bern"], among=among)


def test_another_tree_is_the_same_kind_of_annotator() -> None:
    fewer = Annotator(intents_of(load_taxonomy().table())[:5], Embedder().embed, embedder=Embedder().version)
    assert fewer.kind == annotator().kind
    assert fewer.version != annotator().version
