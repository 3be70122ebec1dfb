"""The grounding check: on labelled claims, in several turns, on calculators and errors, and on any text."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.episode import Attempt, Exchange, Step
from environments.verifiers.claim import BLANK, Claim
from environments.verifiers.claims import _LATIN, _TERSE, _read, _rules, claims, shared
from environments.verifiers.veto import Said, Setting, findings, turns_of
from environments.world import today_of
from tests.environments.builders import call, task_of
from tests.environments.verifiers.labelled import labelled, rates

SHOP = Setting({"price": "euros"}, "Today is 2026-06-10. Returns are free within 30 days of delivery.", "2026-06-10")
ROWS = [{"item": "Oak Desk", "price": 180.5}, {"item": "Pine Shelf", "price": 64}, {"item": "Ash Stool", "price": 39}]
FLOOR = {"tuned": 0.96, "held_back": 0.9}
"""Precision and recall below which the check has become worse; the bench gives the figures themselves."""


def spans(
    *said: str, steps: Sequence[Step] = (Step(call("find_items"), ROWS),), heard: str = "", setting: Setting = SHOP
) -> list[str]:
    """The words without evidence in what was said after all steps."""
    turns = [Said(text, len(steps), (heard,)) for text in said]
    return [f.span for _, f in findings(turns, steps, setting)]


@pytest.mark.parametrize("part", FLOOR)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_labelled_claims_are_told_apart(part: str, language: str) -> None:
    cases = [c for c in labelled(part) if c.language == language]
    found = rates(cases)
    assert len(cases) >= 100
    assert 0.4 < sum(bool(c.span) for c in cases) / len(cases) < 0.6, "half of them are traps"
    assert min(found["precision"], found["recall"]) >= FLOOR[part], found
    assert found["right span"] >= 0.95


def test_a_finding_names_its_kind_and_the_nearest_evidence() -> None:
    turns = [Said("The Oak Desk costs 185 euros.", 1, ("",))]
    [(_, found)] = findings(turns, [Step(call("find_items"), ROWS)], SHOP)
    assert (found.span, found.type, found.nearest) == ("185", "money", "price 180.5 (find_items)")


def test_a_value_of_another_row_is_misplaced() -> None:
    turns = [Said("The Pine Shelf costs 39 euros.", 1, ("",))]
    [(_, found)] = findings(turns, [Step(call("find_items"), ROWS)], SHOP)
    assert found.misplaced
    assert found.nearest == "that is price 39 (find_items); here: price 64 (find_items)"


def test_each_turn_is_held_against_what_had_been_seen_by_then() -> None:
    steps = [Step(call("find_items"), ROWS)]
    attempt = Attempt(task_of("flight"), 0, 0, steps, "It costs 64 euros.")
    attempt.exchanges = [Exchange(0, "It costs 64 euros.", "Sure?"), Exchange(1, "It costs 64 euros.", "Thanks.")]
    early = list(findings(turns_of(attempt), steps, SHOP))
    assert [(turn.steps, f.span) for turn, f in early] == [(0, "64")], "said before the tool was asked"


def test_a_calculator_is_worth_no_more_than_what_goes_in() -> None:
    sound = Step(call("calculate", expression="180.5 + 64"), "244.5")
    made_up = Step(call("calculate", expression="77 * 3"), "231.0")
    shown = Step(call("find_items"), ROWS)
    assert spans("That is 244.50 euros.", steps=[shown, sound]) == []
    assert spans("That is 231 euros.", steps=[shown, made_up]) == ["231"]


def test_an_error_grounds_the_numbers_that_the_call_did_not_bring() -> None:
    refused = Step(call("pay", amount=90), "Error: total price is 104, but paid 90")
    assert spans("The total is 104 euros.", steps=[refused]) == []
    assert spans("You have paid 90 euros.", steps=[refused]) == ["90"]


def test_a_difference_of_prices_is_no_price() -> None:
    assert spans("The desk is 116.50 euros dearer than the shelf.") == []
    assert spans("The Ash Lamp costs 116.50 euros.") == ["Ash Lamp", "116.50"]


def test_the_date_of_the_world_is_read_from_the_policy() -> None:
    assert today_of("The current time is 2024-05-15 15:00:00 EST.") == "2024-05-15"
    assert today_of("Be kind.") == ""


def test_a_day_that_does_not_exist_is_no_date() -> None:
    assert [c.kind for c in claims("on 2026-02-29")] != ["date"]
    assert spans("Return it by February 29.") == ["February 29"]


@pytest.mark.parametrize(
    ("said", "value", "unit"),
    [
        ("$1,234.56", "1234.56", "dollars"), ("1.234,56 €", "1234.56", "euros"), ("152,50 euros", "152.50", "euros"),
        ("3千元", "3000", "yuan"), ("一百二十元", "120", "yuan"), ("两百块", "200", "yuan"),
        ("1.2万元", "12000", "yuan"), ("三块五", "3.5", "yuan"),
        ("1.3k euros", "1300", "euros"), ("50 cents", "50", "cents"),
        ("an hour and a half", "1.5", "hours"), ("1 h 30 min", "90", "minutes"), ("half an hour", "0.5", "hours"),
        ("两个半小时", "150", "minutes"), ("1小时42分", "102", "minutes"), ("一刻钟", "15", "minutes"),
        ("百分之十五", "15", "percent"), ("三成", "30", "percent"), ("九折", "9", "discount"),
        ("零下11度", "-11", "degrees"),
        ("七百五十米", "750", "metres"), ("ten business days", "10", "business days"),
        ("12.4 kg", "12.4", "kg"),
    ],
)  # fmt: skip
def test_quantities_are_read_in_both_languages(said: str, value: str, unit: str) -> None:
    [found] = [c for c in claims(said) if c.kind == "number"]
    assert (found.value, found.unit) == (value, unit)


@pytest.mark.parametrize(
    ("said", "kind", "value"),
    [
        ("June 12", "date", "06-12"), ("12 June 2026", "date", "2026-06-12"), ("2026-06-12", "date", "2026-06-12"),
        ("6月12日", "date", "06-12"),
        ("二〇二六年六月十二号", "date", "2026-06-12"),
        ("06/12/2026", "date", "2026-06-12"),
        ("14:05", "time", "14:05"), ("2:05 pm", "time", "14:05"), ("12 am", "time", "00:00"),
        ("下午两点", "time", "14:00"),
        ("晚上九点半", "time", "21:30"), ("十点一刻", "time", "10:15"),
        ("#W8829310", "code", "#W8829310"),
        ("HAT136", "code", "HAT136"), ("credit_card_4421486", "code", "CREDIT_CARD_4421486"),
        ("the 3rd flight", "ordinal", "3"),
    ],
)  # fmt: skip
def test_dates_times_and_codes_are_read(said: str, kind: str, value: str) -> None:
    assert (kind, value) in [(c.kind, c.value) for c in claims(said)]
    assert [c for c in claims(said) if c.kind == "number"] == []


def test_the_first_number_of_a_range_has_the_unit_of_the_second() -> None:
    assert [(c.value, c.unit) for c in shared("14-16 degrees")] == [("14", "degrees"), ("16", "degrees")]


@given(st.text(alphabet="abcdeUA16 254.,-€$%:kmhour", max_size=40))
def test_terse_answers_are_read_alike_by_the_few_rules_and_by_all(answer: str) -> None:
    def read(rules: Sequence[object]) -> list[Claim]:
        """What the rules make of the answer."""
        found: list[Claim] = []
        rest = answer
        for rule in rules:
            rest = _read(rule, rest, found)  # type: ignore[arg-type]
        return sorted(found, key=lambda c: (c.start, c.end))

    if BLANK not in answer and _rules(answer) is _TERSE:
        assert read(_TERSE) == read(_LATIN)


@settings(max_examples=60)
@given(
    st.text(max_size=60), st.text(alphabet="0123456789月日号点分个半小时元年/-: Feb29Maypmth,.第二折成", max_size=40)
)
def test_no_text_breaks_the_check(said: str, heard: str) -> None:
    found = findings([Said(said + " " + heard, 1, (heard,))], [Step(call("find_items"), [{"note": said}])], SHOP)
    assert all(0 <= f.start <= f.end for _, f in found)


def test_a_bare_number_is_compared_with_the_number_shown_whatever_its_unit() -> None:
    way = [Step(call("map_compute_routes"), [{"mode": "driving", "km": 524, "minutes": 358}])]
    setting = Setting({"km": "km", "minutes": "minutes"})
    assert spans("524", "358", steps=way, setting=setting) == []
    assert spans("525", "524000", steps=way, setting=setting) == ["525", "524000"]


def test_a_setting_without_a_policy_or_units_is_enough() -> None:
    assert spans("It costs 64 euros.", setting=replace(SHOP, units={}, policy="", today="")) == []


TRAIN = Step(
    call("find_trains"), [{"train": "R7", "departs": "18:30", "price": 1299.0, "sky": "cloudy", "date": "2026-06-12"}]
)


@pytest.mark.parametrize(
    ("said", "heard", "wrong"),
    [
        ("R7 leaves at half past six in the evening.", "", []),
        ("R7 leaves at half past five in the evening.", "", ["half past five in the evening"]),
        ("R7 leaves at a quarter to seven.", "", ["quarter to seven"]),
        ("R7 costs 1'299 euros.", "", []),
        ("R7 costs 1'399 euros.", "", ["1'399"]),
        ("R7 leaves on 12.06.2026.", "", []),
        ("R7 leaves on 13.06.2026.", "", ["13.06.2026"]),
        ("R7 leaves the day after tomorrow.", "", []),
        ("R7 leaves the day before yesterday.", "", ["day before yesterday"]),
        ("No, it will not be sunny.", "Will it be sunny?", []),
        ("It will not be sunny.", "Which train?", ["sunny"]),
        ("R7 does not cost 200 euros.", "Is R7 200 euros?", []),
        ("R7 does not cost 200 euros.", "What is R7?", ["200"]),
    ],
)
def test_what_a_careful_person_reads_is_read(said: str, heard: str, wrong: list[str]) -> None:
    assert spans(said, steps=[TRAIN], heard=heard) == wrong
