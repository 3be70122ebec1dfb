"""The small web: what ranks first, in two languages, and that no page contradicts a tool."""

import re
from typing import Any

import pytest

from environments.worlds.atlas.data_model import gazetteer
from environments.worlds.atlas.full.data_model import Page
from environments.worlds.atlas.full.made import places_of
from environments.worlds.atlas.full.pages import EVENTS, city_pages, event_of, named_cities
from environments.worlds.atlas.full.search import ranked, terms
from environments.worlds.atlas.world import AtlasWorld

WORLD = AtlasWorld(brief=False)


def search(query: str) -> list[dict[str, Any]]:
    found = WORLD.call("web_search", {"query": query})
    assert isinstance(found, list), found
    return found


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("opening hours of museums in Lyon", "Opening hours and prices: museum in Lyon"),
        ("里昂 博物馆 开放时间", "Opening hours and prices: museum in Lyon"),
        ("Lyon jazz festival", "Lyon Jazz Festival"),
        ("When is the Jazz Festival in Lyon?", "Lyon Jazz Festival"),
        ("里昂爵士音乐节是什么时候", "Lyon Jazz Festival"),
        ("Keld Air baggage allowance", "Keld Air (KL) conditions of carriage"),
        ("Tegel Express change fee", "Tegel Express (TG) conditions of carriage"),
        ("what time zone is Lyon in", "Visiting Lyon"),
    ],
)
def test_the_page_that_was_meant_comes_first(query: str, title: str) -> None:
    assert search(query)[0]["title"] == title


def test_ranking_is_bm25_rare_words_weigh_more_and_long_pages_less() -> None:
    pages = [
        Page("a", "", "boat boat boat boat " + "filler " * 60),
        Page("b", "", "boat lighthouse"),
        Page("c", "", "boat harbour"),
        Page("d", "", "nothing of it"),
    ]
    assert [p.title for p in ranked("lighthouse boat", pages, 9)] == ["b", "c", "a"]
    assert [p.title for p in ranked("lighthouse boat", pages, 1)] == ["b"]
    assert ranked("submarine", pages, 9) == ranked('"; DROP', pages, 9) == []


def test_chinese_is_cut_into_pairs_and_english_loses_plurals() -> None:
    assert terms("博物馆 of Museums, galleries") == ["博物", "物馆", "museum", "gallery"]


def test_cities_are_read_out_of_a_question_and_common_words_are_none() -> None:
    assert named_cities("Which museums of Lyon and San Francisco are nice?") == ("San Francisco", "Lyon")
    assert named_cities("里昂和巴黎的博物馆") == ("Lyon", "Paris")


@pytest.mark.parametrize("name", ["Lyon", "Osaka", "Lima"])
def test_pages_say_what_the_tools_say(name: str) -> None:
    city = gazetteer()[name.lower()]
    by_title = {p.title: p for p in city_pages(name)}
    for kind in ("museum", "park", "restaurant"):
        text = by_title[f"Opening hours and prices: {kind} in {name}"].text
        for row in WORLD.call("map_search_places", {"query": kind, "region": name, "limit": 50}):
            price = "free" if row["price"] == 0 else f"{row['price']} euros"
            assert f"{row['name']}: {row['hours']}; {price}; rated {row['rating']}." in text
    assert (city.airport or "no airport") in by_title[f"Visiting {name}"].text
    for kind in EVENTS:
        event = event_of(city, kind)
        assert (event is not None) == (f"{name} {kind}" in by_title)
        if event:
            page = by_title[f"{name} {kind}"]
            assert page.day == event[0].isoformat()
            assert event[1] in {
                p.name for k in ("museum", "gallery", "park", "market", "library") for p in places_of(city, k)
            }


def test_a_carrier_that_flies_has_a_page_with_its_code() -> None:
    flights = WORLD.call("travel_search_flights", {"origin": "Paris", "destination": "Rome", "date": "Friday"})
    for flight in flights[0]["flights"]:
        code = re.sub(r"\d", "", flight["number"])
        assert search(f"{flight['carrier']} baggage")[0]["title"].startswith(f"{flight['carrier']} ({code})")
