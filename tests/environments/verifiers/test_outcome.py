"""The outcome verifier: facts, hedging, bookings, refusals."""

from collections.abc import Sequence

import pytest

from environments.episode import Scored
from environments.policy import Malformed
from environments.task import Booking, Goal
from environments.verifiers.outcome import REFUSALS, refusal_reasons, shown
from environments.world import SideEffect, WorldPool
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import Call, Script, call, flights, forecast, played, task_of, verdict

ROUTE = call("map_compute_routes", origin="Paris", destination="Lyon", modes=["driving"])
NOT_FOUND = REFUSALS["not_found"].format(place="Parlin")


def book(number: str, date: str = "2026-06-12") -> Call:
    return call("travel_book_ticket", number=number, date=date)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ("cloudy, 26 degrees.", "ok"),
        ("26 degrees and cloudy", "ok"),
        ("cloudy, 26", "ok"),
        ("cloudy", "missing_fact"),
        ("26 degrees", "missing_fact"),
        ("cloudy, 2 degrees", "hallucination"),
        ("cloudy, 126 degrees", "hallucination"),
        ("cloudy, 26 euros", "hallucination"),
        ("cloudy, 26 degrees Fahrenheit", "hallucination"),
        ("cloudy or sunny, 26 degrees", "hallucination"),
        ("cloudy, 26 or 27 degrees", "hallucination"),
        ("unclouded, 26 degrees", "missing_fact"),
        ("", "missing_fact"),
    ],
)
def test_weather_answers(answer: str, cause: str) -> None:
    found = verdict(task_of("weather"), forecast(), answer)
    assert found.cause == cause
    assert found.reward == (1.0 if cause == "ok" else 0.0)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ("UA16 for 152 euros.", "ok"),
        ("The cheapest flight is UA16 for 152 euros.", "ok"),
        ("AF48 for 247 euros.", "missing_fact"),
        ("UA16 for 247 euros.", "missing_fact"),
        ("UA16 or AF48, 152 euros", "hedged"),
        ("UA16 for 152 or 247 euros", "hedged"),
        ("UA16 for 152 euros or 247", "hedged"),
        ("UA16 for 152 euros, or 95 euros", "hedged"),
        ("UA16 for 152 euros, within your 250 euros", "ok"),
        ("UA16 for 99 euros.", "hallucination"),
    ],
)
def test_fare_answers(answer: str, cause: str) -> None:
    found = verdict(task_of("flight"), flights(), answer)
    assert found.cause == cause
    assert found.reward == (1.0 if cause == "ok" else 0.0)


def test_looking_at_more_ways_than_asked_gives_no_second_guess() -> None:
    both = call("map_compute_routes", origin="Paris", destination="Lyon", modes=["driving", "transit"])
    assert verdict(task_of("route"), both, "524 km, 358 minutes.").reward == 1.0
    assert verdict(task_of("route"), both, "524 km, 358 minutes or 562 minutes.").cause == "hedged"


def test_the_cause_shows_what_is_missing() -> None:
    found = verdict(task_of("weather"), forecast(), "26 degrees")
    assert (found.cause, found.evidence) == ("missing_fact", "cloudy")


def test_a_refusal_of_what_can_be_solved_is_a_zero() -> None:
    found = verdict(task_of("weather"), forecast(), f"cloudy, 26 degrees. {REFUSALS['no_tool']}")
    assert (found.reward, found.cause, found.evidence) == (0.0, "refused", "no_tool")


def test_a_booking_must_be_what_was_asked() -> None:
    task = task_of("book_flight")
    right = "booked UA16 for 152 euros, code QX49."
    assert verdict(task, flights(), book("UA16"), right).reward == 1.0
    unwritten = verdict(task, flights(), "booked UA16 for 152 euros, code QX49.")
    assert (unwritten.reward, unwritten.outcome) == (0.0, 0.0)
    wrong = verdict(task, flights(), book("AF48"), right)
    assert (wrong.reward, wrong.outcome) == (0.0, 0.0)
    extra = task.model_copy(update={"max_calls": 4})
    assert verdict(extra, flights(), book("UA16"), book("AF48"), right).reward == 0.0
    twice = verdict(extra, flights(), book("UA16"), book("UA16"), right)
    assert (twice.reward, twice.cause) == (0.0, "unasked_write")


def test_right_words_with_a_wrong_end_state_name_the_booking() -> None:
    goal = Goal(
        bookings=(Booking(kind="flight", number="UA16", origin="Paris", destination="Lyon", date="2026-06-12"),)
    )
    task = task_of("flight").model_copy(update={"goal": goal})
    missing = verdict(task, flights(), "done.")
    assert missing.cause == "not_written"
    assert missing.evidence.startswith("booking kind=flight, number=UA16")
    other_day = verdict(task, flights(date="2026-06-13"), "done.")
    assert other_day.cause == "not_written"


def test_a_task_that_asks_for_no_booking_forbids_one() -> None:
    task = task_of("flight").model_copy(update={"max_calls": 3})
    found = verdict(task, flights(), book("UA16"), "UA16 for 152 euros.")
    assert (found.reward, found.cause) == (0.0, "unasked_write")
    assert found.evidence.startswith("booking QX")


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (REFUSALS["no_tool"], "ok"),
        ("Sorry, I cannot do this with the tools I have.", "ok"),
        ("No.", "wrong_reason"),
        ("", "wrong_reason"),
        (REFUSALS["missing_origin"], "wrong_reason"),
        (f"{REFUSALS['no_tool']} {REFUSALS['missing_origin']}", "wrong_reason"),
        (f"{REFUSALS['no_tool']} But it is 20 degrees.", "hallucination"),
        ("I could, but I cannot do that with these tools", "ok"),
    ],
)
def test_refusals_need_the_right_reason_and_nothing_beside_it(answer: str, cause: str) -> None:
    found = verdict(task_of("out_of_scope"), answer)
    assert found.cause == cause
    assert found.reward == (1.0 if cause == "ok" else 0.0)


def test_a_question_back_is_graded_like_a_refusal() -> None:
    task = task_of("no_origin")
    assert verdict(task, "From which city?").reward == 1.0
    assert verdict(task, "Where do you want to fly from?").reward == 1.0
    assert verdict(task, REFUSALS["no_tool"]).reward == 0.0
    assert verdict(task, flights(), "UA16 for 152 euros.").cause == "wrong_reason", "the origin was made up"


def test_a_refusal_needs_the_investigation_that_justifies_it() -> None:
    task = task_of("unknown_place", "What is the weather in Parlin on June 12?", c="Parlin")
    assert verdict(task, forecast("Parlin"), NOT_FOUND).reward == 1.0
    lazy = verdict(task, NOT_FOUND)
    assert (lazy.reward, lazy.cause) == (0.0, "not_investigated")
    elsewhere = verdict(task, forecast("Paris"), NOT_FOUND)
    assert (elsewhere.reward, elsewhere.cause) == (0.0, "not_investigated")
    nowhere = verdict(task, forecast("Nowhere"), NOT_FOUND)
    assert (nowhere.reward, nowhere.cause) == (0.0, "not_investigated"), "another place was looked for"
    other_error = verdict(task, forecast("Parlin", "yesterday"), NOT_FOUND)
    assert other_error.reward == 1.0 or other_error.cause == "not_investigated"


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ("I cannot find Parlin, 20 degrees.", "hallucination"),
        ("I cannot find Parlington.", "missing_fact"),
        ("I cannot find it.", "missing_fact"),
        (REFUSALS["no_tool"], "wrong_reason"),
    ],
)
def test_what_was_not_found_is_named_as_a_whole_word(answer: str, cause: str) -> None:
    task = task_of("unknown_place", "What is the weather in Parlin on June 12?", c="Parlin")
    found = verdict(task, forecast("Parlin"), answer)
    assert found.reward == 0.0
    assert found.cause in (cause, "hallucination"), found


def test_a_call_that_does_not_parse_earns_no_credit_for_not_calling() -> None:
    for family in ("out_of_scope", "no_origin"):
        found = verdict(task_of(family), Malformed('<tool_call> {"name": "', "malformed"))
        assert (found.reward, found.cause) == (0.0, "malformed")


def test_a_refusal_that_wrote_something_on_the_way_is_a_zero() -> None:
    task = task_of("out_of_scope").model_copy(update={"max_calls": 3})
    found = verdict(task, flights(), book("UA16"), REFUSALS["no_tool"])
    assert (found.reward, found.cause) == (0.0, "unasked_write")


def test_typed_reasons_are_told_apart() -> None:
    said = {reason: text.format(place="Parlin") for reason, text in REFUSALS.items()}
    assert {reason: refusal_reasons(text) for reason, text in said.items()} == {r: [r] for r in said}
    assert refusal_reasons("cloudy, 26 degrees.") == []


class Restless(AtlasWorld):
    """A world in which something was written that is no booking."""

    def ledger(self) -> Sequence[SideEffect]:
        """One line more than there should be."""
        return [*super().ledger(), SideEffect(9, "agent", "note", "k", None, "x")]


def test_any_side_effect_beside_what_was_asked_is_a_zero() -> None:
    [episode] = played([task_of("weather")], Script(forecast(), "cloudy, 26 degrees."), pool=WorldPool(Restless))
    assert isinstance(episode.verdict, Scored)
    assert (episode.verdict.cause, episode.verdict.evidence) == ("unasked_write", "ledger")


def test_silence_is_a_zero_that_says_so() -> None:
    found = verdict(task_of("route"), *[ROUTE] * 9)
    assert (found.reward, found.cause) == (0.0, "budget")


@pytest.mark.parametrize("family", ["warmer", "fly_or_train", "flight_weather"])
def test_the_right_answer_after_half_of_the_look_is_a_guess(family: str) -> None:
    task = task_of(family)
    assert len(task.gold_calls) > 1
    found = verdict(task, task.gold_calls[0], task.gold_answer)
    assert found.reward == 0.0
    assert found.cause in ("not_investigated", "hallucination")
    assert verdict(task, *task.gold_calls[::-1], task.gold_answer).reward == 1.0, "in which order is nobody's business"


@pytest.mark.parametrize(
    "more",
    [
        " This is false, I made this up.", " Ignore that.", " Maybe.", " It is not so.", " I guess.", " Or maybe af48.",
        " Or perhaps two hundred euros.", " It is stormy.", " Hail is on its way.",
    ],
)  # fmt: skip
def test_an_answer_that_is_taken_back_or_left_open_earns_nothing(more: str) -> None:
    for family in ("weather", "flight", "warmer"):
        task = task_of(family)
        assert verdict(task, *task.gold_calls, task.gold_answer).reward == 1.0
        assert verdict(task, *task.gold_calls, task.gold_answer + more).reward == 0.0, family


def test_a_no_may_say_what_is_not_so() -> None:
    task = task_of("premise")
    assert verdict(task, *task.gold_calls, task.gold_answer).reward == 1.0
    said_no = task.gold_answer.startswith("no")
    more = task.gold_answer.replace("no, ", "no, not so: ") if said_no else task.gold_answer
    assert verdict(task, *task.gold_calls, more).reward == 1.0


def test_a_place_that_was_not_found_is_no_occasion_to_send_the_user_elsewhere() -> None:
    task = task_of("unknown_place", "What is the weather in Parlin on June 12?", c="Parlin")
    assert verdict(task, forecast("Parlin"), NOT_FOUND + " Go to Berlin, Narnia and Hogwarts Castle.").reward == 0.0


def test_a_page_shows_each_of_its_rows() -> None:
    rows = [{"id": "A"}, {"id": "B"}]
    page = {"rows": rows, "next_cursor": None}
    assert shown(page)[1:] == shown(rows)
    assert shown({"error": "not_found", "rows": rows}) == []
