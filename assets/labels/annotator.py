"""The embedded annotator: labels without a teacher, from the taxonomy's own examples and a page of rules.

A request is read (constraints, signals), its particulars are masked, and what remains is embedded. A linear classifier
over embedding, features and rules, fitted on the examples that people wrote into the taxonomy, gives each leaf a
probability; where a rule speaks, it decides unless the classifier is sure of something else. Requests that the tools
are not for are a class of their own (`irrelevance.yaml`). Below a confidence the annotator abstains to the `Other` of
the nearest node under which the probability gathers.

Source: pipeline stage 3; V = <primary, secondary, constraints> is the AMAP report's.

Shapes: Q requests, N examples, L classes, F features.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
_OVERRULES = 0.85
"""Ours: how sure the classifier must be of another leaf to overrule a rule."""
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
        self.others = frozenset(intent.leaf for intent in intents if intent.leaf.rpartition(".")[2] == "other")
        self.kind = _kind(embedder, abstain_below)
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
        allowed = among if among is not None else [()] * len(texts)
        if among is not None:
            self._check_allowed(allowed)
        chunks = (slice(i, i + _CHUNK) for i in range(0, len(texts), _CHUNK))
        return list(chain.from_iterable(self._annotate(texts[c], before[c], allowed[c]) for c in chunks))

    def _check_allowed(self, among: Sequence[Sequence[str]]) -> None:
        if not all(among) or not {leaf for leaves in among for leaf in leaves} <= {*self.classes, *self.others}:
            strange = sorted({leaf for leaves in among for leaf in leaves} - {*self.classes, *self.others})
            raise ValueError(f"each text needs leaves of the taxonomy to choose among; not one of its: {strange}")

    def _fit(self, intents: Sequence[Intent]) -> None:
        examples = [(text, intent.leaf) for intent in intents for text in (*intent.examples, *intent.phrases)]
        aside = [(text, name) for name, group in aside_groups().items() for text in group.examples]
        examples += [(text, IRRELEVANT) for text, _ in aside]
        seen = [self._see(text, None) for text, _ in examples]
        class_N = np.array([self.number[leaf] for _, leaf in examples])
        features_NF, vectors_ND = self._features(seen)
        self.model: Classifier = fit(features_NF, class_N, len(self.classes), decay=_DECAY)
        self.calibration = self._calibrated(features_NF, class_N, seen)
        self.aside_ND = vectors_ND[-len(aside) :]
        self.aside_names = [name for _, name in aside]

    def _calibrated(self, features_NF: Matrix, class_N: NDArray[np.int64], seen: Sequence["_Seen"]) -> Calibration:
        probability_NL = held_out_probabilities(features_NF, class_N, len(self.classes), decay=_DECAY)
        chosen_N, spoken_N = _chosen(probability_NL, seen)
        return calibrate(probability_NL[np.arange(len(seen)), chosen_N], chosen_N == class_N, spoken_N)

    def _see(self, text: str, context: str | None) -> "_Seen":
        """The request alone, or with the turn before it where it says too little by itself."""
        reading = read(text)
        found = constraints_of(reading)
        said, features = masked(reading), features_of(reading, found)
        if context and not features - _BARE:
            before = read(context)
            said = f"{masked(before)} {said}"
            features |= features_of(before, constraints_of(before))
        spoken = tuple(self.number[leaf] for leaf in spoken_for(features, frozenset(self.classes)))
        return _Seen(said, features, spoken, found)

    def _features(self, seen: Sequence["_Seen"]) -> tuple[Matrix, NDArray[np.float32]]:
        """Everything the classifier sees of each request, and the embedding by itself."""
        vectors_QD = self.embed([one.text for one in seen])
        names = _feature_names()
        facts_QF = np.zeros((len(seen), len(names) + len(self.classes)))
        for row, one in enumerate(seen):
            facts_QF[row, [names[name] for name in one.features]] = _SCALE_OF_FEATURE
            facts_QF[row, [len(names) + number for number in one.spoken]] = _SCALE_OF_FEATURE
        return np.hstack([_SCALE_OF_VECTOR * vectors_QD.astype(np.float64), facts_QF]), vectors_QD

    def _annotate(
        self, texts: Sequence[str], contexts: Sequence[str | None], among: Sequence[Sequence[str]]
    ) -> list[Label]:
        seen = [self._see(text, context) for text, context in zip(texts, contexts, strict=True)]
        features_QF, vectors_QD = self._features(seen)
        probability_QL = self.model.probabilities(features_QF)
        chosen_Q, spoken_Q = _chosen(probability_QL, seen)
        for row in (row for row, leaves in enumerate(among) if leaves):
            chosen_Q[row], spoken_Q[row] = self._chosen_among(among[row], probability_QL[row], seen[row].spoken)
        sure_Q = self.calibration.confidence(probability_QL[np.arange(len(seen)), chosen_Q], spoken_Q)
        aside_Q = (vectors_QD @ self.aside_ND.T).argmax(axis=1)
        made = []
        for row, one in enumerate(seen):
            answer = _Answer(int(chosen_Q[row]), bool(spoken_Q[row]), round(float(sure_Q[row]), 3), probability_QL[row])
            made.append(self._label(one, answer, self.aside_names[aside_Q[row]], among[row]))
        return made

    def _chosen_among(self, leaves: Sequence[str], probability_L: Matrix, spoken: Sequence[int]) -> tuple[int, bool]:
        """The class of a request that may only be one of some leaves, and whether a rule decided it."""
        allowed = sorted(self.number[leaf] for leaf in leaves if leaf in self.number)
        named = next((number for number in spoken if number in allowed), None)
        if named is not None:
            return named, True
        choice = allowed or list(range(len(self.classes) - 1))  # only Others are: the leaf that it is most like
        return choice[int(probability_L[choice].argmax())], False

    def _label(self, one: "_Seen", answer: "_Answer", aside: str, among: Sequence[str]) -> Label:
        primary = self.classes[answer.chosen]
        runner_up = self.classes[answer.second]
        if primary == IRRELEVANT:
            group = aside_groups()[aside]
            axes = json.dumps({"group": aside, "reason": group.reason}, ensure_ascii=False)
            return Label(primary, None, runner_up, answer.confidence, group.difficulty, axes, one.constraints)
        secondary = next((self.classes[i] for i in one.spoken if i != answer.chosen), None) if answer.by_rule else None
        others = self.others.intersection(among) if among else self.others
        unsure = answer.confidence < self.abstain_below and not answer.by_rule
        if (unsure and others) or (among and primary not in among):
            primary, secondary, runner_up = self._other(answer.probability_L, others), None, primary
        made = axes_of(primary, secondary, one.constraints.count)
        axes = json.dumps(made._asdict())
        return Label(primary, secondary, runner_up, answer.confidence, made.difficulty, axes, one.constraints)

    def _other(self, probability_L: Matrix, others: frozenset[str]) -> str:
        """Of these, the Other of the deepest node that holds most of the probability; the uppermost if none does."""
        mass: dict[str, float] = {}
        for leaf, share in zip(self.classes, probability_L, strict=True):
            parts = leaf.split(".")
            for depth in range(1, len(parts)):
                node = ".".join(parts[:depth])
                mass[node] = mass.get(node, 0.0) + float(share)
        likely = [node for node, share in mass.items() if share > 0.5 and f"{node}.other" in others]
        if likely:
            return f"{max(likely, key=lambda node: node.count('.'))}.other"
        return min(others or {"other"}, key=lambda leaf: (leaf.count("."), leaf))


class _Seen(NamedTuple):
    """A request as the classifier sees it, and its constraints."""

    text: str
    features: frozenset[str]
    spoken: tuple[int, ...]
    """Classes that the rules name, most telling first."""
    constraints: Constraints


class _Answer(NamedTuple):
    """What classifier and rules make of a request."""

    chosen: int
    by_rule: bool
    confidence: float
    probability_L: Matrix

    @property
    def second(self) -> int:
        """The most probable class beside the one chosen."""
        ranked = np.argsort(-self.probability_L, kind="stable")
        return int(ranked[0] if ranked[0] != self.chosen else ranked[1])


class AsideGroup(NamedTuple):
    """A kind of request that the tools are not for."""

    difficulty: int
    """-1: nobody can do it here; 0: it needs no tool."""
    reason: str
    examples: tuple[str, ...]


@cache
def aside_groups() -> dict[str, AsideGroup]:
    """The groups of `irrelevance.yaml` by name."""
    listed = read_yaml("irrelevance.yaml")["groups"]
    return {name: AsideGroup(g["difficulty"], g["reason"], tuple(g["examples"])) for name, g in listed.items()}


def _chosen(probability_QL: Matrix, seen: Sequence[_Seen]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The class of each request, and whether a rule decided it."""
    chosen_Q = probability_QL.argmax(axis=1)
    spoken_Q = np.zeros(len(seen), dtype=np.bool_)
    for row, one in enumerate(seen):
        if one.spoken and (chosen_Q[row] in one.spoken or probability_QL[row, chosen_Q[row]] < _OVERRULES):
            chosen_Q[row], spoken_Q[row] = one.spoken[0], True
    return chosen_Q, spoken_Q


def _kind(embedder: str, abstain_below: float) -> str:
    """Everything that decides a label but the taxonomy."""
    tables = [read_yaml(f"{name}.yaml") for name in ("lexicon", "rules", "irrelevance", "difficulty", "place_names")]
    code = code_of(__name__, ("assets", "environments"))
    return f"embedded-3-{_digest([tables, embedder, abstain_below, code])}"


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@cache
def _feature_names() -> dict[str, int]:
    return {name: i for i, name in enumerate(sorted(SLOTS | set(lexicon()["signals"])))}
