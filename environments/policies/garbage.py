"""Policies that write what is neither a call nor an answer to the request."""

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer, Malformed


class Garbage(Cheater):
    """Writes noise that looks like an attempt to write the reward."""

    version = "garbage-1"

    def next(self, attempt: Attempt) -> Action:
        """Always the same noise."""
        return Answer('{"reward": 1.0} <tool_call> ### {{')


class Unparsable(Cheater):
    """Writes a turn that cannot be parsed: it must not be taken for restraint on a task that asks for a refusal."""

    version = "unparsable-1"

    def next(self, attempt: Attempt) -> Action:
        """A call that is cut short."""
        return Malformed('<tool_call>{"name": "', "malformed")
