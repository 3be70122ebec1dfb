"""The strongest policy that refuses everything: it looks at all that the gold solution looks at, and then refuses.

It earns what a refusal earns on every task whose right end is one; scored together with the twins it must earn
nothing.
"""

from collections.abc import Container

from environments.episode import Attempt
from environments.policies.script import Scripted
from environments.policy import Action, Answer
from environments.verifiers.outcome import REFUSALS


class LooksThenRefuses(Scripted):
    """Makes the gold calls that read, hands over where the gold solution does, then refuses."""

    version = "looks-then-refuses-1"

    def __init__(self, harmless: Container[str], reason: str = "not_allowed") -> None:
        """Set up the policy.

        Args:
            harmless: names of the tools that change nothing.
            reason: typed reason of its refusals.
        """
        self.harmless, self.reason = harmless, reason

    def next(self, attempt: Attempt) -> Action:
        """The gold call that is due among the harmless ones, or the refusal."""
        calls = [call for call in attempt.task.gold_calls if call.name in self.harmless]
        done = len(attempt.steps)
        return calls[done] if done < len(calls) else Answer(REFUSALS[self.reason])
