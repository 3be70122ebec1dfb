"""How far an annotator's labels agree with labels that are known: planted truth, expert labels, corpora.

Accuracy per level of the tree, Cohen's kappa, calibration error, the pairs most confused, and for requests that the
tools are not for, precision and recall.

Source: pipeline stages 2 and 3 ask for these figures; Cohen (1960); expected calibration error as Guo et al. (2017).

Shapes: Q requests.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from assets.labels.rules import IRRELEVANT

_BINS = 10


class Agreement(NamedTuple):
    """Labels against truth, over the same requests."""

    requests: int
    accuracy: float
    """Share with the right leaf; irrelevance counts as a leaf."""
    level1: float
    level2: float
    kappa: float
    secondary: float
    """Share whose second intent (or its absence) is right."""
    calibration_error: float
    irrelevance_precision: float
    irrelevance_recall: float
    confused: tuple[tuple[str, str, int], ...]
    """(true leaf, given leaf, how often), most frequent first."""

    @property
    def numbers(self) -> dict[str, float]:
        """The figures worth plotting over time."""
        kept = self._asdict()
        del kept["confused"]
        return {name: float(value) for name, value in kept.items()}


def agreement(
    given: Sequence[str],
    true: Sequence[str],
    confidence: Sequence[float],
    given_second: Sequence[str | None] = (),
    true_second: Sequence[str | None] = (),
) -> Agreement:
    """Compare labels with the truth.

    Args:
        given: leaf per request as labelled.
        true: leaf per request as known.
        confidence: the annotator's, in [0, 1].
        given_second: second intents as labelled, if compared.
        true_second: second intents as known.

    Raises:
        ValueError: the lengths differ or there is nothing to compare.
    """
    if not given or not len(given) == len(true) == len(confidence):
        raise ValueError(f"labels and truth must pair up, got {len(given)}, {len(true)} and {len(confidence)} of them")
    right = [g == t for g, t in zip(given, true, strict=True)]
    precision, recall = precision_recall([g == IRRELEVANT for g in given], [t == IRRELEVANT for t in true])
    wrong = Counter((t, g) for g, t in zip(given, true, strict=True) if g != t)
    seconds = [g == t for g, t in zip(given_second, true_second, strict=True)]
    return Agreement(
        requests=len(given),
        accuracy=float(np.mean(right)),
        level1=_at_level(given, true, 1),
        level2=_at_level(given, true, 2),
        kappa=cohens_kappa(given, true),
        secondary=float(np.mean(seconds)) if seconds else 1.0,
        calibration_error=calibration_error(confidence, right),
        irrelevance_precision=precision,
        irrelevance_recall=recall,
        confused=tuple((t, g, n) for (t, g), n in sorted(wrong.items(), key=lambda item: (-item[1], item[0]))),
    )


def cohens_kappa(left: Sequence[str], right: Sequence[str]) -> float:
    """Agreement beyond chance: 1 is perfect, 0 what two blind annotators with these habits would reach."""
    total = len(left)
    observed = sum(a == b for a, b in zip(left, right, strict=True)) / total
    habits_left, habits_right = Counter(left), Counter(right)
    chance = sum(habits_left[name] * habits_right[name] for name in habits_left) / total**2
    return 1.0 if chance == 1 else (observed - chance) / (1 - chance)


def calibration_error(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error over ten equal bins: how far stated confidence lies from the share that is right."""
    stated_Q, right_Q = np.asarray(confidence, dtype=float), np.asarray(right, dtype=float)
    bin_Q = np.minimum((stated_Q * _BINS).astype(int), _BINS - 1)
    gaps = (abs((stated_Q - right_Q)[bin_Q == b].sum()) for b in range(_BINS))
    return float(sum(gaps) / len(stated_Q))


def precision_recall(given: Sequence[bool], true: Sequence[bool]) -> tuple[float, float]:
    """Precision and recall of a yes-or-no label; 1 where nothing was given, or nothing was there to find."""
    hits = sum(g and t for g, t in zip(given, true, strict=True))
    return (hits / sum(given) if any(given) else 1.0, hits / sum(true) if any(true) else 1.0)


def against_truth(labels: pl.DataFrame, occurrences: pl.DataFrame, truth: pl.DataFrame) -> Agreement:
    """Compare a label table with the planted truth of the demo's log.

    Args:
        labels: query_id, primary, secondary, confidence.
        occurrences: raw_id, query_id.
        truth: raw_id, leaf, secondary.
    """
    both = labels.join(truth_of_queries(occurrences, truth), on="query_id", suffix="_true").sort("query_id")
    columns = ("primary", "leaf", "confidence", "secondary", "secondary_true")
    return agreement(*(both[name].to_list() for name in columns))


def truth_of_queries(occurrences: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """Planted truth per query: query_id, leaf, secondary; sorted by query_id.

    A request stands for many lines; where their truths differ (a name masked away, a slip that made two requests one),
    the most frequent counts, of equally frequent ones the first by name.

    Args:
        occurrences: raw_id, query_id.
        truth: raw_id, leaf, secondary.
    """
    counted = truth.join(occurrences, on="raw_id").group_by("query_id", "leaf", "secondary").len()
    ordered = counted.sort("query_id", "len", "leaf", descending=[False, True, False])
    return ordered.unique("query_id", keep="first", maintain_order=True).drop("len")


def _at_level(given: Sequence[str], true: Sequence[str], level: int) -> float:
    def _cut(leaf: str) -> list[str]:
        return leaf.split(".")[:level]

    return float(np.mean([_cut(g) == _cut(t) for g, t in zip(given, true, strict=True)]))
