"""Pools of one size from the same survivors, picked in four ways, and how much junk each holds by the planted truth.

ours        what the geometric layer keeps: greedy k-center, each pick moved to the middle of what it covers
unguarded   the greedy picks themselves: k-center loves outliers, and moving them is the guard
random      drawn from all survivors
stratified  drawn within leaf and language, in proportion
"""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl

from assets.labels.agreement import truth_of_queries
from assets.labels.rules import IRRELEVANT
from assets.pool.geometric import central_picks, core_set
from assets.pool.layers import Space
from assets.queries.noise import PERSONAL
from environments.worlds.atlas.data_model import speakable
from environments.worlds.atlas.tasks import wordings
from resources.lake import Lake

LANGUAGE = "en"
"""What the nano policy reads."""
ARMS = ("ours", "unguarded", "random", "stratified")
DRAWN = ("random", "stratified")
"""Arms whose picks depend on a seed; the others are the same for every seed."""
JUNK = ("mistyped", "irrelevant by truth", "labelled wrongly")
_COURTESIES = "hi hello ok so please thanks thank you whats"
_WORD, _SLOT, _MARK = re.compile(r"[a-z]+"), re.compile(r"\{\w\}"), re.compile(r"<[a-z]+>")


def tasks_of_arm(place: Path, arm: str, seed: int) -> Path:
    """Where the pool and the tasks of an arm lie."""
    return place / f"tasks-{arm}-{seed if arm in DRAWN else 'same'}"


def survivors(lake: Lake) -> pl.DataFrame:
    """Semantic survivors in the language that the policy reads, with text and label, sorted by id."""
    texts = lake.read("queries/distinct_queries").drop("support").filter(pl.col("language") == LANGUAGE)
    labels = lake.read("labels/query_labels")
    kept = lake.read("pool/semantic_survivors").join(texts, on="query_id").join(labels, on="query_id")
    return kept.sort("query_id")


def picks(arm: str, space: Space, size: int, seed: int) -> list[str]:
    """Ids of the `size` queries that `arm` picks, sorted."""
    if arm in DRAWN:
        chosen = stratified(space.ordered, size, seed) if arm == "stratified" else drawn(space.ordered, size, seed)
    else:
        core = core_set(space.points_ND, space.buckets, size=size)
        core = central_picks(space.points_ND, core, space.buckets) if arm == "ours" else core
        chosen = space.ordered[core.picks_K.tolist()]
    assert chosen["query_id"].n_unique() == size, f"{arm}: {chosen['query_id'].n_unique()} picks in place of {size}"
    return sorted(chosen["query_id"])


def drawn(queries: pl.DataFrame, size: int, seed: int) -> pl.DataFrame:
    """A random choice."""
    return queries.sort("query_id").sample(size, shuffle=True, seed=seed)


def stratified(queries: pl.DataFrame, size: int, seed: int) -> pl.DataFrame:
    """A random choice within leaf and language, in proportion; what rounding leaves goes to the largest remainders."""
    cells = queries.group_by("primary", "language").len().sort("primary", "language")
    share = cells["len"].to_numpy() * size / len(queries)
    whole = np.floor(share).astype(int)
    whole[np.argsort(whole - share, kind="stable")[: size - whole.sum()]] += 1
    quotas = cells.with_columns(quota=pl.Series(whole))
    order = drawn(queries, len(queries), seed).with_columns(rank=pl.int_range(pl.len()).over("primary", "language"))
    return order.join(quotas, on=("primary", "language")).filter(pl.col("rank") < pl.col("quota"))


def with_junk(queries: pl.DataFrame, lake: Lake) -> pl.DataFrame:
    """Survivors with one column per kind of `JUNK`, by the planted truth."""
    planted = lake.read("queries/planted_truth")
    truth = truth_of_queries(lake.read("queries/occurrences"), planted)
    known = known_words(planted["slots"])
    slips = [not known.issuperset(words_of(text)) for text in queries["text"]]
    both = queries.with_columns(mistyped=pl.Series(slips)).join(truth.select("query_id", "leaf"), on="query_id")
    irrelevant, wrong = pl.col("leaf") == IRRELEVANT, pl.col("leaf") != pl.col("primary")
    return both.with_columns(irrelevant.alias(JUNK[1]), wrong.alias(JUNK[2]))


def words_of(text: str) -> set[str]:
    """Latin words in lower case, without the marks of the scrub."""
    return set(_WORD.findall(_MARK.sub(" ", text.casefold())))


def known_words(slots: pl.Series) -> set[str]:
    """Every word that the grammar of the demo's log can say in English; any other one is a slip of the finger.

    Args:
        slots: of the planted truth, JSON.
    """
    said = [_SLOT.sub(" ", text) for splits in wordings("en").values() for text in splits["train"]]
    said += [_SLOT.sub(" ", text) for _, english, _ in PERSONAL.values() for text in english]
    filled = {str(value) for text in slots.unique() for value in json.loads(text).values()}
    return words_of(" ".join([*said, *filled, *(city.name for city in speakable()), _COURTESIES]))
