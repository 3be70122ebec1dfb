"""The contract of a user: what the agent said in, the user's reply out.

A mistake of the user is the user's: it raises `UserFailure`, the attempt has no result, and the agent is not blamed.
"""

from dataclasses import dataclass
from typing import Protocol

from environments.episode import Attempt


class UserFailure(RuntimeError):
    """The simulated user broke, left its role or told what it must not: the attempt has no result."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the user says; `ended` when nothing more will come."""

    text: str
    ended: bool


class User(Protocol):
    """Speaks for the user in tasks with several turns."""

    @property
    def version(self) -> str:
        """Hash of the script, or of model and prompt."""
        ...

    def reply(self, attempt: Attempt, said: str) -> Reply:
        """Answer what the agent just said; `attempt` holds the conversation before it.

        Raises:
            UserFailure: the user has no sound reply.
        """
        ...
