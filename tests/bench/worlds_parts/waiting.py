"""How much of a rollout is spent waiting for the world, with a policy that costs what the nano policy costs.

Random weights of nano's shape would end most turns by running out of tokens and call nothing. So the weights run, token
by token, and what they sample is replaced by what the gold solution says: the cost of nano, the calls of a good policy.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from tokenizers import Tokenizer
from torch import Tensor

from environments.episode import Attempt, Scored
from environments.policies.scripted import Gold
from environments.policy import Action
from environments.rollout import attempts_at, result_key, rollout
from environments.task import Call, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import Waited, World, WorldPool
from training.chat import call_text, signature
from training.generation import TokenPolicy
from training.llama import LlamaDecoder, LlamaShape
from training.tiny import build_model, build_tokenizer, call_pieces, json_pieces

T = TypeVar("T")
NANO = {"hidden": 128, "layers": 3, "heads": 4}
VOCABULARY, TURN_TOKENS, POSITIONS = 896, 96, 448


class ForcedPolicy(TokenPolicy):
    """Runs its weights for every token, and says what the gold solution says."""

    sees_gold = True

    def act(self, attempts: Sequence[Attempt]) -> list[Action]:
        """One turn of each attempt."""
        self._due: dict[int, list[int]] = {}
        for attempt, action in zip(attempts, Gold().act(attempts), strict=True):
            said = call_text(action) if isinstance(action, Call) else action.text  # type: ignore[union-attr]
            self._due[id(self._rows[id(attempt)])] = [self.end, *reversed(self.encode(said))]
        return super().act(attempts)

    def _sample(self, logits: Tensor, rows: Sequence[Any]) -> tuple[list[int], list[float]]:
        chosen, logprobs = super()._sample(logits, rows)
        return [self._due[id(r)].pop() if r else c for r, c in zip(rows, chosen, strict=True)], logprobs


def nano_policy(tasks: Sequence[Task], world: World) -> ForcedPolicy:
    """A policy of nano's shape over a tokenizer that knows the tasks' words."""
    calls = [c for task in tasks for c in task.gold_calls]
    pieces = [p for c in calls for p in call_pieces(c.name, c.arguments)]
    pieces += [p for c in calls[:500] for p in json_pieces(world.call(c.name, c.arguments))]
    world.reset()
    signatures = {name: signature(tool) for name, tool in world.tools().items()}
    texts = [text for task in tasks for text in (task.instruction, task.gold_answer)]
    tokenizer: Tokenizer = build_tokenizer(
        texts, pieces, signatures.values(), common=["from", "to", "the"], size=VOCABULARY
    )
    model = build_model(tokenizer.get_vocab_size(), **NANO)
    decoder = LlamaDecoder(dict(model.state_dict()), LlamaShape.of(model.config.to_dict()))
    return ForcedPolicy(decoder, tokenizer, signatures, version="timing", turn_tokens=TURN_TOKENS, positions=POSITIONS)


class Watched(WorldPool):
    """A pool whose waiting is timed: from when the rollout asks for its worlds to when all of them have answered."""

    def __init__(self, inner: WorldPool) -> None:
        self._inner, self.lanes = inner, inner.lanes
        self.seconds = 0.0

    def lend(self) -> World:
        """A session of the pool inside."""
        return self._inner.lend()

    def give_back(self, world: World) -> None:
        """Return it."""
        self._inner.give_back(world)

    def each(self, act: Callable[..., T], *of: Any) -> Waited[T]:
        """The inner pool's, timed where it keeps the rollout."""
        with self.timed():
            begun = self._inner.each(act, *of)
        return lambda: self._timed(begun)

    def settle(self, worlds: Sequence[World]) -> Waited[None]:
        """The inner pool's, timed where it keeps the rollout."""
        with self.timed():
            begun = self._inner.settle(worlds)
        return lambda: self._timed(begun)

    def _timed(self, begun: Waited[T]) -> list[T]:
        with self.timed():
            return begun()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time of a block."""
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started


class Graded(OutcomeVerifier):
    """A verifier whose time is counted apart; what it reads of a served world has been asked for before."""

    seconds = 0.0

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """The verdict, timed."""
        started = time.perf_counter()
        scored = super().grade(attempt, world)
        self.seconds += time.perf_counter() - started
        return scored


class Shares(NamedTuple):
    """One rollout."""

    share: float
    """Of the rollout, waiting for the world: opening, calls, end states."""
    grading: float
    """Of the rollout, the verifier."""
    seconds: float
    calls: int
    solved: float
    """Share of attempts with a reward of 1: the calls were those of the gold solution."""


def waited(policy: ForcedPolicy, inner: WorldPool, tasks: Sequence[Task], episodes: int) -> Shares:
    """Play `episodes` attempts side by side, in sessions that were opened before."""
    pool = Watched(inner)
    rollout(
        attempts_at(tasks[:40], 1, 1), policy, pool, Graded(), result_key(policy, pool, Graded())
    )  # what is loaded once
    verifier = Graded()
    attempts = attempts_at(tasks, -(-episodes // len(tasks)), 0)[:episodes]
    key = result_key(policy, pool, verifier)
    for world in pool.each(lambda _: pool.lend(), attempts)():
        pool.give_back(world)
    pool.seconds = 0.0
    started = time.perf_counter()
    played = rollout(attempts, policy, pool, verifier, key)
    seconds = time.perf_counter() - started
    solved = sum(isinstance(e.verdict, Scored) and e.verdict.success for e in played) / len(played)
    return Shares(
        pool.seconds / seconds, verifier.seconds / seconds, seconds, sum(len(e.steps) for e in played), solved
    )
