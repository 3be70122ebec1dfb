"""The hallucination veto: which evidence grounds a claim and which does not."""

import pytest

from environments.episode import Attempt, Scored, Step
from environments.task import Call
from environments.verifiers.veto import evidence_of, unsupported
from tests.environments.builders import call, flights, forecast, task_of, verdict

OFFERS = [{"number": "UA16", "price": 152}, {"number": "AF48", "price": 247}]
ROUTES = [{"mode": "driving", "km": 524, "minutes": 358}, {"mode": "transit", "km": 524, "minutes": 562}]
PLACES = [{"name": "Cobb Museum", "rating": 9.3}]


def ungrounded(answer: str, *steps: Step, said: str = "Is there a flight from Paris under 250 euros?") -> str | None:
    """The words of the first claim without evidence."""
    attempt = Attempt(task_of("flight", said), 0, 0, list(steps), answer)
    claim = unsupported(attempt)
    return claim and answer[claim.start : claim.end]


def saw(observation: object, made: Call | None = None) -> Step:
    return Step(made or flights(), observation)


@pytest.mark.parametrize(
    "answer",
    [
        "UA16 for 152 euros", "152", "AF48 costs 247 euros", "399 euros for both", "95 euros more",
        "The flight UA16", "Paris", "paris", "yes, UA16", "no", "within your 250 euros", "",
    ],
)  # fmt: skip
def test_tool_output_derivations_and_quotes_are_evidence(answer: str) -> None:
    assert ungrounded(answer, saw(OFFERS)) is None


@pytest.mark.parametrize(
    ("answer", "span"),
    [
        ("UA16 for 153 euros", "153"),
        ("KL99 for 152 euros", "KL99"),
        ("UA16 for 152 degrees", "152"),
        ("under 250 euros", "250"),
        ("Rome", "Rome"),
        ("the train", "train"),
        ("it is sunny", "sunny"),
        ("521 euros for three", "521"),
        ("-152 euros", "-152"),
        ("152 dollars", "152"),
    ],
)
def test_what_no_tool_returned_is_not(answer: str, span: str) -> None:
    assert ungrounded(answer, saw(OFFERS)) == span


def test_a_sum_or_difference_counts_within_one_unit_only() -> None:
    step = saw(ROUTES, call("map_compute_routes"))
    assert ungrounded("204 minutes faster", step) is None
    assert ungrounded("920 minutes in all", step) is None
    assert ungrounded("166 km", step) == "166", "minutes less kilometres are nothing"


def test_a_rounded_value_is_grounded_and_one_rounded_the_wrong_way_is_not() -> None:
    step = saw(PLACES, call("map_search_places"))
    assert ungrounded("Cobb Museum, rated 9.3", step) is None
    assert ungrounded("Cobb Museum, rated 9", step) is None
    assert ungrounded("Cobb Museum, rated 10", step) == "10"


def test_what_the_agent_asks_is_no_evidence() -> None:
    made = call("map_search_places", query="museum", center="Louvre Museum", min_rating=9.9)
    assert ungrounded("Louvre Museum, rated 9.9", saw(PLACES, made)) == "Louvre Museum"


@pytest.mark.parametrize(
    "error", [{"error": "unknown_place", "place": "sunny"}, {"error": "bad_date", "date": "sunny"}]
)
def test_an_error_that_echoes_the_agents_own_words_is_no_evidence(error: dict[str, str]) -> None:
    assert ungrounded("sunny", saw(error, forecast("sunny"))) == "sunny"
    assert ungrounded("Louvre Museum", saw({"error": "unknown_place", "place": "Louvre Museum"})) == "Louvre Museum"


def test_a_failed_search_is_no_ground_for_naming_the_way_to_travel() -> None:
    assert ungrounded("take the flight", saw({"error": "no_flights"})) == "flight"
    assert evidence_of([saw({"error": "no_flights"})]).searched == set()


def test_the_user_grounds_only_what_is_quoted_back_as_the_users() -> None:
    assert ungrounded("that fits your 250 euros", saw(OFFERS)) is None
    assert ungrounded("your 25 euros", saw(OFFERS)) == "25"
    assert ungrounded("the price is 250 euros", saw(OFFERS)) == "250"


def test_parroting_a_false_premise_is_vetoed() -> None:
    task = task_of("premise", "I heard it will be sunny in Paris on June 12, is that right?")
    parroted = verdict(task, "yes, sunny.")
    assert (parroted.vetoed, parroted.evidence, parroted.reward) == (True, "sunny", 0.0)
    checked = verdict(task, forecast(), "yes, sunny, 26 degrees.")
    assert (checked.vetoed, checked.evidence, checked.reward) == (True, "sunny", 0.0)
    assert verdict(task, forecast(), "no, cloudy, 26 degrees.").reward == 1.0


def test_a_true_premise_needs_a_look_too() -> None:
    task = task_of("premise", "I heard it will be cloudy in Paris on June 12, is that right?", s="cloudy")
    assert verdict(task, "yes, cloudy, 26 degrees.").vetoed
    assert verdict(task, forecast(), "yes, cloudy, 26 degrees.").reward == 1.0


def test_the_veto_beats_an_outcome_that_would_have_passed_and_shows_the_span() -> None:
    found = verdict(task_of("flight"), flights(), "UA16 for 152 euros, lunch is 12 euros.")
    assert found.vetoed
    assert (found.reward, found.cause, found.evidence) == (0.0, "hallucination", "12")


def test_a_right_guess_without_a_look_is_vetoed() -> None:
    found = verdict(task_of("flight"), "UA16 for 152 euros.")
    assert isinstance(found, Scored)
    assert (found.vetoed, found.outcome, found.evidence) == (True, 1.0, "UA16")
