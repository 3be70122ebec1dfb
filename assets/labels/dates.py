"""The day a request speaks of, English and Chinese, against the world's clock.

Values are what the world's tools take: an ISO date, or a word that stays true whenever it is said (`today`,
`tomorrow`, a weekday). A month and day without a year mean the next such day. What looks like a time but names no
day ("next week", "in July", "6/7") is reported as unresolved instead of guessed.
"""

from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from assets.labels.words import Hit, Hits, Words

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_HEADS = frozenset({"days", "weekdays", "next_weekdays", "months", "vague_dates", "numbers"})
_LEADS = frozenset({"on", "for", "by", "until", "this", "coming", "the"})
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_DAY_ZH = frozenset({"日", "号"})
_SHORT_AND_ORDINARY = frozenset({"sat", "sun", "wed", "mon"})


class Day(NamedTuple):
    """Words `start` to `stop` (exclusive) name a day; `value` is None where they name no single one."""

    start: int
    stop: int
    value: str | None


def days_in(words: Words, hits: Hits, today: date) -> list[Day]:
    """Every day that `words` name, in order, each with the preposition before it."""
    if not words.numbers and _HEADS.isdisjoint(hits.by_head):
        return []
    at = {hit.start: hit for head in _HEADS for hit in hits.under(head)}
    found: list[Day] = []
    for i in sorted({*at, *words.numbers}):
        if found and i < found[-1].stop:
            continue
        day = _day_at(words, at, i, today)
        if day is not None:
            found.append(_with_lead(words, day))
    return found


def _day_at(words: Words, at: dict[int, Hit], i: int, today: date) -> Day | None:
    if words.folded[i][0].isdigit():
        return next(filter(None, (read(words, at, i, today) for read in _NUMERIC)), None)
    heads = at[i].meaning.heads
    readers = (read for head, read in _WORDED if head in heads)
    return next(filter(None, (read(words, at[i], at, today) for read in readers)), None)


def _iso(words: Words, at: dict[int, Hit], i: int, today: date) -> Day | None:
    parts = words.folded[i].replace("/", "-").replace(".", "-").split("-")
    if len(parts) == 3 and len(parts[0]) == 4:
        return Day(i, i + 1, _valid(int(parts[0]), int(parts[1]), int(parts[2])))
    if len(parts) == 3 and len(parts[2]) == 4:  # 07/06/2026: which of the two is the month?
        return Day(i, i + 1, None)
    if len(parts) == 2 and "/" in words.folded[i]:
        return Day(i, i + 1, None)
    return None


def _chinese_month_day(words: Words, at: dict[int, Hit], i: int, today: date) -> Day | None:
    year = _number(words, i) if _is(words, i + 1, {"年"}) else None
    month_at = i + 2 if year else i
    if not _is(words, month_at + 1, {"月"}) or not _is(words, month_at + 3, _DAY_ZH):
        return None
    month, day = _number(words, month_at), _number(words, month_at + 2)
    if month is None or day is None:
        return None
    return Day(i, month_at + 4, _coming(month, day, year, today))


def _chinese_day(words: Words, at: dict[int, Hit], i: int, today: date) -> Day | None:
    day = _number(words, i)
    if day is None or not 1 <= day <= 31 or not _is(words, i + 1, {"号"}) or _is(words, i + 2, {"线"}):
        return None
    month = today.month if day >= today.day else today.month % 12 + 1
    return Day(i, i + 2, _coming(month, day, None, today))


def _day_then_month(words: Words, at: dict[int, Hit], i: int, today: date) -> Day | None:
    after = _past_ordinal(words, i + 1)
    after += _is(words, after, {"of"})
    day, month = _number(words, i), _month(at.get(after))
    if day is None or month is None or day > 31:
        return None
    year = _year(words, after + 1)
    return Day(i, after + 1 + (year is not None), _coming(month, day, year, today))


def _the_nth(words: Words, at: dict[int, Hit], i: int, today: date) -> Day | None:
    day = _number(words, i)
    if day is None or not 1 <= day <= 31 or not _is(words, i - 1, {"the"}) or _past_ordinal(words, i + 1) == i + 1:
        return None
    month = today.month if day >= today.day else today.month % 12 + 1
    return Day(i, i + 2, _coming(month, day, None, today))


def _month_then_day(words: Words, hit: Hit, at: dict[int, Hit], today: date) -> Day | None:
    month = _month(hit)
    if month is None:
        return None
    day_at = hit.stop + _is(words, hit.stop, {"the"})
    day = _number(words, day_at)
    if day is None or day > 31:
        ordinary = words.folded[hit.start] in {"may", "march", "mar", "dec"} and not _is(
            words, hit.start - 1, {"in", "next"}
        )
        return None if ordinary else Day(hit.start, hit.stop, None)
    after = _past_ordinal(words, day_at + 1)
    year = _year(words, after)
    return Day(hit.start, after + (year is not None), _coming(month, day, year, today))


def _relative(words: Words, hit: Hit, at: dict[int, Hit], today: date) -> Day | None:
    value = hit.meaning.heads["days"]
    return Day(hit.start, hit.stop, _from_today(int(value), today) if value.isdigit() else value)


def _in_days(words: Words, hit: Hit, at: dict[int, Hit], today: date) -> Day | None:
    """`in three days`, `三天后`: the hit is the number word."""
    return _days_ahead(words, hit.start, int(hit.meaning.heads["numbers"]), today)


def _in_digits(words: Words, at: dict[int, Hit], i: int, today: date) -> Day | None:
    count = _number(words, i)
    return None if count is None or count > 365 else _days_ahead(words, i, count, today)


def _days_ahead(words: Words, i: int, count: int, today: date) -> Day | None:
    if _is(words, i - 1, {"in"}) and _is(words, i + 1, {"day", "days"}):
        return Day(i - 1, i + 2, _from_today(count, today))
    if _is(words, i + 1, {"天"}) and _is(words, i + 2, {"后"}):
        return Day(i, i + 3, _from_today(count, today))
    return None


def _next_weekday(words: Words, hit: Hit, at: dict[int, Hit], today: date) -> Day | None:
    coming = hit.meaning.heads["next_weekdays"]
    if _is(words, hit.start - 1, {"一"}):  # 查一下 周五, not 下周五
        return Day(hit.start + 1, hit.stop, coming)
    monday_after = today + timedelta(days=7 - today.weekday())
    return Day(hit.start, hit.stop, (monday_after + timedelta(days=WEEKDAYS.index(coming))).isoformat())


def _weekday(words: Words, hit: Hit, at: dict[int, Hit], today: date) -> Day | None:
    if words.folded[hit.start] in _SHORT_AND_ORDINARY and not _is(words, hit.start - 1, _LEADS):
        return None
    return Day(hit.start - _is(words, hit.start - 1, {"这"}), hit.stop, hit.meaning.heads["weekdays"])


def _vague(words: Words, hit: Hit, at: dict[int, Hit], today: date) -> Day | None:
    return Day(hit.start, hit.stop, None)


_NUMERIC: tuple[Callable[[Words, dict[int, Hit], int, date], Day | None], ...] = (
    _chinese_month_day, _chinese_day, _day_then_month, _in_digits, _the_nth, _iso,
)  # fmt: skip
_WORDED: tuple[tuple[str, Callable[[Words, Hit, dict[int, Hit], date], Day | None]], ...] = (
    ("months", _month_then_day), ("days", _relative), ("numbers", _in_days), ("next_weekdays", _next_weekday),
    ("weekdays", _weekday), ("vague_dates", _vague),
)  # fmt: skip
"""In this order, which reader is asked of a phrase with a name under which head."""


def _with_lead(words: Words, day: Day) -> Day:
    start = day.start
    while start and words.folded[start - 1] in _LEADS and not words.gaps[start].strip():
        start -= 1
    return Day(start, day.stop, day.value)


def _coming(month: int, day: int, year: int | None, today: date) -> str | None:
    if year is not None:
        return _valid(year, month, day)
    this_year = _valid(today.year, month, day)
    return this_year if this_year is None or this_year >= today.isoformat() else _valid(today.year + 1, month, day)


def _valid(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:  # 31 June: a day that no calendar has
        return None


def _from_today(days: int, today: date) -> str:
    return (today + timedelta(days=days)).isoformat()


def _month(hit: Hit | None) -> int | None:
    name = hit.value("months") if hit is not None else None
    return int(name) if name is not None else None


def _number(words: Words, i: int) -> int | None:
    return int(words.folded[i]) if 0 <= i < len(words.folded) and words.folded[i].isdecimal() else None


def _year(words: Words, i: int) -> int | None:
    number = _number(words, i)
    return number if number is not None and 2000 <= number <= 2100 else None


def _past_ordinal(words: Words, i: int) -> int:
    return i + 1 if _is(words, i, _ORDINALS) and words.gaps[i] == "" else i


def _is(words: Words, i: int, among: set[str] | frozenset[str]) -> bool:
    return 0 <= i < len(words.folded) and words.folded[i] in among
