"""Real places from a folder: what is read, what is counted as unread, names in three spellings, and CrossWOZ itself."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from environments.policies.scripted import CHEATERS, Gold, OneLook
from environments.world import WorldPool
from environments.worlds.atlas.full.data_model import apart
from environments.worlds.atlas.full.families import REAL_FAMILIES
from environments.worlds.atlas.full.folder import FolderLand
from environments.worlds.atlas.full.records import FILES, read_folder
from environments.worlds.atlas.full.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import played
from tests.environments.places_folder import small_places, write

CORPORA = os.environ.get("LOOPWRIGHT_CORPORA")
CROSSWOZ = Path(CORPORA or "/nowhere") / "worlds/crosswoz"
needs_crosswoz = pytest.mark.skipif(not CROSSWOZ.is_dir(), reason="needs LOOPWRIGHT_CORPORA with worlds/crosswoz")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> AtlasWorld:
    return AtlasWorld(places=small_places(tmp_path_factory.mktemp("places")))


def ask(world: AtlasWorld, name: str, **arguments: Any) -> Any:
    return world.call(name, arguments)


def test_what_does_not_parse_is_kept_as_text_and_counted(tmp_path: Path) -> None:
    folder = read_folder(small_places(tmp_path))
    report = folder.report
    assert report.kept == sum(n for f, n in report.rows.items() if f not in ("metro_db.json", "taxi_db.json")) == 9
    assert report.unread == {"营业时间": ("8:00---客人走为止",), "游玩时间": ("半天",), "门票": ("看情况",)}
    assert report.missing == {"价格": 1, "地铁": 5, "评分": 2}
    by_name = {r.name: r for r in folder.records}
    assert (by_name["颐和园"].price, by_name["农业博物馆"].price_text) == (30, "看情况")
    assert (by_name["故宫"].visit, by_name["故宫"].station, by_name["故宫"].exit) == ((720, 4320), "天安门东", "A口")
    world = AtlasWorld(places=tmp_path)
    [row] = ask(world, "map_search_places", query="开到何时", region="Beijing")
    assert row["hours"] == "8:00---客人走为止"


def test_second_rows_of_a_name_are_dropped_with_their_place(tmp_path: Path) -> None:
    small_places(tmp_path)
    rows = json.loads((tmp_path / "hotel_db.json").read_text(encoding="utf-8"))
    write(tmp_path / "hotel_db.json", [*rows, rows[0], ["故宫", {"名称": "故宫"}], [" ", {}]])
    report = read_folder(tmp_path).report
    assert report.dropped == (
        ("hotel_db.json", 2, "a second 北京饭店"),
        ("hotel_db.json", 3, "a second 故宫"),
        ("hotel_db.json", 4, "no name"),
    )  # fmt: skip
    assert sum(report.rows[f] for f in FILES[:3]) == report.kept + len(report.dropped)


def test_a_folder_that_is_not_one_is_told_why(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"lacks attraction_db.json, hotel_db.json, .* as CrossWOZ's databases"):
        AtlasWorld(places=tmp_path)
    small_places(tmp_path)
    (tmp_path / "metro_db.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks metro_db.json;"):
        AtlasWorld(places=tmp_path)
    write(tmp_path / "metro_db.json", {"a": 1})
    with pytest.raises(ValueError, match=r"metro_db.json holds a dict; it must be a list"):
        AtlasWorld(places=tmp_path)
    write(tmp_path / "metro_db.json", [["故宫", {}], ["故宫"]])
    with pytest.raises(ValueError, match=r"metro_db.json, row 1: .*is no \[name, record\] pair"):
        AtlasWorld(places=tmp_path)
    (tmp_path / "metro_db.json").write_text("[", encoding="utf-8")
    with pytest.raises(ValueError, match=r"metro_db.json is no JSON"):
        AtlasWorld(places=tmp_path)


@pytest.mark.parametrize("name", ["故宫", "Forbidden City", "palace museum", "Gugong", "gu gong", "故宫，北京"])
def test_a_place_is_known_in_chinese_english_and_pinyin(world: AtlasWorld, name: str) -> None:
    spot = world.land.spot(name)
    assert spot is not None
    assert spot.place is not None
    assert (spot.place.name, spot.city.name) == ("故宫", "Beijing")


def test_districts_stations_branches_and_cities_are_places_too(world: AtlasWorld) -> None:
    for name in (
        "海淀区",
        "Haidian",
        "haidian district",
        "天安门东",
        "天安门东地铁站",
        "四季饭庄",
        "天津",
        "Paris",
        "39.9,116.4",
    ):
        assert world.land.spot(name) is not None, name
    assert world.land.spot("没有这里") is None
    assert {p["region"] for p in ask(world, "map_search_places", query="景点", region="东城区")} == {"东城区"}


def test_the_tools_work_over_real_places(world: AtlasWorld) -> None:
    [duck] = ask(world, "map_search_places", query="烤鸭", center="Forbidden City")
    assert (duck["name"], duck["price"], duck["hours"][:10]) == ("四季饭庄(景山店)", 80, "Mon closed")
    assert ask(world, "map_search_places", query="roast duck", center="故宫") == [duck]
    assert ask(world, "map_search_places", query="luxury hotel", region="北京")[0]["name"] == "北京饭店"
    ways = ask(world, "map_compute_routes", origin="故宫", destination="Summer Palace", modes=["transit", "driving"])
    assert (ways[0]["from_station"], ways[0]["to_station"]) == ("天安门东", "北宫门")
    centre = ask(world, "map_search_central_places", query="餐馆", origins=["故宫", "景山公园"], radius=20000)
    assert [d["from"] for d in centre[0]["distances"]] == ["故宫", "景山公园"]
    lists = ask(world, "map_search_ranking_list", query="景点", region="Beijing")
    assert lists[0]["items"][0]["name"] == "故宫"
    assert ask(world, "web_search", query="四季饭庄 营业时间")[0]["title"] == "四季饭庄(景山店)"
    assert ask(world, "web_search", query="Forbidden City ticket price")[0]["title"] == "故宫"
    assert ask(world, "weather_current_conditions", location="故宫")["location"] == "Beijing"
    train = ask(world, "travel_search_trains", origin="Beijing", destination="天津", date="tomorrow")[0]["trains"][0]
    assert ask(world, "travel_book_ticket", number=train["number"], date="tomorrow")["booked"] == train["number"]
    assert world.units["price"] == "yuan"


def test_places_near_each_other_lie_near_each_other(world: AtlasWorld) -> None:
    def km(a: str, b: str) -> float:
        one, other = world.land.spot(a), world.land.spot(b)
        assert one is not None
        assert other is not None
        return apart(one.point, other.point)

    assert km("故宫", "景山公园") < km("故宫", "颐和园")


def test_the_version_follows_the_files(tmp_path: Path) -> None:
    one = AtlasWorld(places=small_places(tmp_path / "a"))
    same = AtlasWorld(places=small_places(tmp_path / "b"))
    write(small_places(tmp_path / "c") / "taxi_db.json", [])
    assert one.version == same.version != AtlasWorld(places=tmp_path / "c").version


@pytest.mark.corpora
@needs_crosswoz
def test_crosswoz_is_read_whole_and_its_neighbours_lie_near() -> None:
    land = FolderLand(read_folder(CROSSWOZ))
    report = land.report
    assert dict(report.rows) == {
        "attraction_db.json": 465, "hotel_db.json": 1133, "restaurant_db.json": 951, "metro_db.json": 2549,
        "taxi_db.json": 1,
    }  # fmt: skip
    assert (report.kept, report.dropped) == (2549, ())
    assert {field: len(texts) for field, texts in report.unread.items()} == {"营业时间": 20}
    at = {p.name: p.point for r in land.regions for k in land.kinds() for p in land.places(r, k)}
    listed = sorted(apart(at[r.name], at[n]) for r in land.folder.records for n in r.nearby[:30] if n in at)
    assert listed[len(listed) // 2] < 3, "km between places that are listed as neighbours"
    spot = land.spot("Summer Palace")
    assert spot is not None
    assert spot.label == "颐和园"


@pytest.mark.corpora
@needs_crosswoz
def test_tasks_over_crosswoz_are_solved_by_gold_and_by_no_cheat() -> None:
    tasks = fresh_tasks(2 * 2 * len(REAL_FAMILIES), "train", 4, places=CROSSWOZ)
    assert {t.family for t in tasks} == set(REAL_FAMILIES)
    pool = WorldPool(lambda: AtlasWorld(places=CROSSWOZ))
    assert {e.verdict.reward for e in played(tasks, Gold(), pool=pool)} == {1.0}  # type: ignore[union-attr]
    for cheater in set(CHEATERS) - {OneLook}:
        assert {e.verdict.reward for e in played(tasks, cheater(), pool=pool)} == {0.0}  # type: ignore[union-attr]
