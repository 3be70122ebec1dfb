"""A task: an instruction, the world it is set in, the goal that its verifier checks, and a budget.

The verifier's side (`Goal`) is written before the instruction (pipeline stage 6); the gold calls and answer exist so
that admission can prove the task solvable, and only scripted policies may look at them.
"""

import hashlib
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Split = Literal["train", "dev", "hidden"]
FactKind = Literal["number", "code", "name", "word"]


class Fact(BaseModel):
    """Something an answer claims, by type and unit, so that it is compared as a value and not as a substring."""

    model_config = ConfigDict(frozen=True)

    kind: FactKind
    value: str
    unit: str | None = None
    """For numbers: `euros`, `degrees`, `km`, `minutes`, `rating`; None when the answer gives none."""


class Call(BaseModel):
    """One tool call."""

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: dict[str, Any]


class Booking(BaseModel):
    """A booking that must exist at the end, and nothing beside it."""

    model_config = ConfigDict(frozen=True)

    kind: str
    number: str
    origin: str
    destination: str
    date: str


class Goal(BaseModel):
    """What must hold at the end of an episode."""

    model_config = ConfigDict(frozen=True)

    required: tuple[Fact, ...] = ()
    """Facts the answer must state."""
    forbidden: tuple[Fact, ...] = ()
    """Facts the answer must not state: the alternatives, so that hedging earns nothing."""
    bookings: tuple[Booking, ...] = ()
    """Everything that must have been written; an empty tuple forbids any write."""
    seen: tuple[str, ...] = ()
    """Digests of what the tools must have shown before an answer counts: a comparison with one side is a guess."""
    reason: str | None = None
    """Where the right end is a refusal or a question back: its typed reason."""
    evidence_error: str | None = None
    """The error code that the agent must have met before it may refuse (the investigation that justifies it)."""


class Task(BaseModel):
    """Instruction + initial state + world + verifier + budget."""

    model_config = ConfigDict(frozen=True)

    world: str
    family: str
    depth: int
    """0 refuse or ask back, 1 one call, 2 chained or checked, 3 comparison, 4 a write."""
    instruction: str
    tools: tuple[str, ...]
    """Names of the tools on offer, in the order in which they are shown."""
    goal: Goal
    gold_calls: tuple[Call, ...] = ()
    gold_answer: str
    max_calls: int
    split: Split = "train"
    leaf: str | None = None
    query_id: str | None = None
    """The query it was compiled from; variants keep their original's."""
    group: str = ""
    """Original and variants share a group, and a group is never split (pipeline law 7)."""
    twin: str | None = None
    """For refusal tasks: `task_id` of the solvable twin with which it is scored."""
    wordings: tuple[str, ...] = ()
    """Other ways to say `instruction`, for attempts that must not all read the same."""
    fault_seed: int | None = None

    @property
    def task_id(self) -> str:
        """Content hash: same instruction, tools, goal and budget give the same id."""
        shown = self.model_dump_json(include={"world", "instruction", "tools", "goal", "max_calls", "fault_seed"})
        return hashlib.blake2b(shown.encode(), digest_size=8).hexdigest()

    def wording(self, attempt: int) -> str:
        """The instruction that attempt number `attempt` reads."""
        said = (self.instruction, *self.wordings)
        return said[attempt % len(said)]
