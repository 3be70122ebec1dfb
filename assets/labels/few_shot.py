"""A classifier for any tree from a few examples of each leaf: embedding and terms together, and how sure it is.

What a text is about (its embedding) and how it is put (its terms) enter one logistic regression. Queries without labels
help twice: they say which terms are rare, and those the first fit is surest of join the examples of a second one. Folds
in which some examples and some whole leaves are left out show what its probabilities are worth: `confidence` is the
chance that an answer to a request of the tree is right, `belonging` the chance that a request belongs to the tree at
all.

Source: pipeline stage 3 (few-shot over embeddings with calibrated confidence, abstaining below a bound); latent
semantic analysis (Deerwester et al. 1990); self-training (Scudder 1965).

Shapes: N examples, F features, L classes, Q requests, U unlabelled texts.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.labels.classifier import Classifier, Matrix, fit
from assets.taxonomy.terms import Vocabulary, vocabulary

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Numbers = NDArray[np.int64]

_SCALE: Final = 3.0
_DECAY: Final = 3e-5
_DIRECTIONS: Final = 300
"""Leading directions of the terms that are kept: with 600 the accuracy on CLINC150 is the same."""
_FOLDS: Final = 5
_CLIP: Final = 1e-6
_CHUNK: Final = 4096
_LEARNED_PER_CLASS: Final = 20
"""Ours: unlabelled texts that may join each class; with 20 accuracy on CLINC150 rises by 1.5 points."""


class Answers(NamedTuple):
    """What the classifier says of Q requests."""

    label: list[str]
    runner_up: list[str]
    confidence: Matrix
    """Chance that the label is right, if the request belongs to the tree."""
    belonging: Matrix
    """Chance that the request belongs to any class of the tree, were half of all requests foreign to it."""

    def abstained(self, *, confidence: float = 0.3, belonging: float = 0.3) -> NDArray[np.bool_]:
        """Which answers lie below one of the bounds; the second is ours: on CLINC150 both errors are then few."""
        return (self.confidence < confidence) | (self.belonging < belonging)


class Space(NamedTuple):
    """Turns texts into features: the embedding, and the terms along their leading directions."""

    embed: Embed
    terms: Vocabulary
    direction_VD: Matrix

    def features(self, texts: Sequence[str]) -> Matrix:
        """Shape (Q, F); a text's features depend on that text alone."""
        vectors_QD = self.embed(texts).astype(np.float64)
        return np.hstack([vectors_QD, np.asarray(self.terms.vectors(texts) @ self.direction_VD)])


class Doubt(NamedTuple):
    """A line in the log odds of the best class and the likeness of the nearest example, to a chance."""

    weights_3: tuple[float, float, float]

    def chance(self, signs_Q2: Matrix) -> Matrix:
        """The chance of each answer, in (0, 1)."""
        odds_Q = signs_Q2 @ np.array(self.weights_3[:2]) + self.weights_3[2]
        chance_Q: Matrix = 1.0 / (1.0 + np.exp(-np.clip(odds_Q, -30, 30)))
        return chance_Q


@dataclass(frozen=True)
class FewShot:
    """A fitted classifier."""

    classes: tuple[str, ...]
    space: Space
    model: Classifier
    examples_NF: Matrix
    right: Doubt
    known: Doubt
    learned: int
    """Unlabelled texts that joined the examples."""

    def answer(self, texts: Sequence[str]) -> Answers:
        """The best class of each text, the next best, and two chances.

        Args:
            texts: none of them empty.
        """
        parts = [self._answer(texts[i : i + _CHUNK]) for i in range(0, len(texts), _CHUNK)]
        return Answers(
            [name for part in parts for name in part.label],
            [name for part in parts for name in part.runner_up],
            np.concatenate([np.zeros(0), *(part.confidence for part in parts)]),
            np.concatenate([np.zeros(0), *(part.belonging for part in parts)]),
        )

    def _answer(self, texts: Sequence[str]) -> Answers:
        features_QF = self.space.features(texts)
        probability_QL = self.model.probabilities(_SCALE * features_QF)
        order_QL = np.argsort(-probability_QL, axis=1, kind="stable")
        second = min(1, len(self.classes) - 1)
        label, runner_up = ([self.classes[i] for i in order_QL[:, rank]] for rank in (0, second))
        signs_Q2 = _signs(probability_QL, features_QF, self.examples_NF)
        return Answers(label, runner_up, self.right.chance(signs_Q2), self.known.chance(signs_Q2))


def fit_few_shot(
    examples: Mapping[str, Sequence[str]], embed: Embed, *, unlabelled: Sequence[str] = (), self_training: bool = True
) -> FewShot:
    """Fit on a few examples of each class; their order changes nothing.

    Args:
        examples: texts by class; names and definitions may stand among them.
        embed: text to unit vectors.
        unlabelled: texts of the log, at most some thousands: more make it slower, hardly better.
        self_training: whether the surest of the unlabelled join the examples.

    Raises:
        ValueError: fewer than two classes have examples.
    """
    classes = tuple(sorted(name for name, texts in examples.items() if texts))
    if len(classes) < 2:
        raise ValueError(f"a classifier needs two classes with examples, got {len(classes)} of {len(examples)}")
    pairs = sorted({(i, text) for i, name in enumerate(classes) for text in examples[name]})
    texts, class_N = [text for _, text in pairs], np.array([i for i, _ in pairs])
    fresh = sorted(set(unlabelled) - set(texts))
    space = _space(texts, embed)
    features_NF = space.features(texts)
    right, known = _doubts(features_NF, class_N, len(classes))
    model, learned = fit(_SCALE * features_NF, class_N, len(classes), decay=_DECAY), 0
    if self_training and fresh:
        more_F, class_M = _surest(model, space.features(fresh))
        learned = len(class_M)
        both_N = np.concatenate([class_N, class_M])
        model = fit(_SCALE * np.vstack([features_NF, more_F]), both_N, len(classes), decay=_DECAY)
    return FewShot(classes, space, model, features_NF, right, known, learned)


def _space(texts: Sequence[str], embed: Embed) -> Space:
    from scipy.sparse.linalg import svds

    terms = vocabulary(texts)
    weights_NV = terms.vectors(texts)
    rank = min(_DIRECTIONS, *(size - 1 for size in weights_NV.shape))
    _, _, direction_DV = svds(weights_NV, k=rank, v0=np.ones(min(weights_NV.shape)))
    return Space(embed, terms, np.ascontiguousarray(direction_DV.T))


def _doubts(features_NF: Matrix, class_N: Numbers, classes: int) -> tuple[Doubt, Doubt]:
    """Fit both chances on what the folds' classifiers, which lack a fifth of the classes, say of what they lack."""
    rank_N = _rank_in_class(class_N)
    signs, right, foreign = [], [], []
    for fold in range(_FOLDS):
        lacks_N = class_N % _FOLDS == fold if classes > _FOLDS else np.zeros(len(class_N), dtype=bool)
        asked_N = (rank_N % _FOLDS == fold) | lacks_N
        if asked_N.all() or not asked_N.any():
            continue
        model = fit(_SCALE * features_NF[~asked_N], class_N[~asked_N], classes, decay=_DECAY)
        probability_QL = model.probabilities(_SCALE * features_NF[asked_N])
        signs.append(_signs(probability_QL, features_NF[asked_N], features_NF[~asked_N]))
        right.append(probability_QL.argmax(axis=1) == class_N[asked_N])
        foreign.append(lacks_N[asked_N])
    if not signs:
        return Doubt((1.0, 0.0, 0.0)), Doubt((1.0, 0.0, 0.0))
    signs_A2, right_A, foreign_A = np.vstack(signs), np.concatenate(right), np.concatenate(foreign)
    inside_A = ~foreign_A
    even_A = np.where(foreign_A, 0.5 / max(1, foreign_A.sum()), 0.5 / max(1, inside_A.sum())) * len(foreign_A)
    return (
        _line(signs_A2[inside_A], right_A[inside_A], np.ones(int(inside_A.sum()))),
        _line(signs_A2, inside_A, even_A),
    )


def _line(signs_A2: Matrix, holds_A: NDArray[np.bool_], weight_A: Matrix) -> Doubt:
    """Logistic regression on two signs by Newton's method, drawn towards the stated probability."""
    rows_A3 = np.hstack([signs_A2, np.ones((len(signs_A2), 1))])
    start_3 = np.array([1.0, 0.0, 0.0])
    line_3 = start_3.copy()
    for _ in range(50):
        chance_A = 1.0 / (1.0 + np.exp(-np.clip(rows_A3 @ line_3, -30, 30)))
        slope_3 = rows_A3.T @ (weight_A * (chance_A - holds_A)) + (line_3 - start_3)
        curve_33 = (rows_A3 * (weight_A * chance_A * (1 - chance_A))[:, None]).T @ rows_A3 + np.eye(3)
        step_3 = np.linalg.solve(curve_33, slope_3)
        line_3 = line_3 - step_3 / max(1.0, float(np.abs(step_3).max()))
    first, second, third = (round(float(x), 4) for x in line_3)
    return Doubt((first, second, third))


def _signs(probability_QL: Matrix, features_QF: Matrix, examples_NF: Matrix) -> Matrix:
    """Log odds of the best class, and the likeness of the nearest example, shape (Q, 2)."""
    best_Q = np.clip(probability_QL.max(axis=1), _CLIP, 1 - _CLIP)
    like_Q = (features_QF @ examples_NF.T).max(axis=1)
    return np.stack([np.log(best_Q / (1 - best_Q)), like_Q], axis=1)


def _surest(model: Classifier, features_UF: Matrix) -> tuple[Matrix, Numbers]:
    """The unlabelled texts that the model is surest of, as many of each class at most."""
    probability_UL = model.probabilities(_SCALE * features_UF)
    class_U, best_U = probability_UL.argmax(axis=1), probability_UL.max(axis=1).round(9)
    order_U = np.lexsort((np.arange(len(class_U)), -best_U, class_U))
    kept_M = np.sort(order_U[_rank_in_class(class_U[order_U]) < _LEARNED_PER_CLASS])
    return features_UF[kept_M], class_U[kept_M]


def _rank_in_class(class_N: Numbers) -> Numbers:
    """How many rows of the same class stand before each row."""
    rank_N = np.empty(len(class_N), dtype=np.int64)
    for label in np.unique(class_N):
        rows = np.flatnonzero(class_N == label)
        rank_N[rows] = np.arange(len(rows))
    return rank_N


def version_of(examples: Mapping[str, Sequence[str]], embedder: str) -> str:
    """Names a classifier by its examples and the embedding: part of the key of every label that it gives."""
    rows = sorted((name, text) for name, texts in examples.items() for text in texts)
    return f"few-shot-1-{hashlib.blake2b(repr((rows, embedder)).encode(), digest_size=6).hexdigest()}"
