"""Who stands for whom in each group of the semantic layer, remembered from day to day.

A row's decision depends on the rows of its group that come before it in keep order, and on nothing else. So the
decisions of a group hold up to the first place at which another row stands than before (a new row, a late one, one
that went, one that moved to another bucket), and the rows from there on are decided again. Groups are recognised by
their rows: a bucket that was renamed is decided no second time.

Shapes: N rows in keep order, G groups.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.semantic import claim, sampled_recall
from assets.pool.store import Stored, open_store, save_store
from assets.pool.survival import Survival
from assets.pool.vectors import Vectors

_SEARCHED = 4096
"""Rows of a group from which on the search is measured against brute force."""
ROWS = "rows.arrow"
SCHEMA = {"query_id": pl.String, "group": pl.Int64, "place": pl.Int64, "survivor": pl.Int64, "similarity": pl.Float32}


class Decisions(NamedTuple):
    """What the layer decided about N rows, and how much of that it knew."""

    survival: Survival
    remembered: pl.DataFrame
    """query_id, number of the group, place in the group, place of the survivor, similarity; group by group."""
    before: int
    """Rows whose decision holds from before."""
    now: int
    """Rows that were decided now."""
    recall: float | None
    """`sampled_recall` of the largest group, or None where that is small."""


class Groups(NamedTuple):
    """Rows that may be compared."""

    order_N: NDArray[np.int64]
    """Rows group by group, in keep order within each."""
    starts_G: NDArray[np.int64]
    """Where each group begins, and the end; length G + 1."""

    @property
    def sizes_G(self) -> NDArray[np.int64]:
        """Rows of each group."""
        return np.diff(self.starts_G)

    @property
    def group_N(self) -> NDArray[np.int64]:
        """Number of the group of each row, group by group."""
        return np.repeat(np.arange(len(self.sizes_G)), self.sizes_G)

    @property
    def place_N(self) -> NDArray[np.int64]:
        """Place of each row in its group, group by group."""
        return np.arange(len(self.order_N)) - np.repeat(self.starts_G[:-1], self.sizes_G)


def decide(
    query_ids: Sequence[str],
    vectors: Vectors,
    buckets: Sequence[str],
    facts: Sequence[str],
    threshold: float,
    remembered: pl.DataFrame | None = None,
) -> Decisions:
    """Which of the requests that mean the same stays, as far as that is not known.

    Args:
        query_ids: of N requests in keep order.
        vectors: of the requests.
        buckets: N names; requests of different buckets are never compared.
        facts: N keys; requests whose keys differ are both kept, however near their meaning.
        threshold: cosine similarity in (0, 1] at which a row counts as a copy.
        remembered: that of an earlier call with the same threshold and vectors.

    Raises:
        ValueError: lengths differ or the threshold is out of range.
    """
    if not len(query_ids) == len(vectors) == len(buckets) == len(facts):
        counts = len(query_ids), len(vectors), len(buckets), len(facts)
        raise ValueError(f"rows need one id, vector, bucket and key each, got {', '.join(map(str, counts))}")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    groups = groups_of(buckets, facts)
    rows = pl.DataFrame({"query_id": pl.Series(query_ids, dtype=pl.String)})[groups.order_N]
    holds_G, known = _standing(rows["query_id"], groups, remembered)
    place_N, similarity_N = known.survivor_N, known.similarity_N
    alone_G = groups.sizes_G == 1
    place_N[groups.starts_G[:-1][alone_G]], similarity_N[groups.starts_G[:-1][alone_G]] = 0, 1.0
    for group in np.flatnonzero((holds_G < groups.sizes_G) & ~alone_G).tolist():
        mine = slice(groups.starts_G[group], groups.starts_G[group + 1])
        settled = Survival(place_N[mine], similarity_N[mine])
        place_N[mine], similarity_N[mine] = claim(vectors, groups.order_N[mine], threshold, settled, holds_G[group])
    frame = rows.with_columns(group=groups.group_N, place=groups.place_N, survivor=place_N, similarity=similarity_N)
    survivor_N, similar_N = np.empty_like(place_N), np.empty_like(similarity_N)
    survivor_N[groups.order_N] = groups.order_N[np.repeat(groups.starts_G[:-1], groups.sizes_G) + place_N]
    similar_N[groups.order_N] = similarity_N
    before = int(holds_G.sum())
    recall = _recall(vectors, groups, Survival(place_N, similarity_N), threshold)
    return Decisions(Survival(survivor_N, similar_N), frame, before, len(rows) - before, recall)


def open_decisions(folder: Path, key: str) -> pl.DataFrame | None:
    """What `decide` is to remember; None where there is nothing, another key wrote it, or it is damaged."""

    def _read(stored: Stored) -> pl.DataFrame:
        return pl.read_ipc(stored.state / ROWS)

    return open_store(folder, key, _read)


def save_decisions(folder: Path, key: str, remembered: pl.DataFrame) -> None:
    """Write what `decide` is to remember."""

    def _write(folder: Path) -> None:
        remembered.write_ipc(folder / ROWS, compression="uncompressed")

    save_store(folder, key, keep=0, state=_write)


def groups_of(buckets: Sequence[str], facts: Sequence[str]) -> Groups:
    """Rows by bucket and facts."""
    frame = pl.DataFrame({"bucket": buckets, "facts": facts}, schema=dict.fromkeys(("bucket", "facts"), pl.String))
    found = frame.with_row_index("row").group_by("bucket", "facts", maintain_order=True).agg("row")["row"]
    order_N = found.explode().to_numpy().astype(np.int64) if len(frame) else np.empty(0, np.int64)
    return Groups(order_N, np.concatenate([[0], np.cumsum(found.list.len().to_numpy())]).astype(np.int64))


def _standing(
    query_ids: pl.Series, groups: Groups, remembered: pl.DataFrame | None
) -> tuple[NDArray[np.int64], Survival]:
    """How many of the first rows of each group are decided, and by place what was decided about them."""
    known = remembered if remembered is not None else pl.DataFrame(schema=SCHEMA)
    was = query_ids.to_frame().join(known, on="query_id", how="left", maintain_order="left").fill_null(-1)
    group_N, place_N = was["group"].to_numpy(), was["place"].to_numpy()
    first_N = np.repeat(groups.starts_G[:-1], groups.sizes_G)
    same_N = (place_N == groups.place_N) & (group_N == group_N[first_N])
    survival = Survival(was["survivor"].to_numpy().copy(), was["similarity"].to_numpy().copy())
    if not len(same_N):
        return np.empty(0, np.int64), survival
    sizes_N = np.repeat(groups.sizes_G, groups.sizes_G)
    holds_G = np.minimum.reduceat(np.where(same_N, sizes_N, groups.place_N), groups.starts_G[:-1])
    return holds_G, survival


def _recall(vectors: Vectors, groups: Groups, by_place: Survival, threshold: float) -> float | None:
    largest = int(groups.sizes_G.argmax()) if len(groups.sizes_G) else 0
    if not len(groups.sizes_G) or groups.sizes_G[largest] < _SEARCHED:
        return None
    mine = slice(groups.starts_G[largest], groups.starts_G[largest + 1])
    own = Survival(by_place.survivor_N[mine], by_place.similarity_N[mine])
    return sampled_recall(vectors, groups.order_N[mine], own, threshold)
