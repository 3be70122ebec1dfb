"""Numbers that count: rows listed, persons the user spoke of, pieces in all."""

import re
from collections.abc import Iterable

from environments.verifiers.claim import Claim
from environments.verifiers.claims import claims
from environments.verifiers.ground import Ground
from environments.verifiers.quantities import Measure
from environments.verifiers.wording import counts_named, sentence_of


def counts_something(claim: Claim, said: Measure, text: str, ground: Ground) -> bool:
    """Whether a number without a unit counts what was listed, or repeats how many the user asked for."""
    if said.dimension or not said.value.is_integer():
        return False
    value = int(said.value)
    if value in ground.evidence.lengths or value in ground.evidence.groups:
        return True
    if not claim.note and not re.search(r"(?i)\bnumber of\b|\bhow many\b", sentence_of(text, claim.start)):
        return False
    if value in counts_of(ground.said) or value == _listed(text[claim.end :]):
        return True
    per_head = [int(k.value) for k in ground.evidence.of("") if k.exact and 1 < k.value <= 5]
    total = re.search(r"(?i)\btotal|in all|altogether|一共|总共|合计", text)
    counts = [n for n in counts_named(text) if n != value]
    counts += [n for n, where in ground.evidence.lengths.items() if n > 1 and _STEM.search(where)]
    return bool(total) and any(n * each == value for n in counts for each in per_head)


def _listed(after: str) -> int:
    """How many points the agent lists behind its count."""
    return len(re.findall(r"(?m)^\s*(?:\d{1,2}[.)]|[-*•])\s+(?=\S)", after))


def counts_of(said: Iterable[str]) -> list[int]:
    """Small whole numbers without a unit in the user's turns: persons, nights, pieces."""
    found = [c for text in said for c in claims(text) if c.kind == "number" and c.unit in (None, "count")]
    extra = [n for text in said for w, n in _FELLOWS.items() if re.search(w, text)]
    return sorted({int(float(c.value)) for c in found if c.value.isdigit() and 1 < int(c.value) <= 20} | set(extra))


_STEM = re.compile(r"(?i)passenger|guest|traveller|traveler")
_FELLOWS = {
    r"(?i)\b(?:two|couple|both) of us\b|我们俩|咱俩|两位": 2,
    r"(?i)\bmy (?:wife|husband|partner|son|daughter|friend) and (?:i|me)\b": 2,
    r"(?i)\bthree of us\b|我们仨": 3,
    r"(?i)\bfour of us\b": 4,
    r"(?i)\bfive of us\b": 5,
}
