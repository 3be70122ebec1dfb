"""The demo's log, with planted truth: what users of world atlas ask, by a grammar, at any length.

A skewed mix of task families in their training wordings, English and Chinese; cities by popularity; a head of popular
queries that come again and again, near copies, follow-up turns, requests nobody can serve, slips, people's own data.
The truth about each line is kept beside it and never enters the pipeline: it is there to measure it.

All shares are ours. Source: pipeline stage 1; wordings of world atlas.
"""

import json
import random
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Final

import polars as pl

from assets.queries.noise import careless, vary, with_personal
from environments.seeds import stable_hash
from environments.worlds.atlas.data_model import PLACE_KINDS, City, neighbours, speakable
from environments.worlds.atlas.families import FAMILIES
from environments.worlds.atlas.geography import SKIES
from environments.worlds.atlas.tasks import date_phrase, say, wordings

FAMILY_SHARES: Final[Mapping[str, float]] = {
    "weather": 18,
    "place": 12,
    "flight": 11,
    "route": 9,
    "train": 6,
    "out_of_scope": 13,
    "flight_weather": 4,
    "place_route": 4,
    "budget": 4,
    "premise": 3,
    "warmer": 3,
    "faster": 3,
    "fly_or_train": 3,
    "warm_flight": 1.5,
    "book_flight": 2.5,
    "book_train": 1.5,
    "no_origin": 1.5,
}
CHINESE_SHARE: Final = 0.15
REPEAT_SHARE, NEAR_COPY_SHARE, FOLLOW_UP_SHARE, NOISE_SHARE, PERSONAL_SHARE = 0.35, 0.15, 0.03, 0.01, 0.025
HEAD_SHARE: Final = 0.01
"""Size of the head of popular queries, as a share of the lines."""
LINES_PER_USER: Final = 12
NEAR: Final = 16
"""Cities of one query are among so many neighbours of the first."""
LAST_DAY: Final = datetime(2026, 6, 10, tzinfo=UTC).replace(tzinfo=None)
DAYS: Final = 30
SECONDARY: Final[Mapping[str, str]] = {
    "flight_weather": FAMILIES["weather"].leaf,
    "place_route": FAMILIES["route"].leaf,
    "warm_flight": FAMILIES["flight"].leaf,
}
TRUTH_COLUMNS: Final = ("family", "leaf", "secondary", "kind", "slots", "personal")
_MODES: Final = ("by car", "by bike", "by public transport", "on foot")
_CHINESE: Final[Mapping[str, str]] = {
    "by car": "开车",
    "on foot": "步行",
    "by bike": "骑车",
    "by public transport": "坐公交",
    "museum": "博物馆",
    "cafe": "咖啡馆",
    "park": "公园",
    "hotel": "酒店",
    "market": "市场",
    "gallery": "画廊",
    "restaurant": "餐厅",
    "library": "图书馆",
    "sunny": "晴",
    "cloudy": "多云",
    "rainy": "下雨",
    "snowy": "下雪",
    "windy": "刮风",
    "foggy": "有雾",
    "today": "今天",
    "tomorrow": "明天",
    "on Monday": "周一",
    "on Tuesday": "周二",
    "on Wednesday": "周三",
    "on Thursday": "周四",
    "on Friday": "周五",
    "on Saturday": "周六",
    "on Sunday": "周日",
}
_FOLLOW_UPS: Final[Mapping[bool, Mapping[str, tuple[str, ...]]]] = {
    False: {
        "d": ("and {d}?", "what about {d}?", "how about {d}"),
        "c": ("and in {c}?", "what about {c}?", "the same for {c}"),
    },
    True: {"d": ("那{d}呢？", "{d}呢"), "c": ("{c}呢？", "那{c}呢")},
}
_NOISE: Final = (
    "hi",
    "test",
    "ok",
    "???",
    "asdf",
    "hello?",
    "thanks",
    "你好",
    "在吗",
    "。。。",
    "1",
    "help",
    "yes",
    "no",
    "qwe qwe",
)


@dataclass(frozen=True)
class Line:
    """One line of the log and the truth about it."""

    text: str
    family: str
    kind: str
    slots: Mapping[str, str]
    chinese: bool = False
    context: str | None = None
    personal: tuple[str, ...] = ()


def generate_log(lines: int, seed: int) -> pl.DataFrame:
    """A log of `lines` lines, the same for the same seed.

    Returns:
        text, time, user, context, and the truth: family, leaf, secondary, kind (task, out_of_scope, near_copy, repeat,
        follow_up, noise), slots (JSON, in English), personal (kinds planted); sorted by time.
    """
    rng = random.Random(stable_hash("log", seed))
    written = list(_lines(lines, rng))
    seconds = sorted(rng.randrange(DAYS * 86_400) for _ in written)
    people = _popular(max(2, lines // LINES_PER_USER), 5)
    return pl.DataFrame(
        {
            "text": [w.text for w in written],
            "time": [LAST_DAY - timedelta(days=DAYS) + timedelta(seconds=s) for s in seconds],
            "user": [f"user{_draw(people, rng):06d}" for _ in written],
            "context": [w.context for w in written],
            "family": [w.family for w in written],
            "leaf": [FAMILIES[w.family].leaf for w in written],
            "secondary": [SECONDARY.get(w.family) for w in written],
            "kind": [w.kind for w in written],
            "slots": [json.dumps(w.slots, sort_keys=True) for w in written],
            "personal": [list(w.personal) for w in written],
        },
        schema_overrides={
            "time": pl.Datetime("us"),
            "context": pl.String,
            "secondary": pl.String,
            "personal": pl.List(pl.String),
        },
    )


def _lines(count: int, rng: random.Random) -> Iterator[Line]:
    head = [_fresh(rng) for _ in range(max(10, int(count * HEAD_SHARE)))]
    popular = _popular(len(head), 3)
    kinds = _cumulated((REPEAT_SHARE, NEAR_COPY_SHARE, FOLLOW_UP_SHARE, NOISE_SHARE))
    recent = list(head)
    for _ in range(count):
        draw = bisect(kinds, rng.random())
        if draw == 0:
            line = replace(head[_draw(popular, rng)], kind="repeat")
        elif draw == 1:
            line = _near_copy(rng.choice(recent), rng)
        elif draw == 2:
            line = _follow_up(rng)
        elif draw == 3:
            line = Line(rng.choice(_NOISE), "out_of_scope", "noise", {})
        else:
            line = _fresh(rng)
            recent[rng.randrange(len(recent))] = line
        yield _with_personal(line, rng) if rng.random() < PERSONAL_SHARE else line


def _fresh(rng: random.Random) -> Line:
    family = rng.choices(list(FAMILY_SHARES), list(FAMILY_SHARES.values()))[0]
    chinese = rng.random() < CHINESE_SHARE
    slots = _slots(family, chinese, rng)
    spoken = _in_chinese(slots) if chinese else slots
    template = rng.choice(wordings("zh" if chinese else "en")[family]["train"])
    text = careless(say(template, spoken, rng), _names(slots), rng)
    used = {
        name: value for name, value in slots.items() if f"{{{name}}}" in template or f"{{{name.upper()}}}" in template
    }
    return Line(text, family, "out_of_scope" if family == "out_of_scope" else "task", used, chinese)


def _slots(family: str, chinese: bool, rng: random.Random) -> dict[str, str]:
    """Cities near each other, a day within the world's horizon, and the rest."""
    first = _city(chinese, rng)
    near = _near(first.name, chinese)[: 8 if family in ("route", "faster") else None]
    ends = [first, *rng.sample(near, 2)] if len(near) > 1 else [first, first, first]
    rng.shuffle(ends)
    slots = dict(zip("abc", (c.name for c in ends), strict=True))
    slots["m"], slots["n"] = rng.sample(_MODES if family == "place_route" else _MODES[:3], 2)
    slots["d"], slots["k"], slots["s"] = (
        date_phrase(rng.randint(10, 25), rng),
        rng.choice(PLACE_KINDS),
        rng.choice(SKIES),
    )
    return slots | {"p": str(rng.randint(12, 40) * 10)}


def _in_chinese(slots: Mapping[str, str]) -> dict[str, str]:
    spoken = {name: _CHINESE.get(value, value) for name, value in slots.items()}
    spoken |= {name: _chinese_names()[slots[name]] for name in "abc"}
    if day := slots["d"].rpartition("-")[2].rpartition(" ")[2]:
        spoken["d"] = _CHINESE.get(slots["d"], f"6月{day}日")
    return spoken


def _names(slots: Mapping[str, str]) -> frozenset[str]:
    return frozenset(word for name in "abc" if name in slots for word in slots[name].split())


def _near_copy(line: Line, rng: random.Random) -> Line:
    return replace(line, text=vary(line.text, _names(line.slots), rng), kind="near_copy")


def _follow_up(rng: random.Random) -> Line:
    """A second turn that only makes sense after the first: other day or other city."""
    family = rng.choice(("weather", "weather", "place"))
    chinese = rng.random() < CHINESE_SHARE
    before, after = _slots(family, chinese, rng), _slots(family, chinese, rng)
    changed = "c" if family == "place" else rng.choice("dc")
    spoken = [_in_chinese(s) if chinese else s for s in (before, after)]
    context = say(rng.choice(wordings("zh" if chinese else "en")[family]["train"]), spoken[0], rng)
    text = rng.choice(_FOLLOW_UPS[chinese][changed]).format(**spoken[1])
    kept = "kc" if family == "place" else "cd"
    slots = {name: (after if name == changed else before)[name] for name in kept}
    return Line(text, family, "follow_up", slots, chinese, context)


def _with_personal(line: Line, rng: random.Random) -> Line:
    text, kind = with_personal(line.text, line.chinese, rng)
    return replace(line, text=text, personal=(kind,))


def _cumulated(weights: tuple[float, ...]) -> list[float]:
    return list(accumulate(weights))


@cache
def _popular(count: int, flat: int) -> list[float]:
    """Cumulated Zipf weights of `count` things, most popular first; `flat` softens the top."""
    return list(accumulate(1 / (rank + flat) for rank in range(count)))


def _draw(cumulated: list[float], rng: random.Random) -> int:
    return bisect(cumulated, rng.random() * cumulated[-1])


@cache
def _cities(chinese: bool) -> tuple[City, ...]:
    return tuple(c for c in speakable() if c.zh or not chinese)


def _city(chinese: bool, rng: random.Random) -> City:
    known = _cities(chinese)
    return known[_draw(_popular(len(known), 20), rng)]


@cache
def _near(name: str, chinese: bool) -> list[City]:
    return [c for c in neighbours(name, 60) if c.zh or not chinese][:NEAR]


@cache
def _chinese_names() -> Mapping[str, str]:
    return {c.name: c.zh or c.name for c in speakable()}
