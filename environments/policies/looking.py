"""The strongest policy that refuses everything: it looks at all that the gold solution looks at, and then refuses.

It earns what a refusal earns on every task whose right end is one; scored together with the twins it must earn
nothing.
"""

from collections.abc import Container, Sequence

from environments.episode import Attempt
from environments.policies.refusing import refusal
from environments.policies.script import Scripted
from environments.policy import Action, Answer


class LooksThenRefuses(Scripted):
    """Makes the gold calls that read, hands over where the gold solution does, then refuses."""

    version = "looks-then-refuses-1"

    def __init__(self, harmless: Container[str], reason: str = "not_allowed", *, codes: Sequence[str] = ()) -> None:
        """Set up the policy.

        Args:
            harmless: names of the tools that change nothing.
            reason: typed reason of its refusals.
            codes: the world's (`World.refusal_codes`).
        """
        self.harmless, self.said = harmless, refusal(reason, codes)

    def next(self, attempt: Attempt) -> Action:
        """The gold call that is due among the harmless ones, or the refusal."""
        calls = [call for call in attempt.task.gold_calls if call.name in self.harmless]
        done = len(attempt.steps)
        return calls[done] if done < len(calls) else Answer(self.said)
