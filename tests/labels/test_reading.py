"""What is read of a request besides its constraints: masks, features, and slips of the finger."""

from itertools import chain, zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.labels.constraints import constraints_of, extract, read
from assets.labels.features import SLOTS, features_of
from assets.labels.masking import masked
from assets.labels.spelling import cut_as_meant
from assets.labels.words import cut, lexicon


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("Weather in Lagos on June 12?", "weather in somewhere someday"),
        ("flight from Rome to Oslo, 300 euros", "flight from somewhere to somewhere number euros"),
        ("明天北京天气怎么样", "某天某地天气怎么样"),
        ("???", "nothing"),
    ],
)
def test_particulars_are_masked(text: str, mask: str) -> None:
    assert masked(read(text)) == mask


def test_features_name_slots_and_signals() -> None:
    reading = read("is the flight or the train from Rome to Oslo cheaper tomorrow")
    features = features_of(reading, constraints_of(reading))
    assert features >= {"flight", "train", "two_modes", "journey", "city", "day", "cheapest"}
    assert features <= SLOTS | set(lexicon()["signals"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("wether", "weather"), ("fligth", "flight"), ("musuem", "museum"), ("bset", "best"), ("beest", "best")],
)
def test_slips_in_words_of_the_lexicon_are_read_as_meant(typed: str, meant: str) -> None:
    assert cut_as_meant(typed).folded == [meant]


@given(st.text("aZé9 ?.!,'北-", max_size=30))
def test_words_and_gaps_make_the_text_and_no_way_of_cutting_differs(text: str) -> None:
    words, other = cut(text), cut(f"{text}。")  # what ends so is cut the long way
    assert "".join(chain.from_iterable(zip_longest(words.gaps, words.raw, fillvalue=""))) == text
    assert (words.folded, words.raw, words.numbers) == (other.folded, other.raw, other.numbers)
    assert [*words.gaps[:-1], f"{words.gaps[-1]}。"] == other.gaps


@pytest.mark.parametrize("word", ["funny", "springfeld", "lodnon", "turin", "vest", "zzzz"])
def test_other_words_and_places_are_left_alone(word: str) -> None:
    assert cut_as_meant(word).folded == [word]


def test_what_was_written_stays_in_the_constraints_text() -> None:
    day = extract("weather in Rome tomorow").date
    assert day is not None
    assert (day.text, day.value) == ("tomorow", "tomorrow")
