"""Labelled claims: an answer with its evidence, and whether the evidence bears it out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from environments.episode import Step
from environments.task import Call
from environments.verifiers.veto import Finding, Said, Setting, findings

FOLDER = Path(__file__).parent / "grounding"
PARTS = ("tuned", "held_back", "last")


@dataclass(frozen=True)
class Labelled:
    """One answer, its label and what the check says."""

    part: str
    language: str
    context: str
    answer: str
    span: str
    """The unsupported words, empty where all is supported."""
    kind: str
    trap: str
    found: tuple[Finding, ...]

    @property
    def right(self) -> bool:
        """Whether it is vetoed exactly where it should be."""
        return bool(self.found) == bool(self.span)

    @property
    def placed(self) -> bool:
        """Whether a finding touches the labelled span."""
        at = self.answer.find(self.span)
        return any(f.start < at + len(self.span) and at < f.end for f in self.found)


def labelled(part: str) -> list[Labelled]:
    """The labelled claims of one part, checked."""
    return [one for path in sorted(FOLDER.glob(f"{part}_*.yaml")) for one in _of_file(path, part)]


def _of_file(path: Path, part: str) -> Iterator[Labelled]:
    for context in yaml.safe_load(path.read_text(encoding="utf-8")):
        for said in context["supported"]:
            yield _checked(part, context, said, "", "", "")
        for said, span, kind, trap in context["unsupported"]:
            yield _checked(part, context, said, str(span), kind, trap)


def _checked(part: str, context: dict[str, Any], answer: str, span: str, kind: str, trap: str) -> Labelled:
    steps = [Step(Call(name=s["tool"], arguments=s["args"]), s["returned"]) for s in context["seen"]]
    setting = Setting(
        context["units"], context["policy"], str(context["today"]), frozenset(s["tool"] for s in context["seen"])
    )
    said = [Said(answer, len(steps), tuple(context["user"]))]
    found = tuple(f for _, f in findings(said, steps, setting))
    return Labelled(part, context["language"], context["context"], answer, span, kind, trap, found)


def rates(cases: Sequence[Labelled]) -> dict[str, float]:
    """Precision, recall and F1 of the veto, and how often a right veto names the right words."""
    vetoed = [c for c in cases if c.found]
    bad = [c for c in cases if c.span]
    hits = [c for c in bad if c.found]
    precision, recall = len(hits) / max(1, len(vetoed)), len(hits) / max(1, len(bad))
    return {
        "claims": len(cases),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / max(1e-9, precision + recall),
        "right span": sum(c.placed for c in hits) / max(1, len(hits)),
    }
