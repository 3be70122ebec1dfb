"""The contract of a policy: given attempts in progress, the next action of each.

Taking many attempts at once lets a policy with weights run them as one batch; a scripted one loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from environments.episode import Attempt
from environments.task import Call


@dataclass(frozen=True, slots=True)
class Answer:
    """The final answer; ends the episode."""

    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that is neither a call nor an answer; ends the episode with a zero."""

    text: str
    cause: str
    """`malformed`, or `length` when the token budget ran out."""


Action = Call | Answer | Malformed


class Policy(Protocol):
    """Anything that can take the next turn: weights, a served checkpoint, a script."""

    @property
    def version(self) -> str:
        """Hash of the weights, or of the script."""
        ...

    @property
    def sampler(self) -> str:
        """How actions are drawn (temperature, token budget), for the result key."""
        ...

    @property
    def template(self) -> str:
        """Hash of the chat template, `none` where there is none."""
        ...

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Get ready for a batch of fresh attempts."""
        ...

    def act(self, attempts: Sequence[Attempt]) -> Sequence[Action]:
        """The next action of each attempt, all of them from the current batch."""
        ...


@runtime_checkable
class Beside(Policy, Protocol):
    """A policy that can run several batches at the same time."""

    def beside(self) -> Self:
        """The same policy for one more batch: it acts alike, and what it holds of its batch is its own."""
        ...
