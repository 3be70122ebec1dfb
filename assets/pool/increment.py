"""The lexical layer day by day: a new day costs in proportion to that day, and the result is that of all days at once.

Whether a row is kept depends on the kept rows before it (first seen, id) that are similar to it, and on nothing else.
So new rows are decided in keep order, and a decision that changes (a row that arrives late takes the place of a later
one) is carried on to the later rows similar to it, and no further. Band keys of every row lie in segments, one per day,
sorted, so that who may be similar to a row is a search and not a scan.

Buckets of more than `CROWD` rows say nothing (`assets.pool.claim_kernels`). They are counted over all rows here, and
over kept rows before a row in a run over everything: with such buckets the two may differ in a few pairs.

Shapes: N rows of a segment, B bands, Q rows asked about, P pairs.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.lexical import Facts, Progress, band_keys, groups_of, silent, survivors_of
from assets.pool.minhash import CROWD, Banding, bands_for, utf8_of
from assets.pool.segments import LAST, OrderedKeys, Segment, picked, segment_of, segment_with
from assets.pool.survival import Survival

_UNDECIDED = -1


class Near(NamedTuple):
    """Verified neighbours of some rows, by slot."""

    of_P: NDArray[np.int64]
    slot_P: NDArray[np.int64]
    similarity_P: NDArray[np.float64]


class _Between(NamedTuple):
    """Pairs of rows of two segments."""

    one: Segment
    other: Segment
    at_P: NDArray[np.int64]
    """Which pairs."""
    left_P: NDArray[np.int64]
    right_P: NDArray[np.int64]


@dataclass
class LexicalIndex:
    """Every row so far, who stands for it, and where to look for rows like it.

    A row's slot is its number among the segments' rows; nothing depends on it.
    """

    threshold: float
    segments: list[Segment] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    survivor_S: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Slot of the survivor of each slot; its own where the row is kept."""
    similarity_S: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))

    def __len__(self) -> int:
        return len(self.survivor_S)

    def __post_init__(self) -> None:
        self.banding: Banding = bands_for(self.threshold)

    def add(
        self,
        ids: pl.Series | Sequence[str],
        first_seen: pl.Series,
        texts: pl.Series,
        facts: Facts,
        progress: Progress = silent,
        scratch: Path | None = None,
    ) -> list[int]:
        """Take in rows and decide them and whatever they change; returns the slots of older rows that changed.

        Args:
            ids: of the rows; none of them may be there already.
            first_seen: when each was first seen; null comes last.
            texts: normalised.
            facts: keys of what must agree, or None for the numbers written in digits.
            progress: told what is being done, and how far it is.
            scratch: folder for the keys of the first rows, which go from there into the index's own; None keeps them
                in memory.

        Raises:
            ValueError: a text is empty, or lengths differ.
            OSError: no room in `scratch`.
        """
        if not len(ids) == len(first_seen) == len(texts):
            raise ValueError(f"rows need id, time and text each, got {len(ids)}, {len(first_seen)}, {len(texts)}")
        if not len(ids):
            return []
        if not len(self):
            self.fill(ids, first_seen, texts, facts, progress, scratch)
            return []
        first = len(self)
        segment, key_BN = segment_of(ids, first_seen, texts, facts, self.banding)
        self.offsets.append(first)
        self.segments.append(segment)
        slots = np.arange(first, first + len(ids))
        self.survivor_S = np.concatenate([self.survivor_S, slots])
        self.similarity_S = np.concatenate([self.similarity_S, np.ones(len(slots), np.float32)])
        return sorted(slot for slot in self._decide(slots, key_BN, progress) if slot < first)

    def fill(
        self,
        ids: pl.Series | Sequence[str],
        first_seen: pl.Series,
        texts: pl.Series,
        facts: Facts,
        progress: Progress = silent,
        scratch: Path | None = None,
    ) -> None:
        """Take in the first rows, all at once: what `add` would decide, without asking row by row.

        Raises:
            ValueError: there are rows already.
            OSError: no room in `scratch`.
        """
        if len(self):
            raise ValueError(f"the index holds {len(self)} rows already: add to it")
        utf8 = utf8_of(texts)
        group_N = groups_of(utf8, facts, numbers=True)
        order_N = _keep_order(ids, first_seen)
        if (np.diff(order_N) != 1).any():
            ids, first_seen = pl.Series(ids, dtype=pl.String).gather(order_N), first_seen.gather(order_N)
            utf8, group_N = utf8_of(texts.gather(order_N)), group_N[order_N]
        keys = OrderedKeys(self.banding, len(ids), scratch)
        found = survivors_of(utf8, group_N, self.threshold, band=keys.add, progress=progress)
        self.offsets.append(0)
        self.segments.append(segment_with(ids, first_seen, utf8, group_N, keys))
        self.survivor_S, self.similarity_S = found.survivor_N, found.similarity_N

    def survival(self, slots: NDArray[np.int64]) -> Survival:
        """What was decided about all rows, as a run over them in the order of `slots` would say it."""
        place_S = np.empty(len(self), dtype=np.int64)
        place_S[slots] = np.arange(len(slots))
        return Survival(place_S[self.survivor_S[slots]], self.similarity_S[slots])

    def groups(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A number for the facts of each slot: rows with different ones are never compared."""
        return np.concatenate([s.group_N for s in self.segments] or [np.empty(0, np.uint64)])[slots]

    def in_keep_order(self) -> NDArray[np.int64]:
        """Every slot, by first seen, then id."""
        if not self.segments:
            return np.empty(0, np.int64)
        seen = pl.Series(np.concatenate([s.seen_N for s in self.segments]))
        return _keep_order(pl.concat([s.ids for s in self.segments]), seen)

    def _decide(self, slots: NDArray[np.int64], key_BQ: NDArray[np.uint64], progress: Progress) -> set[int]:
        """Decide new rows in keep order, and again the later neighbours of each whose place was gained or lost.

        Most rows have no neighbours: they are kept already, and nothing follows from it.
        """
        known = _by_row(self._near(slots, key_BQ))
        self.survivor_S[list(known)] = _UNDECIDED
        queue = [(*self._order(slot), slot) for slot in known]
        heapq.heapify(queue)
        waiting, changed, done = set(known), set(), 0
        while queue:
            progress("rows decided", done := done + 1, done + len(queue))
            seen, name, slot = heapq.heappop(queue)
            waiting.discard(slot)
            near = known.get(slot)
            if near is None:
                alone = np.array([slot])
                near = known[slot] = _by_row(self._near(alone, self._keys_of(alone))).get(slot, [])
            was_kept = self.survivor_S[slot] == slot
            if self._settle(slot, (seen, name), near):
                changed.add(slot)
            if was_kept == (self.survivor_S[slot] == slot):  # for its later neighbours nothing changed
                continue
            for other, _ in near:
                if other not in waiting and self._order(other) > (seen, name):
                    waiting.add(other)
                    heapq.heappush(queue, (*self._order(other), other))
        return changed

    def _settle(self, slot: int, order: tuple[int, str], near: Iterable[tuple[int, float]]) -> bool:
        """Find the survivor of a row among its neighbours; whether it is another one than before."""
        best, best_similarity = slot, 0.0
        for other, similarity in near:
            if self.survivor_S[other] != other or self._order(other) >= order:
                continue
            nearer = similarity > best_similarity or (
                similarity == best_similarity and self._order(other) < self._order(best)
            )
            if nearer:
                best, best_similarity = other, similarity
        before = (self.survivor_S[slot], self.similarity_S[slot])
        self.survivor_S[slot] = best
        self.similarity_S[slot] = 1.0 if best == slot else best_similarity
        return before != (self.survivor_S[slot], self.similarity_S[slot])

    def _order(self, slot: int) -> tuple[int, str]:
        number = self._segment_of(slot)
        row = slot - self.offsets[number]
        return int(self.segments[number].seen_N[row]), self.segments[number].ids[row]

    @property
    def _rows(self) -> int:
        """Rows taken in, decided or not."""
        return self.offsets[-1] + len(self.segments[-1].ids)

    def _segment_of(self, slot: int) -> int:
        return bisect_right(self.offsets, slot) - 1

    def _near(self, slots: NDArray[np.int64], key_BQ: NDArray[np.uint64]) -> Near:
        """Every verified neighbour of some rows, whose band keys are given."""
        pairs = list(self._candidates(slots, key_BQ))
        if not pairs:
            return Near(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))
        both_P = np.stack(np.divmod(np.unique(np.concatenate(pairs)), self._rows), axis=1)
        similarity_P = self._similarities(both_P)
        enough = similarity_P >= self.threshold
        return Near(both_P[enough, 0], both_P[enough, 1], similarity_P[enough])

    def _candidates(self, slots: NDArray[np.int64], key_BQ: NDArray[np.uint64]) -> Iterator[NDArray[np.int64]]:
        """Pairs (asked x rows + other) that share a band key and may be similar, band by band, less the crowds."""
        ranges = [[segment.found(band, key_Q) for segment in self.segments] for band, key_Q in enumerate(key_BQ)]
        total_BQ = np.array([sum(count_Q for _, count_Q in found) for found in ranges])
        crowded_BQ = total_BQ > CROWD
        crowded_BQ &= (~crowded_BQ).sum(axis=0) >= self.banding.enough(self.threshold)
        for band, found in enumerate(ranges):
            for offset, segment, (low_Q, count_Q) in zip(self.offsets, self.segments, found, strict=True):
                asked_Q = np.where(crowded_BQ[band], 0, count_Q)
                if total := int(asked_Q.sum()):
                    at_P = np.repeat(low_Q - (np.cumsum(asked_Q) - asked_Q), asked_Q) + np.arange(total)
                    yield self._likely(np.repeat(slots, asked_Q), offset + segment.rows_at(band, at_P))

    def _keys_of(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Band keys of some rows, made again from their texts, shape (B, Q)."""
        key_BQ = np.empty((self.banding.bands, len(slots)), dtype=np.uint64)
        for number, mine_Q in self._by_segment(slots):
            segment, rows_Q = self.segments[number], slots[mine_Q] - self.offsets[number]
            key_BQ[:, mine_Q] = band_keys(picked(segment.utf8, rows_Q), segment.group_N[rows_Q], self.banding)
        return key_BQ

    def _by_segment(self, slots: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Each segment that holds some of the slots, with their positions."""
        number_Q = np.searchsorted(self.offsets, slots, side="right") - 1
        for number in np.unique(number_Q):
            yield int(number), np.flatnonzero(number_Q == number)

    def _likely(self, left_P: NDArray[np.int64], right_P: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the pairs of slots whose facts agree and whose sketches leave room for the threshold."""
        from assets.pool.kernels import may_be_similar

        keep_P = left_P != right_P
        for one, other, at_P, left, right in self._by_segments(left_P, right_P):
            keep_P[at_P] &= one.group_N[left] == other.group_N[right]
            keep_P[at_P] &= may_be_similar(
                one.size_N, one.bits_N, left, other.size_N, other.bits_N, right, self.threshold
            )
        pair_P: NDArray[np.int64] = left_P[keep_P] * self._rows + right_P[keep_P]
        return pair_P

    def _similarities(self, both_P: NDArray[np.int64]) -> NDArray[np.float64]:
        """Exact Jaccard similarity of pairs of slots, 0 where it cannot reach the threshold."""
        from assets.pool.kernels import similarities

        similarity_P = np.zeros(len(both_P), dtype=np.float64)
        for one, other, at_P, left, right in self._by_segments(both_P[:, 0], both_P[:, 1]):
            similarity_P[at_P] = similarities(*one.utf8, left, *other.utf8, right, self.threshold)
        return similarity_P

    def _by_segments(self, left_P: NDArray[np.int64], right_P: NDArray[np.int64]) -> Iterator[_Between]:
        """Pairs of slots by the two segments that hold them."""
        for left, mine_P in self._by_segment(left_P):
            for right, within_P in self._by_segment(right_P[mine_P]):
                at_P = mine_P[within_P]
                rows = (left_P[at_P] - self.offsets[left], right_P[at_P] - self.offsets[right])
                yield _Between(self.segments[left], self.segments[right], at_P, *rows)


def _keep_order(ids: pl.Series | Sequence[str], first_seen: pl.Series) -> NDArray[np.int64]:
    """Rows by first seen, then id."""
    frame = pl.DataFrame({"seen": first_seen.cast(pl.Int64).fill_null(LAST), "id": pl.Series(ids, dtype=pl.String)})
    return frame.with_row_index("row").sort("seen", "id")["row"].to_numpy().astype(np.int64)


def _by_row(near: Near) -> dict[int, list[tuple[int, float]]]:
    """Neighbours by the row they are of."""
    found: dict[int, list[tuple[int, float]]] = {}
    for of, slot, similarity in zip(near.of_P.tolist(), near.slot_P.tolist(), near.similarity_P.tolist(), strict=True):
        found.setdefault(of, []).append((slot, similarity))
    return found
