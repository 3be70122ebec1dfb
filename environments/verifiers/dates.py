"""Dates, weekdays and clock times as people write them, in English and Chinese."""

import re
from calendar import isleap
from collections.abc import Sequence
from dataclasses import replace

from environments.verifiers.claim import Claim, Rule
from environments.verifiers.quantities import han_value

_MONTHS = "january february march april may june july august september october november december"
_MONTH_OF = {name: i for i, name in enumerate(_MONTHS.split(), 1)} | {
    name[:3]: i for i, name in enumerate(_MONTHS.split(), 1)
}
_MONTH_OF["sept"] = 9
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY_OF = {name: i for i, name in enumerate(_WEEKDAYS)} | {
    s: i for i, n in enumerate(_WEEKDAYS) for s in (n[:3], n[:4]) if s not in ("sun", "sat", "mon", "wedn")
}
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTH_OF, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?![\d%]|:\d|,\d{3}|\.\d)"
_YEAR = r"(?:,?\s+(?P<year>(?:19|20)\d\d)\b)?"
_WEEKDAY = r"(?:\b(?P<weekday>" + "|".join(sorted(_WEEKDAY_OF, key=len, reverse=True)) + r")\b\.?,?\s+(?:the\s+)?)?"
_HAN_DAYS = {d: i for i, d in enumerate("一二三四五六")} | {"日": 6, "天": 6}
_HAN_RELATIVE = {"今天": 0, "今日": 0, "明天": 1, "明日": 1, "后天": 2, "昨天": -1, "昨日": -1, "前天": -2}
_RELATIVE = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "day after tomorrow": 2, "day before yesterday": -2,
}  # fmt: skip
_HALVES = {
    "凌晨": 0,
    "清晨": 0,
    "早上": 0,
    "早晨": 0,
    "上午": 0,
    "中午": 1,
    "下午": 1,
    "傍晚": 1,
    "晚上": 1,
    "夜里": 1,
    "今晚": 1,
}


def _valid(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31)


def _date(match: re.Match[str], year: str | None, month: int, day: int, weekday: int | None) -> Sequence[Claim] | None:
    if not _valid(month, day) or (year and month == 2 and day == 29 and not isleap(int(year))):
        return None
    value = f"{month:02d}-{day:02d}"
    return [
        Claim(
            "date",
            f"{year}-{value}" if year else value,
            None,
            *_trimmed(match),
            "" if weekday is None else str(weekday),
        )
    ]


def _trimmed(match: re.Match[str]) -> tuple[int, int]:
    """The span of a match without white space at its ends."""
    text = match[0]
    return match.start() + len(text) - len(text.lstrip()), match.end() - len(text) + len(text.rstrip())


def _named(match: re.Match[str]) -> Sequence[Claim] | None:
    """`June 12`, `Friday, 12 June 2026`; `may` in small letters is a verb where no `the` or `of` shows otherwise."""
    said = match["month"]
    if said == "may" and "of" not in match[0]:
        return None
    weekday = _WEEKDAY_OF.get((match["weekday"] or "").lower())
    return _date(match, match["year"], _MONTH_OF[said.lower()], int(match["day"]), weekday)


def _two_days(match: re.Match[str]) -> Sequence[Claim] | None:
    """`May 19th and 20th, 2024`."""
    month, days = _MONTH_OF[match["month"].lower()], (int(match["day"]), int(match["other"]))
    if match["month"] == "may" or not all(_valid(month, d) for d in days):
        return None
    year = f"{match['year']}-" if match["year"] else ""
    first = Claim("date", f"{year}{month:02d}-{days[0]:02d}", None, match.start(), match.end("day"))
    return [first, Claim("date", f"{year}{month:02d}-{days[1]:02d}", None, *match.span("other"))]


def _iso(match: re.Match[str]) -> Sequence[Claim] | None:
    return _date(match, match[1], int(match[2]), int(match[3]), None)


def _slashed(match: re.Match[str]) -> Sequence[Claim] | None:
    """`06/12/2026`: month first, or day first where that cannot be; where both can, both are readings."""
    a, b = int(match[1]), int(match[2])
    found = _date(match, match[3], *((a, b) if a <= 12 else (b, a)), None)
    if not found or a == b or max(a, b) > 12:
        return found
    return [replace(found[0], other=f"{match[3]}-{b:02d}-{a:02d}")]


def _dotted(match: re.Match[str]) -> Sequence[Claim] | None:
    """`07.02.2026`: the day first."""
    return _date(match, match[3], int(match[2]), int(match[1]), None)


def _weekday(match: re.Match[str]) -> Sequence[Claim] | None:
    """A weekday, whole or cut short."""
    day = next(i for i, name in enumerate(_WEEKDAYS) if name.startswith(match[0].lower()[:3]))
    return [Claim("date", "", None, *match.span(), str(day))]


def _relative(match: re.Match[str]) -> Sequence[Claim] | None:
    return [Claim("date", f"{_RELATIVE[match[0].lower()]:+d}", None, *match.span())]


def _ordinal_day(match: re.Match[str]) -> Sequence[Claim] | None:
    day = int(match["day"])
    return [Claim("date", f"{day:02d}", None, *match.span("said"))] if 1 <= day <= 31 else None


def _time(match: re.Match[str], hour: int, minute: int, half: int | None) -> Sequence[Claim] | None:
    """A clock time; `half` 0 is before noon, 1 after, None is left open."""
    if not (0 <= hour <= 24 and 0 <= minute < 60):
        return None
    if half is not None and hour <= 12:
        hour = hour % 12 + 12 * half
    either = half is None and hour <= 12 and not match[0].lstrip().startswith("0")
    return [Claim("time", f"{hour % 24:02d}:{minute:02d}", None, *_trimmed(match), "either" if either else "")]


def _clock(match: re.Match[str]) -> Sequence[Claim] | None:
    half = {"a": 0, "p": 1}.get((match["half"] or "").lower()[:1])
    return _time(match, int(match["hour"]), int(match["minute"] or 0), half)


def _word_time(match: re.Match[str]) -> Sequence[Claim] | None:
    return [Claim("time", "12:00" if match[0].lower() in ("noon", "midday") else "00:00", None, *match.span())]


_HOURS = {
    name: i
    for i, name in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
    )
}
_DAY_HALVES = {"morning": 0, "afternoon": 1, "evening": 1, "night": 1}


def _part_past(match: re.Match[str]) -> Sequence[Claim] | None:
    """`half past five in the evening`, `a quarter to 7`."""
    said = match["hour"].lower()
    at = 60 * (_HOURS.get(said) or int(said)) + (30 if match["part"].lower() == "half" else 15) * (
        -1 if match["side"].lower() == "to" else 1
    )
    return _time(match, at // 60, at % 60, _DAY_HALVES.get((match["when"] or "").lower()))


_HALF = r"(?P<half>[ap]\.?m\b\.?)"
ENGLISH: tuple[Rule, ...] = (
    (re.compile(r"(?<![\d-])((?:19|20)\d\d)[-/.](0?[1-9]|1[0-2])[-/.]([0-3]?\d)(?=T\d|(?![\w-]))", re.A), _iso),
    (re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)(?![\d]|\.\d)", re.A), _dotted),
    (re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)(?![\d/])", re.A), _slashed),
    (
        re.compile(
            rf"\b{_MONTH}\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\s*(?:and|to|through|&|-|–)\s*(?P<other>[0-3]?\d)(?:st"
        rf"|nd|rd|th)?(?![\d:%]){_YEAR}",
            re.I | re.A,
        ),
        _two_days,
    ),
    (re.compile(rf"{_WEEKDAY}\b{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}", re.I | re.A), _named),
    (re.compile(rf"{_WEEKDAY}(?<![\d.,:-])\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}", re.I | re.A), _named),
    (
        re.compile(
            r"(?P<hour>(?<![\d:.])[012]?\d):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?![\d:])(?:\s*" + _HALF + ")?", re.I | re.A
        ),
        _clock,
    ),
    (re.compile(rf"(?<![\d:.,-])(?P<hour>1[0-2]|0?[1-9])(?:\.(?P<minute>[0-5]\d))?\s*{_HALF}", re.I | re.A), _clock),
    (re.compile(r"\b(?P<hour>1[0-2]|[1-9])(?P<minute>)(?P<half>) o['’]clock\b", re.I | re.A), _clock),
    (
        re.compile(
            rf"\b(?P<part>half(?= past)|quarter) (?P<side>past|to) (?P<hour>{'|'.join(_HOURS)}|1[0-2]|[1-9])\b"
            r"(?![:.]?\d)"
            r"(?! (?:hours|minutes|euros|of the))(?: (?:in the|at) (?P<when>morning|afternoon|evening|night))?",
            re.I | re.A,
        ),
        _part_past,
    ),
    (re.compile(r"(?<!before )(?<!after )(?<!past )(?<!around )\b(?:noon|midday|midnight)\b", re.I), _word_time),
    (
        re.compile(r"\b(?:" + "|".join(_WEEKDAYS) + r")s?\b|\b(?:Mon|Tues?|Wed|Thurs?|Fri)\b(?=\.|,? \d)", re.I),
        _weekday,
    ),
    (re.compile(r"\b(?:day after tomorrow|day before yesterday|today|tonight|tomorrow|yesterday)\b", re.I), _relative),
    (re.compile(r"\b(?:on|by|until|till|from|the)\s+(?:the\s+)?(?P<said>(?P<day>[0-3]?\d)(?:st|nd"
        r"|rd|th))\b(?!\s+[a-z]{4})", re.I | re.A), _ordinal_day),
)  # fmt: skip


def _han_date(match: re.Match[str]) -> Sequence[Claim] | None:
    year = match["year"] and str(int(han_value(match["year"])))
    weekday = _HAN_DAYS[match["weekday"]] if match["weekday"] else None
    return _date(match, year, int(han_value(match["month"])), int(han_value(match["day"])), weekday)


def _han_day(match: re.Match[str]) -> Sequence[Claim] | None:
    day = int(han_value(match["day"]))
    return [Claim("date", f"{day:02d}", None, *match.span())] if 1 <= day <= 31 else None


def _han_weekday(match: re.Match[str]) -> Sequence[Claim] | None:
    return [Claim("date", "", None, *match.span(), str(_HAN_DAYS[match["weekday"]]))]


def _han_relative(match: re.Match[str]) -> Sequence[Claim] | None:
    return [Claim("date", f"{_HAN_RELATIVE[match[0]]:+d}", None, *match.span())]


def _han_time(match: re.Match[str]) -> Sequence[Claim] | None:
    minute = 30 if match["half"] else 0
    if match["quarter"]:
        minute = 15 * int(han_value(match["quarter"]))
    if match["minute"]:
        minute = int(han_value(match["minute"].lstrip("零")))
    hour = int(han_value(match["hour"]))
    half = _HALVES.get(match["when"] or "")
    if (match["when"] == "中午" and hour in (10, 11)) or (hour == 12 and match["when"] in ("晚上", "夜里", "今晚")):
        half = 0
    return _time(match, hour, minute, half)


_WHEN = "(?P<when>" + "|".join(_HALVES) + r")的?\s*"
_AT = r"(?<!\.)"
_SMALL = r"(?:\d{1,2}|[零一二两三四五六七八九十]{1,3})"
CHINESE: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?:(?P<year>(?:19|20)\d\d|[零〇一二三四五六七八九]{{4}})年)?(?P<month>{_SMALL})月(?P<day>{_SMALL})[日号]?(?!份"
        rf"|个)"
            r"(?:[((]?(?:星期|周|礼拜)(?P<weekday>[一二三四五六日天])[))]?)?"
        ),
        _han_date,
    ),
    (re.compile(r"(?:星期|周|礼拜)(?P<weekday>[一二三四五六日天])"), _han_weekday),
    (re.compile("|".join(_HAN_RELATIVE)), _han_relative),
    (
        re.compile(
            rf"(?<!评分)(?<!评分[是为达])(?:{_WHEN}|(?<![\d.分])){_AT}(?P<hour>{_SMALL})(?:点钟?"
        rf"|时)(?!\d*[倍度个公元])"
            rf"(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<minute>零?{_SMALL})分?|整)?(?![倍度公元米])"
        ),
        _han_time,
    ),
    (
        re.compile(
            rf"(?:{_WHEN}|(?<![\d:])){_AT}(?P<hour>[012]?\d)[::](?P<minute>[0-5]\d)(?::[0-5]\d)?(?![\d:])(?P<half>)(?P<quarter>)"
        ),
        _han_time,
    ),
    (re.compile(rf"(?<![路街巷弄里楼第院道胡同\d])(?P<day>{_SMALL})[号](?![线楼院店馆路])"), _han_day),
)  # fmt: skip
