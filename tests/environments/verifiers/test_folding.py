"""Signs of other keyboards: full-width digits and punctuation are read like those of ASCII, at the same places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.episode import Step
from environments.task import Fact
from environments.verifiers.claims import claims, states
from environments.verifiers.folding import folded
from environments.verifiers.veto import Said, Setting, findings
from tests.environments.builders import flights

OFFERS = Step(flights(), [{"number": "UA16", "price": 152, "departs": "10:30"}])
SETTING = Setting({"price": "euros"}, "", "2026-06-10")


def spans(said: str) -> list[str]:
    return [found.span for _, found in findings([Said(said, 1, ("",))], [OFFERS], SETTING)]


@pytest.mark.parametrize("number", ["１５３", "𝟭𝟱𝟯", "١٥٣", "१५३"])
def test_a_number_in_other_digits_is_still_a_number(number: str) -> None:
    assert spans(f"UA16 costs {number} euros") == [number], "shown as it was written"
    assert states(f"{number} euros", Fact(kind="number", value="153", unit="euros"))


def test_what_is_right_is_right_in_any_digits() -> None:
    assert spans("ＵＡ１６ costs １５２ euros") == []
    assert spans("UA16：１５２欧元，１０：３０出发！") == []


def test_a_chinese_colon_makes_a_time_and_a_chinese_comma_no_thousands() -> None:
    assert [(c.kind, c.value) for c in claims("10：30出发")] == [("time", "10:30")]
    assert spans("UA16在10：45起飞") == ["10：45"]
    assert [c.value for c in claims("共12，118欧元") if c.kind == "number"] == ["12", "118"]


@given(st.text())
def test_folding_keeps_every_place_and_is_done_once(text: str) -> None:
    assert len(folded(text)) == len(text)
    assert folded(folded(text)) == folded(text)


@pytest.mark.parametrize("said", ["5 m²", "①UA16 ②AF48", "H₂O", "½ hour"])
def test_signs_that_are_no_digits_stay(said: str) -> None:
    assert folded(said) == said
