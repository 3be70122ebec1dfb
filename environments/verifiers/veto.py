"""The hallucination veto: a fact without evidence makes the reward 0, whatever else was good.

Evidence has classes: tool output; the policy document; what follows from those (sums, differences, conversions,
rounding); and the user's turn, which grounds only what is quoted back as the user's ("your 300 euros") and the names
the user asked about. Repeating a premise the user believes is a claim about the world and needs a tool. In several
turns everything the agent said counts, each against what had been seen by then.

Source: AMAP report (hallucination hard veto); TravelBench judge checklist; pipeline stage 7.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from environments.episode import Attempt, Step
from environments.verifiers import evidence as evidence_module
from environments.verifiers.claims import shared
from environments.verifiers.conditions import contradicted
from environments.verifiers.evidence import Evidence
from environments.verifiers.folding import folded
from environments.verifiers.ground import Ground
from environments.verifiers.grounding import Finding, finding
from environments.world import World

__all__ = ["UNIT_OF", "Finding", "Said", "Setting", "evidence_of", "findings", "turns_of", "unsupported"]

UNIT_OF = {"price": "euros", "temp": "degrees", "km": "km", "minutes": "minutes", "rating": "rating"}
"""Unit of each numeric field where no world says better: those of atlas."""


class Said(NamedTuple):
    """Something the agent said, with what had happened by then."""

    text: str
    steps: int
    """How many calls had been made."""
    heard: tuple[str, ...]
    """The user's turns so far."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What an episode is set in, as far as grounding goes."""

    units: Mapping[str, str]
    """Unit of each numeric field by name."""
    policy: str = ""
    today: str = ""
    """ISO date; empty where no day matters."""
    offered: frozenset[str] = frozenset()
    """Names of the tools on offer."""

    @classmethod
    def of(cls, attempt: Attempt, world: World | None) -> "Setting":
        """The setting of an attempt: from its world, or the units of atlas where there is none."""
        if world is None:
            return cls(UNIT_OF, offered=frozenset(attempt.task.tools))
        return cls(world.units, world.policy, world.today, frozenset(attempt.task.tools))


def evidence_of(steps: Sequence[Step]) -> Evidence:
    """What `steps` have shown, with the units of atlas."""
    return evidence_module.evidence_of(steps, UNIT_OF)


def unsupported(attempt: Attempt, world: World | None = None) -> Finding | None:
    """The first claim that the agent made without evidence, or None."""
    return next(findings(turns_of(attempt), attempt.steps, Setting.of(attempt, world)), (None, None))[1]


def turns_of(attempt: Attempt) -> list[Said]:
    """Everything that the agent said, in order."""
    heard = [attempt.instruction]
    said = []
    for exchange in attempt.exchanges:
        said.append(Said(exchange.said, exchange.after, tuple(heard)))
        heard.append(exchange.reply)
    if not attempt.exchanges and attempt.answer:
        said.append(Said(attempt.answer, len(attempt.steps), tuple(heard)))
    return said


def findings(said: Sequence[Said], steps: Sequence[Step], setting: Setting) -> Iterator[tuple[Said, Finding]]:
    """Every claim without evidence, with the turn in which it was made."""
    evidence = Evidence(setting.units)
    evidence.add_policy(setting.policy)
    ground = Ground(evidence, (), setting.today, setting.offered)
    seen = 0
    for turn in said:
        for step in steps[seen : turn.steps]:
            evidence.add(step)
        seen, ground.said = max(seen, turn.steps), tuple(map(folded, turn.heard))
        text = folded(turn.text)
        for claim in shared(text):
            found = finding(claim, text, ground)
            if found is not None:
                yield turn, replace(found, span=turn.text[claim.start : claim.end])
            elif claim.kind == "number" and claim.unit:
                ground.state(claim, text)
        for claim, shown in contradicted(text, evidence):
            yield turn, Finding(claim, turn.text[claim.start : claim.end], shown, misplaced=True)
