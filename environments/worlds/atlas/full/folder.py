"""The full atlas over real places read from a folder: Beijing's attractions, restaurants, hotels and metro stations.

Cities, weather and timetables are those of the made land; what can be visited is real. Names are known in Chinese, in
established English, and in pinyin.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from environments.tool import ToolRefusal
from environments.worlds.atlas.data_model import fold, gazetteer
from environments.worlds.atlas.full.data_model import (
    Page,
    Place,
    Point,
    Spot,
    apart,
    city_point,
    coordinates,
    nearest_city,
)
from environments.worlds.atlas.full.finding import beside
from environments.worlds.atlas.full.layout import district_of, positions
from environments.worlds.atlas.full.pages import carrier_pages
from environments.worlds.atlas.full.records import Folder, Record, read_folder

CITY = "Beijing"
ELSEWHERE = "北京"
"""The region of places whose district nothing tells."""
_KIND_WORDS = {
    "attraction": "attraction attractions sight sights sightseeing 景点 名胜",
    "hotel": "hotel hotels 酒店 宾馆 旅馆 住宿",
    "restaurant": "restaurant restaurants food 餐馆 餐厅 饭馆 美食",
}
_FIELDS = "address phone hours opening price ticket rating metro station"
"""By which an English search finds what a Chinese page tells."""
_BRANCH = re.compile(r"[(（].*?[)）]")


@cache
def _beijing() -> dict[str, Any]:
    import yaml

    text = files("environments.worlds.atlas.full").joinpath("data/beijing.yaml").read_text(encoding="utf-8")
    read: dict[str, Any] = yaml.safe_load(text)
    return read


@lru_cache(maxsize=4)
def land_of(folder: Path) -> "FolderLand":
    """The land of a folder, read once in a process.

    Raises:
        FileNotFoundError: the folder lacks a file.
        ValueError: a file is not of the right shape.
    """
    return FolderLand(read_folder(folder))


class FolderLand:
    """Real places; a `Land`."""

    currency = "yuan"
    per_euro = 7.8

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.report = folder.report
        seats = {zh: Point(lat, lon) for zh, (_, lat, lon) in _beijing()["districts"].items()}
        spelled = {**{d.removesuffix("区"): d for d in seats}, **_beijing()["spelled"]}
        self._districts = district_of(folder.records, spelled)
        middle = city_point(gazetteer()[fold(CITY)])
        self._points = positions(folder.records, self._districts, seats, middle)
        self._records = {r.name: r for r in folder.records}
        self._by_region: dict[tuple[str, str], list[Place]] = defaultdict(list)
        for record in folder.records:
            place = self._place(record)
            self._by_region[place.region, place.kind].append(place)
        self.regions = tuple(sorted({region for region, _ in self._by_region}))

    def _place(self, record: Record) -> Place:
        english = tuple(_beijing()["names"].get(record.name, ()))
        bare = _BRANCH.sub("", record.name).strip()
        held = (record.name, *record.tags)
        words = tuple(word for word, zh in _beijing()["words"].items() if any(zh in text for text in held))
        return Place(
            name=record.name,
            kind=record.kind,
            region=self._districts.get(record.name, ELSEWHERE),
            point=self._points[record.name],
            rating=record.rating,
            reviews=None,
            price=record.price,
            category="average_cost" if record.kind == "restaurant" else "price",
            hours=record.hours,
            hours_text=record.hours_text if record.hours is None else "",
            names=(*english, *((bare,) if bare != record.name else ())),
            address=record.address,
            station=record.station,
            tags=(*record.tags, *words),
            visit=record.visit,
        )

    @cached_property
    def _named(self) -> Mapping[str, tuple[Place, ...]]:
        """Places by every folded name in Chinese or English."""
        found: dict[str, list[Place]] = defaultdict(list)
        for place in (p for places in self._by_region.values() for p in places):
            for name in dict.fromkeys((place.name, *place.names)):
                found[fold(name)].append(place)
        return {name: tuple(places) for name, places in found.items()}

    @cached_property
    def _pinyin(self) -> Mapping[str, tuple[Place, ...]]:
        """Places by the pinyin of their names, without tones and spaces."""
        from pypinyin import lazy_pinyin

        found: dict[str, list[Place]] = defaultdict(list)
        for place in (p for places in self._by_region.values() for p in places):
            for name in dict.fromkeys((place.name, _BRANCH.sub("", place.name))):
                found[_letters("".join(lazy_pinyin(name)))].append(place)
        return {name: tuple(places) for name, places in found.items()}

    def romanised(self, name: str) -> str:
        """How a place or district is called in Latin letters; the name itself where that would be another's too."""
        if name in _beijing()["districts"]:
            return str(_beijing()["districts"][name][0])
        place = next((p for p in self._named.get(fold(name), ()) if p.name == name), None)
        english = next((n for n in place.names if n.isascii()), None) if place else None
        spelled = self._spelled.get(name)
        return english or (spelled.title() if spelled and len(self._pinyin[_letters(spelled)]) == 1 else name)

    @cached_property
    def _spelled(self) -> Mapping[str, str]:
        """The pinyin of every name in words: without brackets, a syllable each."""
        from pypinyin import lazy_pinyin

        names = [name for name in self._records if not _BRANCH.search(name)]
        return {name: " ".join(lazy_pinyin(name)) for name in names}

    @cached_property
    def stations(self) -> Mapping[str, Point]:
        """Where each metro station is: amid the places nearest to it."""
        at: dict[str, list[Point]] = defaultdict(list)
        for record in self.folder.records:
            if record.station:
                at[record.station].append(self._points[record.name])
        return {
            name: Point(round(sum(p[0] for p in ps) / len(ps), 4), round(sum(p[1] for p in ps) / len(ps), 4))
            for name, ps in at.items()
        }

    def spot(self, text: str) -> Spot | None:
        """A place, district or metro station of Beijing in Chinese, English or pinyin; a city; or coordinates.

        Raises:
            ToolRefusal: several places bear the name.
        """
        if (point := coordinates(text)) is not None:
            return Spot(str(point), point, nearest_city(point))
        said = fold(re.sub(r"[,，]\s*(?:beijing|北京市?)\s*$", "", text, flags=re.I))
        if place := self._one(said, text):
            return Spot(place.name, place.point, gazetteer()[fold(CITY)], place)
        if (point := self._area(said)) is not None:
            return Spot(text.strip(), point, gazetteer()[fold(CITY)])
        if (city := gazetteer().get(said.removesuffix("市"))) is not None:
            return Spot(city.name, city_point(city), city)
        return None

    def _one(self, said: str, text: str) -> Place | None:
        found = self._named.get(said, ())
        exact = [p for p in found if fold(p.name) == said]
        if not found and said.isascii() and len(said) > 3 and said not in gazetteer():
            found = self._pinyin.get(_letters(said), ())
        if len(found) > 1 and len(exact) != 1:
            raise ToolRefusal("ambiguous_place", place=text, options="; ".join(p.name for p in found[:6]))
        return exact[0] if len(exact) == 1 else found[0] if found else None

    def _area(self, said: str) -> Point | None:
        """A metro station or a district."""
        station = said.removesuffix("地铁站").removesuffix("站") if said not in self.stations else said
        if station in self.stations:
            return self.stations[station]
        for zh, (english, latitude, longitude) in _beijing()["districts"].items():
            if said in (zh, zh.removesuffix("区"), english.lower(), f"{english.lower()} district"):
                return Point(latitude, longitude)
        return None

    def region(self, text: str) -> Sequence[str] | None:
        """All of Beijing, or a district."""
        said = fold(text)
        if said in ("beijing", "北京", "北京市"):
            return self.regions
        for zh, (english, _, _) in _beijing()["districts"].items():
            if said in (zh, zh.removesuffix("区"), english.lower(), f"{english.lower()} district"):
                return (zh,) if zh in self.regions else None
        return None

    def address(self, place: Place) -> str:
        """Its name, which no other place of the folder bears."""
        return place.name

    def called(self, region: str) -> str:
        """The district, or the whole city."""
        regions = self.region(region) or ()
        return regions[0] if len(regions) == 1 else CITY

    @property
    def words(self) -> Mapping[str, str]:
        """Kind by each word for it."""
        return {word: kind for kind, words in _KIND_WORDS.items() for word in words.split()}

    def kinds(self) -> Sequence[str]:
        """Every kind of place."""
        return tuple(_KIND_WORDS)

    def places(self, region: str, kind: str) -> Sequence[Place]:
        """The places of a kind in a district."""
        return self._by_region.get((region, kind), ())

    def regions_near(self, point: Point, km: float) -> Sequence[str]:
        """Districts with a place within `km`."""
        return tuple(r for r in self.regions if any(apart(point, p.point) <= km for p in self._all_of(r)))

    def regions_along(self, start: Point, end: Point, km: float) -> Sequence[str]:
        """Districts with a place beside the way."""
        return tuple(r for r in self.regions if beside(self._all_of(r), start, end, km))

    def _all_of(self, region: str) -> list[Place]:
        return [p for kind in _KIND_WORDS for p in self.places(region, kind)]

    def pages(self, query: str) -> Sequence[Page]:
        """A page for every place, and the carriers' pages."""
        return self._pages

    @cached_property
    def _pages(self) -> tuple[Page, ...]:
        return (*carrier_pages(), *(self._page(r) for r in self.folder.records))

    def _page(self, record: Record) -> Page:
        price = {"attraction": "门票", "hotel": "每晚价格", "restaurant": "人均消费"}[record.kind]
        cost = "免费" if record.price == 0 else f"{record.price}元" if record.price is not None else record.price_text
        facts = {
            "地址": record.address, "电话": record.phone, "营业时间": record.hours_text, price: cost,
            "评分": "" if record.rating is None else str(record.rating),
            "地铁": f"{record.station}地铁站{record.exit}" if record.station else "",
            "特色": "、".join(record.tags[:12]),
        }  # fmt: skip
        english = _beijing()["names"].get(record.name, ())
        more = f"{' '.join(english)} {_KIND_WORDS[record.kind]} {_FIELDS}"
        text = "；".join(f"{name}：{told}" for name, told in facts.items() if told) + "。"
        return Page(record.name, f"https://beijing.example/{record.kind}/{record.name}", text, more, " ".join(english))


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())
