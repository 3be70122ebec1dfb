"""The policy that refuses everything, one for each typed reason."""

import re

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer
from environments.verifiers.outcome import REFUSALS


class AlwaysRefuse(Cheater):
    """Refuses everything with a well-formed refusal."""

    version = "always-refuse-1"

    def __init__(self, reason: str = "no_tool") -> None:
        """Refuse for `reason`, one of `environments.verifiers.outcome.REFUSALS`."""
        self.reason = reason
        if reason != "no_tool":
            self.version = f"always-refuse-{reason.replace('_', '-')}-1"

    def next(self, attempt: Attempt) -> Action:
        """The refusal, about whatever name the request gives."""
        names = re.findall(r"(?<!^)\b[A-Z]\w+(?: [A-Z]\w+)*", attempt.instruction) or ["it"]
        return Answer(re.sub(r"\{\w+\}", names[-1], REFUSALS[self.reason]))
