"""Figures of agreement against values worked out by hand."""

import polars as pl
import pytest

from assets.labels.agreement import against_truth, agreement, calibration_error, cohens_kappa, precision_recall


def test_accuracy_is_taken_at_every_level_and_confusion_is_listed() -> None:
    given = ["a.x.1", "a.x.2", "a.y.1", "b.z.1"]
    true = ["a.x.1", "a.x.1", "a.x.1", "a.x.1"]
    found = agreement(given, true, [1.0] * 4)
    assert (found.accuracy, found.level2, found.level1) == (0.25, 0.5, 0.75)
    assert found.confused[0] == ("a.x.1", "a.x.2", 1)
    assert found.requests == 4


def test_kappa_is_that_of_the_textbook_example() -> None:
    left = ["yes"] * 25 + ["no"] * 25
    right = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohens_kappa(left, right) == pytest.approx(0.4)
    assert cohens_kappa(left, left) == 1.0
    assert cohens_kappa(["a"], ["a"]) == 1.0


def test_calibration_error_is_the_gap_between_stated_and_shown() -> None:
    assert calibration_error([0.75] * 4, [True, True, True, False]) == pytest.approx(0.0)
    assert calibration_error([0.95] * 2 + [0.15] * 2, [False, False, True, True]) == pytest.approx(0.9)
    assert calibration_error([1.0], [True]) == 0.0


def test_precision_and_recall_of_irrelevance() -> None:
    assert precision_recall([True, True, False, False], [True, False, True, False]) == (0.5, 0.5)
    assert precision_recall([False], [False]) == (1.0, 1.0)
    found = agreement(["irrelevant", "a.b"], ["irrelevant", "irrelevant"], [1.0, 1.0])
    assert (found.irrelevance_precision, found.irrelevance_recall) == (1.0, 0.5)


def test_second_intents_are_compared_with_their_absence() -> None:
    found = agreement(["a", "a"], ["a", "a"], [1.0, 1.0], [None, "b"], [None, None])
    assert found.secondary == 0.5


def test_a_request_of_many_lines_has_the_truth_of_most_of_them() -> None:
    labels = pl.DataFrame(
        {"query_id": ["q1", "q2"], "primary": ["a", "b"], "secondary": [None, "c"], "confidence": [0.9, 0.8]},
        schema_overrides={"secondary": pl.String},
    )
    occurrences = pl.DataFrame({"raw_id": ["1", "2", "3", "4"], "query_id": ["q1", "q1", "q1", "q2"]})
    truth = pl.DataFrame(
        {"raw_id": ["1", "2", "3", "4"], "leaf": ["a", "z", "a", "b"], "secondary": [None, None, None, "c"]}
    )
    found = against_truth(labels, occurrences, truth)
    assert (found.requests, found.accuracy, found.secondary) == (2, 1.0, 1.0)


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="must pair up, got 0, 0 and 0"):
        agreement([], [], [])
