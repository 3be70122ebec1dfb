"""Wordings, dates and fresh tasks of atlas."""

import random
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.worlds.atlas.data_model import cities, fold, gazetteer
from environments.worlds.atlas.families import FAMILIES
from environments.worlds.atlas.geography import resolve_date
from environments.worlds.atlas.plans import date_argument, mode_argument
from environments.worlds.atlas.tasks import (
    date_phrase,
    draw_slots,
    fresh_tasks,
    invented_place,
    offered_tools,
    offered_tools_for,
    phrasing,
    say,
    tool_names,
    wordings,
)
from tests.environments.builders import SLOTS

NEEDED = {
    "weather": "cd", "route": "abm", "flight": "abd", "train": "abd", "place": "kc", "flight_weather": "abd",
    "place_route": "kcm", "budget": "abdp", "warmer": "abd", "faster": "abmn", "fly_or_train": "abd",
    "warm_flight": "cabd", "book_flight": "abd", "book_train": "abd", "premise": "cds", "no_origin": "bd",
}  # fmt: skip
SPLITS = ("train", "dev", "hidden")
CHOICE = re.compile(r"\[([^\[\]]*)\]")


def slots_in(template: str) -> set[str]:
    return {s.lower() for s in re.findall(r"\{(\w)\}", template)}


def phrasings(template: str) -> set[str]:
    """Every combination of the alternatives of a template."""
    parts = re.split(CHOICE, template)
    options = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return {" ".join("".join(chosen).split()) for chosen in product(*options)}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("family", NEEDED)
def test_each_wording_names_exactly_the_slots_of_its_family(language: str, family: str) -> None:
    for split in SPLITS:
        for template in wordings(language)[family][split]:
            for text in phrasings(template):
                assert slots_in(text) == set(NEEDED[family]), f"{family}/{split}: {text}"
            assert not set("[]") & set(CHOICE.sub("", template)), f"unbalanced brackets: {template}"


def test_what_is_out_of_scope_names_only_what_can_be_filled() -> None:
    for split in SPLITS:
        for template in wordings()["out_of_scope"][split]:
            assert slots_in(template) <= set("cdk"), template


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_phrasing_stands_on_two_sides_of_the_hidden_line(language: str) -> None:
    said = {
        split: {fold(p) for by_split in wordings(language).values() for t in by_split[split] for p in phrasings(t)}
        for split in SPLITS
    }
    assert not said["train"] & said["hidden"]
    assert not said["train"] & said["dev"]
    assert not said["dev"] & said["hidden"]


def test_every_family_can_be_said_in_every_split() -> None:
    assert set(NEEDED) | {"out_of_scope"} == set(FAMILIES) - {"unknown_place"}
    for family, split in product((*NEEDED, "out_of_scope"), SPLITS):
        assert wordings()[family][split]


def test_a_language_without_wordings_is_told() -> None:
    with pytest.raises(FileNotFoundError, match="wordings_xx"):
        wordings("xx")


def test_an_instruction_is_filled_and_one_of_its_alternatives_chosen() -> None:
    rng = random.Random(0)
    said = {say("[Please |]{D}, {c}[?|]", SLOTS, rng) for _ in range(60)}
    assert said == {"Please On June 12, Paris?", "Please On June 12, Paris", "On June 12, Paris?", "On June 12, Paris"}


def test_instructions_keep_no_trace_of_the_template() -> None:
    rng = random.Random(1)
    for family, split in product((*NEEDED, "out_of_scope"), SPLITS):
        for _ in range(5):
            said = phrasing(family, split, SLOTS, rng)  # type: ignore[arg-type]
            assert not re.search(r"[\[\]{}|]|  ", said), said


@given(st.integers(10, 25), st.integers(0, 2**32))
def test_a_day_as_users_say_it_is_the_day_that_is_meant(day: int, seed: int) -> None:
    from datetime import date

    phrase = date_phrase(day, random.Random(seed))
    assert resolve_date(date_argument(phrase), date(2026, 6, 10), 15) == date(2026, 6, day)


@pytest.mark.parametrize(
    ("phrase", "argument"),
    [
        ("on June 12", "2026-06-12"), ("On June 9", "2026-06-09"), ("june 12th", "2026-06-12"),
        ("on the 12th of June", "2026-06-12"), ("on Friday", "Friday"), ("tomorrow", "tomorrow"),
        ("on 2026-06-12", "2026-06-12"), (" today ", "today"), ("2026-06-12", "2026-06-12"),
    ],
)  # fmt: skip
def test_how_a_day_is_passed_to_a_tool(phrase: str, argument: str) -> None:
    assert date_argument(phrase) == argument


def test_how_a_way_to_travel_is_passed_to_a_tool() -> None:
    assert [mode_argument(m) for m in ("by car", "on foot", "transit")] == ["driving", "walking", "transit"]


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(sorted(NEEDED)), st.sampled_from(SPLITS), st.integers(0, 2**32))
def test_drawn_slots_stay_on_one_side_and_differ(family: str, split: str, seed: int) -> None:
    slots = draw_slots(family, split, random.Random(seed))  # type: ignore[arg-type]
    named = [slots[s] for s in "abc"]
    assert {cities()[fold(n)].split for n in named} == {split}
    assert len(set(named)) == 3
    assert slots["m"] != slots["n"]


def test_invented_places_are_nowhere() -> None:
    rng = random.Random(3)
    made = [invented_place(rng) for _ in range(200)]
    assert not {fold(m) for m in made} & gazetteer().keys()
    assert len(set(made)) > 150


def test_tools_on_offer_keep_what_is_needed_and_their_order() -> None:
    rng = random.Random(4)
    needed = {"travel_book_ticket", "travel_search_flights"}
    for _ in range(50):
        offered = offered_tools(needed, rng)
        assert needed <= set(offered)
        assert list(offered) == [n for n in tool_names() if n in offered]
        assert 4 <= len(offered) <= 6
    without = offered_tools(set(), rng, without="travel_book_ticket")
    assert set(tool_names()) - set(without) == {"travel_book_ticket"}
    assert offered_tools_for(needed, seed="q1") == offered_tools_for(needed, seed="q1")


def test_fresh_tasks_follow_from_their_seed_and_are_distinct() -> None:
    first = [t.model_dump() for t in fresh_tasks(60, "dev", 9)]
    assert first == [t.model_dump() for t in fresh_tasks(60, "dev", 9)]
    assert len({t.task_id for t in fresh_tasks(300, "dev", 9)}) >= 300
    other = {t.task_id for t in fresh_tasks(60, "dev", 10)}
    assert len(other & {t.task_id for t in fresh_tasks(60, "dev", 9)}) < 5


@pytest.mark.parametrize("split", SPLITS)
def test_fresh_tasks_name_cities_of_their_split_only(split: str) -> None:
    for task in fresh_tasks(80, split, 1):  # type: ignore[arg-type]
        assert task.split == split
        named = [v for c in task.gold_calls for k, v in c.arguments.items() if k in ("origin", "location", "center")]
        assert {cities()[fold(n)].split for n in named if fold(n) in cities()} <= {split}


def test_attempts_read_different_wordings_of_the_same_request() -> None:
    tasks = [t for t in fresh_tasks(60, "hidden", 2, attempts=4) if t.family != "missing_tool"]
    several = [t for t in tasks if len({t.wording(i) for i in range(4)}) >= 3]
    assert len(several) > 0.9 * len(tasks)
    for task in several:
        cities_named = [v for c in task.gold_calls for k, v in c.arguments.items() if k in ("origin", "location")]
        for i in range(4):
            assert all(name in task.wording(i) for name in cities_named), task.wording(i)


def test_cities_and_wordings_may_come_from_different_sides() -> None:
    train_said = {fold(p) for by in wordings().values() for t in by["train"] for p in phrasings(t)}
    mixed = [t for t in fresh_tasks(30, "hidden", 2, wording_split="train") if t.family == "weather"]
    assert mixed
    for task in mixed:
        assert task.split == "hidden"
        [call] = task.gold_calls
        place = call.arguments["location"]
        stems = {p.replace("{c}", fold(place)) for p in train_said if "{c}" in p}
        plain = re.sub(r"\b(on )?(today|tomorrow|june \d+|2026-06-\d+|\w+day)\b", "{d}", fold(task.instruction))
        assert any(plain == re.sub(r"\{d\}", "{d}", s) for s in stems), task.instruction
