"""The same number, code, date or volume in several writings is held against what was shown, and another one is not."""

import pytest

from environments.episode import Step
from environments.task import Call
from environments.verifiers.veto import Said, Setting, findings

RETURNED = {
    "flight": "UA16", "gate": "B 12", "price": 1299, "departs_on": "2026-06-12", "returns_on": "2026-12-24",
    "tank_litres": 55, "minutes": 41, "left": 42, "station": "北京南站",
}  # fmt: skip


def vetoed(answer: str) -> list[str]:
    steps = [Step(Call(name="search", arguments={"to": "London"}), RETURNED)]
    setting = Setting({"price": "euros", "minutes": "minutes"}, "", "2026-06-01", frozenset({"search"}))
    return [f.span for _, f in findings([Said(answer, 1, ("A flight to London, please.",))], steps, setting)]


@pytest.mark.parametrize(
    "said",
    [
        "It costs 1 299 euros.", "It costs 1\u2009299 euros.", "It costs 1\u202f299 €.", "It costs 1'299 euros.",
        "It costs 1,299 euros.", "票价1 299欧元。", "Your flight is UA 16.", "Your flight is UA16 from gate B12.",
        "Your flight is UA-16.", "You leave on 12/06/2026.", "You leave on 06/12/2026.", "You return on 24/12/2026.",
        "The tank holds 55 litres.", "油箱55升。", "油箱大约55升。", "The tank holds about 55 litres.",
        "约55 000毫升。",
    ],
)  # fmt: skip
def test_careful_writings_are_supported(said: str) -> None:
    assert vetoed(said) == []


@pytest.mark.parametrize(
    ("said", "span"),
    [
        ("It costs 1 399 euros.", "1 399"), ("票价1 399欧元。", "1 399欧元"), ("Your flight is UA 61.", "UA 61"),
        ("Gate B 21.", "B 21"), ("You leave on 13/06/2026.", "13/06/2026"), ("You leave on 07/12/2026.", "07/12/2026"),
        ("油箱大约40升。", "40升"), ("大约40桶水。", "40"), ("The tank holds about 40 litres.", "40"),
        ("The tank holds about 43 litres.", "43"), ("油箱56升。", "56升"),
    ],
)  # fmt: skip
def test_other_values_are_not(said: str, span: str) -> None:
    assert any(span in found or found in span for found in vetoed(said)), vetoed(said)
