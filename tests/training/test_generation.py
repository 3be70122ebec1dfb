"""In-process generation: token ids kept, log-probabilities right, batches repeatable, budgets kept."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from tokenizers import Tokenizer, models

from environments.episode import Attempt, Episode, Scored, Tokens
from environments.policy import Action
from environments.rollout import attempts_at, result_key, rollout
from environments.task import Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import Waited, WorldPool
from environments.worlds.atlas.world import AtlasWorld
from tests.training.builders import (
    SIGNATURES,
    decoder_of,
    gold_episodes,
    reference_logprobs,
    some_tasks,
    tiny_model,
    tiny_tokenizer,
)
from training.chat import END_OF_TURN
from training.checkpoint import publish
from training.generation import TokenPolicy, load_policy
from training.masking import encode_trajectory
from training.sft import _Encoder
from training.tiny import save_tokenizer

T = TypeVar("T")
END = tiny_tokenizer().token_to_id(END_OF_TURN)
MODEL = tiny_model()


def policy(kind: type[TokenPolicy] = TokenPolicy, **settings: Any) -> TokenPolicy:
    chosen = {"version": "v", "temperature": 0.8, "turn_tokens": 12, **settings}
    return kind(decoder_of(MODEL), tiny_tokenizer(), SIGNATURES, **chosen)


def play(tasks: Sequence[Task], player: TokenPolicy, k: int = 1, seed: int = 0) -> list[Episode]:
    pool, verifier = WorldPool(AtlasWorld), OutcomeVerifier()
    return rollout(attempts_at(tasks, k, seed), player, pool, verifier, result_key(player, pool, verifier))


def ids(episodes: Sequence[Episode]) -> list[list[int]]:
    return [e.tokens.ids for e in episodes if e.tokens]


def encoded(task: Task, e: Episode) -> Tokens:
    """The conversation of an episode as SFT sees it."""
    encoder = _Encoder(tiny_tokenizer())
    return encode_trajectory(encoder, task.tools, e.instruction, e.steps, e.answer or "", SIGNATURES)


@cache
def gold_next() -> dict[tuple[int, ...], int]:
    """The gold token after every prefix of a gold conversation."""
    found: dict[tuple[int, ...], int] = {}
    for task, e in zip(some_tasks(), gold_episodes(some_tasks()), strict=True):
        tokens = encoded(task, e)
        found.update((tuple(tokens.ids[:i]), tokens.ids[i]) for i in range(tokens.prompt_length, len(tokens.ids)))
    return found


class SaysGold(TokenPolicy):
    """Weights as they are, but every token that is written is the gold one."""

    def _sample(self, logits: Any, rows: Any) -> tuple[list[int], list[float]]:
        logprobs = torch.log_softmax(logits, -1)
        chosen = [gold_next()[tuple(r.tokens.ids)] if r else END for r in rows]
        return chosen, [float(logprobs[i, c]) for i, c in enumerate(chosen)]


@pytest.fixture(scope="module")
def gold_play() -> list[Episode]:
    return play(some_tasks(), policy(SaysGold, turn_tokens=120))


def test_token_ids_of_a_played_conversation_are_those_it_is_learned_from(gold_play: list[Episode]) -> None:
    assert {len(e.steps) for e in gold_play} >= {0, 1, 2, 3}, "conversations of several lengths side by side"
    for task, episode in zip(some_tasks(), gold_play, strict=True):
        learned = encoded(task, episode)
        assert episode.tokens is not None
        assert episode.tokens.ids == learned.ids
        assert episode.tokens.generated == learned.generated
        assert episode.tokens.prompt_length == learned.prompt_length


def test_the_gold_tokens_solve_every_task(gold_play: list[Episode]) -> None:
    assert [e.verdict.reward for e in gold_play if isinstance(e.verdict, Scored)] == [1.0] * len(some_tasks())


def test_recorded_logprobs_equal_a_recomputation_over_whole_multi_turn_conversations(gold_play: list[Episode]) -> None:
    for episode in gold_play:
        check_logprobs(episode, 1.0)


def check_logprobs(episode: Episode, temperature: float) -> None:
    tokens = episode.tokens
    assert tokens is not None
    expected = reference_logprobs(MODEL, tokens.ids, temperature)
    for i, (token, own) in enumerate(zip(tokens.ids, tokens.generated, strict=True)):
        wanted = float(expected[i - 1, token]) if own else 0.0
        assert tokens.logprobs[i] == pytest.approx(wanted, abs=1e-4), f"token {i}"


def test_recorded_logprobs_are_those_of_the_sampling_distribution() -> None:
    for temperature in (0.7, 1.3):
        for episode in play(some_tasks()[:12], policy(temperature=temperature), k=2):
            check_logprobs(episode, temperature)


def test_greedy_turns_are_those_of_the_reference_model() -> None:
    for episode in play(some_tasks()[:8], policy(temperature=0.0)):
        assert episode.tokens is not None
        written = list(episode.tokens.ids[: episode.tokens.prompt_length])
        for token in episode.tokens.ids[episode.tokens.prompt_length :]:
            best = reference_logprobs(MODEL, [*written, 0])[-1]
            assert float(best.max() - best[token]) < 1e-4
            written.append(token)


def test_a_batch_redone_is_equal_bit_for_bit_whatever_ran_before() -> None:
    player = policy()
    first = play(some_tasks()[:10], player, k=3)
    play(some_tasks()[10:30], player, k=2, seed=9)
    again = play(some_tasks()[:10], player, k=3)
    assert [e.row() for e in again] == [e.row() for e in first]


def test_neighbours_in_a_batch_do_not_change_what_a_policy_says() -> None:
    for temperature in (0.0, 0.8):
        together = ids(play(some_tasks()[:20], policy(temperature=temperature), k=2))
        alone = [i for t in some_tasks()[:20] for i in ids(play([t], policy(temperature=temperature), k=2))]
        assert sum(a == b for a, b in zip(together, alone, strict=True)) >= 38, "but for a tie in the last bit"


def test_each_attempt_draws_numbers_of_its_own() -> None:
    several = ids(play(some_tasks()[:1], policy(temperature=1.0), k=8))
    assert len({tuple(i) for i in several}) == 8
    assert ids(play(some_tasks()[:1], policy(temperature=1.0), k=8, seed=1)) != several
    greedy = ids(play(some_tasks()[:1], policy(temperature=0.0), k=8))
    assert len({tuple(i) for i in greedy}) == 1


def test_sampled_tokens_follow_the_distribution() -> None:
    prompt = play(some_tasks()[:1], policy(turn_tokens=1))[0].tokens
    assert prompt is not None
    expected = reference_logprobs(MODEL, [*prompt.ids[: prompt.prompt_length], 0])[-1].exp()
    drawn = [i[-1] for i in ids(play(some_tasks()[:1], policy(temperature=1.0, turn_tokens=1), k=800))]
    top = expected.topk(8)
    for probability, token in zip(top.values.tolist(), top.indices.tolist(), strict=True):
        spread = (probability * (1 - probability) / 800) ** 0.5
        assert drawn.count(token) / 800 == pytest.approx(probability, abs=4 * spread + 1e-3)


def test_a_turn_that_does_not_end_within_its_tokens_is_a_scored_zero() -> None:
    [episode] = play(some_tasks()[:1], policy(temperature=0.0, turn_tokens=2))
    assert episode.ended == "length"
    assert isinstance(episode.verdict, Scored)
    assert (episode.verdict.reward, episode.verdict.cause) == (0.0, "length")
    assert episode.tokens is not None
    assert sum(episode.tokens.generated) == 2


def test_a_conversation_that_has_no_room_left_is_not_continued() -> None:
    task = max(some_tasks(), key=lambda t: len(t.gold_calls))
    whole = play([task], policy(SaysGold, turn_tokens=120))[0].tokens
    assert whole is not None
    [cut] = play([task], policy(SaysGold, turn_tokens=120, positions=whole.prompt_length + 130))
    assert cut.tokens is not None
    assert (cut.ended, cut.tokens.ids) == ("length", whole.ids[: len(cut.tokens.ids)])
    [none] = play([task], policy(SaysGold, turn_tokens=120, positions=whole.prompt_length - 5))
    assert none.tokens is not None
    assert (none.ended, sum(none.tokens.generated)) == ("length", 0)


def test_the_sampler_is_part_of_the_key() -> None:
    settings: list[dict[str, Any]] = [{}, {"temperature": 0.5}, {"turn_tokens": 13}, {"positions": 300}]
    assert len({policy(**s).sampler for s in settings}) == 4
    assert policy().template.startswith("hermes-")


def test_prompts_carry_the_tools_on_offer() -> None:
    player = policy()
    [attempt] = attempts_at(some_tasks()[:1], 1, 0)
    player.begin([attempt])
    assert attempt.tokens is not None
    prompt = tiny_tokenizer().decode(attempt.tokens.ids, skip_special_tokens=False)
    for name, shown in SIGNATURES.items():
        assert (shown in prompt) is (name in attempt.task.tools)
    assert attempt.instruction in prompt


def test_a_published_folder_can_be_played(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        MODEL.save_pretrained(folder)
        save_tokenizer(tiny_tokenizer(), folder)

    folder = publish(tmp_path, write, {"version": "v"})
    player = load_policy(folder, SIGNATURES, temperature=0.8, version="v", turn_tokens=12)
    assert ids(play(some_tasks()[:6], player)) == ids(play(some_tasks()[:6], policy()))


def test_a_folder_without_weights_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no model\.safetensors in .*: materialize the checkpoint first"):
        load_policy(tmp_path, SIGNATURES, temperature=1.0, version="v")


def test_a_tokenizer_without_chat_marks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has no token '<\|im_end\|>'"):
        TokenPolicy(decoder_of(MODEL), Tokenizer(models.BPE()), SIGNATURES, version="v")


def test_attempts_that_ended_leave_the_batch_and_the_others_go_on() -> None:
    player = policy(SaysGold, turn_tokens=120)
    attempts: list[Attempt] = attempts_at(some_tasks()[:6], 1, 0)
    player.begin(attempts)
    first = player.act(attempts)
    assert len(first) == 6
    calling = [a for a, action in zip(attempts, first, strict=True) if type(action).__name__ == "Call"]
    assert 0 < len(calling) < 6
    assert len(player._slots) == 6
    world = AtlasWorld()
    from environments.episode import Step

    for attempt, action in zip(attempts, first, strict=True):
        if attempt in calling:
            attempt.steps.append(Step(action, world.call(action.name, action.arguments)))  # type: ignore[arg-type,union-attr]
    assert len(player.act(calling)) == len(calling) == len(player._slots)


class AnswersLate(WorldPool):
    """Sessions that act no sooner than somebody waits for them, and a record of whose turn it was."""

    lanes = 3

    def __init__(self, turns: list[tuple[str, int]]) -> None:
        super().__init__(AtlasWorld)
        self.turns = turns

    def each(self, act: Callable[..., T], *of: Iterable[Any]) -> Waited[T]:
        """Begin nothing yet."""
        parts = list(zip(*of, strict=True))

        def wait() -> list[T]:
            """Do it now."""
            firsts = [part[0] if isinstance(part[0], Attempt) else part[0][0] for part in parts]
            self.turns += [("worlds", a.seed) for a in firsts[:1]]
            return [act(*part) for part in parts]

        return wait


class Noted(SaysGold):
    """Notes when it acts."""

    turns: list[tuple[str, int]]

    def act(self, attempts: Sequence[Attempt]) -> list[Action]:
        """One turn of one lane."""
        self.turns.append(("policy", attempts[0].seed))
        return super().act(attempts)


def test_while_a_policy_acts_in_one_lane_the_worlds_of_the_others_have_time_to_answer() -> None:
    player, tasks = policy(Noted, turn_tokens=120), some_tasks()
    player.turns = []
    pool, attempts = AnswersLate(player.turns), attempts_at(tasks, 96 // len(tasks) + 1, 0)
    key = result_key(player, pool, OutcomeVerifier())
    found = rollout(attempts, player, pool, OutcomeVerifier(), key)
    fresh, borders = attempts_at(tasks, 96 // len(tasks) + 1, 0), [len(attempts) * n // 3 for n in range(4)]
    parts = [fresh[start:stop] for start, stop in pairwise(borders)]
    lane_of = {attempt.seed: lane for lane, part in enumerate(parts) for attempt in part}
    lanes = [(who, lane_of[seed]) for who, seed in player.turns[:12]]
    assert lanes == [(who, lane) for lane in (0, 1, 2) for who in ("worlds", "policy")] * 2
    alone = [e for part in parts for e in rollout(part, policy(SaysGold, turn_tokens=120), WorldPool(AtlasWorld),
                                                  OutcomeVerifier(), key)]  # fmt: skip
    assert [e.row() for e in found] == [e.row() for e in alone]
    assert {e.verdict.reward for e in found if isinstance(e.verdict, Scored)} == {1.0}
