"""How rows reach the supervised trainer: the order of an epoch, and padded batches that keep their row ids."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices

from environments.seeds import stable_hash

IGNORED = -100
"""Label of a token that is not learned from."""


def collate(examples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Pad a batch on the right and keep its row ids beside it."""
    width = max(len(e["input_ids"]) for e in examples)
    padded = {
        key: torch.tensor([e[key] + [fill] * (width - len(e[key])) for e in examples])
        for key, fill in (("input_ids", 0), ("labels", IGNORED))
    }
    lengths = torch.tensor([[len(e["input_ids"])] for e in examples])
    mask = (torch.arange(width) < lengths).long()
    return {**padded, "attention_mask": mask, "rows": [e["row"] for e in examples]}


class EpochOrder(Sampler[int]):
    """Rows of about one length together, in an order that follows from seed and epoch alone.

    The sampler that transformers brings draws from the global generator, whose state at the start of a resumed epoch is
    another one: rows would be served twice and others never.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        self.lengths, self.batch, self.seed, self.epoch = list(lengths), batch, seed, 0

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        draw = torch.Generator().manual_seed(stable_hash("epoch", self.seed, self.epoch) % 2**63)
        order: list[int] = get_length_grouped_indices(self.lengths, self.batch, generator=draw)  # type: ignore[no-untyped-call]
        return iter(order)

    def set_epoch(self, epoch: int) -> None:
        """The trainer says which epoch comes next, also after a resume."""
        self.epoch = epoch
