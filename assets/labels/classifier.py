"""A linear classifier over a few hundred labelled examples, and what its confidence is worth.

Multinomial logistic regression: with ten examples a class it is better than the nearest examples themselves, and it is
fitted in about a second. Its probabilities are recalibrated on examples that were held out in turn, so that a stated .8
is right four times in five among requests like the examples.

Shapes: N examples, F features, L classes, Q requests.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

_FOLDS = 5
_DIGITS = 4
"""Weights are rounded, so that the rounding of one machine's arithmetic does not reach the labels."""


class Classifier(NamedTuple):
    """Weights of a fitted softmax regression; the last row is the bias."""

    weights_FL: Matrix

    def probabilities(self, features_QF: Matrix) -> Matrix:
        """Class probabilities, shape (Q, L)."""
        return _softmax(features_QF @ self.weights_FL[:-1] + self.weights_FL[-1])


class Calibration(NamedTuple):
    """Turns a probability into the share of such answers that are right: a line in log odds, one per stratum."""

    slope: tuple[float, float]
    offset: tuple[float, float]

    def confidence(self, probability_Q: Matrix, stratum_Q: NDArray[np.bool_]) -> Matrix:
        """The calibrated confidence of each answer, in (0, 1)."""
        slope_Q = np.where(stratum_Q, self.slope[1], self.slope[0])
        offset_Q = np.where(stratum_Q, self.offset[1], self.offset[0])
        return 1.0 / (1.0 + np.exp(-(slope_Q * _log_odds(probability_Q) + offset_Q)))


def fit(features_NF: Matrix, class_N: NDArray[np.int64], classes: int, *, decay: float) -> Classifier:
    """Fit by L-BFGS; classes of many examples count by the square root of their number.

    Args:
        features_NF: one row per example.
        class_N: class of each example, 0 <= class < classes.
        classes: number of classes L; one without examples gets no probability worth speaking of.
        decay: weight of the squared weights in the loss.
    """
    from scipy.optimize import minimize

    with_bias = np.hstack([features_NF, np.ones((len(features_NF), 1))])
    shape = (with_bias.shape[1], classes)
    target_NL = np.eye(classes)[class_N]
    weight_N = 1.0 / np.sqrt(np.bincount(class_N, minlength=classes))[class_N]
    weight_N /= weight_N.sum()

    def _loss(flat: Matrix) -> tuple[float, Matrix]:
        weights_FL = flat.reshape(shape)
        probability_NL = _softmax(with_bias @ weights_FL)
        penalty_FL = 2 * decay * weights_FL
        penalty_FL[-1] = 0.0
        miss = -(weight_N * np.log(np.maximum(probability_NL[np.arange(len(class_N)), class_N], 1e-300))).sum()
        slope_FL = with_bias.T @ (weight_N[:, None] * (probability_NL - target_NL)) + penalty_FL
        return float(miss + (penalty_FL * weights_FL).sum() / 2), slope_FL.ravel()

    found = minimize(_loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return Classifier(np.round(found.x.reshape(shape), _DIGITS))


def held_out_probabilities(features_NF: Matrix, class_N: NDArray[np.int64], classes: int, *, decay: float) -> Matrix:
    """What a classifier that has not seen an example says of it, shape (N, L); every fifth example held out in turn."""
    fold_N = np.empty(len(class_N), dtype=np.int64)
    for label in range(classes):  # within each class, so that none loses all of its examples at once
        rows = np.flatnonzero(class_N == label)
        fold_N[rows] = np.arange(len(rows)) % _FOLDS
    probability_NL = np.empty((len(class_N), classes))
    for fold in range(_FOLDS):
        out_N = fold_N == fold
        model = fit(features_NF[~out_N], class_N[~out_N], classes, decay=decay)
        probability_NL[out_N] = model.probabilities(features_NF[out_N])
    return probability_NL


def calibrate(probability_N: Matrix, right_N: NDArray[np.bool_], stratum_N: NDArray[np.bool_]) -> Calibration:
    """Fit the calibration of answers with these probabilities, of which these were right."""
    lines = [_platt(_log_odds(probability_N[stratum_N == s]), right_N[stratum_N == s]) for s in (False, True)]
    return Calibration((lines[0][0], lines[1][0]), (lines[0][1], lines[1][1]))


def _platt(odds_N: Matrix, right_N: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of a logistic line by Newton's method, drawn towards the identity where there is little data."""
    line = np.array([1.0, 0.0])
    rows_N2 = np.stack([odds_N, np.ones_like(odds_N)], axis=1)
    for _ in range(50):
        chance_N = 1.0 / (1.0 + np.exp(-(rows_N2 @ line)))
        slope_2 = rows_N2.T @ (right_N - chance_N) - (line - np.array([1.0, 0.0]))
        curve_22 = (rows_N2 * (chance_N * (1 - chance_N))[:, None]).T @ rows_N2 + np.eye(2)
        step = np.linalg.solve(curve_22, slope_2)
        line = line + step / max(1.0, float(np.abs(step).max()))  # a full step may jump past the answer
    return round(float(line[0]), _DIGITS), round(float(line[1]), _DIGITS)


def _log_odds(probability_N: Matrix) -> Matrix:
    clipped_N = np.clip(probability_N, 1e-4, 1 - 1e-4)
    odds_N: Matrix = np.log(clipped_N / (1 - clipped_N))
    return odds_N


def _softmax(score_QL: Matrix) -> Matrix:
    power_QL = np.exp(score_QL - score_QL.max(axis=1, keepdims=True))
    probability_QL: Matrix = power_QL / power_QL.sum(axis=1, keepdims=True)
    return probability_QL
