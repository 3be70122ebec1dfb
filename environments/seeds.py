"""Numbers that are the same in every process: seeds and world facts follow from stable ids, never from `hash()`."""

import hashlib


def stable_hash(*parts: object) -> int:
    """A 64-bit number from `parts`, the same in every process and on every machine."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def unit_hash(*parts: object) -> float:
    """A number in [0, 1) from `parts`, the same in every process."""
    return stable_hash(*parts) / 2**64
