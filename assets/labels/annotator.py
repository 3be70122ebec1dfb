"""The embedded annotator: labels without a teacher, from the taxonomy's own examples and a page of rules.

A request is read (constraints, signals), its particulars are masked, and what remains is embedded. A linear classifier
over embedding, features and rules, fitted on the examples that people wrote into the taxonomy, gives each leaf a
probability; where a rule speaks, it decides unless the classifier is sure of something else. Requests that the tools
are not for are a class of their own (`irrelevance.yaml`). Below a confidence the annotator abstains to the `Other` of
the nearest node under which the probability gathers.

Source: pipeline stage 3; V = <primary, secondary, constraints> is the AMAP report's.

Shapes: Q requests, N examples, L classes, F features.
"""

import gc
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.labels.aside import aside_groups, difficulty_aside
from assets.labels.choice import Asked, Told, choose_among, chosen_classes, likeliest_other, second_classes
from assets.labels.classifier import Calibration, Classifier, Matrix, calibrate, fit, held_out_probabilities
from assets.labels.constraints import Constraints, constraints_of, read
from assets.labels.difficulty import axes_of
from assets.labels.features import SLOTS, features_of
from assets.labels.masking import masked
from assets.labels.rules import IRRELEVANT, spoken_for
from assets.labels.words import lexicon, read_yaml
from training.code import code_of

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

_SCALE_OF_VECTOR, _SCALE_OF_FEATURE = 3.0, 1.5
_DECAY = 2e-4
_BARE = frozenset({"city", "unresolved", "day", "options", "origin", "destination", "journey"})
"""What "and in Rome?" holds: a request of which nothing else is said means what the turn before it meant."""
_CHUNK = 8192


class Intent(NamedTuple):
    """A leaf of the taxonomy as far as the annotator needs it."""

    leaf: str
    examples: tuple[str, ...]
    phrases: tuple[str, ...]
    """Names, synonyms and definition: short texts that say the same as an example."""


class Label(NamedTuple):
    """What the annotator says of one request."""

    primary: str
    secondary: str | None
    runner_up: str | None
    confidence: float
    difficulty: int
    axes: str
    """JSON of the three axes, or the reason where the difficulty is -1 or 0."""
    constraints: Constraints


class Annotator:
    """Labels requests against one taxonomy."""

    def __init__(self, intents: Sequence[Intent], embed: Embed, *, embedder: str, abstain_below: float = 0.3) -> None:
        """Make an annotator; it is fitted when first asked.

        Args:
            intents: the leaves with examples; those without (the Others) are reached by abstaining only.
            embed: text to unit vectors.
            embedder: the embedding's version, part of the annotator's.
            abstain_below: confidence under which the label is an `Other`.

        Raises:
            ValueError: no leaf has examples.
        """
        ordered = sorted(intent for intent in intents if intent.examples)
        if not ordered:
            raise ValueError(f"no leaf of the {len(intents)} given has examples: write some into the taxonomy's files")
        self.embed = embed
        self.abstain_below = abstain_below
        self.classes = (*(intent.leaf for intent in ordered), IRRELEVANT)
        self.number = {leaf: i for i, leaf in enumerate(self.classes)}
        self.known = frozenset(self.classes)
        self.others = frozenset(intent.leaf for intent in intents if intent.leaf.rpartition(".")[2] == "other")
        self.kind = embedded_kind(embedder, abstain_below)
        self.version = f"{self.kind}-{_digest(ordered)}"
        self._intents = ordered
        self._is_fitted = False

    def fitted(self) -> "Annotator":
        """Fit on the taxonomy's examples, a few seconds, unless that was done."""
        if not self._is_fitted:
            self._fit(self._intents)
            self._is_fitted = True
        return self

    def annotate(
        self,
        texts: Sequence[str],
        contexts: Sequence[str | None] | None = None,
        among: Sequence[Sequence[str]] | None = None,
    ) -> list[Label]:
        """One label per text.

        Args:
            texts: requests, in any language.
            contexts: for each, the turn before it where the request does not stand alone.
            among: for each, the leaves that may be its first; all of them where not given. The best of them by
                probability, the one that a rule names, or below the bound an Other that is among them.

        Raises:
            ValueError: no leaf is allowed, or one that the taxonomy does not have.
        """
        self.fitted()
        before = contexts if contexts is not None else [None] * len(texts)
        allowed: Sequence[Sequence[str]] = [()] * len(texts)
        if among is not None:
            self._check_allowed(allowed := among)
        labels: list[Label] = []
        for i in range(0, len(texts), _CHUNK):
            with _no_collection():
                chunk = slice(i, i + _CHUNK)
                labels += self._annotate(texts[chunk], before[chunk], allowed[chunk])
        return labels

    def _check_allowed(self, among: Sequence[Sequence[str]]) -> None:
        named = {leaf for leaves in among for leaf in leaves}
        if strange := sorted(named - self.known - self.others) or not all(among):
            raise ValueError(f"each text needs leaves of the taxonomy to choose among; not one of its: {strange}")

    def _fit(self, intents: Sequence[Intent]) -> None:
        examples = [(text, intent.leaf) for intent in intents for text in (*intent.examples, *intent.phrases)]
        aside = [(text, name) for name, group in aside_groups().items() for text in group.examples]
        examples += [(text, IRRELEVANT) for text, _ in aside]
        asked = [self._see(text, None).asked for text, _ in examples]
        class_N = np.array([self.number[leaf] for _, leaf in examples])
        features_NF, vectors_ND = self._features(asked)
        self.model: Classifier = fit(features_NF, class_N, len(self.classes), decay=_DECAY)
        self.calibration = self._calibrated(features_NF, class_N, asked)
        self.aside_ND = vectors_ND[-len(aside) :]
        self.aside_names = [name for _, name in aside]

    def _calibrated(self, features_NF: Matrix, class_N: NDArray[np.int64], asked: Sequence[Asked]) -> Calibration:
        probability_NL = held_out_probabilities(features_NF, class_N, len(self.classes), decay=_DECAY)
        chosen_N, spoken_N = chosen_classes(probability_NL, asked)
        return calibrate(probability_NL[np.arange(len(asked)), chosen_N], chosen_N == class_N, spoken_N)

    def _see(self, text: str, context: str | None, among: Sequence[str] = ()) -> "_Seen":
        """The request alone, or with the turn before it where it says too little by itself."""
        reading = read(text)
        found = constraints_of(reading)
        said, features = masked(reading), features_of(reading, found)
        if context and not features - _BARE:
            before = read(context)
            said = f"{masked(before)} {said}"
            features |= features_of(before, constraints_of(before))
        spoken = tuple(self.number[leaf] for leaf in spoken_for(features, self.known))
        return _Seen(Asked(said, features, spoken, tuple(among)), found)

    def _features(self, asked: Sequence[Asked]) -> tuple[Matrix, NDArray[np.float32]]:
        """Everything the classifier sees of each request, and the embedding by itself."""
        vectors_QD = self.embed([one.text for one in asked])
        names, dimensions = _feature_names(), vectors_QD.shape[1]
        facts = [[names[f] for f in one.features] + [len(names) + number for number in one.spoken] for one in asked]
        rows = np.repeat(np.arange(len(asked)), [*map(len, facts)])
        columns = dimensions + np.fromiter(chain.from_iterable(facts), dtype=np.int64)
        features_QF = np.zeros((len(asked), dimensions + len(names) + len(self.classes)))
        features_QF[:, :dimensions] = vectors_QD
        features_QF[:, :dimensions] *= _SCALE_OF_VECTOR
        features_QF[rows, columns] = _SCALE_OF_FEATURE
        return features_QF, vectors_QD

    def _annotate(
        self, texts: Sequence[str], contexts: Sequence[str | None], among: Sequence[Sequence[str]]
    ) -> list[Label]:
        seen = [self._see(*one) for one in zip(texts, contexts, among, strict=True)]
        asked = list(dict.fromkeys(one.asked for one in seen))
        answers = dict(zip(asked, self._answers(asked), strict=True))
        return [_label(answers[one.asked], one.constraints) for one in seen]

    def _answers(self, asked: Sequence[Asked]) -> Iterator["_Answer"]:
        """What classifier and rules make of requests that differ in more than their particulars."""
        features_QF, vectors_QD = self._features(asked)
        probability_QL = self.model.probabilities(features_QF)
        chosen_Q, spoken_Q = chosen_classes(probability_QL, asked)
        for row in (row for row, one in enumerate(asked) if one.among):
            chosen_Q[row], spoken_Q[row] = choose_among(asked[row], self.classes, probability_QL[row])
        sure_Q = self.calibration.confidence(probability_QL[np.arange(len(asked)), chosen_Q], spoken_Q)
        aside_Q = (vectors_QD @ self.aside_ND.T).argmax(axis=1)
        columns = (chosen_Q, second_classes(probability_QL, chosen_Q), sure_Q, spoken_Q, aside_Q)
        told = map(Told, *(column.tolist() for column in columns), probability_QL)
        yield from map(self._answer, asked, told)

    def _answer(self, one: Asked, told: Told) -> "_Answer":
        primary, runner_up, confidence = self.classes[told.chosen], self.classes[told.second], round(told.sure, 3)
        if primary == IRRELEVANT:
            return _Answer(primary, None, runner_up, confidence, self.aside_names[told.aside])
        others = self.others.intersection(one.among) if one.among else self.others
        unsure = confidence < self.abstain_below and not told.by_rule
        if (unsure and others) or (one.among and primary not in one.among):
            return _Answer(likeliest_other(self.classes, told.probability_L, others), None, primary, confidence, None)
        secondary = next((self.classes[i] for i in one.spoken if i != told.chosen), None) if told.by_rule else None
        return _Answer(primary, secondary, runner_up, confidence, None)


class _Seen(NamedTuple):
    """A request as it was read."""

    asked: Asked
    constraints: Constraints


class _Answer(NamedTuple):
    """What classifier and rules make of what is asked."""

    primary: str
    secondary: str | None
    runner_up: str
    confidence: float
    aside: str | None
    """The group of a request that the tools are not for."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """Labels have no cycles, and looking for some in the whole gazetteer again and again takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _label(answer: _Answer, constraints: Constraints) -> Label:
    if answer.aside is not None:
        difficulty, axes = difficulty_aside(answer.aside)
    else:
        difficulty, axes = _difficulty(answer.primary, answer.secondary, constraints.stated)
    return Label(*answer[:4], difficulty, axes, constraints)


@lru_cache(maxsize=100_000)
def _difficulty(primary: str, secondary: str | None, constraint_count: int) -> tuple[int, str]:
    made = axes_of(primary, secondary, constraint_count)
    return made.difficulty, json.dumps(made._asdict())


def embedded_kind(embedder: str, abstain_below: float) -> str:
    """Everything that decides a label of the embedded annotator but the taxonomy, as one name."""
    tables = [read_yaml(f"{name}.yaml") for name in ("lexicon", "rules", "irrelevance", "difficulty", "place_names")]
    code = code_of(__name__, ("assets", "environments"))
    return f"embedded-3-{_digest([tables, embedder, abstain_below, code])}"


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@cache
def _feature_names() -> dict[str, int]:
    return {name: i for i, name in enumerate(sorted(SLOTS | set(lexicon()["signals"])))}
