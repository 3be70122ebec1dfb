"""An episode: one attempt at one task, its steps, and the verdict on it by type (pipeline law 1).

Only a `Scored` verdict has a reward, so nothing else can enter a mean, an advantage or a loss.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from environments.task import Call, Task


@dataclass(frozen=True, slots=True)
class Dimension:
    """One graded part of a rubric: the reason was given before the grade."""

    name: str
    score: float
    """In [0, 1]."""
    weight: float
    """Share of the rubric's score."""
    reason: str


@dataclass(frozen=True, slots=True)
class Scored:
    """The attempt was graded: `reward` in [0, 1], with what it was graded on."""

    reward: float
    outcome: float
    vetoed: bool
    cause: str
    """`ok`, or the first thing that failed."""
    evidence: str = ""
    """The span, row or call that `cause` refers to."""
    nearest: str = ""
    """Of a veto: what kind of claim it was about, and the evidence that comes closest."""
    rubric: float = 1.0
    """Score of the rubric; 1 where none was asked."""
    dimensions: tuple[Dimension, ...] = ()
    """What the rubric's score is made of; empty where none was asked."""

    def __post_init__(self) -> None:
        assert not (self.vetoed and self.reward), "a veto leaves no reward"

    @property
    def success(self) -> bool:
        """Perfect in every dimension."""
        return self.reward >= 1.0 - 1e-6


@dataclass(frozen=True, slots=True)
class NoResult:
    """Our own failure (server, sandbox, judge, timeout): never a zero, absent from every mean and loss."""

    cause: str


@dataclass(frozen=True, slots=True)
class Invalid:
    """The task or its verifier is broken: goes to quarantine."""

    cause: str


Verdict = Scored | NoResult | Invalid


class ResultKey(BaseModel):
    """Everything that scores, by version; results with different keys never mix (pipeline law 2)."""

    model_config = ConfigDict(frozen=True)

    world: str
    tools: str
    verifier: str
    judge: str = "none"
    rubric: str = "none"
    user: str = "none"
    sampler: str
    template: str
    policy: str

    @property
    def digest(self) -> str:
        """Short hash of the whole tuple."""
        return hashlib.blake2b(self.model_dump_json().encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call and what came back."""

    call: Call
    observation: Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the agent said to the user, and the reply."""

    after: int
    """How many steps had been taken when it was said."""
    said: str
    reply: str


@dataclass(slots=True)
class Tokens:
    """The attempt as the policy's weights saw it; never re-tokenised."""

    ids: list[int] = field(default_factory=list)
    generated: list[int] = field(default_factory=list)
    """1 where the policy wrote the token, 0 for prompt and observations."""
    logprobs: list[float] = field(default_factory=list)
    """Log-probability under the sampling distribution; 0.0 where not generated."""
    prompt_length: int = 0


@dataclass(slots=True)
class Attempt:
    """An episode in the making."""

    task: Task
    number: int
    """0-based, counts attempts at the same task."""
    seed: int
    steps: list[Step] = field(default_factory=list)
    answer: str | None = None
    ended: str | None = None
    """None while running; `answered`, `malformed`, `budget` (calls), `length` (tokens), `failed` (ours), or
    `unplayable` (the task's fault)."""
    failure: str | None = None
    tokens: Tokens | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    """The conversation with the user, where the task has one."""
    landed: bool = False
    """Whether the world was as the goal wants it when the agent last spoke to the user."""

    @property
    def instruction(self) -> str:
        """What this attempt's user says."""
        return self.task.wording(self.number)


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished attempt with its verdict."""

    task_id: str
    attempt: int
    seed: int
    key: str
    """`ResultKey.digest` under which the verdict was reached."""
    instruction: str
    steps: tuple[Step, ...]
    answer: str | None
    ended: str
    verdict: Verdict
    tokens: Tokens | None = None
    exchanges: tuple[Exchange, ...] = ()

    @property
    def episode_id(self) -> str:
        """Stable id: task, attempt, seed and key."""
        text = f"{self.task_id}:{self.attempt}:{self.seed}:{self.key}"
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def row(self) -> dict[str, Any]:
        """The episode as one flat table row."""
        tokens = self.tokens or Tokens()
        return {
            "episode_id": self.episode_id,
            "task_id": self.task_id,
            "attempt": self.attempt,
            "seed": self.seed,
            "key": self.key,
            "instruction": self.instruction,
            "steps": json.dumps([[s.call.name, s.call.arguments, s.observation] for s in self.steps]),
            "exchanges": _json_of(self.exchanges),
            "answer": self.answer,
            "ended": self.ended,
            **verdict_columns(self.verdict),
            "token_ids": tokens.ids,
            "generated": tokens.generated,
            "logprobs": tokens.logprobs,
            "prompt_length": tokens.prompt_length,
        }


def _json_of(exchanges: Iterable[Exchange]) -> str | None:
    said = [[e.after, e.said, e.reply] for e in exchanges]
    return json.dumps(said, ensure_ascii=False) if said else None


def exchanges_in(text: str | None) -> tuple[Exchange, ...]:
    """The exchanges of a stored row; none where there were none, or where the row is older than they are."""
    return tuple(Exchange(*parts) for parts in json.loads(text)) if text else ()


def before_answer(exchanges: Sequence[Exchange], answer: str | None) -> Sequence[Exchange]:
    """The exchanges without the one in which the answer was given: nothing was said after its reply."""
    return exchanges[:-1] if exchanges and exchanges[-1].said == answer else exchanges


def verdict_columns(verdict: Verdict) -> dict[str, Any]:
    """Columns status, reward, success, vetoed, cause, evidence, outcome, rubric, dimensions.

    Only a scored verdict has a reward and what it is made of; for the others those are null.
    """
    if isinstance(verdict, Scored):
        graded = [[d.name, d.score, d.weight, d.reason] for d in verdict.dimensions]
        return {
            "status": "scored",
            "reward": verdict.reward,
            "success": verdict.success,
            "vetoed": verdict.vetoed,
            "cause": verdict.cause,
            "evidence": verdict.evidence,
            "outcome": verdict.outcome,
            "rubric": verdict.rubric,
            "dimensions": json.dumps(graded, ensure_ascii=False),
        }
    status = "no_result" if isinstance(verdict, NoResult) else "invalid"
    parts = dict.fromkeys(("reward", "success", "vetoed", "outcome", "rubric"))
    return {"status": status, "cause": verdict.cause, "evidence": "", "dimensions": "[]", **parts}


def verdict_of(row: Mapping[str, Any]) -> Verdict:
    """The verdict in the columns of a row, the way back from `verdict_columns`; rows from before rubrics had none."""
    if row["status"] != "scored":
        return NoResult(row["cause"]) if row["status"] == "no_result" else Invalid(row["cause"])
    dimensions = tuple(Dimension(*graded) for graded in json.loads(row.get("dimensions") or "[]"))
    outcome, rubric = row.get("outcome"), row.get("rubric")
    return Scored(
        row["reward"],
        outcome=float(row["success"]) if outcome is None else outcome,
        vetoed=row["vetoed"],
        cause=row["cause"],
        evidence=row["evidence"],
        rubric=1.0 if rubric is None else rubric,
        dimensions=dimensions,
    )


def scored_rewards(episodes: Iterable[Episode]) -> list[float]:
    """Rewards of the scored episodes; the others have none."""
    return [e.verdict.reward for e in episodes if isinstance(e.verdict, Scored)]
