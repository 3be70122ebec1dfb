"""What a number in a sentence may be worked out from: values in play, counts, percentages."""

import re
from collections.abc import Sequence

from environments.verifiers import derivation
from environments.verifiers.claim import Claim
from environments.verifiers.claims import claims
from environments.verifiers.counts import counts_of
from environments.verifiers.evidence import Evidence, Known
from environments.verifiers.ground import Ground
from environments.verifiers.quantities import CLOSE, Measure, comparable, is_money, looks_round, measured
from environments.verifiers.rows import named_in, related
from environments.verifiers.wording import Hedge, block_of, counts_named, quoted, sentence_of


def worked_out(said: Measure, hedge: Hedge, text: str, at: int, ground: Ground) -> str | None:
    """How a number follows from evidence, or None."""
    if said.value < 0 or not said.dimension:
        return None
    sentence = sentence_of(text, at)
    slack = max(said.step / 2 if hedge.about or said.step < 1 else 0.0, 0.005 if is_money(said.dimension) else 1e-6)
    if hedge.about and looks_round(said):
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
    lasting = [c for c in claims(sentence) if c.kind == "number" and c.unit == "days" and c.value.isdigit()]
    named = counts_named(sentence) + [int(c.value) for c in lasting if 1 < int(c.value) <= 20]
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
