"""What the lexical layer has not decided yet: which rows its index does not know, and taking them in.

Shapes: N rows.
"""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.facts import facts_of
from assets.pool.increment import LexicalIndex
from assets.pool.lexical import Progress
from assets.pool.segments import LAST
from assets.pool.store import room_for
from environments.seeds import stable_hash

_MOST_NEW = 0.5
"""Share of new rows beyond which all are decided at once, which is faster."""
_TEXTS_AT_A_TIME = 10_000


def fresh_rows(ordered: pl.DataFrame, index: LexicalIndex) -> NDArray[np.int64] | None:
    """The rows that the index does not know, or None where it knows others or at other times, or where most are new.

    Args:
        ordered: query_id, first_seen.
        index: what was decided before.
    """
    if not len(index):
        return None
    known = pl.DataFrame(
        {
            "query_id": pl.concat([s.ids for s in index.segments]),
            "known": np.concatenate([s.seen_N for s in index.segments]),
        }
    )
    now = ordered.select("query_id", now=pl.col("first_seen").cast(pl.Int64).fill_null(LAST)).with_row_index("row")
    both = now.join(known, on="query_id", how="left")
    fresh = both.filter(pl.col("known").is_null())
    same = len(both) - len(fresh) == len(known) and both.filter(pl.col("known") != pl.col("now")).is_empty()
    if not same or len(fresh) > _MOST_NEW * len(known):
        return None
    return fresh["row"].sort().to_numpy().astype(np.int64)


def take_in(
    index: LexicalIndex,
    fresh: pl.DataFrame,
    told: pl.Series,
    folder: Path | None,
    *,
    numbers: bool,
    names: bool,
    progress: Progress,
) -> None:
    """Decide new rows.

    Args:
        index: to take them into.
        fresh: query_id, first_seen; in keep order.
        told: what each says.
        folder: of the index, where there is one: keys of many rows go there at once.
        numbers: whether numbers that differ keep both.
        names: whether cities, days, modes and other slots that differ keep both.
        progress: told what is being done, and how far it is.

    Raises:
        LakeError: the disk is full.
    """
    facts = _facts(told, numbers, progress) if names else None if numbers else np.zeros(len(told), np.uint64)
    scratch = folder / "scratch" if folder is not None else None
    with room_for(scratch) if scratch is not None else nullcontext():
        index.add(fresh["query_id"], fresh["first_seen"], told, facts, progress, scratch)


def _facts(told: pl.Series, numbers: bool, progress: Progress) -> NDArray[np.uint64]:
    """A number for what each row is about; of all that the lexical layer does this takes longest."""
    found = np.empty(len(told), dtype=np.uint64)
    for start in range(0, len(told), _TEXTS_AT_A_TIME):
        texts = told[start : start + _TEXTS_AT_A_TIME].to_list()
        found[start : start + len(texts)] = [stable_hash(key) for key in facts_of(texts, numbers=numbers)]
        progress("queries read", start + len(texts), len(told))
    return found
