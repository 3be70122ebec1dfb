"""Reads opening hours as Chinese restaurant guides write them; what is not understood to the last sign is refused.

`周一至周五 10:00-14:00 17:00-21:00  周六,周日 10:00-21:00  非营业时段 2018-02-14至2018-02-16 全天`: seasons, days and
spans in this order, each holding until the next of its kind.
"""

import re
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise

from environments.worlds.atlas.full.hours import DAY, EVERY_MONTH, Closure, Hours, Season, Span

_SEASON_MONTHS = {"春": (3, 4, 5), "夏": (6, 7, 8), "秋": (9, 10, 11), "冬": (12, 1, 2)}
_DAY = "一二三四五六日"
_TIME = r"\d{1,2}:\d{2}"
_TOKEN = re.compile(
    r"(?P<closure>非营业时段)"
    r"|(?P<dates>\d{4}-\d{2}-\d{2}至\d{4}-\d{2}-\d{2})"
    r"|(?P<season>[春夏秋冬]季?(?:、[春夏秋冬]季?)*)"
    rf"|(?P<days>周[{_DAY}](?:至周[{_DAY}])?(?:[,、]周[{_DAY}](?:至周[{_DAY}])?)*|工作日:?)"
    rf"|(?P<span>(?P<start>{_TIME})-(?P<next>次日)?(?P<end>{_TIME}))"
    r"|(?P<whole>全天|24小时(?:营业)?|二十四小时)"
    r"|(?P<label>[早午晚]市|[早午晚]餐|早点|正餐|中午|上午|下午|晚上|营业时间为?)[::]?"
    r"|(?P<gap>[\s,;。、]+)"
)

_HALF_DAY = re.compile(r"(?:晚[餐市上]|下午):?\s*(?:0?\d|1[01]):\d")
"""An evening that begins before noon counts by twelve hours, and nothing says how its end does."""


@dataclass
class _Reading:
    months: frozenset[int] = EVERY_MONTH
    days: frozenset[int] = frozenset(range(7))
    spans: dict[tuple[frozenset[int], frozenset[int]], list[Span]] = field(default_factory=dict)
    closures: list[Closure] = field(default_factory=list)
    period: tuple[date, date] | None = None
    """The closed days that the next spans belong to."""
    closing: bool = False


def read_hours(text: str) -> Hours | None:
    """The hours that `text` tells, or None where any part of it is not understood."""
    plain = _plain(text)
    if _HALF_DAY.search(plain):
        return None
    reading, position = _Reading(), 0
    while position < len(plain):
        match = _TOKEN.match(plain, position)
        if match is None or not _take(match, reading):
            return None
        position = match.end()
    return _made(reading)


def _plain(text: str) -> str:
    """One sign for each meaning: colons, dashes, 至, and times said in words."""
    plain = text.translate(str.maketrans("：，；－–—~", ":,;----"))
    plain = re.sub(rf"周([{_DAY}])\s*[-至]\s*周([{_DAY}])", r"周\1至周\2", plain)
    plain = re.sub(r"(\d{1,2})点半", r"\1:30", plain)
    plain = re.sub(r"(\d{1,2})点(?!\d)", r"\1:00", plain)
    half = r"(?:晚上|晚间|晚|下午)"
    plain = re.sub(rf"{half}\s*(\d):(\d\d)", lambda m: f"{int(m[1]) + 12}:{m[2]}", plain)
    plain = re.sub(r"(?:早上|上午|早)\s*(?=\d{1,2}:\d\d)", "", plain)
    plain = re.sub(r"(?<=\d)\s*(?:-+|至|到)\s*(?=次日|\d{1,2}:\d)", "-", plain)
    return re.sub(r"(周[一二三四五六日](?:至周[一二三四五六日])?)[:](?=\s|\d|上)", r"\1 ", plain)


def _take(match: re.Match[str], reading: _Reading) -> bool:
    """Take in one token; False where it makes no sense here."""
    kind = match.lastgroup if match.lastgroup not in ("start", "next", "end") else "span"
    if kind == "closure":
        reading.closing = True
    elif kind == "dates":
        return _period(match[0], reading)
    elif kind == "season":
        reading.months = frozenset(m for sign in re.findall("[春夏秋冬]", match[0]) for m in _SEASON_MONTHS[sign])
        reading.days = frozenset(range(7))
    elif kind == "days":
        reading.days = _days(match[0])
        reading.spans.setdefault((reading.months, reading.days), [])
    elif kind == "span":
        return _span(match, reading)
    elif kind == "whole":
        return _add(reading, (0, DAY))
    return True


def _period(text: str, reading: _Reading) -> bool:
    first, last = map(date.fromisoformat, text.split("至"))
    reading.period = (first, last)
    return reading.closing and first <= last


def _days(text: str) -> frozenset[int]:
    if text.startswith("工作日"):
        return frozenset(range(5))
    found: set[int] = set()
    for part in re.split("[,、]", text):
        ends = [_DAY.index(sign) for sign in re.findall(f"周([{_DAY}])", part)]
        found.update(i % 7 for i in range(ends[0], ends[-1] + (7 if ends[-1] < ends[0] else 0) + 1))
    return frozenset(found)


def _span(match: re.Match[str], reading: _Reading) -> bool:
    start, end = _minute(match["start"]), _minute(match["end"])
    if start is None or end is None or start == DAY:
        return False
    if match["next"] or end <= start:
        end += DAY
    return _add(reading, (start, end))


def _minute(text: str) -> int | None:
    hour, minute = map(int, text.split(":"))
    total = 60 * hour + minute
    return total if minute < 60 and total <= DAY else None


def _add(reading: _Reading, span: Span) -> bool:
    if reading.closing:
        if reading.period is None:
            return False
        whole = span == (0, DAY)
        reading.closures.append(Closure(*reading.period, () if whole else (span,)))
        return True
    reading.spans.setdefault((reading.months, reading.days), []).append(span)
    return True


def _made(reading: _Reading) -> Hours | None:
    """Hours from what was read; two statements about one day, overlapping spans and days without spans are none."""
    if not reading.spans or not all(reading.spans.values()):
        return None
    seasons: dict[frozenset[int], list[tuple[Span, ...] | None]] = {}
    for (months, days), spans in reading.spans.items():
        week = seasons.setdefault(months, [None] * 7)
        ordered = tuple(sorted(spans))
        if any(week[d] is not None for d in days) or any(a[1] > b[0] for a, b in pairwise(ordered)):
            return None
        for day in days:
            week[day] = ordered
    if sum(map(len, seasons)) != len(frozenset().union(*seasons)):
        return None
    made = tuple(Season(months, tuple(day or () for day in week)) for months, week in seasons.items())
    return Hours(made, tuple(reading.closures))
