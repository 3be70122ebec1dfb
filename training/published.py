"""How a training process hands over what it trained: weights, tokenizer, ledger, history and manifest, in one step."""

from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from training.checkpoint import content_version, publish, save_history
from training.consumed import ConsumedRows
from training.tiny import save_tokenizer

LEDGER = "consumed.json"


class Made(NamedTuple):
    """What a model was made by and from, beside the rows that it consumed."""

    kind: str
    """`sft` or `grpo`."""
    code: str
    settings: dict[str, Any]
    parent: str
    """Version of the model it started from, or `scratch`."""


def publish_trained(
    output: Path, made: Made, trainer: Any, tokenizer: Tokenizer, consumed: ConsumedRows
) -> tuple[Path, str]:
    """Write `output/model`; returns its folder and version (a hash over code, rows, settings and parent)."""
    version = content_version(*made, consumed.steps)
    manifest = {**made._asdict(), "version": version, "consumed": consumed.digest}

    def write(folder: Path) -> None:
        """Fill the scratch folder."""
        trainer.model.save_pretrained(folder)
        save_tokenizer(tokenizer, folder)
        consumed.seal(folder / LEDGER)
        save_history(folder, trainer.state.log_history)

    return publish(output, write, manifest), version
