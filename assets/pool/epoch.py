"""The pool's epoch: what stays fixed while days come, so that a change in one leaf leaves the picks of others alone.

A size alone would not do: rows that come to one bucket would push picks out of all the others. So the first run at a
size finds the radius that gives it, and until the epoch ends every bucket is picked at that radius, measured from the
same middle of each language. What the picks of a bucket are depends then on the rows of that bucket and the epoch.

Shapes: N rows, D dimensions, K picks.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.geometric import CoreSet, core_set, covered_by
from assets.pool.nearest import nearest_pick, rows_by_group
from assets.pool.store import Stored, open_store, save_store
from resources.lake import LakeError
from training.durable import sync

FORMAT = "pool epoch 1"
SCALARS, MEMBERS, CENTRES = "epoch.json", "members.arrow", "centres.npz"
_MARGIN = 1e-6
_FEW = 30
"""New rows of which a share says nothing yet; ours."""


class Wanted(NamedTuple):
    """What an epoch is begun for."""

    size: int | None
    """Rows to keep over all buckets; None where a radius is given."""
    radius: float | None
    embedder: str = ""
    taxonomy: str = ""
    """Version of the tree that the labels are from."""


class Epoch(NamedTuple):
    """What is fixed."""

    number: int
    began: str
    """When, in UTC."""
    wanted: Wanted
    radius: float
    """Distance from all earlier picks of its bucket at which a row is picked; 0 where the size was not reached."""
    ties: Mapping[str, int] | None
    """How many picks of a bucket were exactly at the radius: as many come in. None where all came in or none was."""
    centres: Mapping[str, NDArray[np.float32]]
    """Middle of each language."""
    members: pl.DataFrame
    """query_id, picked: the rows that it was measured on, and the greedy picks among them."""


class Drift(NamedTuple):
    """How far new rows lie from what the epoch began with, before picking anew."""

    new: int
    """Rows that were not there when the epoch began."""
    beyond: float
    """Share of them that is farther than the radius from each pick that the epoch began with."""
    expected: float
    """Share of the rows at its beginning that became picks: what more rows of the same kinds do not exceed."""


def why_new(epoch: Epoch | None, wanted: Wanted, query_ids: pl.Series) -> str | None:
    """Why `epoch` cannot go on, or None."""
    if epoch is None:
        return "there was none"
    was = epoch.wanted
    if (was.size, was.radius) != (wanted.size, wanted.radius):
        return f"{_size_of(wanted)} is wanted, it was {_size_of(was)}"
    if was.embedder != wanted.embedder:
        return f"distances are measured with {wanted.embedder}, it was {was.embedder}"
    if was.size is not None and len(epoch.members) <= was.size < len(query_ids):
        return f"it began with {len(epoch.members):,} queries, fewer than are wanted"
    there = len(epoch.members.join(query_ids.to_frame("query_id"), on="query_id", how="semi"))
    if 2 * there < len(epoch.members):
        return f"of the {len(epoch.members):,} queries that it was measured on {there:,} are left"
    return None


def begin(
    number: int,
    wanted: Wanted,
    query_ids: pl.Series,
    buckets: Sequence[str],
    greedy: CoreSet,
    centres: Mapping[str, NDArray[np.float32]],
) -> Epoch:
    """The epoch in which `pick` goes on as `greedy` began.

    Args:
        number: of the epoch.
        wanted: what `greedy` was picked for.
        query_ids: N ids, as the rows went into `core_set`.
        buckets: N names.
        greedy: its result.
        centres: what the points were measured from.
    """
    members = pl.DataFrame({"query_id": query_ids, "picked": np.isin(np.arange(len(buckets)), greedy.picks_K)})
    radius, ties = (wanted.radius, None) if wanted.radius is not None else _cut_of(greedy, buckets)
    return Epoch(number, datetime.now(UTC).isoformat(timespec="seconds"), wanted, radius, ties, centres, members)


def pick(epoch: Epoch, points_ND: NDArray[np.float32], buckets: Sequence[str]) -> CoreSet:
    """The picks of each bucket at the epoch's radius.

    Args:
        epoch: what is fixed.
        points_ND: unit vectors, measured from its centres; of equally far rows the first is picked.
        buckets: N names.
    """
    if epoch.ties is None and epoch.radius > 0:
        return core_set(points_ND, buckets, radius=epoch.radius)
    at = np.float32(epoch.radius)
    found = (
        core_set(points_ND, buckets, radius=float(np.nextafter(at, np.float32(0))))
        if at > 0
        else core_set(points_ND, buckets, size=len(buckets))
    )
    left = Counter(epoch.ties) if epoch.ties is not None else Counter(buckets)
    stays_K = np.ones(len(found.picks_K), dtype=np.bool_)
    for place in np.flatnonzero(found.distance_K == at).tolist():
        bucket = buckets[found.picks_K[place]]
        stays_K[place] = left[bucket] > 0
        left[bucket] -= 1
    return found if stays_K.all() else covered_by(points_ND, found.picks_K[stays_K], found.distance_K[stays_K], buckets)


def drift_of(epoch: Epoch, points_ND: NDArray[np.float32], buckets: Sequence[str], query_ids: pl.Series) -> Drift:
    """How many of the new rows lie beyond the radius of the picks that the epoch began with."""
    known = query_ids.to_frame("query_id").join(epoch.members, on="query_id", how="left", maintain_order="left")
    new_N, picked_N = known["picked"].is_null().to_numpy(), known["picked"].fill_null(False).to_numpy()
    beyond = 0
    for mine_R in rows_by_group(buckets):
        rows_R, picks_K = mine_R[new_N[mine_R]], mine_R[picked_N[mine_R]]
        far = nearest_pick(points_ND, rows_R, picks_K)[1] > epoch.radius if len(picks_K) else np.ones(len(rows_R), bool)
        beyond += int(far.sum())
    expected = float(epoch.members["picked"].cast(pl.Float64).mean() or 0.0)  # type: ignore[arg-type]
    return Drift(int(new_N.sum()), beyond / max(1, int(new_N.sum())), expected)


def why_end(epoch: Epoch, kept: int, rows: int, drift: Drift, taxonomy: str, *, most: float) -> str:
    """Why a new epoch should be begun, in words; "no" where nothing speaks for it.

    Args:
        epoch: the one that goes on.
        kept: rows of the pool at its radius.
        rows: rows that the pool was picked from.
        drift: of the new rows.
        taxonomy: version of the tree now.
        most: share by which the pool may miss its size, and the drift what is expected.
    """
    reasons, size = [], epoch.wanted.size
    if size is not None and not (1 - most) * min(size, rows) <= kept <= (1 + most) * size:
        reasons.append(f"the pool has {kept:,} queries at this radius, {size:,} are wanted")
    if drift.new >= _FEW and drift.beyond > drift.expected + most:
        reasons.append(
            f"{drift.beyond:.0%} of {drift.new:,} new queries lie beyond the radius of what it began with, "
            f"{drift.expected:.0%} at most were expected"
        )
    if taxonomy != epoch.wanted.taxonomy:
        reasons.append("the taxonomy is another one")
    return "; ".join(reasons) or "no"


def open_epoch(folder: Path, *, strict: bool = True) -> Epoch | None:
    """The epoch of `folder`, or None where there is none.

    Args:
        folder: where it lies.
        strict: whether damage is an error or counts as none.

    Raises:
        LakeError: it is damaged: unlike what the layers remember, it cannot be made again.
    """

    def _read(stored: Stored) -> Epoch:
        told = json.loads((stored.state / SCALARS).read_text(encoding="utf-8"))
        with np.load(stored.state / CENTRES) as arrays:
            centres = dict(zip(told.pop("languages"), arrays.values(), strict=True))
        wanted = Wanted(**told.pop("wanted"))
        return Epoch(**told, wanted=wanted, centres=centres, members=pl.read_ipc(stored.state / MEMBERS))

    found = open_store(folder, FORMAT, _read)
    if strict and found is None and folder.exists() and any(folder.iterdir()):
        raise LakeError(
            f"the pool epoch in {folder} is damaged, or of another version: restore it, or materialize once with "
            "epoch: new, which moves picks everywhere"
        )
    return found


def save_epoch(folder: Path, epoch: Epoch) -> None:
    """Write what is fixed; the epoch before is gone."""

    def _write(folder: Path) -> None:
        told = {name: getattr(epoch, name) for name in ("number", "began", "radius", "ties")}
        told |= {"wanted": epoch.wanted._asdict(), "languages": list(epoch.centres)}
        (folder / SCALARS).write_text(json.dumps(told), encoding="utf-8")
        np.savez(folder / CENTRES, *epoch.centres.values())
        epoch.members.write_ipc(folder / MEMBERS, compression="uncompressed")

    if folder.exists() and any(folder.iterdir()):
        save_store(folder, FORMAT, keep=0, state=_write)
        return
    begun = folder.with_name(f".{folder.name}.begun")  # whole or not at all: a part of one would look damaged
    save_store(begun, FORMAT, keep=0, state=_write)
    begun.replace(folder)
    sync(folder.parent)


def _cut_of(greedy: CoreSet, buckets: Sequence[str]) -> tuple[float, dict[str, int] | None]:
    """The radius of a pool of a size, and how many picks of each bucket lie exactly at it."""
    if len(greedy.picks_K) == len(buckets):
        return 0.0, None
    radius = float(greedy.distance_K[-1])
    if math.isinf(radius):  # one pick per bucket: what is left lies within this
        return greedy.radius * (1 + _MARGIN) + _MARGIN, None
    return radius, Counter(buckets[row] for row in greedy.picks_K[greedy.distance_K == greedy.distance_K[-1]].tolist())


def _size_of(wanted: Wanted) -> str:
    return f"a size of {wanted.size:,}" if wanted.size is not None else f"a radius of {wanted.radius}"
