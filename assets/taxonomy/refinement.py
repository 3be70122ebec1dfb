"""Tag - Feedback - Correction: a tree labels the seed set, what is said against it corrects it, until it holds still.

A round labels every query by the current tree and compares: with experts' tags where there are any, else with how the
queries lie. It ends when the tree hardly changes and the labels hardly change, both below stated bounds. If corrections
go round in a circle, or the rounds run out, the result says that it did not converge; the last tree is still a tree.

Tree edit distance is taken on ids: a leaf keeps its id through all that befalls it, so which node became which is known
and need not be searched for.

Source: pipeline stage 2; the stopping rule is ours.

Shapes: N queries, D dimensions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.taxonomy import clustering
from assets.taxonomy.corrections import Correction, Labelled, agrees, corrected, proposed
from assets.taxonomy.drafts import Branches, as_yaml, leaves_of
from assets.taxonomy.induction import by_language

Annotate = Callable[[Branches, Sequence[str]], Sequence[str]]
"""Dotted leaf of each text under a tree; an id that is no leaf (an Other) where none fits."""
Settle = Callable[[Branches, Branches], Branches]
"""Takes a tree and what its corrections made of it; gives the tree of the next round."""

FEEDBACK_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "query": pl.String,
    "leaf": pl.String,
    "tag": pl.String,
    "silhouette": pl.Float64,
    "cause": pl.String,
}
CORRECTION_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "kind": pl.String,
    "leaf": pl.String,
    "into": pl.String,
    "queries": pl.List(pl.String),
}
DISAGREES, INCOHERENT = "an expert says otherwise", "nearer to another leaf"


class Round(NamedTuple):
    """One turn of the loop: a tree, what it says, what was said against it and what was done."""

    branches: Branches
    feedback: pl.DataFrame
    """query, leaf, tag, silhouette, cause (null where nothing speaks against the label); sorted by query."""
    corrections: pl.DataFrame
    """kind, leaf, into, queries: what leads to the next round's tree."""
    distance: float
    """Tree edit distance from the round before, as a share of its leaves."""
    churn: float
    """Share of queries whose leaf changed since the round before."""

    @property
    def disagreement(self) -> float:
        """Share of queries whose label something speaks against."""
        return float(self.feedback["cause"].is_not_null().mean() or 0.0)  # type: ignore[arg-type]


class Refined(NamedTuple):
    """The tree after the last round, and the way there."""

    branches: Branches
    rounds: tuple[Round, ...]
    converged: bool
    reason: str


def refine(
    branches: Branches,
    texts: Sequence[str],
    vectors_ND: NDArray[np.float32],
    annotate: Annotate,
    *,
    tags: Mapping[str, str] | None = None,
    distance_below: float = 0.02,
    churn_below: float = 0.02,
    most_rounds: int = 10,
    settle: Settle | None = None,
) -> Refined:
    """Run the loop; the order of the queries changes nothing.

    Args:
        branches: the tree to begin with.
        texts: the seed set.
        vectors_ND: its unit vectors.
        annotate: labels texts by a tree.
        tags: an expert's tag for some of the texts.
        distance_below: bound of the tree edit distance, as a share of leaves.
        churn_below: bound of the share of labels that change.
        most_rounds: rounds after which it gives up.
        settle: has the last word on each round's tree, for a teacher to name what is new in it.

    Raises:
        ValueError: there is nothing to label, a text stands there twice, or a bound is not positive.
    """
    if not texts or len(set(texts)) != len(texts) or min(distance_below, churn_below, most_rounds) <= 0:
        raise ValueError(
            f"refinement needs distinct texts and positive bounds, got {len(texts)} texts, {len(set(texts))} distinct, "
            f"distance_below={distance_below}, churn_below={churn_below}, most_rounds={most_rounds}"
        )
    order = sorted(range(len(texts)), key=lambda i: texts[i])
    sorted_texts = [texts[i] for i in order]
    points_ND = by_language(sorted_texts, vectors_ND[order])
    rounds: list[Round] = []
    while len(rounds) < most_rounds:
        labelled = _labelled(branches, sorted_texts, points_ND, annotate, tags or {})
        corrections = proposed(branches, labelled)
        rounds.append(_round(branches, labelled, corrections, rounds))
        if verdict := _verdict(rounds, distance_below, churn_below):
            return Refined(branches, tuple(rounds), *verdict)
        after = corrected(branches, corrections, labelled)
        branches = settle(branches, after) if settle else after
    last = rounds[-1]
    said = f"{most_rounds} rounds were not enough: distance {last.distance:.3f}, churn {last.churn:.3f} in the last"
    return Refined(last.branches, tuple(rounds), False, said)


def tree_distance(before: Branches, after: Branches) -> int:
    """How many leaves came, went, moved (a moved leaf keeps its examples), or changed in name or definition."""
    old, new = leaves_of(before), leaves_of(after)
    come = [leaf for leaf in new if leaf not in old]
    gone = [leaf for leaf in old if leaf not in new]
    for leaf in gone:
        moved = next((other for other in come if new[other].examples == old[leaf].examples), None)
        come = [other for other in come if other != moved]
    both = [(old[leaf], new[leaf]) for leaf in old if leaf in new]
    return len(gone) + len(come) + sum((a.name_en, a.definition) != (b.name_en, b.definition) for a, b in both)


def _labelled(
    branches: Branches, texts: list[str], points_ND: clustering.Points, annotate: Annotate, tags: Mapping[str, str]
) -> Labelled:
    leaf = list(annotate(branches, texts))
    number = {name: i for i, name in enumerate(sorted(set(leaf)))}
    silhouette_N = clustering.silhouettes(points_ND, np.array([number[name] for name in leaf]))
    known = set(texts)
    return Labelled(texts, leaf, points_ND, silhouette_N, {q: tag for q, tag in tags.items() if q in known})


def _round(branches: Branches, labelled: Labelled, corrections: list[Correction], before: Sequence[Round]) -> Round:
    feedback = _feedback(branches, labelled)
    done = pl.DataFrame([(*one[:3], list(one.queries)) for one in corrections], schema=CORRECTION_SCHEMA, orient="row")
    if not before:
        return Round(branches, feedback, done, 1.0, 1.0)
    last = before[-1]
    share = tree_distance(last.branches, branches) / max(1, len(leaves_of(last.branches)))
    churn = float((feedback["leaf"] != last.feedback["leaf"]).mean() or 0.0)  # type: ignore[arg-type]
    return Round(branches, feedback, done, share, churn)


def _feedback(branches: Branches, labelled: Labelled) -> pl.DataFrame:
    leaves = leaves_of(branches)
    rows = []
    for text, leaf, silhouette in zip(labelled.texts, labelled.leaf, labelled.silhouette_N.tolist(), strict=True):
        tag = labelled.tags.get(text)
        if labelled.tags:
            cause = DISAGREES if tag and not agrees(leaf, tag, leaves) else None
        else:
            cause = INCOHERENT if silhouette < 0 else None
        rows.append((text, leaf, tag, round(silhouette, 5), cause))
    return pl.DataFrame(rows, schema=FEEDBACK_SCHEMA, orient="row")


def _verdict(rounds: Sequence[Round], distance_below: float, churn_below: float) -> tuple[bool, str] | None:
    """Whether the loop has ended, and how; None while it goes on."""
    last = rounds[-1]
    if len(rounds) > 1 and last.distance < distance_below and last.churn < churn_below:
        return (
            True,
            f"round {len(rounds)}: distance {last.distance:.3f} and churn {last.churn:.3f} are below their bounds",
        )
    text = _text(last.branches)
    for i, one in enumerate(rounds[:-1], start=1):
        if _text(one.branches) == text != _text(rounds[-2].branches):
            return False, f"round {len(rounds)} came back to the tree of round {i}: its corrections undo each other"
    return None


def _text(branches: Branches) -> str:
    return "".join(map(as_yaml, branches))
