"""Variants and refusals beside a task: another request, the same side of the hidden line."""

import re

import pytest

from assets.tasks.variants import MONTH_DAY, Slotted, refusals, variants
from environments.policies.scripted import Gold
from environments.worlds.atlas.data_model import cities, fold
from tests.environments.builders import played
from tests.tasks.builders import SAID, compiled, labelled, task_for

VARIED = [f for f in SAID if f != "no_origin"]


def named(task: Slotted) -> list[str]:
    return [v for k, v in task.slots.items() if k in "abc"]


@pytest.mark.parametrize("family", SAID)
def test_variants_are_other_requests_of_the_same_family_group_split_and_query(family: str) -> None:
    original = task_for(family)
    made = variants(original, 6)
    assert len(made) >= 3
    assert len({v.task.task_id for v in made} | {original.task.task_id}) == len(made) + 1
    for v in made:
        kept = ("family", "group", "split", "query_id", "leaf", "depth")
        assert [getattr(v.task, k) for k in kept] == [getattr(original.task, k) for k in kept]
        assert {cities()[fold(n)].split for n in named(v)} == {original.task.split}
        assert all(n in v.task.instruction for n in named(v))
        assert not any(n in v.task.instruction for n in set(named(original)) - set(named(v)))


@pytest.mark.parametrize("family", SAID)
def test_variants_are_solved_by_their_own_gold_solution(family: str) -> None:
    tasks = [v.task for v in variants(task_for(family), 5)]
    assert {e.verdict.reward for e in played(tasks, Gold())} == {1.0}  # type: ignore[union-attr]


def test_the_wording_stays_and_cities_and_days_change() -> None:
    original = task_for("flight")
    made = variants(original, 6)
    frame = "What is the cheapest flight from {} to {} on June {}?"
    pattern = re.escape(frame).replace(r"\{\}", r"([\w ]+)")
    found = [re.fullmatch(pattern, v.task.instruction) for v in made]
    assert all(found), [v.task.instruction for v in made]
    assert len({m[3] for m in found if m}) > 1, "the day changes too"
    for v, m in zip(made, found, strict=True):
        assert m is not None
        assert v.slots["d"] == f"2026-06-{int(m[3]):02d}"


def test_an_iso_date_is_replaced_by_another() -> None:
    original = task_for("flight", **{"on June 12": "on 2026-06-12"})
    made = variants(original, 6)
    days = {v.slots["d"] for v in made}
    assert len(days) > 1
    assert all(f"on {v.slots['d']}?" in v.task.instruction for v in made)


def test_variants_of_a_hidden_task_stay_hidden() -> None:
    from environments.worlds.atlas.data_model import speakable

    city = next(c.name for c in speakable() if c.split == "hidden")
    original = compiled(labelled(f"What is the weather in {city} tomorrow?", "dynamic_information.realtime_weather"))
    assert isinstance(original, Slotted)
    for v in variants(original, 5):
        assert v.task.split == "hidden"
        assert {cities()[fold(n)].split for n in named(v)} == {"hidden"}


def test_variants_follow_from_the_original_alone() -> None:
    assert variants(task_for("warmer"), 4) == variants(task_for("warmer"), 4)
    assert variants(task_for("warmer"), 2) == variants(task_for("warmer"), 4)[:2]
    assert variants(task_for("warmer"), 0) == []


def test_a_city_named_twice_is_not_replaced() -> None:
    assert variants(task_for("flight_weather", there="in Lyon"), 5) == []


def test_a_wording_that_hides_a_slot_has_no_variants() -> None:
    original = task_for("weather")
    twice = original._replace(task=original.task.model_copy(update={"instruction": "Paris, Paris: weather?"}))
    absent = original._replace(task=original.task.model_copy(update={"instruction": "weather there?"}))
    assert variants(twice, 3) == variants(absent, 3) == []
    refusal = compiled(labelled("Write me a poem", "irrelevant", difficulty=0))
    assert isinstance(refusal, Slotted)
    assert variants(refusal, 3) == []


def test_a_date_in_words_stays_as_it_is() -> None:
    for v in variants(task_for("weather"), 5):
        assert "tomorrow" in v.task.instruction
        assert v.slots["d"] == "tomorrow"
    assert MONTH_DAY.findall(task_for("flight").task.instruction) == ["June 12"]


def test_refusals_stand_beside_the_task_they_were_made_from() -> None:
    originals = [task_for(f) for f in VARIED] + [v for f in VARIED for v in variants(task_for(f), 3)]
    by_id = {s.task.task_id: s.task for s in originals}
    made = refusals(originals, 1.0)
    assert len(made) == len(originals)
    assert {t.family for t in made} == {"missing_tool", "unknown_place"}
    for task in made:
        twin = by_id[task.twin or ""]
        assert (task.group, task.split, task.query_id) == (twin.group, twin.split, twin.query_id)
        assert task.goal.reason in ("no_tool", "not_found")
    assert {e.verdict.reward for e in played(made, Gold())} == {1.0}  # type: ignore[union-attr]


def test_a_lost_place_is_named_where_the_real_one_stood() -> None:
    originals = [v for v in variants(task_for("weather"), 20)]
    lost = [t for t in refusals(originals, 1.0) if t.family == "unknown_place"]
    assert lost
    by_id = {s.task.task_id: s for s in originals}
    for task in lost:
        place = task.gold_calls[0].arguments["location"]
        assert task.instruction == by_id[task.twin or ""].task.instruction.replace(
            by_id[task.twin or ""].slots["c"], place
        )


def test_the_share_of_refusals_is_kept_by_hash() -> None:
    originals = [v for f in VARIED for v in variants(task_for(f), 12)]
    made = refusals(originals, 0.3)
    assert len(made) / len(originals) == pytest.approx(0.3, abs=0.12)
    assert {t.task_id for t in refusals(originals[::-1], 0.3)} == {t.task_id for t in made}
    assert refusals(originals, 0.0) == []


def test_a_question_back_needs_no_refusal_beside_it() -> None:
    assert refusals([task_for("no_origin")], 1.0) == []
