"""Checks of a layer on its tables: nothing lost, every reason named, nothing similar left.

Shapes: S sampled rows, D dimensions.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.facts import facts_of
from assets.pool.shingles import shingles_of

_DIGITS: Final = re.compile("[0-9]+")


class Conservation(NamedTuple):
    """In = kept + dropped, and support in = support kept."""

    lost: int
    """Rows that are neither kept nor dropped."""
    twice: int
    """Rows that are both, or kept or dropped twice."""
    strange: int
    """Rows that never went in."""
    orphans: int
    """Dropped rows whose survivor was not kept."""
    support_lost: int

    @property
    def holds(self) -> bool:
        """Whether nothing is amiss."""
        return not any(self)


def conservation(went_in: pl.DataFrame, kept: pl.DataFrame, dropped: pl.DataFrame) -> Conservation:
    """Compare what went into a layer with what came out.

    Args:
        went_in: query_id, support.
        kept: query_id, support.
        dropped: query_id, survivor.
    """
    before = went_in.select("query_id").unique()
    after = pl.concat([kept["query_id"], dropped["query_id"]]).to_frame()
    distinct = after.unique()
    named = dropped.select(query_id="survivor").drop_nulls().unique()
    return Conservation(
        lost=len(before.join(distinct, on="query_id", how="anti")),
        twice=len(after) - len(distinct),
        strange=len(distinct.join(before, on="query_id", how="anti")),
        orphans=len(named.join(kept, on="query_id", how="anti")),
        support_lost=int(went_in["support"].sum()) - int(kept["support"].sum()),
    )


def similar_pairs_left(
    texts: Sequence[str],
    groups: Sequence[str],
    similarity: Callable[[Sequence[str]], NDArray[np.float64]],
    bound: float,
) -> list[tuple[int, int]]:
    """Pairs of one group, equal facts and equal digits that are at least as similar as the bound, by position.

    A layer may be told to keep what differs in facts, or in digits only: what it dropped then is no pair here, and what
    it kept is none either way.

    Args:
        texts: a sample of kept rows.
        groups: rows of different groups may be as similar as they like.
        similarity: of all pairs of texts, shape (S, S).
        bound: the layer's threshold.
    """
    facts, digits = facts_of(texts), ["|".join(_DIGITS.findall(text)) for text in texts]
    key = list(zip(groups, facts, digits, strict=True))
    close = np.argwhere(np.triu(similarity(texts) >= bound, k=1)).tolist()
    return [(a, b) for a, b in close if key[a] == key[b]]


def jaccard_of(texts: Sequence[str]) -> NDArray[np.float64]:
    """Exact Jaccard similarity of all pairs, shape (S, S)."""
    shingles = shingles_of(texts)
    cut = np.split(shingles.grams_G, shingles.starts_N[1:-1])
    distinct = {gram: column for column, gram in enumerate(np.unique(shingles.grams_G).tolist())}
    holds = np.zeros((len(texts), len(distinct)), dtype=np.float32)
    for row, grams in enumerate(cut):
        holds[row, [distinct[gram] for gram in grams.tolist()]] = 1.0
    common = (holds @ holds.T).astype(np.float64)
    sizes = common.diagonal()
    return common / (sizes[:, None] + sizes[None, :] - common)
