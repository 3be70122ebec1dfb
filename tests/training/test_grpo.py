"""Real online RL of a tiny policy: what it plays, what reaches the loss, and that kill -9 changes nothing."""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
import torch
from datasets import Dataset
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM
from trl.trainer.grpo_trainer import GRPOTrainer

from environments.episode import Episode, Invalid, NoResult, Scored, Verdict
from environments.task import Task
from environments.world import RowChange, WorldFailure, WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.training.builders import SIGNATURES, killed_at, ledger, reference_logprobs, tiny_sft
from training import grpo, sft
from training.checkpoint import latest_state, read_manifest
from training.journal import read_segments
from training.masking import encode_trajectory
from training.reporting import Reporter
from training.runs import GrpoRun
from training.tiny import wrapped_tokenizer
from training.trajectories import tasks_frame

pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
"""TRL asks transformers by the old name."""

STEPS, GROUPS, MEMBERS = 6, 3, 4


class Start(NamedTuple):
    """A policy that sometimes refuses as it should, tasks it knows, and tasks far beyond it."""

    model: Path
    easy: list[Task]
    hopeless: list[Task]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    folder = tmp_path_factory.mktemp("start")
    tasks = fresh_tasks(400, "train", 0)
    easy = [t for t in tasks if t.family in ("out_of_scope", "no_origin", "missing_tool")]
    run = tiny_sft(folder, easy, steps=50, batch=8, learning_rate=5e-3, warmup=5, save_every=1000)
    return Start(sft.train(run, Reporter()), easy[:12], [t for t in tasks if t.depth > 1][:12])


def queue(path: Path, tasks: Sequence[Task], weight: float = 1.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    tasks_frame(tasks).with_columns(weight=pl.lit(weight)).write_parquet(path)
    return path


def run_of(start: Start, folder: Path, **settings: Any) -> GrpoRun:
    defaults = {
        "steps": STEPS,
        "groups": GROUPS,
        "generations": MEMBERS,
        "save_every": 2,
        "learning_rate": 1e-3,
        "threads": 1,
    }
    tasks = queue(folder / "queue.parquet", start.easy)
    return GrpoRun(output=folder / "run", tasks=tasks, init=str(start.model), **{**defaults, **settings})


class Trained(NamedTuple):
    """A finished run."""

    run: GrpoRun
    model: Path


@pytest.fixture(scope="module")
def trained(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    run = run_of(start, tmp_path_factory.mktemp("grpo"))
    return Trained(run, grpo.train(run, Reporter()))


def weights(model: Path) -> bytes:
    return (model / "model.safetensors").read_bytes()


def test_every_step_consumes_whole_groups_and_moves_the_weights(start: Start, trained: Trained) -> None:
    episodes = read_segments(trained.run.output / "episodes")
    consumed = ledger(trained.model)
    assert [len(step) for step in consumed] == [GROUPS * MEMBERS] * STEPS
    assert sorted(r for step in consumed for r in step) == sorted(episodes["episode_id"])
    sizes = episodes.group_by("task_id", "key").len()["len"].unique().to_list()
    assert sizes == [MEMBERS], "a group is attempts at one task by one policy"
    assert weights(trained.model) != weights(start.model)


def test_each_step_is_played_by_a_policy_of_its_own(trained: Trained) -> None:
    parts = [pl.read_parquet(p)["key"].unique().to_list() for p in
             sorted((trained.run.output / "episodes").glob("part-*.parquet"))]  # fmt: skip
    assert len(parts) == STEPS == len({key for keys in parts for key in keys})


def test_episodes_keep_their_tokens_and_most_groups_have_something_to_teach(trained: Trained) -> None:
    episodes = read_segments(trained.run.output / "episodes")
    assert (episodes["token_ids"].list.len() == episodes["generated"].list.len()).all()
    assert (episodes["generated"].list.sum() > 0).all()
    groups = episodes.group_by("task_id", "key").agg(pl.col("reward").n_unique())
    assert (groups["reward"] > 1).mean() > 0.5  # type: ignore[operator]


def test_what_a_policy_reads_in_rl_is_what_it_read_in_sft(start: Start, trained: Trained) -> None:
    encoder = sft._Encoder(Tokenizer.from_file(str(start.model / "tokenizer.json")))
    tools = {t.task_id: t.tools for t in start.easy}
    for row in read_segments(trained.run.output / "episodes").iter_rows(named=True):
        shown = encode_trajectory(encoder, tools[row["task_id"]], row["instruction"], [], "", SIGNATURES)
        assert row["token_ids"][: row["prompt_length"]] == shown.ids[: shown.prompt_length]


def test_the_manifest_names_the_parent(start: Start, trained: Trained) -> None:
    manifest = read_manifest(trained.model)
    assert (manifest["kind"], manifest["parent"]) == ("grpo", read_manifest(start.model)["version"])


@pytest.mark.slow
def test_killed_at_any_step_and_resumed_it_plays_the_same_episodes_and_ends_with_the_same_weights(
    start: Start, trained: Trained, tmp_path: Path
) -> None:
    run = trained.run.model_copy(update={"output": tmp_path / "killed"})
    killed_at([1, 4, 6], "training.grpo", run, tmp_path / "run.toml")
    state = latest_state(run.output)
    assert state is not None
    assert state.name == "checkpoint-4"
    model = grpo.train(run, Reporter())
    assert ledger(model) == ledger(trained.model)
    assert read_manifest(model) == read_manifest(trained.model)
    assert weights(model) == weights(trained.model), "bit for bit"
    tallies = [(latest_state(r.output) or r.output) / "tally.json" for r in (run, trained.run)]
    assert tallies[0].read_text() == tallies[1].read_text(), "what was played before the kill counts"
    again, whole = (read_segments(r.output / "episodes") for r in (run, trained.run))
    assert again.equals(whole), "the same episodes in every step, tokens and log-probabilities included"


def test_a_finished_run_started_again_publishes_the_same_model(trained: Trained) -> None:
    before = weights(trained.model), read_manifest(trained.model), ledger(trained.model)
    model = grpo.train(trained.run, Reporter())
    assert (weights(model), read_manifest(model), ledger(model)) == before


def test_a_version_knows_no_paths(start: Start, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(start.model, tmp_path / "elsewhere" / "model"))
    runs = [run_of(s, tmp_path / name, steps=1) for name, s in (("a", start), ("b", start._replace(model=copied)))]
    one, other = (read_manifest(grpo.train(run, Reporter())) for run in runs)
    assert one == other


def test_a_folder_belongs_to_one_run(start: Start, trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds another run"):
        grpo.train(trained.run.model_copy(update={"learning_rate": 1.0}), Reporter())
    other = queue(tmp_path / "other.parquet", start.easy, weight=0.5)
    with pytest.raises(ValueError, match="holds another run"):
        grpo.train(trained.run.model_copy(update={"tasks": other}), Reporter())


def test_a_queue_too_short_for_a_step_is_told(start: Start, tmp_path: Path) -> None:
    run = run_of(start, tmp_path, groups=13)
    with pytest.raises(ValueError, match=r"12 tasks of positive weight and a step draws 13.*lower `groups`"):
        grpo.train(run, Reporter())


def rollouts_of(run: GrpoRun) -> grpo.FrontierRollouts:
    tokenizer = Tokenizer.from_file(str(Path(run.init) / "tokenizer.json"))
    return grpo._rollouts(run, AutoModelForCausalLM.from_pretrained(run.init), tokenizer, "v0")


def test_groups_without_variance_are_redrawn(start: Start, tmp_path: Path) -> None:
    run = run_of(start, tmp_path, refills=3, generations=8)
    mixed = [task for pair in zip(start.easy, start.hopeless, strict=True) for task in pair]
    rollouts = rollouts_of(run.model_copy(update={"tasks": queue(tmp_path / "mixed.parquet", mixed)}))
    steps = [rollouts.play(step) for step in range(6)]
    hopeless = {t.task_id for t in start.hopeless}
    assert all(len(groups) == GROUPS for groups in steps)
    kept = [g for groups in steps for g in groups]
    assert sum(grpo.has_variance(g) for g in kept) / len(kept) > 0.8
    assert sum(g[0].task_id in hopeless for g in kept) / len(kept) < 0.2, "though half of the draws are"
    assert rollouts.tally["dead"] > 0
    assert rollouts.tally["episodes"] == 8 * rollouts.tally["groups"]


def test_without_refills_dead_groups_stay(start: Start, tmp_path: Path) -> None:
    run = run_of(start, tmp_path, refills=0)
    rollouts = rollouts_of(run.model_copy(update={"tasks": queue(tmp_path / "hard.parquet", start.hopeless)}))
    groups = rollouts.play(0)
    assert [len(g) for g in groups] == [MEMBERS] * GROUPS
    assert not any(grpo.has_variance(g) for g in groups)


class LosesState(AtlasWorld):
    """A world of which every second session cannot be read when the attempt is over."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        LosesState.made += 1
        self.lost = LosesState.made % 2 == 0

    def changes(self) -> Sequence[RowChange]:
        """What was booked, if it can be told."""
        if self.lost:
            raise WorldFailure("state is gone")
        return super().changes()


def test_members_without_a_result_have_no_reward_and_no_token_in_the_loss(start: Start, tmp_path: Path) -> None:
    rollouts = rollouts_of(run_of(start, tmp_path))
    rollouts.pool = WorldPool(LosesState)
    out = rollouts([str(i // MEMBERS) for i in range(GROUPS * MEMBERS)], None)
    assert out["earned"].count(None) > 0 < len([r for r in out["earned"] if r is not None])
    for earned, mask, ids, logprobs in zip(
        out["earned"], out["env_mask"], out["completion_ids"], out["logprobs"], strict=True
    ):
        assert len(mask) == len(ids) == len(logprobs) > 0
        assert (sum(mask) == 0) is (earned is None)


def trainer_over(start: Start, folder: Path, earned: list[float | None], **settings: Any) -> GRPOTrainer:
    """TRL's trainer over one group of scripted tokens and rewards, with our settings and reward."""
    run = run_of(start, folder, groups=1, generations=len(earned), steps=1, **settings)

    def scripted(prompts: list[str], trainer: Any) -> dict[str, Any]:
        said = [[7 + i, *[8] * i, 2] for i in range(len(prompts))]
        return {
            "prompt_ids": [[5, 6]] * len(prompts),
            "completion_ids": said,
            "logprobs": [[-1.0] * len(ids) for ids in said],
            "env_mask": [[int(earned[i] is not None)] * len(ids) for i, ids in enumerate(said)],
            "earned": earned,
        }

    return grpo.ScoredTrainer(
        model=AutoModelForCausalLM.from_pretrained(run.init),
        args=grpo._settings(run),
        train_dataset=Dataset.from_dict({"prompt": ["0"]}),
        processing_class=wrapped_tokenizer(Tokenizer.from_file(str(start.model / "tokenizer.json"))),
        reward_funcs=grpo.earned_reward,
        rollout_func=scripted,
    )


def batch_of(trainer: GRPOTrainer, members: int) -> dict[str, torch.Tensor]:
    trainer.model.train()
    scored: dict[str, torch.Tensor] = trainer._generate_and_score_completions([{"prompt": "0"} for _ in range(members)])
    return scored


@pytest.mark.parametrize(
    ("earned", "expected"),
    [
        ([1.0, 0.0, 1.0, 0.0], [0.8659, -0.8659, 0.8659, -0.8659]),
        ([0.0] + [0.95] * 7, [-2.4741] + [0.3534] * 7),
        ([0.6, 0.6, 0.6, 0.6], [0.0] * 4),
        ([1.0, None, 0.0, None], [0.7070, 0.0, -0.7070, 0.0]),
        ([None, 1.0, None, 1.0], [0.0] * 4),
        ([None, 1.0, None, None], [0.0] * 4),
    ],
)
def test_advantages_known_answers(
    start: Start, tmp_path: Path, earned: list[float | None], expected: list[float]
) -> None:
    trainer = trainer_over(start, tmp_path, earned)
    found = batch_of(trainer, len(earned))["advantages"].flatten().tolist()
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("kind", ["dapo", "grpo", "dr_grpo"])
def test_a_member_without_a_result_changes_neither_the_others_advantages_nor_the_loss(
    start: Start, tmp_path: Path, kind: str
) -> None:
    def loss(earned: list[float | None], folder: Path) -> tuple[list[float], float]:
        trainer = trainer_over(start, folder, earned, loss=kind)
        trainer.current_gradient_accumulation_steps = 1
        batch = batch_of(trainer, len(earned))
        rows = torch.arange(len(earned))[:, None] / 10
        batch["old_per_token_logps"] = (-5.0 - rows).expand(batch["completion_ids"].shape)  # else advantages cancel out
        found = trainer.compute_loss(trainer.model, batch)
        return batch["advantages"].flatten().tolist(), float(found.detach())

    whole, loss_whole = loss([1.0, 0.0, 1.0, 0.0, 0.0], tmp_path / "whole")
    holed, loss_holed = loss([1.0, 0.0, 1.0, 0.0, 0.0, None], tmp_path / "holed")
    assert holed[:5] == pytest.approx(whole)
    assert abs(loss_whole) > 1e-3
    assert loss_holed == pytest.approx(loss_whole, rel=1e-4)
    assert loss([None, None], tmp_path / "none") == ([0.0, 0.0], 0.0)


def test_the_sequence_ratio_is_gspos_for_answers_of_unequal_length(start: Start, tmp_path: Path) -> None:
    trainer = trainer_over(start, tmp_path, [1.0, 0.0, 1.0, 0.0], importance_sampling="sequence")
    trainer.current_gradient_accumulation_steps = 1
    batch = batch_of(trainer, 4)
    draw = torch.Generator().manual_seed(0)
    old_BT, total = torch.zeros(batch["completion_ids"].shape), 0.0
    for i, advantage in enumerate(batch["advantages"].flatten().tolist()):
        length = int(batch["completion_mask"][i].sum())
        ids = batch["completion_ids"][i, :length]
        logps = reference_logprobs(trainer.model, [5, 6, *ids.tolist()])[1:]
        new = logps.gather(1, ids[:, None])[:, 0]
        old_BT[i, :length] = new - 0.6 * torch.randn(length, generator=draw)
        ratio = float((new - old_BT[i, :length]).mean().exp())
        total -= length * min(ratio * advantage, min(max(ratio, 0.8), 1.2) * advantage)
    batch["old_per_token_logps"] = old_BT
    found = float(trainer.compute_loss(trainer.model, batch).detach())
    assert found == pytest.approx(total / float(batch["completion_mask"].sum()), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "settings", [{"importance_sampling": "sequence", "beta": 0.1}, {"loss": "dr_grpo", "temperature": 0.8}]
)
def test_the_other_settings_run_too(start: Start, tmp_path: Path, settings: dict[str, Any]) -> None:
    model = grpo.train(run_of(start, tmp_path, steps=1, **settings), Reporter())
    assert read_manifest(model)["settings"].items() >= settings.items()
    assert weights(model) != weights(start.model)


def verdicts(*found: Verdict) -> list[Episode]:
    return [Episode("t", i, i, "k", "?", (), None, "answered", v) for i, v in enumerate(found)]


def scored(reward: float) -> Scored:
    return Scored(reward, reward, False, "ok")


def test_variance_is_a_matter_of_scored_members_only() -> None:
    assert grpo.has_variance(verdicts(scored(1.0), scored(0.0)))
    assert not grpo.has_variance(verdicts(scored(1.0), scored(1.0), NoResult("server"), Invalid("verifier")))
    assert not grpo.has_variance(verdicts(scored(0.0), NoResult("server")))
    assert not grpo.has_variance(verdicts(NoResult("server")))


def test_draws_follow_from_seed_and_step_and_repeat_no_task() -> None:
    weights = [0.1, 0.2, 0.3, 0.4, 0.0]
    first = grpo.draw_order(weights, 7, 3, 4)
    assert first == grpo.draw_order(weights, 7, 3, 4)
    assert sorted(first) == [0, 1, 2, 3], "a weight of nothing is never drawn"
    orders = {tuple(grpo.draw_order(weights, 7, step, 4)) for step in range(50)}
    assert len(orders) > 5
    assert {tuple(grpo.draw_order(weights, 8, step, 4)) for step in range(50)} != orders


def test_draws_follow_the_weights() -> None:
    first = Counter(grpo.draw_order([1, 2, 3, 4], 0, step, 1)[0] for step in range(4000))
    assert [first[i] / 4000 for i in range(4)] == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.03)
    tiny = Counter(grpo.draw_order([1e-4, 2e-4, 3e-4], 0, step, 1)[0] for step in range(4000))
    assert [tiny[i] / 4000 for i in range(3)] == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.03)


def test_the_order_of_the_queue_says_nothing_about_who_is_drawn_last() -> None:
    drawn = Counter(i for step in range(300) for i in grpo.draw_order([1.0] * 40, 1, step, 10))
    assert min(drawn.values()) > 0.5 * max(drawn.values())
