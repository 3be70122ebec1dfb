"""Checkpoints: whole or not at all, only sealed states are resumed from, versions know rows and settings only."""

import json
from pathlib import Path

import pytest

from training.checkpoint import (
    content_version,
    latest_state,
    mark_complete,
    publish,
    read_manifest,
    save_history,
)
from training.consumed import ConsumedRows


def state(folder: Path, step: int, *, sealed: bool = True) -> Path:
    made = folder / "state" / f"checkpoint-{step}"
    made.mkdir(parents=True)
    (made / "model.safetensors").write_bytes(b"w")
    if sealed:
        mark_complete(made)
    return made


def test_there_may_be_no_state_yet(tmp_path: Path) -> None:
    assert latest_state(tmp_path) is None


def test_the_newest_sealed_state_counts_by_number_and_not_by_name(tmp_path: Path) -> None:
    state(tmp_path, 90)
    newest = state(tmp_path, 100)
    assert latest_state(tmp_path) == newest


def test_a_torn_state_is_removed_and_the_one_before_counts(tmp_path: Path) -> None:
    whole, torn = state(tmp_path, 10), state(tmp_path, 20, sealed=False)
    assert latest_state(tmp_path) == whole
    assert not torn.exists()
    assert latest_state(tmp_path) == whole
    only = state(tmp_path / "other", 5, sealed=False)
    assert latest_state(tmp_path / "other") is None
    assert not only.exists()


def test_publishing_replaces_the_model_in_one_step(tmp_path: Path) -> None:
    first = publish(tmp_path, lambda f: (f / "w").write_text("1") and None, {"version": "a", "kind": "sft"})
    assert (first, (first / "w").read_text(), read_manifest(first)) == (
        tmp_path / "model", "1", {"version": "a", "kind": "sft"},
    )  # fmt: skip
    second = publish(tmp_path, lambda f: (f / "x").write_text("2") and None, {"version": "b"})
    assert read_manifest(second)["version"] == "b"
    assert not (second / "w").exists(), "nothing of the one before is left"


def test_what_fails_half_way_leaves_the_published_model_alone(tmp_path: Path) -> None:
    model = publish(tmp_path, lambda f: (f / "w").write_text("1") and None, {"version": "a"})

    def fails(folder: Path) -> None:
        (folder / "w").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        publish(tmp_path, fails, {"version": "b"})
    assert (read_manifest(model)["version"], (model / "w").read_text()) == ("a", "1")
    again = publish(tmp_path, lambda f: (f / "w").write_text("3") and None, {"version": "c"})
    assert sorted(p.name for p in again.iterdir()) == ["README.md", "loopwright.json", "w"]


def test_a_folder_without_a_manifest_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no published model \(no loopwright\.json\).*materialize"):
        read_manifest(tmp_path)


def test_the_card_says_what_the_manifest_says(tmp_path: Path) -> None:
    manifest = {"version": "a1", "parent": "b2", "settings": {"steps": 3}}
    card = (publish(tmp_path, lambda f: None, manifest) / "README.md").read_text()
    assert "- parent: b2\n- version: a1\n" in card
    assert "steps" not in card


def test_history_keeps_no_clock_and_nothing_that_depends_on_where_a_resume_began(tmp_path: Path) -> None:
    logged = [
        {"loss": 2.0, "step": 1, "eval_time": 3.0},
        {"train_runtime": 9.0, "train_samples_per_second": 1.0, "train_loss": 0.5},
    ]
    save_history(tmp_path, logged)
    assert json.loads((tmp_path / "history.json").read_text()) == [{"loss": 2.0, "step": 1}]


def test_a_version_follows_from_its_parts_and_their_order_of_keys_does_not_matter() -> None:
    base = content_version("sft", [["a"], ["b"]], {"steps": 2, "seed": 0}, "scratch")
    assert base == content_version("sft", [["a"], ["b"]], {"seed": 0, "steps": 2}, "scratch")
    others = [
        content_version("grpo", [["a"], ["b"]], {"steps": 2, "seed": 0}, "scratch"),
        content_version("sft", [["a", "b"]], {"steps": 2, "seed": 0}, "scratch"),
        content_version("sft", [["a"], ["b"]], {"steps": 2, "seed": 1}, "scratch"),
        content_version("sft", [["a"], ["b"]], {"steps": 2, "seed": 0}, "other"),
    ]
    assert len({base, *others}) == 5


def test_a_sealed_ledger_comes_back_as_it_was(tmp_path: Path) -> None:
    one, other = ConsumedRows(), ConsumedRows()
    one.add(["b", "a"])
    one.add(["c"])
    digest = one.seal(tmp_path / "consumed.json")
    assert [p.name for p in tmp_path.iterdir()] == ["consumed.json"]
    other.add(["lost with the process"])
    other.restore(tmp_path / "consumed.json")
    assert (other.steps, other.digest) == ([["a", "b"], ["c"]], digest)
    with pytest.raises(FileNotFoundError):
        other.restore(tmp_path / "none.json")
