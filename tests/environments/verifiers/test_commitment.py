"""An answer counts where it stands by what it states: what people say around it costs nothing, taking it back does."""

import re
from pathlib import Path

import pytest
import yaml

from environments.task import Fact
from environments.verifiers.commitment import taken_back

CLOSINGS = yaml.safe_load((Path(__file__).parent / "closings.yaml").read_text(encoding="utf-8"))
FACTS = (Fact(kind="word", value="cloudy"), Fact(kind="number", value="26", unit="degrees"))
RIGHT = yaml.safe_load((Path(__file__).parent / "right_answers.yaml").read_text(encoding="utf-8"))
HAN = re.compile("[\u4e00-\u9fff]")


def around(said: str) -> str:
    """A right answer with these words around it, in their language."""
    if HAN.search(said):
        return said.format(fact="多云，26度。", bare="多云，26度")
    return said.format(fact="Cloudy, 26 degrees.", bare="cloudy at 26 degrees")


def rate(said: list[str], *, good: bool) -> float:
    """How many of them are taken wrongly."""
    return sum((taken_back(around(s), FACTS) is None) is not good for s in said) / len(said)


@pytest.mark.parametrize(("part", "most_passed"), [("", 0.1), ("held_back_", 0.25)])
def test_what_people_say_around_a_right_answer_is_told_from_taking_it_back(part: str, most_passed: float) -> None:
    good, bad = CLOSINGS[f"{part}good"], CLOSINGS[f"{part}bad"]
    assert min(len(good), len(bad)) >= 20
    assert rate(good, good=True) == 0, [s for s in good if taken_back(around(s), FACTS)]
    assert rate(bad, good=False) <= most_passed, [s for s in bad if not taken_back(around(s), FACTS)]


def test_right_answers_in_the_wording_of_customer_service_stand() -> None:
    said = [([Fact(**f) for f in one["facts"]], answer) for one in RIGHT for answer in one["answers"]]
    wrong = {answer: found for facts, answer in said if (found := taken_back(answer, facts))}
    assert len(wrong) <= 0.02 * len(said), wrong


def test_words_it_has_never_seen_cost_a_right_answer_nothing() -> None:
    assert rate(CLOSINGS["last_good"], good=True) <= 0.1


def test_it_says_which_words() -> None:
    assert taken_back("Cloudy, 26 degrees. Hm, I made that up.", FACTS) == "I made that up"
    assert taken_back("It is not cloudy, 26 degrees.", FACTS) == "is not cloudy"
    assert taken_back("No: not sunny but cloudy, 26 degrees.", FACTS) is None


@pytest.mark.parametrize(
    "said", ["Now it is cloudy, 26 degrees.", "Norwich is cloudy at 26 degrees.", "Nordic air: cloudy."]
)
def test_a_word_that_begins_like_a_denial_is_none(said: str) -> None:
    assert taken_back(said, FACTS) is None
