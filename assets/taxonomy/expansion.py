"""What gathers in each Other, clustered, named and proposed as new leaves.

Every Other is looked at by itself, since a leaf goes under the Other's node. Clusters that hang together and are large
enough become proposals; those that were decided on before, or wait for a decision, are not proposed again.

Source: pipeline stage 2 (expansion from what gathers in Other); Wilson (1927) for the interval.

Shapes: N queries, D dimensions.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.taxonomy import clustering
from assets.taxonomy.drafts import id_of
from assets.taxonomy.induction import NOT_YET, by_language, examples_of
from assets.taxonomy.proposals import Expected, Names, Proposal, Status, known_again, sketch
from assets.taxonomy.schema import MIN_EXAMPLES
from assets.taxonomy.terms import telling_words
from environments.metrics import wilson

Name = Callable[[Sequence[str], Sequence[str]], tuple[str, Names, str] | None]
"""From examples and telling words to id, names and definition; None where the teacher gives nothing usable."""


class Expansion(NamedTuple):
    """What an expansion found."""

    proposals: tuple[Proposal, ...]
    """New ones, the largest first."""
    known: tuple[tuple[str, Status], ...]
    """Former proposals that clusters were recognised as, and their status."""
    left: dict[str, int]
    """Queries of each Other that are in no cluster worth a leaf."""


def expand(
    others: pl.DataFrame,
    vectors_ND: NDArray[np.float32],
    *,
    taken: Sequence[str],
    before: Sequence[Proposal] = (),
    total: int,
    least_queries: int = 20,
    least_silhouette: float = 0.1,
    name: Name | None = None,
) -> Expansion:
    """Propose leaves for what lies in the Others; the order of the rows changes nothing.

    Args:
        others: query_id, text, leaf (an Other); N rows.
        vectors_ND: unit vectors of the texts, in the order of the rows.
        taken: dotted ids of the tree's leaves.
        before: proposals made earlier.
        total: queries that were labelled in all.
        least_queries: size from which a cluster is worth a leaf.
        least_silhouette: mean silhouette from which a cluster hangs together.
        name: names a cluster; its telling words do without it.

    Raises:
        ValueError: rows and vectors do not pair up.
    """
    if len(others) != len(vectors_ND):
        raise ValueError(f"each query needs its vector, got {len(others)} queries and {len(vectors_ND)} vectors")
    ordered = others.select("query_id", "text", "leaf").with_row_index("row").sort("leaf", "text", "query_id")
    made: list[Proposal] = []
    known: list[tuple[str, Status]] = []
    left: dict[str, int] = {}
    for part in ordered.unique(["leaf", "text"], keep="first", maintain_order=True).partition_by("leaf"):
        node = str(part["leaf"][0]).removesuffix("other").removesuffix(".")
        rest = len(part)
        for rows in _clusters(part, vectors_ND, max(least_queries, MIN_EXAMPLES), least_silhouette):
            rest -= len(rows)
            members = sketch(rows["query_id"].to_list())
            if old := known_again(members, [*before, *made]):
                known.append((old.key, old.status))
                continue
            used = [leaf.removeprefix(f"{node}.") for leaf in taken] + [one.id for one in [*before, *made]]
            made.append(_proposal(node, rows, members, part, used, total, name))
        left[str(part["leaf"][0])] = rest
    by_size = sorted(made, key=lambda one: (-one.expected.queries, one.key))
    return Expansion(tuple(by_size), tuple(sorted(set(known))), left)


def size_interval(queries: int, total: int) -> Expected:
    """How many queries a log of this size would hold of what `queries` of `total` are; Wilson's 95% interval."""
    share = wilson(queries, total)
    low, high = math.floor(share.low * total), math.ceil(share.high * total)
    return Expected(queries=queries, low=low, high=high, of=total)


def _clusters(part: pl.DataFrame, vectors_ND: NDArray[np.float32], least: int, coherent: float) -> list[pl.DataFrame]:
    """Clusters of one Other that are large and coherent enough, with the silhouette of each row."""
    if len(part) < max(least, 2):
        return []
    points_ND = by_language(part["text"].to_list(), vectors_ND[part["row"].to_numpy()])
    found = clustering.best_clusters(points_ND)
    rows = part.with_columns(cluster=pl.Series(found.cluster_N), silhouette=pl.Series(found.silhouette_N))
    groups = rows.partition_by("cluster", maintain_order=True)
    kept = [g for g in groups if len(g) >= least and float(g["silhouette"].mean() or 0.0) >= coherent]  # type: ignore[arg-type]
    return sorted(kept, key=lambda group: int(group["cluster"][0]))


def _proposal(
    node: str, rows: pl.DataFrame, members: tuple[str, ...], part: pl.DataFrame, used: Sequence[str], total: int,
    name: Name | None,
) -> Proposal:  # fmt: skip
    inside = set(rows["query_id"].to_list())
    is_in = [query in inside for query in part["query_id"]]
    words = telling_words(part["text"].to_list(), is_in)[True]
    examples = examples_of(rows["text"].to_list(), rows["silhouette"].to_numpy())
    said = name(examples, words) if name else None
    shown = " ".join(words[:3])
    drafted = f"Requests such as {examples[0]!r} or {examples[1]!r}; telling words: {', '.join(words)}."
    ident, names, definition = said or (shown, Names(en=shown, zh=shown), drafted)
    outside = [text for text, own in zip(part["text"], is_in, strict=True) if not own]
    return Proposal(
        status=Status.PROPOSED,
        parent=node,
        id=id_of([ident], used),
        name=names,
        definition=definition,
        expected=size_interval(len(rows), total),
        examples=examples,
        counter_examples=tuple(outside[:1]) or (NOT_YET,),
        synonyms=tuple(words),
        members=members,
    )
