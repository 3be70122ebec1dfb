"""File operations inside a sandbox, where an agent of the same user may have left anything: links, pipes, odd names.

Nothing of the agent's runs while they do (the worker has killed it), so nothing changes between a look and the deed.
Paths stay strings: `pathlib` would be half of the worker's start. The standard library only.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterable
from typing import Any

ALWAYS = ("/tmp", "/dev/shm", "/dev/mqueue")
"""What is wiped in every container, beside the folders that an agent's files may lie in."""


class Ground:
    """Where files may lie: commands run in `work`, and nothing is read or written beside `roots`."""

    def __init__(self) -> None:
        self.work, self.roots = "/work", ["/work"]


GROUND = Ground()


class Refused(Exception):
    """A request that cannot be met; its text is the code that the agent reads."""


def inside(path: str) -> str:
    """The real place of `path`, which must lie in the agent's folders: no link leads out, least of all to /proc/1."""
    try:
        real = os.path.realpath(os.path.join(GROUND.work, path))
    except (OSError, ValueError):
        raise Refused("bad_path") from None
    if not within(real, GROUND.roots):
        raise Refused("outside")
    return real


def within(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these folders or lies in one."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def read(path: str, most: int) -> dict[str, Any]:
    """One regular file."""
    descriptor = os.open(inside(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Refused("not_a_file")
        if found.st_size > most:
            raise Refused("too_large")
        return {"content": encoded(file.read(most))}


def encoded(content: bytes) -> str:
    """Bytes as JSON carries them."""
    return base64.b64encode(content).decode()


def write(path: str, content: str) -> dict[str, Any]:
    """One regular file, with the folders that it needs; an old one is replaced, never written through a link."""
    place = inside(path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.lexists(place) and not stat.S_ISREG(os.lstat(place).st_mode):
        raise Refused("not_a_file")
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(base64.b64decode(content))
    return {}


def names(folder: str, most: int) -> dict[str, Any]:
    """The entries of a folder, in order."""
    with os.scandir(inside(folder)) as found:
        shown = sorted(e.name + "/" * e.is_dir(follow_symlinks=False) for e in found if is_text(e.name))
    return {"names": shown[:most], "more": len(shown) > most}


def is_text(name: str) -> bool:
    """Whether a name can be written down."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def collect(most_each: int, most_all: int, most_entries: int) -> dict[str, Any]:
    """Every regular file of the work folder; links are not followed, and nothing is opened that could block."""
    files: dict[str, str] = {}
    skipped: list[str] = []
    total, seen, waiting = 0, 0, [""]
    while waiting:
        folder = waiting.pop()
        permit(os.path.join(GROUND.work, folder), 0o700)
        with os.scandir(os.path.join(GROUND.work, folder)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        seen += len(entries)
        if seen > most_entries:  # a thousand names may be links to one file, and would not fit elsewhere
            raise Refused("too_many")
        for entry in entries:
            path = os.path.join(folder, entry.name)
            if not is_text(path) or len(path) > 1024:
                skipped.append(ascii(path[:200]))
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif not entry.is_file(follow_symlinks=False):
                skipped.append(path)
            else:
                size = entry.stat(follow_symlinks=False).st_size
                total += size
                if size > most_each or total > most_all:
                    raise Refused("too_large")
                permit(os.path.join(GROUND.work, path), 0o400)
                files[path] = read(path, most_each)["content"]
    return {"files": files, "skipped": sorted(skipped)[:100]}


def permit(path: str, mode: int) -> None:
    """Give ourselves the permissions that are missing."""
    has = stat.S_IMODE(os.lstat(path).st_mode)
    if has & mode != mode:
        os.chmod(path, has | mode)


def wipe(top: str) -> None:
    """Empty a folder, however deep, whatever its permissions; folders are lifted to the top, so no path grows long."""
    if os.stat(top).st_uid == os.getuid():
        os.chmod(top, 0o700)
        for attribute in os.listxattr(top):
            os.removexattr(top, attribute)
    while found := os.listdir(top):
        for name in found:
            path = os.path.join(top, name)
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for inner in os.listdir(path):
                lower = os.path.join(path, inner)
                if stat.S_ISDIR(os.lstat(lower).st_mode):
                    os.chmod(lower, 0o700)
                    os.rename(lower, os.path.join(top, "lifted-" + os.urandom(12).hex()))
                else:
                    os.unlink(lower)
            os.rmdir(path)
