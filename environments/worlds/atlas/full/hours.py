"""When a place is open: spans of minutes by weekday, by month where seasons differ, and days on which it is closed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby

DAY = 24 * 60
EVERY_MONTH = frozenset(range(1, 13))
_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
Span = tuple[int, int]
"""From and to, in minutes after midnight; a span into the next day ends beyond `DAY`."""
Week = tuple[tuple[Span, ...], ...]
"""Seven days, Monday first."""


@dataclass(frozen=True, slots=True)
class Season:
    """What holds in some months."""

    months: frozenset[int]
    week: Week


@dataclass(frozen=True, slots=True)
class Closure:
    """Days out of the ordinary."""

    first: date
    last: date
    spans: tuple[Span, ...] = ()
    """When it is closed on each of them; empty for all day."""


@dataclass(frozen=True, slots=True)
class Hours:
    """Opening hours; a month in no season is closed."""

    seasons: tuple[Season, ...]
    closures: tuple[Closure, ...] = ()

    def spans(self, day: date) -> tuple[Span, ...]:
        """The spans that begin on `day`."""
        for closure in self.closures:
            if closure.first <= day <= closure.last:
                return _without(self._ordinary(day), closure.spans) if closure.spans else ()
        return self._ordinary(day)

    def _ordinary(self, day: date) -> tuple[Span, ...]:
        return next((s.week[day.weekday()] for s in self.seasons if day.month in s.months), ())

    def open_at(self, moment: datetime) -> bool:
        """Whether it is open at a moment of its own local time."""
        minute = moment.hour * 60 + moment.minute
        today, before = moment.date(), moment.date() - timedelta(days=1)
        here = any(start <= minute < end for start, end in self.spans(today))
        return here or any(start <= minute + DAY < end for start, end in self.spans(before))

    def text(self) -> str:
        """For a reader: `Mon-Fri 09:00-18:00; Sat 10:00-16:00; Sun closed`, season by season."""
        told = [(s.months, _week_text(s.week)) for s in self.seasons]
        if len(told) == 1 and told[0][0] == EVERY_MONTH:
            return told[0][1]
        parts = [f"{_months_text(months)}: {week}" for months, week in told]
        closed = EVERY_MONTH - frozenset().union(*(months for months, _ in told))
        return ". ".join([*parts, f"{_months_text(closed)}: closed"] if closed else parts)


def clock(minute: int) -> str:
    """A minute of the day as HH:MM; the end of a day is 24:00, later ones are the next day's."""
    minute = minute if minute <= DAY else minute - DAY
    return f"{minute // 60:02d}:{minute % 60:02d}"


def whole_year(week: Sequence[Sequence[Span]]) -> Hours:
    """The same week in every month."""
    return Hours((Season(EVERY_MONTH, tuple(tuple(day) for day in week)),))


def _without(spans: Sequence[Span], closed: Sequence[Span]) -> tuple[Span, ...]:
    rest = list(spans)
    for start, end in closed:
        cut = [((a, min(b, start)), (max(a, end), b)) for a, b in rest]
        rest = [(a, b) for pair in cut for a, b in pair if a < b]
    return tuple(rest)


def _week_text(week: Week) -> str:
    groups = [(spans, [i for i, _ in days]) for spans, days in groupby(enumerate(week), key=lambda d: d[1])]
    if len(groups) == 1:
        return f"daily {_spans_text(groups[0][0])}"
    return "; ".join(f"{_days_text(days)} {_spans_text(spans)}" for spans, days in groups)


def _days_text(days: Sequence[int]) -> str:
    return _NAMES[days[0]] if len(days) == 1 else f"{_NAMES[days[0]]}-{_NAMES[days[-1]]}"


def _spans_text(spans: Sequence[Span]) -> str:
    if not spans:
        return "closed"
    return ", ".join(f"{clock(a)}-{clock(b)}" for a, b in spans)


def _months_text(months: frozenset[int]) -> str:
    """Runs of months, one over the turn of the year in one piece: Nov-Mar."""
    starts = [m for m in sorted(months) if (m - 2) % 12 + 1 not in months] or [1]
    runs = []
    for first in starts:
        last = first
        while last % 12 + 1 in months and last % 12 + 1 != first:
            last = last % 12 + 1
        runs.append(_MONTHS[first - 1] if first == last else f"{_MONTHS[first - 1]}-{_MONTHS[last - 1]}")
    return ", ".join(runs)
