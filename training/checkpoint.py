"""A checkpoint on disk: a Hugging Face folder with a card and our manifest, written whole or not at all.

Trainer states live beside it under `state/`; only a state with its `complete` mark is resumed from, so a process
killed while writing one costs the steps since the one before, nothing else.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.durable import sync, sync_tree

MODEL, STATE, MANIFEST, COMPLETE = "model", "state", "loopwright.json", "complete"


def publish(folder: Path, write: Callable[[Path], None], manifest: Mapping[str, Any]) -> Path:
    """Let `write` fill a scratch folder, add card and manifest, and move it to `folder/model` in one step."""
    scratch, final = folder / f"{MODEL}.tmp", folder / MODEL
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    write(scratch)
    (scratch / MANIFEST).write_text(json.dumps(dict(manifest), indent=1, sort_keys=True), encoding="utf-8")
    (scratch / "README.md").write_text(_card(manifest), encoding="utf-8")
    sync_tree(scratch)
    if final.exists():
        shutil.rmtree(final)
    published = scratch.rename(final)
    sync(folder)
    return published


def _card(manifest: Mapping[str, Any]) -> str:
    lines = "\n".join(f"- {k}: {v}" for k, v in sorted(manifest.items()) if not isinstance(v, dict | list))
    return f"---\nlibrary_name: transformers\ntags: [loopwright]\n---\n\n# A Loopwright policy\n\n{lines}\n"


def read_manifest(model: Path) -> dict[str, Any]:
    """The manifest of a published model.

    Raises:
        FileNotFoundError: the folder is no published model.
    """
    path = model / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{model} is no published model (no {MANIFEST}): materialize the checkpoint first")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest


def save_history(model: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Write what the trainer logged beside the model, less what depends on the clock or on where a resume began."""
    timed = ("runtime", "per_second", "time")
    steps = [entry for entry in history if "train_loss" not in entry]
    kept = [{k: v for k, v in entry.items() if not any(t in k for t in timed)} for entry in steps]
    (model / "history.json").write_text(json.dumps(kept), encoding="utf-8")


def mark_complete(state: Path) -> None:
    """Seal a trainer state that has been written to its end."""
    sync_tree(state)
    (state / COMPLETE).touch()
    sync(state)


def latest_state(folder: Path) -> Path | None:
    """The newest sealed trainer state under `folder/state`, if any; torn ones are removed."""
    states = sorted((folder / STATE).glob("checkpoint-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    for torn in [s for s in states if not (s / COMPLETE).exists()]:
        shutil.rmtree(torn)
    whole = [s for s in states if s.exists()]
    return whole[-1] if whole else None


def train_to_end(trainer: Any, state: Path | None, steps: int) -> None:
    """Train up to `steps`, from `state` where there is one; a state at the last step is only read back.

    A trainer that is told to resume at its last step takes one step more: a finished run started again would publish
    another model.
    """
    if state is None or int(state.name.rpartition("-")[2]) < steps:
        trainer.train(resume_from_checkpoint=str(state) if state else None)
        return
    from safetensors.torch import load_file
    from transformers import TrainerState

    trainer.model.load_state_dict(load_file(state / "model.safetensors"), strict=False)  # tied weights are left out
    trainer.state = TrainerState.load_from_json(str(state / "trainer_state.json"))


def content_version(*parts: object) -> str:
    """Version of a checkpoint: hash over consumed rows and configuration, without clocks or paths (pipeline law 9)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
