"""A small folder of real-looking places in the shape of CrossWOZ's databases."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NEAR = "周边景点"
SIGHTS: Mapping[str, Mapping[str, Any]] = {
    "故宫": {
        "地址": "北京市东城区景山前街4号", "门票": 60, "游玩时间": "12小时 - 3天", "评分": 4.7, NEAR: ["景山公园"]
    },
    "景山公园": {
        "地址": "北京市东城区景山西街", "门票": 2, "游玩时间": "1小时 - 2小时", "评分": 4.6, NEAR: ["故宫"]
    },
    "颐和园": {
        "地址": "北京市海淀区新建宫门路19号", "门票": "30元", "游玩时间": "半天", "评分": None, NEAR: []
    },
    "农业博物馆": {
        "地址": "北京市朝阳区东三环北路16号", "门票": "看情况", "游玩时间": "2小时", "评分": 4.0, NEAR: []
    },
}  # fmt: skip
HOTELS: Mapping[str, Mapping[str, Any]] = {
    "北京饭店": {
        "地址": "北京东城区东长安街33号", "价格": 900, "评分": 4.6, "酒店类型": "豪华型", NEAR: ["故宫"]
    },
    "海淀旅馆": {
        "地址": "北京海淀区中关村大街1号", "价格": None, "评分": 4.1, "酒店类型": "经济型", NEAR: ["颐和园"]
    },
}  # fmt: skip
MEALS: Mapping[str, Mapping[str, Any]] = {
    "四季饭庄(景山店)": {
        "地址": "景山前街", "人均消费": 80, "评分": 4.5, "营业时间": "周二至周日 10:00-14:00 17:00-22:00",
        "推荐菜": ["烤鸭"], "周边景点": ["故宫", "景山公园"],
    },
    "夜里香": {
        "地址": "北京市东城区东直门内大街", "人均消费": 55, "评分": None, "营业时间": "周一至周日 18:00-02:00",
        "推荐菜": ["火锅"], "周边景点": ["故宫"],
    },
    "开到何时": {
        "地址": "某处", "人均消费": 20, "评分": 4.0, "营业时间": "8:00---客人走为止", "推荐菜": [], "周边景点": []
    },
}  # fmt: skip
STATIONS = {
    "故宫": "天安门东地铁站A口",
    "景山公园": "天安门东地铁站B口",
    "北京饭店": "王府井地铁站C口",
    "颐和园": "北宫门地铁站D口",
}


def small_places(folder: Path) -> Path:
    """Write the folder; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    every = {"attraction_db.json": SIGHTS, "hotel_db.json": HOTELS, "restaurant_db.json": MEALS}
    for name, rows in every.items():
        write(folder / name, [[title, {"名称": title, **row}] for title, row in rows.items()])
    titles = [title for rows in every.values() for title in rows]
    write(folder / "metro_db.json", [[t, {"名称": t, "地铁": STATIONS.get(t)}] for t in titles])
    write(folder / "taxi_db.json", [["出租 ($出发地 - $目的地)", {"领域": "出租", "车型": "#CX", "车牌": "#CP"}]])
    return folder


def write(path: Path, rows: Any) -> None:
    """Write a file of the folder."""
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
