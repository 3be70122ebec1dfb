"""A judge against marks: macro over both classes, what passes wrongly, agreement beyond chance, and their intervals."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.episode import Attempt
from environments.judge import Asked, Grade, NoGrade
from environments.judges.agreement import Compared, agreement, compared, false_pass, kappa, macro_f1
from environments.judges.marked import Labelled
from environments.verifiers.rubric import Rubrics
from tests.environments.builders import task_of

ATTEMPT = Attempt(task_of("weather").model_copy(update={"rubric": "retrieval"}), 0, 0, answer="cloudy")


def item(source: str = "one", **marks: bool | None) -> Labelled:
    return Labelled(f"{source}-x", "gold", "en", source, ATTEMPT, marks)


def rows(*cells: tuple[bool, bool | None, int]) -> list[Compared]:
    """(marked good, passed or no grade, how often), each of a source of its own."""
    grade = {True: Grade("fine", 1.0), False: Grade("less", 0.75), None: NoGrade("timeout")}
    every = [(good, passed) for good, passed, times in cells for _ in range(times)]
    return [Compared(item(f"s{i}"), "service", good, grade[passed]) for i, (good, passed) in enumerate(every)]


def test_known_figures() -> None:
    found = agreement(rows((True, True, 6), (True, False, 2), (False, True, 1), (False, False, 11)))
    assert found.macro_f1.value == pytest.approx((12 / 15 + 22 / 25) / 2)
    assert found.false_pass.value == pytest.approx(1 / 12)
    assert found.false_fail.value == pytest.approx(2 / 8)
    assert found.kappa.value == pytest.approx((17 / 20 - (7 / 20 * 8 / 20 + 13 / 20 * 12 / 20)) / (1 - 0.53))
    assert (found.items, found.invalid, found.good) == (20, 0, 8)


def test_a_judge_that_passes_everything_is_not_saved_by_the_majority() -> None:
    found = agreement(rows((True, True, 90), (False, True, 10)))
    assert found.macro_f1.value == pytest.approx(0.5 * 180 / 190)
    assert (found.false_pass.value, found.kappa.value) == (1.0, 0.0)


def test_a_grade_that_was_not_given_is_counted_and_left_out() -> None:
    whole = rows((True, True, 6), (False, False, 4))
    found = agreement([*whole, *rows((True, None, 3), (False, None, 5))])
    assert (found.items, found.invalid) == (10, 8)
    assert found[3:] == agreement(whole)[3:]
    with pytest.raises(ValueError, match="none of 2 marks has a grade"):
        agreement(rows((True, None, 2)))


def test_only_nothing_to_object_to_passes() -> None:
    nearly = [Compared(item(), "service", True, Grade("nearly", 0.99))]
    assert agreement(nearly).false_fail.value == 1.0


def test_an_interval_holds_its_value_and_narrows_with_more_sources() -> None:
    few = agreement(rows((True, True, 9), (True, False, 1), (False, False, 9), (False, True, 1)))
    many = agreement(rows((True, True, 90), (True, False, 10), (False, False, 90), (False, True, 10)))
    for one in (few, many):
        assert one.macro_f1.low <= one.macro_f1.value <= one.macro_f1.high
    assert many.macro_f1.high - many.macro_f1.low < few.macro_f1.high - few.macro_f1.low
    assert few == agreement(rows((True, True, 9), (True, False, 1), (False, False, 9), (False, True, 1)))


def test_episodes_of_one_source_are_no_independent_sample() -> None:
    apart = rows((True, True, 40), (True, False, 40))
    bound = [one._replace(item=item(f"s{i % 4}")) for i, one in enumerate(apart)]
    wide, narrow = agreement(bound).false_fail, agreement(apart).false_fail
    assert wide.value == narrow.value
    whole = [one._replace(item=item("right" if isinstance(one.grade, Grade) and one.grade.is_perfect else "wrong"))
             for one in apart]  # fmt: skip
    assert agreement(whole).false_fail.high - agreement(whole).false_fail.low > narrow.high - narrow.low


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(any))
def test_figures_stay_in_their_ranges(cells: list[int]) -> None:
    counts = np.array([cells], dtype=float)
    assert 0.0 <= macro_f1(counts)[0] <= 1.0
    assert 0.0 <= false_pass(counts)[0] <= 1.0
    assert -1.0 <= kappa(counts)[0] <= 1.0 + 1e-9


class Remembers:
    """Passes everything, and remembers what it was asked."""

    version = "remembers"

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """Fine."""
        self.asked += asked
        return [Grade("fine", 1.0)] * len(asked)


def test_a_mark_that_is_open_is_not_asked_about() -> None:
    judge = Remembers()
    found = compared(judge, [item(reasoning=True, fidelity=None, service=False)], Rubrics())
    assert [(one.dimension, one.good) for one in found] == [("reasoning", True), ("service", False)]
    assert [one.question.kind for one in judge.asked] == ["reasoning", "service"]
