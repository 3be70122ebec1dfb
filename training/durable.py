"""Files that survive a power cut: their bytes reach the disk before their name does."""

import os
from pathlib import Path


def replace_durably(scratch: Path, final: Path) -> None:
    """Give a file that was written to `scratch` its name: a reader sees the old file or the whole new one."""
    sync(scratch)
    scratch.replace(final)
    sync(final.parent)


def write_durably(final: Path, text: str) -> None:
    """Write a text file: a reader sees the old one or the whole new one, and where it fails nothing half-written stays.

    Raises:
        OSError: the folder cannot be written to, or the disk is full; what was there before is untouched.
    """
    scratch = final.with_suffix(".tmp")
    try:
        scratch.write_text(text, encoding="utf-8")
        replace_durably(scratch, final)
    finally:
        if scratch.is_file():
            scratch.unlink()


def sync_tree(folder: Path) -> None:
    """Force every file under `folder`, and the folders themselves, to disk."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


def sync(path: Path) -> None:
    """Force one file or folder to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
