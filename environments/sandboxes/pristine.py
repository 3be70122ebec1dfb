"""Folders that an image brings along and an agent works in: filled anew, compared with what they were, carried over.

The image keeps a second copy of them, which nothing inside the container can write to. What differs from it after an
episode is all that the agent leaves, and is put into another container as data: regular files, folders, and links that
lead to nothing that the tests bring along. It runs inside the container: the standard library only.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator
from typing import Any

from environments.sandboxes import files

COPY = "/.loopwright/places"
"""The second copy."""
PLACES: list[str] = []
"""Folders that are filled from it."""
NOT_CARRIED = ("/tests", "/solution", "/logs", "/tmp", "/proc", "/dev", "/sys", "/run")
"""No link may lead there: what lies there is another thing where the tests run."""
CACHE = "__pycache__"
"""Never carried over: a cache of other code than its source is a way to be tested by something else."""
BLOCK = 1 << 20


def fill() -> None:
    """Copy what the image holds into the emptied folders."""
    if PLACES:
        import shutil  # takes as long to load as the rest of the worker, and most containers need none of it

        for place in PLACES:
            shutil.copytree(COPY + place, place, symlinks=True, dirs_exist_ok=True)


def changed(paths: list[str], whole: bool, most_each: int, most_all: int, most_entries: int) -> dict[str, Any]:
    """What differs at `paths` and below from what the image holds, or, if `whole`, all that lies there.

    No file may be larger than `most_each` bytes, nor all of them together than `most_all`.
    """
    found: list[dict[str, Any]] = []
    skipped: list[str] = []
    total = 0
    for path in (p for top in paths for p in _walk(top)):
        entry = _entry(path, "" if whole else COPY + path, most_each)
        if isinstance(entry, str):
            skipped.append(ascii(f"{path}: {entry}"[:200]))
        elif entry is not None:
            total += entry.get("size", 0)
            found.append(entry)
        if total > most_all or len(found) > most_entries:
            raise files.Refused("too_large" if total > most_all else "too_many")
    if not whole:
        found += [{"path": p, "kind": "gone"} for top in paths for p in _gone(top)]
    return {"entries": found, "skipped": sorted(skipped)[:100]}


def _walk(top: str) -> Iterator[str]:
    """Every path below a folder, folders before what lies in them, or the file itself; links are not followed."""
    real = os.path.realpath(top)
    if not files.within(real, files.GROUND.roots) or not os.path.isdir(real):
        yield from [real] if os.path.isfile(real) and files.within(real, files.GROUND.roots) else []
        return
    waiting = [real]
    while waiting:
        folder = waiting.pop()
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name == CACHE:
                continue
            yield path
            if files.is_text(path) and stat.S_ISDIR(os.lstat(path).st_mode):
                files.permit(path, 0o700)
                waiting.append(path)


def _gone(top: str) -> Iterator[str]:
    """Paths that the image holds and that are no more; of a folder that is gone, only itself."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        for name in sorted(os.listdir(COPY + folder)) if os.path.isdir(COPY + folder) else ():
            path = os.path.join(folder, name)
            if name == CACHE:
                continue
            if not os.path.lexists(path):
                yield path
            elif stat.S_ISDIR(os.lstat(COPY + path).st_mode) and stat.S_ISDIR(os.lstat(path).st_mode):
                waiting.append(path)


def _entry(path: str, old: str, most_each: int) -> dict[str, Any] | str | None:
    """What is to be carried of a path; None where it is as it was, a reason where it cannot be."""
    if not files.is_text(path) or len(path) > 1024:
        return "its name cannot be written down"
    now = os.lstat(path)
    before = os.lstat(old) if old and os.path.lexists(old) else None
    kind = stat.S_IFMT(now.st_mode)
    same_kind = before is not None and stat.S_IFMT(before.st_mode) == kind
    if kind == stat.S_IFDIR:
        return None if same_kind else {"path": path, "kind": "folder"}
    if kind == stat.S_IFLNK:
        return None if same_kind and os.readlink(old) == os.readlink(path) else _link(path)
    if kind != stat.S_IFREG:
        return "neither file nor folder nor link"
    if now.st_size > most_each:
        raise files.Refused("too_large")
    mode = _mode(now)
    files.permit(path, 0o400)
    if before is not None and same_kind and (before.st_size, _mode(before)) == (now.st_size, mode) and _same(path, old):
        return None
    content = files.read(path, most_each)["content"]
    return {"path": path, "kind": "file", "mode": mode, "size": now.st_size, "content": content}


def _mode(found: os.stat_result) -> int:
    """Permissions as they are carried: its owner may always read and write."""
    return stat.S_IMODE(found.st_mode) & 0o777 | 0o600


def _same(path: str, other: str) -> bool:
    """Whether two files of one size hold the same."""
    with open(path, "rb") as mine, open(other, "rb") as theirs:
        while True:
            block = mine.read(BLOCK)
            if block != theirs.read(BLOCK):
                return False
            if not block:
                return True


def _link(path: str) -> dict[str, Any] | str:
    """A link, unless it leads, as it is written or as it is followed, to where the tests lie."""
    target = os.readlink(path)
    written = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if not files.is_text(target) or any(files.within(p, NOT_CARRIED) for p in (written, os.path.realpath(path))):
        return f"a link to {ascii(target)[:80]}"
    return {"path": path, "kind": "link", "target": target}


def apply(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Make what an agent left of folders that were just filled; links last, so that nothing is written through one."""
    order = ("gone", "folder", "file", "link")
    for entry in sorted(entries, key=lambda e: order.index(e["kind"])):
        path, kind = entry["path"], entry["kind"]
        if os.path.lexists(path) and (kind != "folder" or not os.path.isdir(path) or os.path.islink(path)):
            _remove(path)
        if kind == "folder":
            os.makedirs(path, exist_ok=True)
        elif kind == "file":
            _write(path, base64.b64decode(entry["content"]), entry["mode"])
        elif kind == "link":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(entry["target"], path)
    return {}


def _remove(path: str) -> None:
    import shutil

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _write(path: str, content: bytes, mode: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def put(given: dict[str, str]) -> dict[str, Any]:
    """Write files that are ours, by their whole path; a script can be run."""
    for path, content in given.items():
        text = base64.b64decode(content)
        _write(files.inside(path), text, 0o755 if text.startswith(b"#!") or path.endswith(".sh") else 0o644)
    return {}
