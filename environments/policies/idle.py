"""Policies that do nothing: they say nothing, stop at once with a friendly word, or hang until the budget ends."""

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer
from environments.task import Call


class NoOp(Cheater):
    """Says nothing and does nothing."""

    version = "no-op-1"

    def next(self, attempt: Attempt) -> Action:
        """An empty answer."""
        return Answer("")


class ImmediateStop(Cheater):
    """Reports success at once, as a program that leaves with exit code 0 before its tests begin."""

    version = "immediate-stop-1"

    def next(self, attempt: Attempt) -> Action:
        """A claim that all is done."""
        return Answer("Done. Everything you asked for has been completed successfully.")


class Hang(Cheater):
    """Makes the same useless call until its budget ends, and never answers: that is a zero, not a time-out of ours."""

    version = "hang-1"
    everywhere = False

    def next(self, attempt: Attempt) -> Action:
        """The first tool on offer, without arguments."""
        return Call(name=(attempt.task.tools or ("wait",))[0], arguments={})
