"""Opening hours: by weekday, season and closed days, told to a reader, and read from Chinese to the last sign."""

from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.worlds.atlas.full.hours import DAY, Closure, Hours, Season, clock, whole_year
from environments.worlds.atlas.full.hours_text import read_hours

FRIDAY, SATURDAY, SUNDAY = (datetime(2026, 6, day) for day in (12, 13, 14))  # noqa: DTZ001


def at(day: datetime, hour: int, minute: int = 0) -> datetime:
    return day.replace(hour=hour, minute=minute)


def test_a_place_is_open_from_the_first_minute_to_the_one_before_the_last() -> None:
    hours = whole_year([[(9 * 60, 17 * 60)]] * 5 + [[], []])
    assert [hours.open_at(at(FRIDAY, *t)) for t in ((8, 59), (9, 0), (16, 59), (17, 0))] == [False, True, True, False]
    assert not hours.open_at(at(SATURDAY, 12))
    assert hours.text() == "Mon-Fri 09:00-17:00; Sat-Sun closed"


def test_hours_past_midnight_belong_to_the_day_before() -> None:
    hours = whole_year([[]] * 4 + [[(18 * 60, DAY + 120)]] + [[], []])
    assert hours.open_at(at(SATURDAY, 1, 59))
    assert not hours.open_at(at(SATURDAY, 2))
    assert not hours.open_at(at(FRIDAY, 1))
    assert hours.text() == "Mon-Thu closed; Fri 18:00-02:00; Sat-Sun closed"


def test_a_month_in_no_season_is_closed() -> None:
    hours = Hours((Season(frozenset(range(4, 11)), (((600, 960),),) * 7),))
    assert hours.open_at(at(FRIDAY, 12))
    assert not hours.open_at(datetime(2026, 12, 11, 12))  # noqa: DTZ001
    assert hours.text() == "Apr-Oct: daily 10:00-16:00. Nov-Mar: closed"


def test_closed_days_are_closed_all_day_or_for_some_hours() -> None:
    closed = Closure(date(2026, 6, 12), date(2026, 6, 13))
    morning = Closure(date(2026, 6, 14), date(2026, 6, 14), ((0, 12 * 60),))
    hours = Hours(whole_year([[(600, 1200)]] * 7).seasons, (closed, morning))
    assert [hours.open_at(at(d, h)) for d, h in ((FRIDAY, 11), (SUNDAY, 11), (SUNDAY, 13))] == [False, False, True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5:30-21:00", "daily 05:30-21:00"),
        ("周一至周日 11:00-14:00 17:00-21:00", "daily 11:00-14:00, 17:00-21:00"),
        ("周六,周日 09:00-22:00  周一至周五 10:00-21:00", "Mon-Fri 10:00-21:00; Sat-Sun 09:00-22:00"),
        ("周二至周日 9:00-17:00", "Mon closed; Tue-Sun 09:00-17:00"),
        ("周一,周三至周日 09:00-17:00", "Mon 09:00-17:00; Tue closed; Wed-Sun 09:00-17:00"),
        ("16:00-次日04:00", "daily 16:00-04:00"),
        ("周一至周日 全天", "daily 00:00-24:00"),
        ("24小时营业", "daily 00:00-24:00"),
        ("上午11点--晚上9点半", "daily 11:00-21:30"),
        ("早餐：7:00—9:00中午：11:00—14:00", "daily 07:00-09:00, 11:00-14:00"),
        ("工作日：早 9：30~~~晚 7：00", "Mon-Fri 09:30-19:00; Sat-Sun closed"),
        (
            "春季、夏季、秋季 周一至周日 09:00-19:00  冬季 周一至周日 10:00-16:00",
            "Mar-Nov: daily 09:00-19:00. Dec-Feb: daily 10:00-16:00",
        ),
        ("夏季 周一至周日 09:00-19:00", "Jun-Aug: daily 09:00-19:00. Sep-May: closed"),
    ],
)
def test_chinese_hours_are_read(text: str, told: str) -> None:
    hours = read_hours(text)
    assert hours is not None
    assert hours.text() == told


def test_days_out_of_the_ordinary_are_read_as_closed() -> None:
    hours = read_hours(
        "周一至周日 10:00-22:00  非营业时段 2018-02-14至2018-02-16 全天 2018-02-17至2018-02-17 00:00-12:00"
    )
    assert hours is not None
    assert hours.spans(date(2018, 2, 15)) == ()
    assert hours.spans(date(2018, 2, 17)) == ((12 * 60, 22 * 60),)
    assert hours.spans(date(2018, 2, 18)) == ((10 * 60, 22 * 60),)


@pytest.mark.parametrize(
    "text",
    [
        "", "周一至周日", "即将开业", "8:00---客人走为止", "10--10", "10:00-21:00 也许",
        "周一至周日 10:30-21:30 10:30-22:00",
        "全天 10:00-22:00", "25:00-26:00", "10:00-21:70", "10:00AM~22:00PM",
        "春季、秋季 周一至周日 09:00-14:00 夏季 周一至周日 09:00-1...", "非营业时段 2018-02-15至2018-02-19 全天",
        "午餐11:00-14:00晚餐5:00-9:00", "2015.2.18-2.20放假",
    ],
)  # fmt: skip
def test_what_is_not_understood_to_the_last_sign_is_not_read(text: str) -> None:
    assert read_hours(text) is None


SPANS = st.lists(st.integers(1, 47), min_size=2, max_size=4, unique=True).map(
    lambda halves: [(30 * a, 30 * b) for a, b in zip(*[iter(sorted(halves)[: len(halves) // 2 * 2])] * 2, strict=True)]
)


@settings(max_examples=60)
@given(st.lists(SPANS, min_size=7, max_size=7))
def test_hours_written_in_chinese_read_back_as_they_were(week: list[list[tuple[int, int]]]) -> None:
    days = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")
    parts = [
        " ".join([day, *(f"{clock(a)}-{clock(b)}" for a, b in spans)]) for day, spans in zip(days, week, strict=True)
    ]
    assert read_hours("  ".join(parts)) == whole_year(week)
