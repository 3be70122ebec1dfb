"""Whether one claim has evidence: by its kind, with what a careful person would accept, and nothing beyond it.

A number may be rounded at the precision said, converted, or worked out (`derivation`). The user's turns ground what is
quoted back as the user's and the names and codes the user asked about, never a claim about the world.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from environments.verifiers.calendar import clock_elsewhere, date_supported, spans_between, time_supported
from environments.verifiers.chinese import SKIES
from environments.verifiers.claim import CHOICE_WORDS, MODE_WORDS, VERDICT_WORDS, Claim
from environments.verifiers.counts import counts_something
from environments.verifiers.evidence import Evidence, Known
from environments.verifiers.ground import Ground
from environments.verifiers.lookup import code_supported, name_supported
from environments.verifiers.operands import worked_out
from environments.verifiers.quantities import (
    CLOSE,
    CURRENCIES,
    UNDECLARED,
    Measure,
    comparable,
    is_money,
    looks_round,
    measured,
    step_of,
)
from environments.verifiers.rows import elsewhere
from environments.verifiers.wording import (
    Hedge,
    bounded,
    denied,
    exemplified,
    hedge_of,
    quoted,
    sentence_of,
)

_SEARCH_OF = {"flight": "travel_search_flights", "train": "travel_search_trains"}
_ROUTES = "map_compute_routes"
CLOSER = 0.02
"""How far a converted number may be from what it stands for where it is not said to be rough."""
_TYPES = {
    "km": "distance", "metres": "distance", "miles": "distance", "feet": "distance", "cm": "distance",
    "nautical miles": "distance", "degrees": "temperature", "fahrenheit": "temperature", "percent": "percent",
    "discount": "percent", "rating": "rating", "kg": "weight", "lb": "weight", "grams": "weight", "kwh": "energy",
    "tonnes": "weight", "jin": "weight", "kcal": "energy", "litres": "volume", "ml": "volume", "square metres": "area",
    **dict.fromkeys((*CURRENCIES, "cents", "money"), "money"),
    **dict.fromkeys(("minutes", "hours", "seconds", "days", "weeks", "months", "years", "business days"), "duration"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim without evidence, for a reader to judge."""

    claim: Claim
    span: str
    """The words of the claim."""
    nearest: str
    """The evidence that comes closest, empty where there is none of its kind."""
    misplaced: bool = False
    """Whether the value was shown, but of something else than it is said of."""

    @property
    def type(self) -> str:
        """What is claimed: `money`, `duration`, `distance`, `temperature`, `percent`, `number`, `date`, `name` ..."""
        return type_of(self.claim)

    @property
    def start(self) -> int:
        """Where the claim begins in what was said."""
        return self.claim.start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.claim.end


def type_of(claim: Claim) -> str:
    """What a claim is about: its kind, and of a number what its unit measures."""
    return _TYPES.get(claim.unit or "", "number") if claim.kind == "number" else claim.kind


def finding(claim: Claim, text: str, ground: Ground) -> Finding | None:
    """The claim as a finding where it has no evidence, else None."""
    span = text[claim.start : claim.end]
    if claim.kind == "number":
        found = _number(claim, text, ground)
        if found is None or not claim.other:
            return found
        return _number(replace(claim, value=claim.other), text, ground) and found
    if claim.kind == "word":
        held = _word_supported(claim, ground) or denied(claim, text, ground.said)
        return None if held else Finding(claim, span, _near_words(ground.evidence))
    if claim.kind in ("name", "code"):
        test = name_supported if claim.kind == "name" else code_supported
        near = test(claim.value, ground.evidence, ground.said)
        return None if near is None or exemplified(claim, text) else Finding(claim, span, near)
    if claim.kind == "ordinal":
        most = max([*ground.evidence.lengths, 0])
        known = {k.value for k in ground.evidence.of("")}
        held = int(claim.value) <= max(most, 2) or float(claim.value) in known
        return None if held else Finding(claim, span, f"the longest list has {most} entries")
    test_at = date_supported if claim.kind == "date" else time_supported
    near = test_at(claim, text, ground.evidence, ground.said, ground.today)
    if near is not None:
        return Finding(claim, span, near)
    shown = clock_elsewhere(claim, text, ground.evidence)
    return Finding(claim, span, shown, misplaced=True) if shown else None


def _word_supported(claim: Claim, ground: Ground) -> bool:
    word, evidence = claim.value, ground.evidence
    if word in VERDICT_WORDS:
        return True
    if word in CHOICE_WORDS:
        return _SEARCH_OF[word] in evidence.searched or _SEARCH_OF[word] not in ground.offered
    if word in MODE_WORDS and _ROUTES not in ground.offered:
        return True
    return evidence.has_words(word) or any(map(evidence.has_text, SKIES.get(word, ())))


def _near_words(evidence: Evidence) -> str:
    words = [t for t in evidence.texts if t.isalpha() and len(t) < 20]
    return ", ".join(dict.fromkeys(words[-3:]))


def _number(claim: Claim, text: str, ground: Ground) -> Finding | None:
    said = measured(float(claim.value), claim.unit if claim.unit != "count" else None, step_of(claim.value))
    if claim.note == "k":
        said = Measure(said.dimension, said.value, _last_digit(said.value))
    hedge = hedge_of(claim, text)
    if not said.dimension and _UNIT_BEHIND.match(text, claim.end):
        hedge = hedge._replace(about="")
    known = _rivals(claim, said, ground)
    fitting = [k for k in known if fits(said, k, hedge, claim)]
    if fitting:
        return _of_another(claim, text, fitting, known, ground)
    if said.dimension == "time":
        known = known + spans_between(text, sentence_of(text, claim.start), ground.evidence, ground.today)
        if any(fits(said, k, hedge, claim) for k in known):
            return None
    span = text[claim.start : claim.end]
    if (
        quoted(claim, text, ground.said)
        or denied(claim, text, ground.said)
        or bounded(claim, text, ground.said)
        or counts_something(claim, said, text, ground)
    ):
        return None
    formula = worked_out(said, hedge, text, claim.start, ground)
    return None if formula else Finding(claim, span, _nearest(said, known))


_UNIT_BEHIND = re.compile(
    r"\s?(?!左右|上下|出头|以上|以下|以内|多|起|到|至|和|或|的|了|吧|是|就|都|也|还|在|有|能|可|可以|呢)[\u4e00-\u9fff]"
)
"""A measure that no rule knows: about so many of something must have been shown as it stands, since what it is near to
cannot be told."""


def _rivals(claim: Claim, said: Measure, ground: Ground) -> list[Known]:
    """What a number may be about: in its dimension; of a bare number, anything; of a count, what has no unit."""
    evidence = ground.evidence
    if said.dimension:
        bare = evidence.of("") if said.dimension in UNDECLARED else []
        stated = [k for k in ground.stated if comparable(k.dimension, said.dimension)]
        return [*evidence.of(said.dimension), *bare, *stated]
    if claim.unit == "count" or claim.note:
        known = evidence.of("")
        return [k for k in known if _counts_same(claim.note, k.shown)] or known
    return evidence.everything() + ground.stated


def _counts_same(noun: str, shown: str) -> bool:
    """Whether what stands there counts what is counted: bags, and the field `total_baggages`."""
    return len(noun) > 3 and noun[:3] in shown.partition(" (")[0].lower()


def fits(said: Measure, known: Known, hedge: Hedge, claim: Claim) -> bool:
    """Whether `known` may be said as `said`: equal, rounded at the precision said, or about that much."""
    value = known.raw if not said.dimension and known.raw is not None else known.value
    value = abs(value) if hedge.back and is_money(known.dimension) else value
    gap = abs(said.value - value)
    if gap < 1e-6 * max(1.0, abs(known.value)):
        return True
    bare = known.dimension == "any" and said.dimension == ""
    undeclared = known.dimension in ("any", "") and said.dimension in UNDECLARED
    if said.value < 0 or bare or undeclared:
        return gap < 1e-6
    far = abs(gap / known.value) if known.value else 1.0
    converted = said.step != step_of(claim.value) or claim.note == "k"
    if hedge.about == "under" and far <= 0.2 and not is_money(said.dimension) and said.value > known.value:
        return True
    if hedge.about and far <= CLOSE and looks_round(said):
        return (hedge.about != "over" or known.value > said.value) and (
            hedge.about != "under" or known.value < said.value
        )
    if gap > said.step / 2 + 1e-9 or (known.exact and not converted):
        return False
    return not converted or said.dimension == "degrees" or far <= CLOSER or (claim.note == "k" and far <= CLOSE)


def _last_digit(value: float) -> float:
    """What one unit of the last digit that counts is worth: 100 for 1300."""
    step = 1.0
    while value and value % (step * 10) == 0:
        step *= 10
    return step


def _of_another(
    claim: Claim, text: str, fitting: Sequence[Known], known: Sequence[Known], ground: Ground
) -> Finding | None:
    """A finding where the value was shown, but of another entry than the one that the sentence names before it."""
    if not claim.unit or claim.unit == "count":
        return None
    shown = elsewhere(claim, text, fitting, known, ground.evidence)
    return Finding(claim, text[claim.start : claim.end], shown, misplaced=True) if shown else None


def _nearest(said: Measure, known: Sequence[Known]) -> str:
    """The known number that comes closest."""
    if not known:
        return ""
    return min(known, key=lambda k: (abs(k.value - said.value), k.shown)).shown
