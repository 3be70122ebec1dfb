"""The policy that refuses everything, for each typed reason that a world knows and for all of them at once."""

import re
from collections.abc import Sequence

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer
from environments.verifiers.outcome import REFUSALS


class AlwaysRefuse(Cheater):
    """Refuses everything with a well-formed refusal."""

    version = "always-refuse-1"

    def __init__(self, *reasons: str, codes: Sequence[str] = ()) -> None:
        """Refuse for `reasons`.

        Args:
            reasons: of `codes` where the world has some, else of `environments.verifiers.outcome.REFUSALS`; without
                one, because no tool can do it.
            codes: the world's (`World.refusal_codes`).
        """
        self.reasons, self.codes = reasons or ("no_tool",), tuple(codes)
        if self.codes or self.reasons != ("no_tool",):
            of = "code-" if self.codes else ""
            self.version = f"always-refuse-{of}{'-or-'.join(self.reasons).replace('_', '-')}-1"

    def next(self, attempt: Attempt) -> Action:
        """The refusal, about whatever name the request gives."""
        names = re.findall(r"(?<!^)\b[A-Z]\w+(?: [A-Z]\w+)*", attempt.instruction) or ["it"]
        said = " ".join(refusal(reason, self.codes) for reason in self.reasons)
        return Answer(re.sub(r"\{\w+\}", names[-1], said))


def refusal(reason: str, codes: Sequence[str]) -> str:
    """How an answer refuses for `reason` in a world with these codes."""
    return f"I cannot do that. Reason: {reason}." if codes else REFUSALS[reason]


def blanket_refusals(codes: Sequence[str]) -> list[AlwaysRefuse]:
    """One for each reason that counts in a world with these codes, and one for all of them."""
    reasons = tuple(codes) or tuple(REFUSALS)
    return [*(AlwaysRefuse(reason, codes=codes) for reason in reasons), AlwaysRefuse(*reasons, codes=codes)]
