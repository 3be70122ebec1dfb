"""Whether a date or a clock time has evidence: shown, asked of a tool, or so many days or minutes from one."""

import itertools
import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from environments.verifiers.claim import Claim
from environments.verifiers.claims import claims
from environments.verifiers.evidence import Evidence, Known
from environments.verifiers.rows import elsewhere, named_in
from environments.verifiers.wording import denied, planned, quoted, same_as_said, sentence_of

FEW = 6
_LIMIT = re.compile(
    r"(?i)\b(?:until|till|by|before|within|deadline|latest|last day|expir\w+|up to|at least"
    r"|closes?|due|from|after|since|ends?|no later|last|clos\w*|open\w*|check[- ]?in|admission"
    r"|be there|arriv\w+|next)\b"
    r"|之前|以前|前|内|截止|到期|最晚|最迟|之后|为止|停止|到|提前|请|次日|第二天"
)
_ASKED = re.compile(
    r"(?i)\b(?:after|before|by|between|than|until|from|around|at|past|since|prior to|of"
    r"|within)\s*(?:the\s+)?(?:\d[\d:apm. ]*(?:and|to|-)\s*)?$|以前|之前|之后|晚于|早于"
    r"|[后前]$"
)
_PLANNED = re.compile(r"(?i)\b(?:i will|i'll|we'll|let me|would you|confirm|proceed)\b|我来|帮您|请确认")
_BESIDE = re.compile(
    r"(?i)\b(?:day|days) (?:later|after|earlier|before)\b|\b(?:next|following|previous) day\b|第二天|后一天|前一天"
)
_AGO = re.compile(r"(?i)\bago\b|\bsince\b|前|已经|距")
_MIDNIGHT = 1440


def date_supported(claim: Claim, text: str, evidence: Evidence, said: Sequence[str], today: str) -> str | None:
    """None where a date has evidence, else the evidence that comes closest."""
    year = today[:4] or next((d[:4] for d in evidence.dates if len(d) == 10), "")
    shown = {*evidence.dates, *_in_texts(evidence.asked, today), *([today] if today else [])}
    if claim.value.startswith(("+", "-")):
        return _relative(claim, shown, said, evidence, today)
    if claim.note and claim.value and _weekday_of(claim.value, year) not in (None, int(claim.note)):
        return f"{claim.value} is another day of the week"
    theirs = _in_texts(said, today)
    if not claim.value:
        return _weekday_supported(claim, shown | theirs, said, year, evidence)
    return _day_supported(claim, text, evidence, said, (shown, theirs, year))


def _day_supported(
    claim: Claim, text: str, evidence: Evidence, said: Sequence[str], known: tuple[set[str], set[str], str]
) -> str | None:
    """A date with its day: shown, asked of a tool, counted from one that was, or the user's own."""
    shown, theirs, year = known
    shown, theirs = _dated(shown, year), _dated(theirs, year)
    if _among(claim, shown) or _counted_from(claim, text, evidence, shown, year):
        return None
    if _among(claim, theirs) and (_repeated(claim, text, said) or not evidence.calls):
        return None
    beside = {_after(d, n) for d in {*theirs, *shown} if len(d) == 10 for n in (1, -1)}
    if _PLANNED.search(text) and _BESIDE.search(" ".join(said)) and _among(claim, beside):
        return None
    return ", ".join(sorted(shown)[:4])


def _among(claim: Claim, days: Iterable[str]) -> bool:
    """Whether one of the days is what a date may mean."""
    return any(_same_day(reading, day) for day in days for reading in claim.readings)


def _repeated(claim: Claim, text: str, said: Sequence[str]) -> bool:
    return quoted(claim, text, said) or denied(claim, text, said) or planned(claim, text, said)


def _in_texts(texts: Iterable[str], today: str) -> set[str]:
    """Dates that texts name; tomorrow and weekdays as dates where today is known."""
    found = set()
    for text in texts:
        for c in claims(text):
            if c.kind != "date":
                continue
            if c.value.startswith(("+", "-")):
                found |= {_after(today, int(c.value))} if today else set()
            elif c.value:
                found |= set(c.readings)
            elif today:
                ahead = (int(c.note) - date.fromisoformat(today).weekday()) % 7
                found |= {_after(today, ahead), _after(today, ahead + 7)}
    return found


def _dated(days: Iterable[str], year: str) -> set[str]:
    """Dates without a year as those of the current one."""
    return {_whole(d, year) or d for d in days}


def _after(iso: str, days: int) -> str:
    return (date.fromisoformat(iso) + timedelta(days=days)).isoformat()


def _whole(value: str, year: str) -> str:
    """A date with its year, empty where there is no such day."""
    whole = value if len(value) == 10 else f"{year}-{value}"
    try:
        return date.fromisoformat(whole).isoformat()
    except ValueError:
        return ""


def _same_day(a: str, b: str) -> bool:
    """Whether two dates agree in all that both say: 06-12 is 2026-06-12, and 12 is both."""
    short, long = sorted((a, b), key=len)
    return long.endswith(short)


def _weekday_supported(
    claim: Claim, known: Iterable[str], said: Sequence[str], year: str, evidence: Evidence
) -> str | None:
    """A weekday alone: of a date that is known, or as the user said it."""
    for text in said:
        if any(c.kind == "date" and not c.value and c.note == claim.note for c in claims(text)):
            return None
    known = sorted({*known, *_days_before(known, evidence)})
    if not known or any(_weekday_of(d, year) == int(claim.note) for d in known):
        return None
    return ", ".join(known[:4])


def _days_before(known: Iterable[str], evidence: Evidence) -> list[str]:
    """The days before known dates, where evidence speaks of the day before."""
    if not (evidence.has_text("前一天") or evidence.has_words("the day before")):
        return []
    return [_after(d, -1) for d in known if len(d) == 10]


def _weekday_of(value: str, year: str) -> int | None:
    whole = _whole(value, year)
    return date.fromisoformat(whole).weekday() if whole else None


def _relative(claim: Claim, shown: Iterable[str], said: Sequence[str], evidence: Evidence, today: str) -> str | None:
    """Today needs no evidence; tomorrow must be a date that was shown, or the user's own word."""
    if claim.value == "+0" or not today:
        return None
    if any(c.kind == "date" and c.value == claim.value for text in (*said, *evidence.asked) for c in claims(text)):
        return None
    meant = _after(today, int(claim.value))
    return None if any(_same_day(meant, d) for d in shown) else ", ".join(sorted(shown)[:4])


def _counted_from(claim: Claim, text: str, evidence: Evidence, shown: Iterable[str], year: str) -> bool:
    """Whether it lies a known number of days from a date that was shown, where the sentence sets a limit."""
    meant = {_whole(reading, year) for reading in claim.readings}
    starts = [d for d in shown if len(d) == 10]
    if len(starts) > FEW:
        stated = [c.value for c in claims(text) if c.kind == "date" and c.value and c != claim]
        starts = [d for d in starts if any(_same_day(d, s) for s in stated)]
    if not _LIMIT.search(sentence_of(text, claim.start)) or len(starts) > FEW:
        return False
    days = {int(k.value // _MIDNIGHT) for k in evidence.of("time") if k.value >= _MIDNIGHT}
    days |= {1} if re.search(r"\+1|next day|次日", " ".join(evidence.texts[-200:])) or _overnight(evidence) else set()
    return any(_after(d, sign * n) in meant for d in starts for n in days for sign in (1, -1))


def _overnight(evidence: Evidence) -> bool:
    """Whether some row's second time is earlier than its first."""
    rows: dict[int, list[float]] = {}
    for known in evidence.times:
        rows.setdefault(known.row, []).append(known.value)
    return any(len(times) > 1 and times[1] < times[0] for times in rows.values())


def time_supported(claim: Claim, text: str, evidence: Evidence, said: Sequence[str], today: str) -> str | None:
    """None where a clock time has evidence, else the evidence that comes closest."""
    value = _minutes(claim.value)
    wanted = {_minutes(reading) for reading in claim.readings}
    if any(k.value in wanted for k in evidence.times):
        return None
    if _shifted(wanted, text, claim, evidence):
        return None
    if same_as_said(claim, said) and (_ASKED.search(text[: claim.start]) or _repeated(claim, text, said)):
        return None
    if not evidence.times:
        return ""
    return min(evidence.times, key=lambda k: (abs(k.value - value), k.shown)).shown


def clock_elsewhere(claim: Claim, text: str, evidence: Evidence) -> str | None:
    """What the entry named before a time or a whole date has in its place, where only others have that one."""
    if claim.kind == "time":
        wanted = {_minutes(reading) for reading in claim.readings}
        return elsewhere(claim, text, [k for k in evidence.times if k.value in wanted], evidence.times, evidence)
    if len(claim.value) < 5:
        return None
    fitting = [k for k in evidence.days if k.dimension.endswith(claim.readings)]
    return elsewhere(claim, text, fitting, evidence.days, evidence)


def _minutes(clock: str) -> float:
    hour, minute = clock.split(":")
    return 60.0 * int(hour) + int(minute)


def _shifted(wanted: Iterable[float], text: str, claim: Claim, evidence: Evidence) -> bool:
    """A known time, a known number of minutes earlier or later, where the sentence sets a limit."""
    spans = list({k.value for k in evidence.of("time") if k.value < _MIDNIGHT})
    if not _LIMIT.search(sentence_of(text, claim.start)) or len(spans) > FEW:
        return False
    times = _times_in_play(text, evidence)
    return any((t.value + sign * span) % _MIDNIGHT in wanted for t in times for span in spans for sign in (1, -1))


def _times_in_play(text: str, evidence: Evidence) -> list[Known]:
    """All times where they are few, else those of the rows that the text names."""
    if len(evidence.times) <= 4:
        return evidence.times
    rows = named_in(text, evidence)
    return [k for k in evidence.times if k.row in rows]


def spans_between(text: str, sentence: str, evidence: Evidence, today: str) -> list[Known]:
    """Durations that follow from two known times of one row, and days between known dates and today."""
    rows: dict[tuple[int, str], list[Known]] = {}
    named = named_in(text, evidence)
    for known in evidence.times:
        if "(policy)" not in known.shown and not (named and known.row and known.row not in named):
            rows.setdefault((known.row, known.shown.rpartition("(")[2]), []).append(known)
    found = [
        Known("time", (b.value - a.value) % _MIDNIGHT, f"{a.shown} to {b.shown}", a.row)
        for times in rows.values()
        for i, a in enumerate(times[:4])
        for b in times[i + 1 : 4]
    ]
    stated = sorted({_minutes(c.value) for c in claims(text) if c.kind == "time"})
    if 1 < len(stated) <= FEW:
        shown = {k.value: k for k in evidence.times}
        both = [shown[t] for t in stated if t in shown]
        found += [
            Known("time", b.value - a.value, f"{a.shown} to {b.shown}") for a, b in itertools.combinations(both, 2)
        ]
    asked = [d for d in sorted(_in_texts(evidence.asked, today)) if len(d) == 10]
    whole = list(dict.fromkeys([d for d in evidence.dates if len(d) == 10][:FEW] + asked[:3]))
    pairs = itertools.combinations([*whole, *([today] if today else [])], 2)
    for first, last in pairs:
        if _AGO.search(sentence) and last != today:
            continue
        days = abs((date.fromisoformat(last) - date.fromisoformat(first)).days)
        found.append(Known("time", float(days * _MIDNIGHT), f"{first} to {last}"))
    return found
