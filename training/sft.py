"""Supervised fine-tuning on verified trajectories with TRL: `python -m training.sft run.toml`.

From scratch it first builds the tokenizer and the initial weights. Observations carry no loss (`training.masking`);
every row is served in an order that follows from the seed, recorded when its step is taken, and a killed run resumes
from the last sealed state with the same rows to come.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from math import gcd
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer
from torch import Tensor
from transformers import AutoModelForCausalLM, TrainerCallback
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from environments.episode import Tokens
from environments.seeds import stable_hash
from environments.worlds.catalogue import world_maker
from training.checkpoint import (
    STATE,
    latest_state,
    mark_complete,
    read_manifest,
    train_to_end,
)
from training.code import code_of
from training.consumed import ConsumedRows
from training.journal import claim
from training.masking import encode_trajectory
from training.published import LEDGER, Made, publish_trained
from training.reporting import Reporter, reporter
from training.runs import SftRun
from training.serving import IGNORED, EpochOrder, collate
from training.tiny import (
    build_model,
    build_tokenizer,
    call_pieces,
    initialise,
    json_pieces,
    wrapped_tokenizer,
)
from training.trajectories import Trajectory, read_trajectories, signatures_of, words_of

CODE = code_of("training.sft")
_WORD = re.compile(r"\b[a-z]+\b")
_MONTH = re.compile(r"\b\d{4}-\d{2}-")
_LEARNED_FROM = 6000
"""Trajectories that merges are learned from."""
_FEW = 2
"""JSON pieces seen less often than this get no token of their own."""


class _Encoder:
    """A `tokenizers` tokenizer as `training.masking` wants it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`."""
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def tokenizer_for(trajectories: Sequence[Trajectory], signatures: dict[str, str], size: int) -> Tokenizer:
    """A tokenizer whose pieces are the calls and results that `trajectories` hold."""
    steps = [s for t in trajectories for s in t.steps]
    pieces = Counter(
        p for s in steps for p in (*call_pieces(s.call.name, s.call.arguments), *json_pieces(s.observation))
    )
    kept = [p for p, count in pieces.items() for _ in range(count) if count >= _FEW]
    words = [*signatures.values(), "; ", *(f"{s}; " for s in signatures.values())]
    texts = words_of(trajectories[:_LEARNED_FROM])
    months = Counter(m for text in texts for m in _MONTH.findall(text))
    words += [month for month, count in sorted(months.items()) if count >= _FEW]
    return build_tokenizer(texts, kept, words, common=common_words(trajectories), size=size)


def common_words(trajectories: Sequence[Trajectory]) -> list[str]:
    """Lower-case words that many requests or answers use and no call passes on: words of the language, not entities."""
    said = Counter(w for t in trajectories for w in set(_WORD.findall(f"{t.instruction} {t.answer}")))
    passed = {str(v).lower() for t in trajectories for s in t.steps for v in s.call.arguments.values()}
    enough = max(_FEW, len(trajectories) // 2000)
    return sorted(w for w, count in said.items() if count >= enough and w not in passed)


def dataset_of(trajectories: Sequence[Trajectory], tokenizer: Tokenizer, signatures: dict[str, str]) -> Dataset:
    """Pre-tokenised rows: input_ids, labels (-100 where nothing is learned), length and row id."""
    encoder = _Encoder(tokenizer)
    rows = [(t, _encoded(encoder, t, signatures)) for t in trajectories]
    return Dataset.from_list(
        [
            {
                "input_ids": x.ids,
                "labels": [i if own else IGNORED for i, own in zip(x.ids, x.generated, strict=True)],
                "length": len(x.ids),
                "row": t.trajectory_id,
            }
            for t, x in rows
        ]
    )


def _encoded(encoder: _Encoder, t: Trajectory, signatures: dict[str, str]) -> Tokens:
    return encode_trajectory(encoder, t.tools, t.instruction, t.steps, t.answer, signatures, t.exchanges)


class LedgerTrainer(SFTTrainer):
    """TRL's trainer, serving rows in a repeatable order and recording those of each step once it has been taken."""

    consumed: ConsumedRows
    order: EpochOrder

    def _get_train_sampler(self, train_dataset: Any = None) -> EpochOrder:
        return self.order

    def training_step(self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        """One step; its rows go to the ledger."""
        rows = inputs.pop("rows")
        loss: Tensor = super().training_step(model, inputs, num_items_in_batch)  # type: ignore[no-untyped-call]
        self.consumed.add(rows)
        return loss


class SealStates(TrainerCallback):
    """Writes the ledger into each saved state and marks the state complete; reports progress."""

    def __init__(self, consumed: ConsumedRows, report: Reporter, what: str) -> None:
        self.consumed, self.report, self.what = consumed, report, what

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Seal the state that has just been written."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        self.consumed.seal(folder / LEDGER)
        mark_complete(folder)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Say how far the run is."""
        loss = next((h["loss"] for h in reversed(state.log_history) if "loss" in h), None)
        self.report.progress(self.what, state.global_step, state.max_steps, f"loss {loss:.3f}" if loss else "")


def train(run: SftRun, report: Reporter) -> Path:
    """Run one SFT and return the folder of the published model."""
    torch.set_num_threads(run.threads)
    trajectories = read_trajectories(run.trajectories)
    signatures = signatures_of(world_maker(run.world, folder=run.world_folder)())
    model, tokenizer = _start(run, trajectories, signatures)
    rows, consumed = stable_hash(*(t.trajectory_id for t in trajectories)), ConsumedRows()
    claim(run.output, {"code": CODE, "settings": _settings_of(run), "parent": _parent_of(run), "rows": f"{rows:016x}"})
    trainer = _trainer(run, model, tokenizer, dataset_of(trajectories, tokenizer, signatures), consumed, report)
    resume = latest_state(run.output)
    if resume is not None:
        consumed.restore(resume / LEDGER)
        report.say(f"sft: resuming from {resume.name}")
    train_to_end(trainer, resume, run.steps)
    return _publish(run, trainer, tokenizer, consumed, report)


def _start(run: SftRun, trajectories: Sequence[Trajectory], signatures: dict[str, str]) -> tuple[Any, Tokenizer]:
    if run.init == "scratch":
        tokenizer = tokenizer_for(trajectories, signatures, run.vocabulary)
        model = build_model(tokenizer.get_vocab_size(), hidden=run.hidden, layers=run.layers, heads=run.heads)
        initialise(model, tokenizer, run.seed)
        return model, tokenizer
    read_manifest(Path(run.init))
    return AutoModelForCausalLM.from_pretrained(run.init), Tokenizer.from_file(str(Path(run.init) / "tokenizer.json"))


def _trainer(
    run: SftRun, model: Any, tokenizer: Tokenizer, data: Dataset, consumed: ConsumedRows, report: Reporter
) -> LedgerTrainer:
    wrapped = wrapped_tokenizer(tokenizer)
    trainer = LedgerTrainer(
        model=model,
        args=_settings(run),
        train_dataset=data,
        data_collator=collate,
        processing_class=wrapped,
        callbacks=[SealStates(consumed, report, "sft steps")],
    )
    trainer.consumed, trainer.order = consumed, EpochOrder(data["length"], run.batch, run.seed)
    return trainer


def _settings(run: SftRun) -> SFTConfig:
    falling = max(1, int(run.steps * run.decay))
    return SFTConfig(
        output_dir=str(run.output / STATE),
        max_steps=run.steps,
        per_device_train_batch_size=run.batch,
        learning_rate=run.learning_rate,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": falling, "decay_type": "linear", "min_lr_ratio": 0.02},
        warmup_steps=min(run.warmup, run.steps // 4),
        weight_decay=run.weight_decay,
        adam_beta2=0.95,
        max_grad_norm=1.0,
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        max_length=None,
        bf16=run.precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        activation_checkpointing=False,
        save_steps=run.save_every,
        save_total_limit=2,
        # a divisor of save_every, so that a resumed run tears no window of the loss
        logging_steps=gcd(run.save_every, max(1, min(20, run.steps // 10))),
        report_to=[],
        disable_tqdm=True,
        seed=run.seed,
        data_seed=run.seed,
        dataloader_pin_memory=False,
    )


def _settings_of(run: SftRun) -> dict[str, Any]:
    """What decides the weights, beside rows and parent."""
    return run.model_dump(mode="json", exclude={"output", "trajectories", "save_every", "init", "world_folder"})


def _parent_of(run: SftRun) -> str:
    return "scratch" if run.init == "scratch" else str(read_manifest(Path(run.init))["version"])


def _publish(
    run: SftRun, trainer: LedgerTrainer, tokenizer: Tokenizer, consumed: ConsumedRows, report: Reporter
) -> Path:
    made = Made("sft", CODE, _settings_of(run), _parent_of(run))
    folder, version = publish_trained(run.output, made, trainer, tokenizer, consumed)
    losses = [h["loss"] for h in trainer.state.log_history if "loss" in h]
    seconds = round(sum(float(h.get("train_runtime", 0.0)) for h in trainer.state.log_history), 1)
    report.finish({"version": version, "steps": run.steps, "loss": losses[-1] if losses else 0.0, "train_s": seconds})
    return folder


def main() -> None:
    """Read the run file named on the command line and train."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with reporter() as report:
        train(SftRun.read(Path(sys.argv[1])), report)


if __name__ == "__main__":
    main()
