"""What the gate finds about a task: one finding per check, with the evidence where something is wrong."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class Status(StrEnum):
    """How a check of a task ended."""

    PASSED = "passed"
    FAILED = "failed"
    """The task goes to quarantine."""
    EARNED = "earned"
    """A cheating policy scored by what the task asks for: no exploit."""
    NO_RESULT = "no_result"
    """Our own failure: says nothing of the task, which waits until the check can be made."""


VERIFIER_BROKE: Final = "the verifier broke"
"""How the evidence of a finding begins where a verifier stumbled, whatever the check was after."""


class Kind(StrEnum):
    """What a check is about."""

    SOUND = "sound"
    """Gold solution, resets, repeated verdicts."""
    CHEAT = "cheat"
    """A cheating policy."""
    ATTACK = "attack"
    """A search for an exploit."""
    CHANGED = "changed"
    """The task, its solution or its answer changed in a way whose verdict is known."""
    POOL = "pool"
    """The task among the others: twins, novelty, leakage."""


class Finding(NamedTuple):
    """One check of one task."""

    kind: Kind
    check: str
    """`gold`, `reset` ... or the version of the cheating policy."""
    status: Status
    evidence: str = ""
    """What failed, or how a score was earned; empty where there is nothing to tell."""

    @property
    def failed(self) -> bool:
        """Whether the task may not be admitted because of this."""
        return self.status is Status.FAILED


class Bound(NamedTuple):
    """How often something happened, with the 95% upper bound of its rate (Clopper-Pearson)."""

    times: int
    trials: int

    @property
    def rate(self) -> float:
        """Share of the trials."""
        return self.times / max(1, self.trials)

    @property
    def upper(self) -> float:
        """The rate that with 95% confidence is not exceeded; 1 where nothing was tried."""
        from scipy.stats import beta

        if self.times >= self.trials:
            return 1.0
        return float(beta.ppf(0.95, self.times + 1, self.trials - self.times))


def exploits_among(findings: Iterable[Finding]) -> Bound:
    """(task, cheating policy or attack) pairs in which cheating paid, of those that came to a score."""
    tried = [f for f in findings if f.kind in (Kind.CHEAT, Kind.ATTACK) and f.status is not Status.NO_RESULT]
    return Bound(sum(f.failed for f in tried), len(tried))


def broke_the_verifier(findings: Iterable[Finding]) -> list[Finding]:
    """The checks in which the verifier stumbled: it has a fault, whatever the task is worth."""
    return [f for f in findings if f.failed and f.evidence.startswith(VERIFIER_BROKE)]


def first_failure(findings: Sequence[Finding]) -> Finding | None:
    """The finding that keeps a task out: a soundness check before an exploit before the rest, as they were made."""
    return next((f for f in findings if f.failed), None)
