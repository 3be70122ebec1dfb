"""From labelled query to task: what compiles, what does not and by which rule, and on which side it stands."""

import random
from dataclasses import replace

import pytest

from assets.labels.constraints import Constraints, NamedCity
from assets.tasks.compile import Dropped, compile_queries, shape_of, split_of
from assets.tasks.explained import unexplained
from assets.tasks.variants import Slotted
from environments.policies.scripted import Gold
from environments.worlds.atlas.data_model import speakable
from environments.worlds.atlas.families import FAMILIES
from tests.environments.builders import played
from tests.tasks.builders import FARE, LEAF, SAID, WEATHER, compiled, labelled, said, task_for

FIRST = {side: next(c.name for c in speakable() if c.split == side) for side in ("train", "dev", "hidden")}


@pytest.mark.parametrize("family", SAID)
def test_a_query_becomes_a_task_of_its_family_in_the_users_own_words(family: str) -> None:
    task, slots = task_for(family)
    assert (task.family, task.instruction, task.split) == (family, SAID[family], "train")
    assert (task.leaf, task.query_id, task.group) == (LEAF[family], SAID[family], SAID[family])
    assert task.depth == FAMILIES[family].depth
    assert slots
    assert {c.name for c in task.gold_calls} <= set(task.tools)


def test_the_world_grades_every_compiled_task() -> None:
    tasks = [task_for(family).task for family in SAID]
    assert [e.verdict.reward for e in played(tasks, Gold())] == [1.0] * len(tasks)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "family", "slots"),
    [
        ("weather in Paris", "weather", {"c": "Paris", "d": "today"}),
        ("paris weather friday please", "weather", {"c": "paris", "d": "friday"}),
        ("Is there a flight from Paris to Lyon on June 12 for less than 250 euros?", "budget",
         {"a": "Paris", "b": "Lyon", "d": "2026-06-12", "p": "250"}),
        ("To Lyon from Paris on 2026-06-12, which flight is the cheapest?", "flight",
         {"a": "Paris", "b": "Lyon", "d": "2026-06-12"}),
    ],
)  # fmt: skip
def test_slots_are_filled_from_the_constraints(text: str, family: str, slots: dict[str, str]) -> None:
    made = compiled(labelled(text, LEAF[family]))
    assert isinstance(made, Slotted), made
    assert (made.task.family, made.slots) == (family, slots)


@pytest.mark.parametrize(
    ("text", "leaf", "rule", "detail"),
    [
        ("What is the cheapest hotel in Paris?", LEAF["place"], "unexplained_words", "cheapest"),
        ("Book a hotel in Paris", LEAF["place"], "unexplained_words", "book"),
        ("Book the cheaper of flight and train from Paris to Lyon on June 12", LEAF["fly_or_train"],
         "unexplained_words", "book"),
        ("What is the fastest flight from Paris to Lyon on June 12?", FARE, "unexplained_words", "fastest"),
        ("What is the humidity in Paris tomorrow?", WEATHER, "unexplained_words", "humidity"),
        ("the worst museum in Paris", LEAF["place"], "unexplained_words", "worst"),
        ("cheapest return flight from Paris to Lyon on June 12", FARE, "unexplained_words", "return"),
        ("Is there a flight from Paris to Lyon on June 12 over 250 euros?", LEAF["budget"],
         "unexplained_words", "over"),
        ("What is the weather in Paris at 17 tomorrow?", WEATHER, "unexplained_words", "17"),
        ("cheapest flight 7 from Paris to Lyon on June 12", FARE, "unexplained_words", "7"),
        ("What is the weather in Paris and Lyon tomorrow?", WEATHER, "no_family", WEATHER),
        ("flight from Paris to Lyon on June 12 for two people", FARE, "no_family", FARE),
        ("What is the weather like?", WEATHER, "no_family", WEATHER),
        ("What is the weather in Paris and in Parlin tomorrow?", WEATHER, "unresolved", "Parlin"),
        ("What is the humidity in Parlin tomorrow?", WEATHER, "unexplained_words", "humidity"),
        ("Will it be sunny in Parlin tomorrow?", WEATHER, "unresolved", "Parlin"),
        ("What is the weather in Parlin next week?", WEATHER, "unresolved", "next week, Parlin"),
        ("what is the weather next week?", WEATHER, "unresolved", "next week"),
        ("What is the weather Next week?", WEATHER, "unresolved", "Next week"),
        ("cheapest flight from Paris to Parlin on June 12", FARE, "unresolved", "Parlin"),
        ("cheapest flight from Paris to Lyon next week", FARE, "unresolved", "next week"),
        ("What is the best museum in Paris?", WEATHER, "leaf_disagrees", f"place is not {WEATHER}"),
        ("cheapest flight from Paris to Versailles on June 12", FARE, "no_clear_answer", "flight"),
        ("Is there a flight from Paris to Lyon on June 12 under 152 euros?", LEAF["budget"],
         "no_clear_answer", "budget"),
    ],
)  # fmt: skip
def test_what_does_not_compile_says_why(text: str, leaf: str, rule: str, detail: str) -> None:
    query = labelled(text, leaf)
    assert compiled(query) == Dropped(query.query_id, rule, detail)


def test_a_language_that_the_policy_cannot_read_is_left_out_first() -> None:
    query = labelled("明天巴黎天气怎么样", WEATHER, language="zh")
    assert compiled(query) == Dropped(query.query_id, "language", "zh")


def test_what_no_tool_serves_becomes_a_refusal() -> None:
    made = compiled(labelled("Write me a poem about Paris", "irrelevant", difficulty=0))
    assert isinstance(made, Slotted)
    assert (made.task.family, made.task.goal.reason, made.task.depth) == ("out_of_scope", "no_tool", 0)


@pytest.mark.parametrize(
    ("text", "leaf"),
    [
        ("Is there a flight from Paris to Lyon on June 12 for more than 250 euros?", LEAF["budget"]),
        ("Is there no flight from Paris to Lyon on June 12 below 250 euros?", LEAF["budget"]),
        ("Is there a flight from Paris to Lyon on June 12 not under 250 euros?", LEAF["budget"]),
        ("What costs more from Paris to Lyon on June 12, the train or the flight?", LEAF["fly_or_train"]),
        ("Book two flights from Paris to Lyon on June 12, the cheapest", LEAF["book_flight"]),
        ("cheapest flight from Paris to Lyon or from Lyon to Paris on June 12", FARE),
        ("Which is not warmer on June 12, Paris or Lyon?", LEAF["warmer"]),
        ("Don't book the cheapest flight from Paris to Lyon on June 12", LEAF["book_flight"]),
    ],
)
def test_a_word_that_turns_the_request_round_keeps_it_from_becoming_a_task(text: str, leaf: str) -> None:
    made = compiled(labelled(text, leaf))
    assert isinstance(made, Dropped), made
    assert made.rule in ("turned_words", "unexplained_words", "no_family")


def test_a_turning_word_between_its_own_neighbours_is_part_of_the_wording() -> None:
    for text, family in (
        ("Not more than 250 euros: is there a flight from Paris to Lyon on June 12?", "budget"),
        ("flight Paris Lyon on June 12 under 250 euros, yes or no?", "budget"),
        ("Which is warmer on June 12, Paris or Lyon?", "warmer"),
        ("What is faster from Paris to Lyon, by car or by public transport?", "faster"),
    ):
        made = compiled(labelled(text, LEAF[family]))
        assert isinstance(made, Slotted), (text, made)
        assert made.task.family == family


def test_a_follow_up_is_no_task_of_its_own() -> None:
    query = replace(labelled("weather in Paris", WEATHER), context="What is the weather in Rome on Saturday?")
    assert compiled(query) == Dropped(query.query_id, "follow_up", "What is the weather in Rome on Saturday?")


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("What is the weather in Parlin tomorrow?", {"c": "Parlin", "d": "tomorrow"}),
        ("weather forecast for Wisconsin", {"c": "Wisconsin", "d": "today"}),
    ],
)
def test_weather_in_a_place_that_the_world_does_not_know_is_to_be_answered_so(text: str, slots: dict[str, str]) -> None:
    made = compiled(labelled(text, WEATHER))
    assert isinstance(made, Slotted), made
    assert (made.task.family, made.slots, made.task.goal.reason) == ("unknown_place", slots, "not_found")
    (episode,) = played([made.task], Gold())
    assert episode.verdict.reward == 1.0  # type: ignore[union-attr]


def test_what_is_labelled_as_needing_no_tool_but_names_what_tools_do_is_no_refusal() -> None:
    query = labelled("cheapest flight to the moon", "irrelevant", difficulty=-1)
    made = compiled(query)
    assert isinstance(made, Dropped)
    assert made.rule == "asks_for_tools"


def test_every_query_is_a_task_or_is_dropped_whatever_their_order() -> None:
    queries = [said(f) for f in SAID] + [labelled(f"humidity {n} in Paris", WEATHER) for n in range(5)]
    whole = compile_queries(queries)
    assert len(whole.tasks) + len(whole.dropped) == len(queries)
    random.Random(1).shuffle(queries)
    assert compile_queries(queries) == whole


@pytest.mark.parametrize(
    ("named", "split"),
    [
        ([], "train"), (["Parlin"], "train"), ([FIRST["train"]], "train"), ([FIRST["dev"]], "dev"),
        ([FIRST["hidden"]], "hidden"), ([FIRST["train"], FIRST["dev"]], "dev"),
        ([FIRST["dev"], FIRST["hidden"], FIRST["train"]], "hidden"),
    ],
)  # fmt: skip
def test_a_query_stands_where_its_most_hidden_city_stands(named: list[str], split: str) -> None:
    assert split_of("q", named, 0.0) == split


def test_a_share_of_queries_is_held_out_whatever_they_name() -> None:
    sides = [split_of(f"q{n}", [FIRST["train"]], 0.25) for n in range(2000)]
    assert sides.count("hidden") / 2000 == pytest.approx(0.25, abs=0.03)
    more = [split_of(f"q{n}", [FIRST["train"]], 0.5) for n in range(2000)]
    assert all(m == "hidden" for s, m in zip(sides, more, strict=True) if s == "hidden"), "a larger share adds only"


def test_two_origins_or_three_options_fit_no_family() -> None:
    def cities(*roles: str) -> Constraints:
        named = tuple(NamedCity(text=n, city=n, role=r) for n, r in zip(("Paris", "Lyon", "Rome"), roles, strict=False))  # type: ignore[arg-type]
        return Constraints(cities=named, sort="warmest", modes=("flight",))

    assert shape_of(cities("origin", "origin"), FARE, None) is None
    assert shape_of(cities("option", "option", "option"), FARE, None) is None
    assert shape_of(cities("option"), FARE, None) is None


def test_words_that_the_family_never_uses_are_unexplained() -> None:
    def left(text: str, family: str) -> list[str]:
        return unexplained(text, family, labelled(text, LEAF[family]).constraints)

    assert left(SAID["weather"], "weather") == []
    assert left("What is the pollen index in Paris tomorrow?", "weather") == ["pollen", "index"]
    assert left("WHAT IS THE WEATHER IN PARIS TOMORROW", "weather") == []
    assert left("weather in New York tomorrow", "weather") == [], "a city's own words explain themselves"
