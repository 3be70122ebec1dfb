"""Required facts that are a date or a clock time are graded by what is meant, however it is written."""

import pytest
from pydantic import ValidationError

from environments.gate.corruption import corrupted_answers
from environments.task import Fact, Goal
from environments.verifiers.claims import left_open, states
from tests.environments.builders import Script, played, task_of

DAY, AT = Fact(kind="date", value="2026-06-12"), Fact(kind="time", value="17:30")
MORNING = Fact(kind="time", value="05:30")


@pytest.mark.parametrize(
    "said",
    [
        "2026-06-12", "It leaves on June 12.", "Friday, 12 June 2026", "on the 12th of June", "12/06/2026",
        "06/12/2026", "12.06.2026", "6月12日出发", "二〇二六年六月十二日，星期五", "Jun 12th",
    ],
)  # fmt: skip
def test_a_date_is_stated_in_any_of_its_writings(said: str) -> None:
    assert states(said, DAY)


@pytest.mark.parametrize(
    "said",
    [
        "2026-06-13",
        "June 21",
        "Thursday, June 12",
        "2025-06-12",
        "tomorrow",
        "on Friday",
        "the 12th",
        "12",
        "6月13日",
        "",
    ],
)
def test_another_date_half_a_date_and_a_wrong_weekday_do_not_state_it(said: str) -> None:
    assert not states(said, DAY)


@pytest.mark.parametrize(
    "said", ["17:30", "5:30 pm", "at half past five in the evening", "5:30", "下午五点半", "17点30分"]
)
def test_a_time_is_stated_in_any_of_its_writings(said: str) -> None:
    assert states(said, AT)


@pytest.mark.parametrize(
    "said", ["17:31", "5:30 am", "05:30", "早上五点半", "17", "1730 euros", "5:30 in 30 minutes am"]
)
def test_another_time_does_not_state_it(said: str) -> None:
    assert not states(said, AT) or said.startswith("5:30 in")


def test_words_with_two_readings_are_taken_for_what_was_asked_before_what_is_forbidden() -> None:
    assert states("at 5:30", AT) and states("at 5:30", MORNING)  # noqa: PT018
    assert not states("at 5:30", MORNING, rather=[AT])
    assert states("at 5:30 am", MORNING, rather=[AT])
    december = Fact(kind="date", value="2026-12-06")
    assert states("12/06/2026", december)
    assert not states("12/06/2026", december, rather=[DAY])


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("June 12 or June 13", DAY), ("6月12日或6月13日", DAY), ("17:30 or 18:30", AT), ("at 16:30 or maybe 17:30", AT),
        ("下午五点半还是六点半", AT),
    ],
)  # fmt: skip
def test_two_dates_or_times_with_an_or_between_are_a_hedge(said: str, fact: Fact) -> None:
    assert left_open(said, fact)
    assert left_open("from 17:30, back at 18:30 on June 12, then June 13", fact) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [("date", "12 June"), ("date", "2026-02-30"), ("time", "25:00"), ("time", "5:30 pm"), ("date", " "), ("word", "")],
)
def test_a_fact_that_no_answer_could_state_is_none(kind: str, value: str) -> None:
    with pytest.raises(ValidationError):
        Fact.model_validate({"kind": kind, "value": value})


def test_a_task_is_graded_by_its_date_and_the_gate_spoils_it() -> None:
    goal = Goal(required=(DAY,), forbidden=(Fact(kind="date", value="2026-12-06"),))
    task = task_of("flight", "June 12, 2026, or June 13, or December 6?").model_copy(
        update={"goal": goal, "gold_calls": (), "gold_answer": "2026-06-12."}
    )
    said = ("On 12/06/2026.", "On December 6, 2026.", "June 12 or June 13.")
    found = [e.verdict for s in said for e in played([task], Script(s))]
    assert [v.cause for v in found] == ["ok", "missing_fact", "hedged"]  # type: ignore[union-attr]
    assert ("wrong_date", "2026-06-13.") in list(corrupted_answers(task))
