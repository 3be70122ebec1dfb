"""A real supervised run of a tiny policy: what it serves, what it learns from, and that kill -9 changes nothing."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from environments.worlds.atlas.tasks import fresh_tasks
from tests.training.builders import (
    SIGNATURES,
    TINY,
    killed_at,
    ledger,
    some_trajectories,
    tiny_sft,
    tiny_tokenizer,
    trajectory_file,
)
from training.checkpoint import latest_state, read_manifest
from training.consumed import ConsumedRows, merkle_root
from training.generation import load_policy
from training.reporting import Reporter
from training.runs import SftRun
from training.serving import IGNORED, EpochOrder, collate
from training.sft import dataset_of, tokenizer_for, train
from training.trajectories import read_trajectories

STEPS, BATCH, EPOCH = 14, 4, 5
"""Twenty rows are five steps of four: the run ends in its third epoch."""


class Trained(NamedTuple):
    """A finished run."""

    run: SftRun
    model: Path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("sft")
    tasks = [t for t in fresh_tasks(30, "train", 0) if t.depth > 0][:20]
    run = tiny_sft(folder, tasks, steps=STEPS, batch=BATCH, save_every=2, warmup=2)
    return Trained(run, train(run, Reporter()))


def weights(model: Path) -> bytes:
    return (model / "model.safetensors").read_bytes()


def test_every_row_is_served_once_per_epoch_in_the_ledger(trained: Trained) -> None:
    steps = ledger(trained.model)
    rows = {t.trajectory_id for t in read_trajectories(trained.run.trajectories)}
    assert [len(s) for s in steps] == [BATCH] * STEPS
    for epoch in range(2):
        served = Counter(r for s in steps[epoch * EPOCH : (epoch + 1) * EPOCH] for r in s)
        assert served == Counter(rows), f"epoch {epoch}"
    assert steps[:EPOCH] != steps[EPOCH : 2 * EPOCH], "another order in each epoch"


def test_the_manifest_holds_version_parent_and_digest_of_what_was_consumed(trained: Trained) -> None:
    manifest, consumed = read_manifest(trained.model), ConsumedRows()
    consumed.steps = ledger(trained.model)
    assert (manifest["kind"], manifest["parent"]) == ("sft", "scratch")
    assert manifest["consumed"] == consumed.digest
    assert manifest["settings"]["steps"] == STEPS
    assert not {"output", "trajectories", "save_every", "init"} & manifest["settings"].keys()


@pytest.mark.slow
def test_killed_at_any_step_and_resumed_it_serves_the_same_rows_and_ends_with_the_same_weights(
    trained: Trained, tmp_path: Path
) -> None:
    run = trained.run.model_copy(update={"output": tmp_path / "killed"})
    killed_at([1, 5, 11, 14], "training.sft", run, tmp_path / "run.toml")
    state = latest_state(run.output)
    assert state is not None
    assert state.name == "checkpoint-12"
    model = train(run, Reporter())
    assert ledger(model) == ledger(trained.model)
    assert read_manifest(model) == read_manifest(trained.model)
    assert weights(model) == weights(trained.model), "bit for bit"


def test_a_finished_run_started_again_publishes_the_same_model(trained: Trained) -> None:
    before = weights(trained.model), read_manifest(trained.model)
    model = train(trained.run, Reporter())
    assert (weights(model), read_manifest(model)) == before


def test_the_same_rows_elsewhere_are_the_same_version_and_another_seed_is_not(trained: Trained, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.parquet"
    moved.write_bytes(trained.run.trajectories.read_bytes())
    same = train(trained.run.model_copy(update={"output": tmp_path / "a", "trajectories": moved}), Reporter())
    assert read_manifest(same)["version"] == read_manifest(trained.model)["version"]
    assert weights(same) == weights(trained.model)
    other = train(trained.run.model_copy(update={"output": tmp_path / "b", "seed": 1}), Reporter())
    assert read_manifest(other)["version"] != read_manifest(trained.model)["version"]


def test_a_second_stage_starts_from_the_first_and_names_it_as_parent(trained: Trained, tmp_path: Path) -> None:
    update = {"output": tmp_path / "second", "init": str(trained.model), "steps": 2}
    model = train(trained.run.model_copy(update=update), Reporter())
    assert read_manifest(model)["parent"] == read_manifest(trained.model)["version"]
    assert (model / "tokenizer.json").read_bytes() == (trained.model / "tokenizer.json").read_bytes()
    assert weights(model) != weights(trained.model)


def test_a_half_precision_forward_pass_keeps_whole_weights_and_says_its_loss(trained: Trained, tmp_path: Path) -> None:
    said: dict[str, object] = {}

    class Hears(Reporter):
        """Keeps the final numbers."""

        def finish(self, numbers: Mapping[str, float | int | str]) -> None:
            """The numbers."""
            said.update(numbers)

    update = {"output": tmp_path / "half", "precision": "bf16", "steps": 3, "save_every": 10}
    model = train(trained.run.model_copy(update=update), Hears())
    assert {str(w.dtype) for w in load_file(model / "model.safetensors").values()} == {"torch.float32"}
    assert said["steps"] == 3
    assert float(str(said["loss"])) > 1.0, "three steps are too few to learn anything, and not too few to say so"


def test_a_second_stage_needs_a_published_model(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run = trained.run.model_copy(update={"output": tmp_path / "x", "init": str(tmp_path / "empty")})
    with pytest.raises(FileNotFoundError, match="is no published model"):
        train(run, Reporter())


def test_a_published_model_can_be_played_and_shows_its_card(trained: Trained) -> None:
    policy = load_policy(trained.model, SIGNATURES, temperature=1.0, version="v")
    assert policy.tokenizer.get_vocab_size() <= policy.decoder.embedding.shape[0]
    card = (trained.model / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers")
    assert read_manifest(trained.model)["version"] in card
    assert "runtime" not in (trained.model / "history.json").read_text()


def test_a_tiny_policy_learns_by_heart_what_it_is_shown(tmp_path: Path) -> None:
    tasks = [t for t in fresh_tasks(60, "train", 2) if t.family in ("out_of_scope", "no_origin")][:4]
    run = tiny_sft(tmp_path, tasks, steps=40, batch=4, learning_rate=1e-2, warmup=2, save_every=100)
    model = train(run, Reporter())
    import json

    losses = [h["loss"] for h in json.loads((model / "history.json").read_text()) if "loss" in h]
    assert losses[-1] < 0.5 < 2.0 < losses[0]


def test_labels_are_the_tokens_of_the_policys_own_turns(trained: Trained) -> None:
    data = dataset_of(some_trajectories(), tiny_tokenizer(), SIGNATURES)
    for row, trajectory in zip(data, some_trajectories(), strict=True):
        assert row["row"] == trajectory.trajectory_id
        assert row["length"] == len(row["input_ids"]) == len(row["labels"])
        learned = [i for i, label in zip(row["input_ids"], row["labels"], strict=True) if label != IGNORED]
        assert learned == [label for label in row["labels"] if label != IGNORED]
        text = tiny_tokenizer().decode(learned, skip_special_tokens=False)
        assert text.endswith(f"{trajectory.answer}<|im_end|>")
        assert text.count("<|im_end|>") == len(trajectory.steps) + 1
        assert "tool_response" not in text


def test_padding_is_neither_attended_to_nor_learned_from() -> None:
    examples = [{"input_ids": [5, 6, 7], "labels": [IGNORED, 6, 7], "length": 3, "row": "a"},
                {"input_ids": [8], "labels": [8], "length": 1, "row": "b"}]  # fmt: skip
    batch = collate(examples)
    assert batch["rows"] == ["a", "b"]
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 0, 0]]
    assert batch["labels"].tolist() == [[IGNORED, 6, 7], [8, IGNORED, IGNORED]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_the_order_of_an_epoch_follows_from_seed_and_epoch_and_groups_by_length() -> None:
    lengths = torch.randint(10, 300, (500,), generator=torch.Generator().manual_seed(0)).tolist()
    order = EpochOrder(lengths, 8, seed=3)
    torch.manual_seed(1)
    first = list(order)
    torch.manual_seed(2)
    assert list(order) == first, "whatever the global generator does"
    assert sorted(first) == list(range(500))
    assert len(order) == 500
    order.set_epoch(1)
    assert list(order) != first
    spread = [max(w) - min(w) for w in ([lengths[i] for i in first[j : j + 8]] for j in range(0, 496, 8))]
    assert sum(spread) / len(spread) < 60, "a batch wastes little padding"


def test_a_tokenizer_learned_twice_is_the_same() -> None:
    one, other = (tokenizer_for(some_trajectories(), SIGNATURES, 400).to_str() for _ in range(2))
    assert one == other


def test_nothing_to_learn_from_is_told(tmp_path: Path) -> None:
    run = SftRun(output=tmp_path, trajectories=tmp_path / "no.parquet", **TINY)
    with pytest.raises(FileNotFoundError, match="materialize trajectories first"):
        train(run, Reporter())
    file = trajectory_file(tmp_path / "t.parquet", fresh_tasks(2, "train", 0))
    import polars as pl

    pl.read_parquet(file).clear().write_parquet(file)
    with pytest.raises(ValueError, match="holds no trajectory"):
        train(run.model_copy(update={"trajectories": file}), Reporter())


def test_the_digest_of_a_ledger_changes_with_any_row_or_step() -> None:
    def digest(steps: list[list[str]]) -> str:
        consumed = ConsumedRows()
        for rows in steps:
            consumed.add(rows)
        return consumed.digest

    base = [["a", "b"], ["c"], ["d"]]
    others = [[["a", "b"], ["c"]], [["a", "b"], ["d"], ["c"]], [["a"], ["b", "c"], ["d"]], [["ab"], ["c"], ["d"]]]
    assert digest(base) == digest([["b", "a"], ["c"], ["d"]]), "within a step, rows have no order"
    assert len({digest(base), *map(digest, others)}) == 5
    assert merkle_root([b"x"]) == b"x"
    assert merkle_root([]) != merkle_root([b""])
