"""The lexical index on disk: a segment per day with its keys mapped into memory, and the decisions as the state."""

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from assets.pool.increment import LexicalIndex
from assets.pool.minhash import utf8_of
from assets.pool.segments import Segment
from assets.pool.store import Stored, open_store, save_store

ROWS, ARRAYS = "rows.arrow", ("seen_N", "group_N", "packed_BN", "size_N", "bits_N")


def open_index(folder: Path, key: str, threshold: float) -> LexicalIndex:
    """The index of `folder`; an empty one where there is none, other settings or other code made it, or it is damaged.

    Args:
        folder: where it lies.
        key: hash of all that decides the rows: settings and code.
        threshold: of the layer.
    """

    def _index(stored: Stored) -> LexicalIndex:
        index = LexicalIndex(threshold)
        for folder in stored.segments:
            index.offsets.append(sum(len(s.ids) for s in index.segments))
            index.segments.append(_read(folder))
        index.survivor_S = np.load(stored.state / "survivor_S.npy")
        index.similarity_S = np.load(stored.state / "similarity_S.npy")
        return index

    return open_store(folder, key, _index) or LexicalIndex(threshold)


def save_index(folder: Path, key: str, index: LexicalIndex, new: int) -> None:
    """Write the segments that are new and the decisions; keys that lie in a file already are moved.

    Args:
        folder: where to.
        key: as in `open_index`.
        index: what to write.
        new: how many of the last segments are not in the folder yet.
    """

    def _decisions(folder: Path) -> None:
        np.save(folder / "survivor_S.npy", index.survivor_S)
        np.save(folder / "similarity_S.npy", index.similarity_S)

    keep = len(index.segments) - new
    save_store(folder, key, keep=keep, segments=[partial(_write, s) for s in index.segments[keep:]], state=_decisions)


def _write(segment: Segment, folder: Path) -> None:
    pl.DataFrame({"id": segment.ids, "text": segment.texts}).write_ipc(folder / ROWS, compression="uncompressed")
    for name in ARRAYS:
        array = getattr(segment, name)
        if isinstance(array, np.memmap):
            Path(str(array.filename)).replace(folder / f"{name}.npy")
        else:
            np.save(folder / f"{name}.npy", array)


def _read(folder: Path) -> Segment:
    rows = pl.read_ipc(folder / ROWS)
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    return Segment(ids=rows["id"], utf8=utf8_of(rows["text"]), **arrays)
