"""What a layer remembers on disk: segments that are written once, a state that is replaced, and a manifest.

The manifest is replaced last and names all that counts, with the size of each file and a hash of the state: a process
killed before that leaves the store as it was, what it had written is not read, and a file that is gone or torn is found
when the store is opened. What a layer remembers can be made again, so damage costs time and nothing else.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import polars as pl

from resources.lake import LakeError, is_disk_full
from training.durable import replace_durably, sync_tree

LOG: Final = logging.getLogger(__name__)
MANIFEST: Final = "manifest.json"
Write = Callable[[Path], None]
"""Writes the files of one segment, or of the state, into an empty folder."""
T = TypeVar("T")


class Stored(NamedTuple):
    """What the manifest names."""

    segments: list[Path]
    state: Path
    """An empty folder where none was written."""


def open_store(folder: Path, key: str, read: Callable[[Stored], T]) -> T | None:
    """What `read` makes of the store; None where there is none, another key wrote it, or it is damaged.

    Args:
        folder: where it lies.
        key: hash of all that decides what is in it: settings, versions, code.
        read: takes the folders; what it raises because of what lies there counts as damage.
    """
    try:
        manifest = _manifest(folder)
        if manifest is None or manifest.key != key:
            return None
        for name, size in manifest.sizes.items():
            if (there := (folder / name).stat().st_size) != size:
                raise ValueError(f"{name} has {there} bytes of {size}")
        if _hash_of(folder / manifest.state) != manifest.state_hash:
            raise ValueError(f"{manifest.state} is not as it was written")
        return read(Stored([folder / name for name in manifest.segments], folder / manifest.state))
    except (OSError, ValueError, EOFError, pl.exceptions.PolarsError) as error:
        LOG.warning("%s is damaged (%s): what it remembered is made anew", folder, error)
        return None


def save_store(
    folder: Path, key: str, *, keep: int, segments: Sequence[Write] = (), state: Write | None = None
) -> Stored:
    """Write new segments and the state, then the manifest; what it does not name any more goes. Returns what counts.

    Args:
        folder: where to; made if absent.
        key: as in `open_store`.
        keep: how many of the first segments stay, if the same key wrote them; 0 begins anew.
        segments: writers of the new ones, in order.
        state: writer of the state; None leaves it empty.

    Raises:
        LakeError: the disk is full; the store is as it was before.
    """
    try:
        before = _manifest(folder)
    except (OSError, ValueError):
        before = None  # `open_store` has said so
    kept = before.segments[:keep] if before is not None and before.key == key else []
    number = (before.number if before is not None else 0) + 1
    new, state_name = [f"segment-{number}-{i}" for i in range(len(segments))], f"state-{number}"
    for name, write in zip((*new, state_name), (*segments, state or (lambda _: None)), strict=True):
        _fresh(folder / name)
        with room_for(folder / name):
            write(folder / name)
            sync_tree(folder / name)
    sizes = {path: size for path, size in before.sizes.items() if path.split("/")[0] in kept} if before else {}
    sizes |= _sizes(folder, [*new, state_name])
    manifest = _Manifest(key, number, [*kept, *new], state_name, sizes, _hash_of(folder / state_name))
    scratch = folder / f"{MANIFEST}.tmp"
    with room_for(scratch):
        scratch.write_text(json.dumps(manifest._asdict()), encoding="utf-8")
        replace_durably(scratch, folder / MANIFEST)
    for stale in folder.iterdir():
        if stale.is_dir() and stale.name not in (*manifest.segments, state_name):
            shutil.rmtree(stale)
    return Stored([folder / name for name in manifest.segments], folder / state_name)


class _Manifest(NamedTuple):
    key: str
    number: int
    segments: list[str]
    state: str
    sizes: dict[str, int]
    state_hash: str


def _manifest(folder: Path) -> _Manifest | None:
    """The manifest; None where there is none.

    Raises:
        ValueError: it is torn, or not one of ours.
    """
    path = folder / MANIFEST
    if not path.exists():
        return None
    listed = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(listed, dict) or listed.keys() != set(_Manifest._fields):
        raise ValueError(f"{MANIFEST} is not one of ours")
    return _Manifest(**listed)


def _sizes(folder: Path, names: Sequence[str]) -> dict[str, int]:
    files = sorted(path for name in names for path in (folder / name).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def _hash_of(folder: Path) -> str:
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            found.update(path.name.encode() + hashlib.file_digest(file, "blake2b").digest())
    return found.hexdigest()


def _fresh(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


@contextmanager
def room_for(place: Path) -> Iterator[None]:
    """Where the disk is full, the error names the file or folder, and what was written of it is gone."""
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        if not is_disk_full(error):
            raise
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        raise LakeError(
            f"no room left to write {place}: free space, then materialize it again; what was there before is untouched"
        ) from error
