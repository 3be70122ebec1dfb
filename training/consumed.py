"""What the loader really served: row ids per optimiser step, sealed beside every state that can be resumed from.

Rows enter the ledger when their step has been taken, not when they were loaded, so the ledger of a run that was
killed and resumed equals that of one that was not.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from training.durable import replace_durably


class ConsumedRows:
    """The ledger of one run, in memory; `seal` writes it whole."""

    def __init__(self) -> None:
        self.steps: list[list[str]] = []

    def add(self, rows: Sequence[str]) -> None:
        """Record the rows of the next step."""
        self.steps.append(sorted(rows))

    def seal(self, path: Path) -> str:
        """Write the ledger and return its digest."""
        scratch = path.with_suffix(".tmp")
        scratch.write_text(json.dumps(self.steps), encoding="utf-8")
        replace_durably(scratch, path)
        return self.digest

    def restore(self, path: Path) -> None:
        """Go back to a sealed ledger.

        Raises:
            FileNotFoundError: the state was saved without its ledger.
        """
        self.steps = json.loads(path.read_text(encoding="utf-8"))

    @property
    def digest(self) -> str:
        """Hash over the rows of every step, in order: what the checkpoint's version is made of."""
        leaves = [hashlib.sha256("\n".join(rows).encode()).digest() for rows in self.steps]
        return merkle_root(leaves).hex()[:16]


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    """Root of a binary Merkle tree; an odd node is carried up as it is."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    level = list(leaves)
    while len(level) > 1:
        paired = [hashlib.sha256(a + b).digest() for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired + ([level[-1]] if len(level) % 2 else [])
    return level[0]
