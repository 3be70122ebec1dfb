"""Online RL on the frontier with TRL's GRPOTrainer: `python -m training.grpo run.toml`.

Every step draws its tasks by weight, plays them with our rollout engine on the very weights in training, and hands
token ids, mask and rewards to TRL through `rollout_func`. Groups without variance are redrawn; members without a
result have no reward and reach neither baseline nor loss. Which tasks a step draws follows from seed and step alone,
so a resumed run goes on as the killed one would have.

Source: GRPO with the GSPO ratio (arXiv 2507.18071) as an option; DAPO (arXiv 2503.14476) for the group filter.
"""

import json
import math
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import torch
from datasets import Dataset
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, TrainerCallback

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from environments.episode import Episode, Scored, Tokens
from environments.rollout import attempts_at, result_key, rollout
from environments.seeds import stable_hash
from environments.task import Task
from environments.verifiers.composed import verifier_for
from environments.world import WorldPool
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
from training.generation import TokenPolicy
from training.journal import claim, write_segment
from training.llama import LlamaDecoder, LlamaShape
from training.published import LEDGER, Made, publish_trained
from training.reporting import Reporter, reporter
from training.runs import GrpoRun
from training.tiny import wrapped_tokenizer
from training.trajectories import read_tasks, signatures_of

CODE = code_of("training.grpo")
EPISODES, TALLY = "episodes", "tally.json"


def draw_order(weights: Sequence[float], seed: int, step: int, count: int) -> list[int]:
    """`count` task numbers of one step, by weighted sampling without replacement (Efraimidis and Spirakis).

    Keys are logarithms: u ** (1 / w) is zero for small weights, and ties would go to the end of the queue.
    """
    rng = random.Random(stable_hash("draw", seed, step))
    draws = [(-math.log(max(rng.random(), 1e-300)), i, w) for i, w in enumerate(weights)]
    keys = [(draw / w, i) for draw, i, w in draws if w > 0]
    return [i for _, i in sorted(keys)[:count]]


def has_variance(group: Sequence[Episode]) -> bool:
    """Whether the scored members of a group differ in reward: otherwise it teaches nothing."""
    rewards = {round(e.verdict.reward, 6) for e in group if isinstance(e.verdict, Scored)}
    return len(rewards) > 1


class FrontierRollouts:
    """TRL's `rollout_func`: from slots of a step to played groups."""

    def __init__(self, run: GrpoRun, policy: TokenPolicy, tasks: list[Task], weights: list[float]) -> None:
        self.run, self.policy, self.tasks, self.weights = run, policy, tasks, weights
        self.start = policy.version
        self.pool = WorldPool(world_maker(run.world, folder=run.world_folder))
        self.verifier = verifier_for(tasks)
        self.tally = {"episodes": 0, "groups": 0, "dead": 0}
        """What was played so far, sealed with every state."""
        self.last_rows: list[str] = []

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """Play the groups of one step; `prompts` are slot numbers, each repeated once per member."""
        step = int(prompts[0]) // self.run.groups
        groups = self.play(step)
        episodes = [e for g in groups for e in g]
        write_segment(self.run.output / EPISODES, step, episodes)
        self.last_rows = [e.episode_id for e in episodes]
        kept = [e.tokens or Tokens() for e in episodes]
        return {
            "prompt_ids": [t.ids[: t.prompt_length] for t in kept],
            "completion_ids": [t.ids[t.prompt_length :] for t in kept],
            "logprobs": [t.logprobs[t.prompt_length :] for t in kept],
            "env_mask": [_learned(e) for e in episodes],
            "earned": [e.verdict.reward if isinstance(e.verdict, Scored) else None for e in episodes],
        }

    @property
    def inputs(self) -> dict[str, object]:
        """What the run is about, for its fingerprint: tasks with their weights, and the key of its first episodes."""
        queue = stable_hash(*(t.task_id for t in self.tasks), *self.weights)
        return {"queue": f"{queue:016x}", "key": result_key(self.policy, self.pool, self.verifier).model_dump()}

    def play(self, step: int) -> list[list[Episode]]:
        """Groups of one step: the drawn tasks, those without variance replaced by the next in the draw."""
        count = self.run.groups
        order = draw_order(self.weights, self.run.seed, step, count * (1 + self.run.refills))
        played = self._groups([self.tasks[i] for i in order[:count]], step)
        spare = count + self.run.refills * sum(not has_variance(g) for g in played)
        if order[count:spare]:
            played += self._groups([self.tasks[i] for i in order[count:spare]], step)
        live = [g for g in played if has_variance(g)]
        dead = [g for g in played if not has_variance(g)]
        self.tally["dead"] += len(dead)
        self.tally["groups"] += len(dead) + len(live)
        return (live + dead)[:count]

    def _groups(self, tasks: list[Task], step: int) -> list[list[Episode]]:
        self.policy.version = f"{self.start}+{step}"
        key = result_key(self.policy, self.pool, self.verifier)
        k = self.run.generations
        attempts = attempts_at(tasks, k, stable_hash("rl", self.run.seed, step))
        episodes = rollout(attempts, self.policy, self.pool, self.verifier, key)
        self.tally["episodes"] += len(episodes)
        return [episodes[i : i + k] for i in range(0, len(episodes), k)]


def _learned(episode: Episode) -> list[int]:
    """1 on the tokens that enter the loss: the policy's own, and none of an episode without a result."""
    tokens = episode.tokens or Tokens()
    own = tokens.generated[tokens.prompt_length :]
    return own if isinstance(episode.verdict, Scored) else [0] * len(own)


def earned_reward(completions: list[Any], earned: list[float | None], **_: Any) -> list[float | None]:
    """The verifier's reward of each episode; None where there is none."""
    return list(earned)


class ScoredTrainer(GRPOTrainer):
    """TRL's trainer with a loss that is a mean over the members that have a result.

    TRL keeps a member without a reward out of its group's mean and deviation, and `dapo` counts tokens that are learned
    from; but `grpo` and `dr_grpo` divide by all members, the lost ones too. A lone scored member has no advantage: its
    group is one without variance. Where nobody has a result the loss is zero.
    """

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> torch.Tensor:
        """The loss of one batch."""
        loss: torch.Tensor = super().compute_loss(model, inputs, *args, **kwargs)
        if self.loss_type not in ("grpo", "dr_grpo"):
            return loss
        learned_B = (inputs["completion_mask"] * inputs["tool_mask"]).any(dim=1).float()
        of_all: torch.Tensor = self.accelerator.gather(learned_B)
        return loss / of_all.mean().clamp(min=1 / len(of_all))


class _Watch(TrainerCallback):
    """Seals states, keeps the ledger of consumed episodes and reports progress."""

    def __init__(self, consumed: ConsumedRows, rollouts: FrontierRollouts, report: Reporter) -> None:
        self.consumed, self.rollouts, self.report = consumed, rollouts, report
        self.rewards: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Record what the step consumed and say how far the run is."""
        self.consumed.add(self.rollouts.last_rows)
        recent = self.rewards[-5:]
        note = f"reward {sum(recent) / len(recent):.3f}" if recent else ""
        self.report.progress("grpo steps", state.global_step, state.max_steps, note)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        """Keep the reward curve."""
        if logs and "reward" in logs:
            self.rewards.append(float(logs["reward"]))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Seal the state that has just been written."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        self.consumed.seal(folder / LEDGER)
        (folder / TALLY).write_text(json.dumps(self.rollouts.tally), encoding="utf-8")
        mark_complete(folder)


def train(run: GrpoRun, report: Reporter) -> Path:
    """Run one RL training and return the folder of the published model."""
    torch.set_num_threads(run.threads)
    parent = read_manifest(Path(run.init))
    tokenizer = Tokenizer.from_file(str(Path(run.init) / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(run.init)
    rollouts = _rollouts(run, model, tokenizer, parent["version"])
    claim(run.output, {"code": CODE, "settings": _settings_of(run), **rollouts.inputs})
    consumed = ConsumedRows()
    watch = _Watch(consumed, rollouts, report)
    trainer = ScoredTrainer(
        model=model,
        args=_settings(run),
        train_dataset=Dataset.from_dict({"prompt": [str(i) for i in range(run.steps * run.groups)]}),
        processing_class=wrapped_tokenizer(tokenizer),
        reward_funcs=earned_reward,
        rollout_func=rollouts,
        callbacks=[watch],
    )
    resume = latest_state(run.output)
    if resume is not None:
        consumed.restore(resume / LEDGER)
        rollouts.tally = json.loads((resume / TALLY).read_text(encoding="utf-8"))
        report.say(f"grpo: resuming from {resume.name}")
    train_to_end(trainer, resume, run.steps)
    return _publish(run, trainer, tokenizer, consumed, watch, parent, report)


def _rollouts(run: GrpoRun, model: Any, tokenizer: Tokenizer, version: str) -> FrontierRollouts:
    tasks, weights = read_tasks(run.tasks), pl.read_parquet(run.tasks, columns=["weight"])["weight"].to_list()
    if (drawable := sum(w > 0 for w in weights)) < run.groups:
        raise ValueError(
            f"{run.tasks} has {drawable} tasks of positive weight and a step draws {run.groups}: "
            "admit more tasks or lower `groups`"
        )
    decoder = LlamaDecoder(dict(model.named_parameters()), LlamaShape.of(model.config.to_dict()))
    signatures = signatures_of(world_maker(run.world, folder=run.world_folder)())
    policy = TokenPolicy(decoder, tokenizer, signatures, version=version, temperature=run.temperature)
    return FrontierRollouts(run, policy, tasks, weights)


def _settings(run: GrpoRun) -> GRPOConfig:
    return GRPOConfig(
        output_dir=str(run.output / STATE),
        max_steps=run.steps,
        per_device_train_batch_size=run.groups * run.generations,
        num_generations=run.generations,
        shuffle_dataset=False,
        learning_rate=run.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=min(3, run.steps // 4),
        adam_beta2=0.95,
        max_grad_norm=1.0,
        temperature=run.temperature,
        beta=run.beta,
        loss_type=run.loss,
        importance_sampling_level=run.importance_sampling,
        use_cpu=not torch.cuda.is_available(),
        bf16=run.precision == "bf16",
        activation_checkpointing=False,
        save_steps=run.save_every,
        save_total_limit=2,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        seed=run.seed,
        dataloader_pin_memory=False,
    )


def _settings_of(run: GrpoRun) -> dict[str, Any]:
    """What decides the weights, beside tasks and parent."""
    return run.model_dump(mode="json", exclude={"output", "tasks", "save_every", "init", "world_folder"})


def _publish(
    run: GrpoRun,
    trainer: Any,
    tokenizer: Tokenizer,
    consumed: ConsumedRows,
    watch: _Watch,
    parent: dict[str, Any],
    report: Reporter,
) -> Path:
    made = Made("grpo", CODE, _settings_of(run), parent["version"])
    folder, version = publish_trained(run.output, made, trainer, tokenizer, consumed)
    tally = watch.rollouts.tally
    tail = [float(h["reward"]) for h in trainer.state.log_history if "reward" in h][-5:]
    report.finish(
        {
            "version": version,
            "steps": run.steps,
            "episodes": tally["episodes"],
            "dead_group_share": tally["dead"] / max(1, tally["groups"]),
            "last_reward": sum(tail) / max(1, len(tail)),
        }
    )
    return folder


def main() -> None:
    """Read the run file named on the command line and train."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with reporter() as report:
        train(GrpoRun.read(Path(sys.argv[1])), report)


if __name__ == "__main__":
    main()
