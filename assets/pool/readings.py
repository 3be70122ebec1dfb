"""What was read of each request and its vector, once per query: a day reads and embeds its new queries only.

Reading and embedding cost more than all else in the semantic and geometric layers. A query's id is a hash of what it
says, so what was read under an id holds until the rules, the embedder or the code change.

Shapes: N rows, D dimensions.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.facts import SEPARATOR, read_requests, rules_version
from assets.pool.store import Stored, open_store, save_store
from assets.pool.vectors import Half, Vectors, rounded
from training.code import code_of
from training.side_by_side import core_count, each_part

LOG: Final = logging.getLogger(__name__)
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
AT_ONCE: Final = 131_072
"""Rows of a segment: what a killed run reads again at most."""
PART: Final = 4096
"""Rows that a process reads at a time; a segment is a number of such parts."""
WORTH_PROCESSES: Final = 32_768
"""Rows from which on starting processes pays; ours."""
ROWS, VECTORS = "rows.arrow", "vectors.npy"
SCHEMA: Final = dict.fromkeys(("query_id", "slots", "numbers", "words"), pl.String)
_Segment = tuple[pl.DataFrame, Half]
"""Rows that were read together, and their vectors, mapped into memory."""


class Readings(NamedTuple):
    """What was read of N requests, in the order in which they were asked for."""

    rows: pl.DataFrame
    """query_id, slots, numbers, words."""
    vectors: Vectors
    before: int
    """Rows that had been read before."""
    now: int
    """Rows that were read now."""

    def facts(self, *, numbers: bool, names: bool) -> pl.Series:
        """One key per row; see `assets.pool.facts.facts_of`."""
        parts = [*(["slots"] if names else []), *(["numbers"] if numbers else [])]
        said = pl.concat_str(parts, separator=SEPARATOR) if parts else pl.lit("")
        return self.rows.with_columns(facts=said)["facts"]


class Reader(NamedTuple):
    """Reads and embeds requests, and remembers them."""

    embed: Embed
    """Text to unit vectors."""
    embedder: str = ""
    """Names the embedder and its version."""
    folder: Path | None = None
    """Where it remembers; None remembers nothing."""

    @property
    def key(self) -> str:
        """Names all that decides what is read: rules, embedder, code."""
        code = code_of(__name__, ("assets",)), code_of("resources.embedder", ("resources",))
        return f"{rules_version()} {self.embedder} {' '.join(code)}"

    def read(self, query_ids: pl.Series, texts: pl.Series) -> Readings:
        """What each request says and its vector.

        Args:
            query_ids: hashes of what the requests say.
            texts: what they say, the turn before included.

        Raises:
            ValueError: the embedder gave no unit vector for a request; the message names its id.
        """
        known = self._known()
        asked = pl.DataFrame({"query_id": query_ids, "text": texts}, schema={"query_id": pl.String, "text": pl.String})
        fresh = asked.join(_all_rows(known).select("query_id"), on="query_id", how="anti", maintain_order="left")
        done = 0
        for segment in self._segments_of(fresh):
            known.append(self._keep(*segment, len(known)))
            done += len(segment[0])
            LOG.info("%s of %s new queries are read", f"{done:,}", f"{len(fresh):,}")
        rows = asked.select("query_id").join(
            _all_rows(known).with_row_index("slot"), on="query_id", how="left", maintain_order="left"
        )
        vectors = Vectors([half_ND for _, half_ND in known], rows["slot"].to_numpy().astype(np.int64))
        return Readings(rows.drop("slot"), vectors, len(asked) - len(fresh), len(fresh))

    def _known(self) -> list[_Segment]:
        found = open_store(self.folder, self.key, _segments) if self.folder is not None else None
        return found or []

    def _segments_of(self, fresh: pl.DataFrame) -> Iterator[_Segment]:
        """Read and embed some rows, as many processes side by side as there are cores where that pays."""
        workers = core_count() if len(fresh) >= WORTH_PROCESSES else 1
        made = each_part(_read_part, self.embed, fresh.iter_slices(PART), workers=workers)
        while parts := list(islice(made, AT_ONCE // PART)):
            rows, half_ND = zip(*parts, strict=True)
            yield pl.concat(rows), np.concatenate(half_ND)

    def _keep(self, rows: pl.DataFrame, half_ND: Half, number: int) -> _Segment:
        """The segment, on disk before the next is made."""
        if self.folder is None:
            return rows, half_ND

        def _write(folder: Path) -> None:
            rows.write_ipc(folder / ROWS, compression="uncompressed")
            np.save(folder / VECTORS, half_ND)

        stored = save_store(self.folder, self.key, keep=number, segments=[_write])
        return _segment_in(stored.segments[-1])


def _read_part(embed: Embed, fresh: pl.DataFrame) -> _Segment:
    told = read_requests(fresh["text"].to_list())
    rows = pl.DataFrame({"query_id": fresh["query_id"], **told._asdict()}, schema=SCHEMA)
    return rows, rounded(embed(told.words), fresh["query_id"].to_list(), shortest=0.5)


def _segments(stored: Stored) -> list[_Segment]:
    return [_segment_in(folder) for folder in stored.segments]


def _segment_in(folder: Path) -> _Segment:
    return pl.read_ipc(folder / ROWS), np.load(folder / VECTORS, mmap_mode="r")


def _all_rows(segments: Sequence[_Segment]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=SCHEMA), *(rows for rows, _ in segments)])
