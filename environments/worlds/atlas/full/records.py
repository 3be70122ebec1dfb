"""Reads a folder of real places in the shape of CrossWOZ's databases, and says what in it could not be read.

Five files of `[name, record]` pairs: attractions, hotels, restaurants, the metro station of each, and the taxi. Hours,
prices and visiting times are read strictly; what does not parse stays as text and is counted.

Source: CrossWOZ (Zhu et al., 2020), `data/crosswoz/database`; Apache-2.0.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments.worlds.atlas.full.hours import Hours
from environments.worlds.atlas.full.hours_text import read_hours

KIND_OF_FILE = {
    "attraction_db.json": "attraction",
    "hotel_db.json": "hotel",
    "restaurant_db.json": "restaurant",
}
FILES = (*KIND_OF_FILE, "metro_db.json", "taxi_db.json")
_PRICE = {"attraction": "门票", "hotel": "价格", "restaurant": "人均消费"}
_NEARBY = ("周边景点", "周边餐馆", "周边酒店")
_YUAN = re.compile(r"(?:人均|¥|￥)?\s*(\d{1,6})\s*(?:元|块)?(?:/[人晚张])?")
_VISIT = re.compile(r"(\d+(?:\.\d+)?)(小时|天)(?:\s*-\s*(\d+(?:\.\d+)?)(小时|天))?")


@dataclass(frozen=True, slots=True)
class Record:
    """One real place."""

    name: str
    kind: str
    address: str
    station: str
    """Name of the nearest metro station without its exit, empty where the data has none."""
    exit: str
    rating: float | None
    price: int | None
    price_text: str
    hours: Hours | None
    hours_text: str
    visit: tuple[int, int] | None
    """How long one stays, in minutes."""
    phone: str
    tags: tuple[str, ...]
    nearby: tuple[str, ...]


@dataclass(frozen=True)
class FolderReport:
    """What a folder held: conservation of its rows, and what in them could not be read."""

    rows: Mapping[str, int]
    """By file."""
    kept: int
    dropped: tuple[tuple[str, int, str], ...]
    """File, row and cause."""
    missing: Mapping[str, int]
    """Values that the data does not have, by field."""
    unread: Mapping[str, tuple[str, ...]]
    """Values kept as text because they do not parse, by field."""


@dataclass(frozen=True)
class Folder:
    """A folder of places, read."""

    records: tuple[Record, ...]
    report: FolderReport
    digest: str
    """Hash of the files."""


def read_folder(folder: Path) -> Folder:
    """Read the five files of `folder`.

    Raises:
        FileNotFoundError: some are not there.
        ValueError: one is no JSON list of `[name, record]` pairs.
    """
    if absent := [name for name in FILES if not (folder / name).is_file()]:
        raise FileNotFoundError(
            f"{folder} lacks {', '.join(absent)}; a folder of places holds {', '.join(FILES)}, as CrossWOZ's databases"
        )
    pairs = {name: _pairs(folder / name) for name in FILES}
    reading = _Reading({str(name): _station(row) for name, row in pairs["metro_db.json"]})
    for file, kind in KIND_OF_FILE.items():
        for number, (name, row) in enumerate(pairs[file]):
            reading.take(file, number, kind, name, row)
    digest = hashlib.blake2b(b"".join((folder / name).read_bytes() for name in FILES), digest_size=8).hexdigest()
    return Folder(tuple(reading.kept.values()), reading.report({n: len(p) for n, p in pairs.items()}), digest)


def _pairs(path: Path) -> list[tuple[str, dict[str, Any]]]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(rows, list):
        raise ValueError(f"{path} holds a {type(rows).__name__}; it must be a list of [name, record] pairs")
    for number, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], dict)):
            raise ValueError(f"{path}, row {number}: {str(row)[:80]!r} is no [name, record] pair")
    return [(name, row) for name, row in rows]


def _station(row: Mapping[str, Any]) -> tuple[str, str]:
    """Station and exit: `灯市口地铁站A口`."""
    name, word, way_out = str(row.get("地铁") or "").partition("地铁站")
    return (name, way_out) if word else ("", "")


class _Reading:
    def __init__(self, stations: Mapping[str, tuple[str, str]]) -> None:
        self.stations = stations
        self.kept: dict[str, Record] = {}
        self.dropped: list[tuple[str, int, str]] = []
        self.missing: Counter[str] = Counter()
        self.unread: dict[str, list[str]] = {}

    def take(self, file: str, number: int, kind: str, name: str, row: Mapping[str, Any]) -> None:
        """Take in one row."""
        if not name.strip() or name in self.kept:
            self.dropped.append((file, number, "no name" if not name.strip() else f"a second {name}"))
            return
        station, way_out = self.stations.get(name) or _station(row)
        if not station:
            self.missing["地铁"] += 1
        price, price_text = self._price(row.get(_PRICE[kind]), _PRICE[kind])
        hours, hours_text = self._hours(row.get("营业时间")) if kind == "restaurant" else (None, "")
        visit = self._visit(row.get("游玩时间")) if kind == "attraction" else None
        rating = row.get("评分")
        self.missing["评分"] += rating is None
        self.kept[name] = Record(
            name, kind, str(row.get("地址") or ""), station, way_out, None if rating is None else float(rating), price,
            price_text, hours, hours_text, visit, str(row.get("电话") or ""), _tags(row), _nearby(row),
        )  # fmt: skip

    def _price(self, value: Any, field: str) -> tuple[int | None, str]:
        if value is None:
            self.missing[field] += 1
            return None, ""
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return round(value), ""
        text = str(value).strip()
        if text in ("免费", "免费开放"):
            return 0, ""
        if match := _YUAN.fullmatch(text):
            return int(match[1]), ""
        self.unread.setdefault(field, []).append(text)
        return None, text

    def _hours(self, value: Any) -> tuple[Hours | None, str]:
        text = str(value or "").strip()
        if not text:
            self.missing["营业时间"] += 1
            return None, ""
        hours = read_hours(text)
        if hours is None:
            self.unread.setdefault("营业时间", []).append(text)
        return hours, text

    def _visit(self, value: Any) -> tuple[int, int] | None:
        text = str(value or "").strip()
        if not text:
            self.missing["游玩时间"] += 1
            return None
        if match := _VISIT.fullmatch(text):
            first = round(float(match[1]) * (60 if match[2] == "小时" else 1440))
            last = round(float(match[3]) * (60 if match[4] == "小时" else 1440)) if match[3] else first
            return first, last
        self.unread.setdefault("游玩时间", []).append(text)
        return None

    def report(self, rows: Mapping[str, int]) -> FolderReport:
        """What was kept, dropped, missing and unread."""
        unread = {field: tuple(texts) for field, texts in sorted(self.unread.items())}
        return FolderReport(rows, len(self.kept), tuple(self.dropped), dict(sorted(self.missing.items())), unread)


def _tags(row: Mapping[str, Any]) -> tuple[str, ...]:
    listed = [*(row.get("推荐菜") or ()), *(row.get("酒店设施") or ())]
    return tuple(str(t) for t in ([row["酒店类型"]] if row.get("酒店类型") else []) + listed)


def _nearby(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(name) for field in _NEARBY for name in row.get(field) or ())
