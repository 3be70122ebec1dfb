"""Whether one claim has evidence: by its kind, with what a careful person would accept, and nothing beyond it.

A number may be rounded at the precision said, converted, or worked out (`derivation`). The user's turns ground what is
quoted back as the user's and the names and codes the user asked about, never a claim about the world.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from environments.verifiers import derivation
from environments.verifiers.calendar import clock_elsewhere, date_supported, spans_between, time_supported
from environments.verifiers.chinese import SKIES
from environments.verifiers.claim import CHOICE_WORDS, MODE_WORDS, VERDICT_WORDS, Claim
from environments.verifiers.claims import claims
from environments.verifiers.evidence import Evidence, Known
from environments.verifiers.lookup import code_supported, name_supported
from environments.verifiers.quantities import CURRENCIES, Measure, comparable, is_money, measured, step_of
from environments.verifiers.rows import elsewhere, named_in, related
from environments.verifiers.wording import (
    Hedge,
    block_of,
    bounded,
    counts_named,
    denied,
    exemplified,
    hedge_of,
    quoted,
    sentence_of,
)

_SEARCH_OF = {"flight": "travel_search_flights", "train": "travel_search_trains"}
_ROUTES = "map_compute_routes"
CLOSE, CLOSER = 0.06, 0.02
"""How far a number may be from what it stands for: said with "about", and converted without it."""
_TYPES = {
    "km": "distance", "metres": "distance", "miles": "distance", "feet": "distance", "cm": "distance",
    "nautical miles": "distance", "degrees": "temperature", "fahrenheit": "temperature", "percent": "percent",
    "discount": "percent", "rating": "rating", "kg": "weight", "lb": "weight", "grams": "weight", "kwh": "energy",
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


@dataclass
class Ground:
    """What one thing said is held against."""

    evidence: Evidence
    said: Sequence[str] = ()
    """The user's turns so far."""
    today: str = ""
    """ISO date of the world, empty where nothing tells it."""
    offered: frozenset[str] = frozenset()
    """Names of the tools on offer."""
    stated: list[Known] = field(default_factory=list)
    """Numbers that the agent has said before, with evidence."""

    def state(self, claim: Claim, text: str) -> None:
        """Remember a number that was said with evidence: later ones may build on it."""
        found = measured(float(claim.value), claim.unit if claim.unit != "count" else None)
        self.stated.append(Known(found.dimension, found.value, f"{text[claim.start : claim.end]} (said before)"))


def finding(claim: Claim, text: str, ground: Ground) -> Finding | None:
    """The claim as a finding where it has no evidence, else None."""
    span = text[claim.start : claim.end]
    if claim.kind == "number":
        return _number(claim, text, ground)
    if claim.kind == "word":
        held = _word_supported(claim, ground)
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
        or _counts(claim, said, text, ground)
    ):
        return None
    formula = _worked_out(said, hedge, text, claim.start, ground)
    return None if formula else Finding(claim, span, _nearest(said, known))


def _rivals(claim: Claim, said: Measure, ground: Ground) -> list[Known]:
    """The evidence that a number may be about: in its dimension; of a bare number, any; of a count, what has no unit."""
    evidence = ground.evidence
    if said.dimension:
        return evidence.of(said.dimension) + [k for k in ground.stated if comparable(k.dimension, said.dimension)]
    if claim.unit == "count" or (claim.note and not claim.note.endswith("kwh")):
        return evidence.of("")
    return evidence.everything() + ground.stated


def fits(said: Measure, known: Known, hedge: Hedge, claim: Claim) -> bool:
    """Whether `known` may be said as `said`: equal, rounded at the precision said, or about that much."""
    value = abs(known.value) if hedge.back and is_money(known.dimension) else known.value
    gap = abs(said.value - value)
    if gap < 1e-6 * max(1.0, abs(known.value)):
        return True
    if said.value < 0 or known.dimension == "any" and said.dimension == "":
        return gap < 1e-6
    far = abs(gap / known.value) if known.value else 1.0
    converted = said.step != step_of(claim.value) or claim.note == "k"
    if hedge.about == "under" and far <= 0.2 and not is_money(said.dimension) and said.value > known.value:
        return True
    if hedge.about and far <= CLOSE and _round(said):
        return (hedge.about != "over" or known.value > said.value) and (
            hedge.about != "under" or known.value < said.value
        )
    if gap > said.step / 2 + 1e-9 or known.exact and not converted:
        return False
    return not converted or said.dimension == "degrees" or far <= CLOSER or (claim.note == "k" and far <= CLOSE)


def _round(said: Measure) -> bool:
    """Whether a number looks rounded in its own unit: at most two digits that count, or whole fives."""
    own = said.value / said.step if said.step >= 1 else said.value
    digits = f"{own:.6g}".replace(".", "").strip("0")
    return len(digits) <= 2 or own % 5 == 0


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


def _counts(claim: Claim, said: Measure, text: str, ground: Ground) -> bool:
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
    r"(?i)\b(?:two|couple|both) of us\b|我们俩|咱俩|两位": 2, r"(?i)\bthree of us\b|我们仨": 3, r"(?i)\bfour of us\b": 4,
    r"(?i)\bfive of us\b": 5, r"(?i)\bmy (?:wife|husband|partner|son|daughter|friend) and (?:i|me)\b": 2,
}  # fmt: skip


def _worked_out(said: Measure, hedge: Hedge, text: str, at: int, ground: Ground) -> str | None:
    """How a number follows from evidence, or None."""
    if said.value < 0 or not said.dimension:
        return None
    sentence = sentence_of(text, at)
    slack = max(said.step / 2 if hedge.about or said.step < 1 else 0.0, 0.005 if is_money(said.dimension) else 1e-6)
    if hedge.about and _round(said):
        slack = max(slack, CLOSE * said.value)

    def equal(value: float) -> bool:
        """Whether a result is what was said."""
        return abs(value - said.value) <= slack

    if said.dimension == "percent":
        every = (
            derivation.ratio(equal, sentence, _in_play(d, sentence, text, ground)) for d in ground.evidence.numbers
        )
        return next((formula for formula in every if formula), None)
    values = _in_play(said.dimension, sentence, text, ground)
    block = block_of(text, at)
    rows = named_in(sentence, ground.evidence) or named_in(block, ground.evidence)
    here = [k for k in values if not rows or not k.row or related(k.row, rows, ground.evidence)]
    own = [k for k in ground.evidence.of(said.dimension) if k.row in rows]
    stated = [k for k in ground.stated if comparable(k.dimension, said.dimension)]
    focus = _named_values(sentence, said.dimension, [*ground.evidence.of(said.dimension), *stated])
    columns = [c for c in ground.evidence.columns if comparable(c[0].dimension, said.dimension)]
    counts, named = _counts_for(sentence, ground)
    parts = derivation.Parts(values, here, columns, counts, _shares(ground.evidence), named, own, focus, stated[-12:])
    return derivation.derived(equal, sentence, parts)


def _counts_for(sentence: str, ground: Ground) -> tuple[list[int], bool]:
    """What a price may be multiplied with: the counts that the sentence names, else those that evidence has."""
    named = counts_named(sentence)
    periods = [
        n
        for pattern, n in ((r"(?i)\byear|annual|一年|全年", 12), (r"(?i)\bweek\b|一周", 7))
        if re.search(pattern, sentence)
    ]
    if named or periods:
        return named + periods, True
    evidence = ground.evidence
    small = [
        int(k.value)
        for k in evidence.of("")
        if k.exact and 1 < k.value <= 9 and not k.row and "(policy)" not in k.shown
    ]
    return counts_of(ground.said) + [n for n in evidence.lengths if 1 < n <= 12] + small[:3], False


def _shares(evidence: Evidence) -> list[float]:
    """Percentages that evidence names."""
    half = [50.0] if evidence.has_text("半价") or evidence.has_words("half price") else []
    return [k.value for k in evidence.of("percent")] + [10 * k.value for k in evidence.of("discount")] + half


def _in_play(dimension: str, sentence: str, text: str, ground: Ground) -> list[Known]:
    """Values that a sum may be made of: all where they are few, else those named in the sentence, else in the text."""
    every = ground.evidence.of(dimension)
    theirs = [_their(c, text) for c in claims(text) if c.kind == "number" and c.unit and quoted(c, text, ground.said)]
    theirs = [k for k in theirs if comparable(k.dimension, dimension)]
    earlier = [k for k in ground.stated if comparable(k.dimension, dimension)]
    if len({k.value for k in every}) <= derivation.MOST:
        return every + theirs + earlier[-3:]
    for part in (sentence, text):
        named = _named_values(part, dimension, [*every, *earlier]) + theirs
        if len({k.value for k in named}) >= 2:
            return named
    return named + earlier[-4:]


def _named_values(text: str, dimension: str, known: Sequence[Known]) -> list[Known]:
    """The evidence among the numbers of `text`."""
    said = [measured(float(c.value), c.unit) for c in claims(text) if c.kind == "number"]
    values = {m.value for m in said if comparable(m.dimension, dimension)}
    return list({k.value: k for k in known if k.value in values}.values())


def _their(claim: Claim, text: str) -> Known:
    found = measured(float(claim.value), claim.unit)
    return Known(found.dimension, found.value, f"{text[claim.start : claim.end]} (the user's)")


def _nearest(said: Measure, known: Sequence[Known]) -> str:
    """The known number that comes closest."""
    if not known:
        return ""
    return min(known, key=lambda k: (abs(k.value - said.value), k.shown)).shown
