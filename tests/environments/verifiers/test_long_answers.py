"""Grading stays fast whatever an agent writes: no answer, however long or odd, holds up thousands of others."""

import time

import pytest

from environments.episode import Step
from environments.task import Fact
from environments.verifiers.commitment import taken_back
from environments.verifiers.veto import Said, Setting, findings
from tests.environments.builders import flights

OFFERS = Step(flights(), [{"number": "UA16", "price": 152, "departs": "09:05"}, {"number": "AF48", "price": 247}])
SETTING = Setting({"price": "euros"}, "", "2026-06-10")
LIMIT_S = 4.0
"""Each takes well under a second on a quiet machine; before long runs were bounded, from 20 seconds to minutes."""


@pytest.mark.parametrize(
    "said",
    [
        "one hundred " * 1500,
        "1 " * 6000,
        "09:05 " * 2500,
        "152 euros " * 2500,
        "a.b-" * 12000,
        "A-1-" * 9000,
        "- UA16 costs 152 euros and leaves at 09:05; for two people 304 euros.\n" * 500,
    ],
    ids=lambda text: text[:12].strip(),
)
@pytest.mark.parametrize("tail", ["", "好"], ids=["english", "chinese"])
def test_a_long_answer_is_graded_in_seconds(said: str, tail: str) -> None:
    begun = time.perf_counter()
    next(findings([Said(said + tail, 1, ("",))], [OFFERS], SETTING), None)
    assert time.perf_counter() - begun < LIMIT_S


@pytest.mark.parametrize("said", ["cloudy " * 8000, "26 degrees " * 5000, "cloudy. " * 8000, "I am not " * 8000])
def test_a_long_answer_is_read_for_doubts_in_seconds(said: str) -> None:
    facts = (Fact(kind="word", value="cloudy"), Fact(kind="number", value="26", unit="degrees"))
    begun = time.perf_counter()
    taken_back(said, facts)
    assert time.perf_counter() - begun < LIMIT_S
