"""The classifier and its calibration on points whose answer is known."""

import numpy as np
import pytest

from assets.labels.classifier import calibrate, fit, held_out_probabilities


def blobs(per_class: int, *, spread: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = np.eye(3) * 2
    label = np.repeat(np.arange(3), per_class)
    return centres[label] + spread * rng.normal(size=(3 * per_class, 3)), label


def test_classes_apart_are_told_apart() -> None:
    points, label = blobs(20)
    model = fit(points, label, 3, decay=1e-4)
    assert (model.probabilities(points).argmax(axis=1) == label).all()
    np.testing.assert_allclose(model.probabilities(points).sum(axis=1), 1.0)


def test_a_class_without_examples_is_never_chosen() -> None:
    points, label = blobs(20)
    assert (fit(points, label, 5, decay=1e-4).probabilities(points).argmax(axis=1) < 3).all()


def test_held_out_probabilities_are_less_sure_than_those_of_seen_points() -> None:
    points, label = blobs(10, spread=1.5)
    seen = fit(points, label, 3, decay=1e-4).probabilities(points)
    unseen = held_out_probabilities(points, label, 3, decay=1e-4)
    rows = np.arange(len(label))
    assert unseen[rows, label].mean() < seen[rows, label].mean()


def test_calibration_makes_an_overconfident_answer_honest() -> None:
    rng = np.random.default_rng(1)
    stated = np.full(2000, 0.95)
    right = rng.random(2000) < 0.7
    calibration = calibrate(stated, right, np.zeros(2000, dtype=bool))
    assert calibration.confidence(stated, np.zeros(2000, dtype=bool)).mean() == pytest.approx(0.7, abs=0.03)


def test_without_data_calibration_changes_nothing() -> None:
    calibration = calibrate(np.empty(0), np.empty(0, dtype=bool), np.empty(0, dtype=bool))
    given = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(calibration.confidence(given, np.array([True, False, True])), given, atol=1e-6)
