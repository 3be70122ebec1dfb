"""The lexical index on disk: one folder per segment, its keys mapped into memory, and a manifest of what counts.

A segment is written once and never changed; decisions are one file each time. The manifest is replaced last: a process
killed before that leaves the index as it was, and what it had written is not read.
"""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from assets.pool.increment import LexicalIndex, Segment
from assets.pool.minhash import utf8_of
from resources.lake import LakeError, is_disk_full
from training.durable import replace_durably, sync_tree

LOG: Final = logging.getLogger(__name__)
MANIFEST: Final = "manifest.json"
ROWS, ARRAYS = "rows.arrow", ("seen_N", "group_N", "key_BN", "row_BN")


def open_index(folder: Path, key: str, threshold: float) -> LexicalIndex:
    """The index of `folder`; an empty one where there is none, other settings or other code made it, or it is damaged.

    What it remembers can be decided again, so damage costs time and nothing else.

    Args:
        folder: where it lies.
        key: hash of all that decides the rows: settings and code.
        threshold: of the layer.
    """
    manifest = _manifest(folder)
    index = LexicalIndex(threshold)
    if manifest is None or manifest["key"] != key:
        return index
    state = folder / manifest["state"]
    try:
        for name in manifest["segments"]:
            index.offsets.append(sum(len(s.ids) for s in index.segments))
            index.segments.append(_read(folder / name))
        index.survivor_S, index.similarity_S = np.load(state / "survivor_S.npy"), np.load(state / "similarity_S.npy")
    except (OSError, ValueError, EOFError, pl.exceptions.ComputeError) as error:
        LOG.warning("the lexical index in %s is damaged (%s): every query is decided anew", folder, error)
        return LexicalIndex(threshold)
    return index


def save_index(folder: Path, key: str, index: LexicalIndex, texts: list[pl.Series]) -> None:
    """Write the segments that are new and the decisions, then the manifest.

    Args:
        folder: where to.
        key: as in `open_index`.
        index: what to write.
        texts: those of the new segments, in order; the last segments of the index.

    Raises:
        LakeError: the disk is full; the index is as it was before.
    """
    before = _manifest(folder)
    kept = before["segments"] if before is not None and before["key"] == key else []
    kept = kept[: len(index.segments) - len(texts)]
    number = (before["number"] if before is not None else 0) + 1
    names = [f"segment-{number}-{i}" for i in range(len(texts))]
    for name, segment, said in zip(names, index.segments[len(kept) :], texts, strict=True):
        with _room_in(folder / name):
            _write(folder / name, segment, said)
    state = f"state-{number}"
    with _room_in(folder / state):
        np.save(folder / state / "survivor_S.npy", index.survivor_S)
        np.save(folder / state / "similarity_S.npy", index.similarity_S)
        sync_tree(folder / state)
    scratch = folder / f"{MANIFEST}.tmp"
    listed = {"key": key, "number": number, "segments": [*kept, *names], "state": state}
    scratch.write_text(json.dumps(listed), encoding="utf-8")
    replace_durably(scratch, folder / MANIFEST)
    for stale in folder.iterdir():
        if stale.is_dir() and stale.name not in (*kept, *names, state):
            shutil.rmtree(stale)


def _manifest(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _fresh(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


@contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    """A new folder to write into; where the disk is full, the error names it."""
    _fresh(folder)
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        if not is_disk_full(error):
            raise
        shutil.rmtree(folder, ignore_errors=True)
        raise LakeError(
            f"no room left to write {folder}: free space, then materialize it again; what was there before is untouched"
        ) from error


def _write(folder: Path, segment: Segment, texts: pl.Series) -> None:
    pl.DataFrame({"id": segment.ids, "text": texts}).write_ipc(folder / ROWS, compression="uncompressed")
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(segment, name))
    sync_tree(folder)


def _read(folder: Path) -> Segment:
    rows = pl.read_ipc(folder / ROWS)
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    return Segment(ids=rows["id"], utf8=utf8_of(rows["text"]), **arrays)
