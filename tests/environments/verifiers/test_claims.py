"""What an answer claims, by type: numbers with units, codes, names and closed-vocabulary words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.task import Fact
from environments.verifiers.claims import claims, states


def found(answer: str) -> list[tuple[str, str, str | None]]:
    return [(c.kind, c.value, c.unit) for c in claims(answer)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("cloudy, 26 degrees.", [("word", "cloudy", None), ("number", "26", "degrees")]),
        ("-4 degrees", [("number", "-4", "degrees")]),
        ("1 degree", [("number", "1", "degrees")]),
        ("26 °C or 26C", [("number", "26", "degrees"), ("number", "26", "degrees")]),
        ("UA16 for 152 euros", [("code", "UA16", None), ("number", "152", "euros")]),
        ("152 EUR", [("number", "152", "euros")]),
        ("524 km, 358 min", [("number", "524", "km"), ("number", "358", "minutes")]),
        ("Cobb Museum, rated 9.3.", [("name", "Cobb Museum", None), ("number", "9.3", "rating")]),
        ("a rating of 9.3", [("number", "9.3", "rating")]),
        ("The Cobb Museum", [("name", "Cobb Museum", None)]),
        ("Yes, sunny", [("word", "yes", None), ("word", "sunny", None)]),
        ("SUNNY", [("word", "sunny", None)]),
        ("the train is cheaper", [("word", "train", None)]),
        ("14-16 degrees", [("number", "14", None), ("number", "16", "degrees")]),
        ("I cannot do that with these tools.", []),
        ("", []),
    ],
)
def test_claims_are_read_by_type(answer: str, expected: list[tuple[str, str, str | None]]) -> None:
    assert found(answer) == expected


@pytest.mark.parametrize(
    ("answer", "unit"),
    [
        ("152 dollars", "dollars"), ("$152", "dollars"), ("£152", "pounds"), ("152 pounds", "pounds"),
        ("358 hours", "hours"), ("358 h", "hours"), ("524 miles", "miles"), ("524 m", "metres"),
        ("26 degrees Fahrenheit", "fahrenheit"), ("26 °F", "fahrenheit"), ("26 F", "fahrenheit"),
    ],
)  # fmt: skip
def test_a_unit_that_no_tool_returns_is_still_a_unit(answer: str, unit: str) -> None:
    [(kind, _, claimed)] = [c for c in found(answer) if c[0] == "number"]
    assert (kind, claimed) == ("number", unit)
    for asked in ("euros", "minutes", "km", "degrees"):
        value = "".join(filter(str.isdigit, answer))
        assert not states(answer, Fact(kind="number", value=value, unit=asked))


@pytest.mark.parametrize(
    ("answer", "stated"),
    [("4 degrees", True), ("4", True), ("4.0 degrees", True), ("41 degrees", False), ("14 degrees", False),
     ("-4 degrees", False), ("4.5 degrees", False), ("4 euros", False), ("U4", False), ("24 or 4", True)],
)  # fmt: skip
def test_a_number_is_compared_as_a_number_with_its_unit(answer: str, stated: bool) -> None:
    assert states(answer, Fact(kind="number", value="4", unit="degrees")) is stated


@pytest.mark.parametrize(
    ("answer", "stated"),
    [("Rome, 20 degrees", True), ("rome", True), ("Romeville", False), ("in Rome.", True), ("Jerome", False)],
)
def test_a_name_is_compared_as_whole_words(answer: str, stated: bool) -> None:
    assert states(answer, Fact(kind="name", value="Rome")) is stated


def test_codes_and_words_are_compared_exactly() -> None:
    assert states("UA16", Fact(kind="code", value="UA16"))
    assert not states("UA160", Fact(kind="code", value="UA16"))
    assert states("ua16", Fact(kind="code", value="UA16")), "a rival code is no less a claim in small letters"
    assert not states("unsunny", Fact(kind="word", value="sunny"))


@pytest.mark.parametrize(
    ("said", "value", "unit"),
    [
        ("two hundred euros", "200", "euros"), ("One hundred and fifty-two Euros", "152", "euros"),
        ("about twelve degrees", "12", "degrees"), ("three thousand four hundred km", "3400", "km"),
        ("twenty-one minutes", "21", "minutes"),
    ],
)  # fmt: skip
def test_numbers_in_words_are_numbers(said: str, value: str, unit: str) -> None:
    (found,) = [c for c in claims(said) if c.kind == "number"]
    assert (found.value, found.unit) == (value, unit)
    assert said[found.start : found.end].lower().startswith(("two", "one", "twelve", "three", "twenty"))


def test_words_that_count_nothing_are_no_numbers() -> None:
    assert [c for c in claims("one of the two trains") if c.kind == "number"] == []


@given(st.text(max_size=80))
def test_any_answer_can_be_read_and_spans_point_into_it(answer: str) -> None:
    for claim in claims(answer):
        assert 0 <= claim.start <= claim.end <= len(answer)


@given(st.integers(-99, 9999), st.sampled_from(["euros", "degrees", "km", "minutes"]))
def test_a_stated_number_is_found_in_any_sentence(value: int, unit: str) -> None:
    fact = Fact(kind="number", value=str(value), unit=unit)
    assert states(f"It is {value} {unit} from there.", fact)
    assert not states(f"It is {value}1 {unit} from there.", fact)
    assert not states(f"It is {value + 1} {unit} from there.", fact)


@pytest.mark.parametrize(
    ("said", "value"), [("一万万元", 1e8), ("二十万元", 2e5), ("一万五元", 15000), ("三万零五元", 30005)]
)
def test_ten_thousands_of_ten_thousands_are_read(said: str, value: float) -> None:
    assert [float(c.value) for c in claims(said)] == [value]


def test_words_that_only_look_like_numerals_break_nothing() -> None:
    assert claims("万万没想到，千万不要，万万千千百百十十元") is not None
