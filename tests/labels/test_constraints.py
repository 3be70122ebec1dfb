"""Real phrasings, both languages, and the constraints they state."""

import json
from datetime import date
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from assets.labels.constraints import Constraints, Kind, Mode, NamedCity, NamedDay, Sky, Sort, extract
from assets.labels.words import lexicon

CITIES = [
    # one city
    ("weather in london tomorrow", "London@location"),
    ("london weather tomorrow please", "London@location"),
    ("What will the weather be like in Paris on June 12?", "Paris@location"),
    ("WEATHER IN TOKYO", "Tokyo@location"),
    ("hotels in são paulo", "São Paulo@location"),
    ("hotels in sao paulo", "São Paulo@location"),
    ("Will it rain in xi'an", "Xi’an@location"),
    ("do you know london's timezone", "London@location"),
    ("best museum st. louis", "St. Louis@location"),
    ("what is there to do in new york", "New York City@location"),
    ("How long does it take to go by bike from Gent to its best cafe?", "Gent@location"),
    ("how far is it to phoenix", "Phoenix@destination"),
    ("cheapest flight to Oslo tomorrow", "Oslo@destination"),
    ("flight oslo tomorrow", "Oslo@destination"),
    ("My parents leave for Rome on the 12th. What is the weather there?", "Rome@destination"),
    ("best museum in newark new jersey", "Newark@location"),
    ("Atlanta, Georgia weather", "Atlanta@location"),
    # journeys
    ("flight london paris tomorrow", "London@origin Paris@destination"),
    ("from Milan to Rome by car, how long", "Milan@origin Rome@destination"),
    ("To Rome from Milan on 2026-06-12, which flight is the cheapest?", "Rome@destination Milan@origin"),
    ("how far is london from paris", "London@destination Paris@origin"),
    ("I am in Berlin and want to get to Munich by car. How long does it take?", "Berlin@origin Munich@destination"),
    ("I'm in Lima, flights to Quito?", "Lima@origin Quito@destination"),
    ("I live in Lyon. How long is the trip by car to Turin?", "Lyon@origin Turin@destination"),
    ("We leave Lyon by car. How long until we are in Turin?", "Lyon@origin Turin@destination"),
    ("My boss has to be in Kazan tomorrow and is in Moscow. Book him a flight.", "Kazan@destination Moscow@origin"),
    ("distance between Paris and Lyon", "Paris@origin Lyon@destination"),
    ("Train or plane: which costs less between Paris and Lyon", "Paris@origin Lyon@destination"),
    ("Paris - Lyon train", "Paris@origin Lyon@destination"),
    ("cheapest train Paris→Lyon", "Paris@origin Lyon@destination"),
    ("Find the cheapest flight from Rome to Oslo and the weather in Oslo", "Rome@origin Oslo@destination"),
    ("I need the weather in Rome and the lowest flight price from Milan", "Rome@destination Milan@origin"),
    ("We must leave Rome for Oslo today, find a flight", "Rome@origin Oslo@destination"),
    # choices
    ("Which is warmer tomorrow, Cairo or Lagos?", "Cairo@option Lagos@option"),
    ("cairo or lagos, which one is warmer", "Cairo@option Lagos@option"),
    ("Where is it warmer, in Cairo or in Lagos?", "Cairo@option Lagos@option"),
    ("is paris warmer than rome tomorrow", "Paris@option Rome@option"),
    ("Compare Paris and Rome on June 13: which is warmer?", "Paris@option Rome@option"),
    ("Two cities, Paris and Rome: which is warmer?", "Paris@option Rome@option"),
    ("between Paris and Rome, which is warmer today", "Paris@option Rome@option"),
    ("cheapest flight from Oslo to the warmer of Rome and Madrid", "Oslo@origin Rome@option Madrid@option"),
    ("I am in Lima. Cheapest flight to the warmer of Bogota and Quito?", "Lima@origin Bogotá@option Quito@option"),
    ("We want to fly to Rome or Madrid, whichever is warmer, from Oslo", "Rome@option Madrid@option Oslo@origin"),
    # Chinese
    ("从上海到北京最便宜的航班是哪个", "Shanghai@origin Beijing@destination"),
    ("上海到北京开车多久", "Shanghai@origin Beijing@destination"),
    ("上海北京周五最便宜机票", "Shanghai@origin Beijing@destination"),
    ("我在上海，明天要飞北京，哪个航班最便宜？", "Shanghai@origin Beijing@destination"),
    ("去北京的火车，明天从上海出发，最便宜的是哪趟？", "Beijing@destination Shanghai@origin"),
    ("北京出发去上海多远", "Beijing@origin Shanghai@destination"),
    ("北京和上海哪个更暖和？", "Beijing@option Shanghai@option"),
    ("是北京暖和还是上海暖和？", "Beijing@option Shanghai@option"),
    ("从广州飞北京或上海，要去暖和的那个", "Guangzhou@origin Beijing@option Shanghai@option"),
    ("我在上海，想去最好的博物馆，去哪家？", "Shanghai@location"),
    ("6月12日北京天气怎么样？", "Beijing@location"),
    ("从四日到达卡，开车多久", "Yokkaichi@origin Dhaka@destination"),
]

NO_CITY = [
    "what time of day is best to march",
    "tell me a nice joke",
    "how much of the date is most of the time",
    "I am reading a book about mobile phones",
    "buy the best deal",
    "split the orange with a man",
    "这家餐馆的周边有哪些景点啊，要多久",
    "在公园中心的花园里",
]

EVERYDAY_NAMES = [
    ("a nice museum in nice", "Nice@location"),
    ("What is the best museum in Reading?", "Reading@location"),
    ("weather in bath tomorrow", "Bath@location"),
    ("Nice or Cork, which is warmer?", "Nice@option Cork@option"),
    ("Springs to South Dublin by plane", "Springs@origin South Dublin@destination"),
    ("flights from van to orange on friday", "Van@origin Orange@destination"),
]

DAYS = [
    ("weather in rome on 2026-06-12", "on 2026-06-12", "2026-06-12"),
    ("weather in rome on June 12", "on June 12", "2026-06-12"),
    ("weather in rome on June 12th, 2026", "on June 12th, 2026", "2026-06-12"),
    ("12 June weather rome", "12 June", "2026-06-12"),
    ("the 12th of june in rome", "the 12th of june", "2026-06-12"),
    ("jun 12 rome", "jun 12", "2026-06-12"),
    ("rome on the 12th", "on the 12th", "2026-06-12"),
    ("rome on the 3rd", "on the 3rd", "2026-07-03"),
    ("rome on June 9", "on June 9", "2027-06-09"),
    ("Tomorrow in Rome", "Tomorrow", "tomorrow"),
    ("is it warm in rome tonight", "tonight", "today"),
    ("rome the day after tomorrow", "the day after tomorrow", "2026-06-12"),
    ("rome in 3 days", "in 3 days", "2026-06-13"),
    ("rome in three days", "in three days", "2026-06-13"),
    ("flights on Friday", "on Friday", "friday"),
    ("flights this fri", "this fri", "friday"),
    ("flights next friday", "next friday", "2026-06-19"),
    ("6月12日北京天气", "6月12日", "2026-06-12"),
    ("2026年6月12号北京天气", "2026年6月12号", "2026-06-12"),
    ("12号北京天气", "12号", "2026-06-12"),
    ("周五北京天气", "周五", "friday"),
    ("这周五北京天气", "这周五", "friday"),
    ("下周五北京天气", "下周五", "2026-06-19"),
    ("查一下周五北京的天气", "周五", "friday"),
    ("星期天北京天气", "星期天", "sunday"),
    ("明天北京天气", "明天", "tomorrow"),
    ("后天北京天气", "后天", "2026-06-12"),
    ("三天后北京天气", "三天后", "2026-06-13"),
]

OTHERS: list[tuple[str, dict[str, object]]] = [
    ("is it faster by car or by public transport", {"modes": ("driving", "transit"), "sort": "fastest"}),
    ("on foot or by bike", {"modes": ("walking", "bicycling")}),
    ("开车快还是坐公交快", {"modes": ("driving", "transit"), "sort": "fastest"}),
    ("fly or take the train, which is cheaper", {"modes": ("flight", "train"), "sort": "cheapest"}),
    ("the highest rated coffee shop", {"kind": "cafe", "sort": "best"}),
    ("top art galleries", {"kind": "gallery", "sort": "best"}),
    ("评分最高的图书馆", {"kind": "library", "sort": "best"}),
    ("a flight under 300 euros", {"budget": 300, "modes": ("flight",)}),
    ("a flight for less than €1,250", {"budget": 1250, "modes": ("flight",)}),
    ("i need a flight for under 300", {"budget": 300, "modes": ("flight",)}),
    ("预算460欧元的机票", {"budget": 460, "modes": ("flight",)}),
    ("will it be sunny", {"sky": "sunny"}),
    ("is it going to snow", {"sky": "snowy"}),
    ("听说会下雨", {"sky": "rainy"}),
    ("book the cheapest train", {"write": True, "sort": "cheapest", "modes": ("train",)}),
    ("please reserve a hotel", {"write": True, "kind": "hotel"}),
    ("帮我订最便宜的火车票", {"write": True, "sort": "cheapest", "modes": ("train",)}),
    ("I read a book", {}),
    ("460欧元够买机票吗", {"budget": 460, "modes": ("flight",)}),
    ("a hotel for two", {"kind": "hotel", "party": 2}),
    ("a hotel for two nights", {"kind": "hotel"}),
    ("a hotel for 4 people", {"kind": "hotel", "party": 4}),
    ("party of 4", {"party": 4}),
    ("三个人的酒店", {"kind": "hotel", "party": 3}),
]

UNRESOLVED = [
    ("weather in springfeld tomorrow", ("springfeld",)),
    ("Weather in Narnia next week", ("next week", "Narnia")),
    ("flight to Gondolin on Friday", ("Gondolin",)),
    ("weather this weekend", ("this weekend",)),
    ("weather on 6/7", ("on 6/7",)),
    ("weather in rome on June 31", ("on June 31",)),
    ("flights in July", ("July",)),
    ("is travel to kenya safe", ("kenya",)),
    ("weather in London, Canada", ("London, Canada",)),
    ("a hotel from Monday to Friday", ("Friday",)),
    ("下周北京天气", ("下周",)),
    ("法国天气", ("法国",)),
    ("weather in Paris, France", ()),
    ("weather in the morning", ()),
    ("I'm looking for a hotel near the station in Rome", ()),
]


WORDS = ["from", "to", "in", "Paris", "Rome", "or", "and", "which", "warmer", "June", "12", "the", "3", "300", "euros"]
WORDS += ["北京", "到", "下", "周", "五", "哪", "个", ",", ".", "?"]


def cities_of(text: str) -> str:
    return " ".join(f"{city.city}@{city.role}" for city in extract(text).cities)


@pytest.mark.parametrize(("text", "expected"), CITIES)
def test_cities_are_found_with_their_roles(text: str, expected: str) -> None:
    assert cities_of(text) == expected


@pytest.mark.parametrize("text", NO_CITY)
def test_everyday_words_name_no_city(text: str) -> None:
    assert cities_of(text) == ""


@pytest.mark.parametrize(("text", "expected"), EVERYDAY_NAMES)
def test_an_everyday_word_is_a_city_where_its_place_or_its_capital_says_so(text: str, expected: str) -> None:
    assert cities_of(text) == expected


@pytest.mark.parametrize(("text", "said", "value"), DAYS)
def test_days_are_resolved_against_the_worlds_clock(text: str, said: str, value: str) -> None:
    day = extract(text).date
    assert day is not None
    assert (day.text, day.value) == (said, value)


def test_the_clock_can_be_another_one() -> None:
    day = extract("weather on June 12", today=date(2030, 6, 13)).date
    assert day is not None
    assert day.value == "2031-06-12"


@pytest.mark.parametrize(("text", "expected"), OTHERS)
def test_the_other_slots_are_filled(text: str, expected: dict[str, object]) -> None:
    assert extract(text) == Constraints.from_json(json.dumps(expected))


@pytest.mark.parametrize(("text", "expected"), UNRESOLVED)
def test_what_resolves_to_nothing_is_listed(text: str, expected: tuple[str, ...]) -> None:
    assert extract(text).unresolved == expected


def test_metro_line_ten_is_no_day() -> None:
    assert extract("10号线怎么走").date is None


def test_every_city_and_every_filled_slot_counts_as_one_constraint() -> None:
    assert extract("hello").stated == 0
    assert extract("cheapest flight from Rome to Oslo on Friday under 300 euros").stated == 6


def test_constraints_survive_json() -> None:
    found = extract("book the cheapest flight from Rome to Oslo on June 12 for 2 people under 300 euros")
    assert Constraints.from_json(found.as_json()) == found
    assert json.loads(found.as_json())["cities"][0] == {"text": "Rome", "city": "Rome", "role": "origin"}


def test_json_is_compact_and_every_sign_survives_it() -> None:
    odd = 'Rom"e\\ \n\t\x01 é 北京'
    city, day = NamedCity(odd, odd, "option"), NamedDay(odd, "today")
    made = Constraints((city,), day, ("flight", "train"), "museum", 0, "best", "sunny", True, 2, (odd, "b"))
    slots = made._asdict() | {"cities": [city._asdict()], "date": day._asdict()}
    assert made.as_json() == json.dumps(slots, ensure_ascii=False, separators=(",", ":"))
    assert Constraints.from_json(made.as_json()) == made
    assert Constraints.from_json(Constraints().as_json()) == Constraints()


def test_constraints_of_another_shape_are_an_error() -> None:
    for text in ('{"kind":"castle"}', '{"colour":"red"}', "{"):
        with pytest.raises(ValidationError):
            Constraints.from_json(text)


@pytest.mark.parametrize(("head", "kind"), [("modes", Mode), ("kinds", Kind), ("sorts", Sort), ("skies", Sky)])
def test_the_lexicon_names_what_the_slots_hold(head: str, kind: object) -> None:
    assert set(lexicon()[head]) <= set(get_args(kind))


@settings(deadline=None, max_examples=60)  # the first call builds the gazetteer
@given(st.text(max_size=80))
def test_any_text_has_constraints(text: str) -> None:
    extract(text)


@settings(deadline=None, max_examples=60)  # the first call builds the gazetteer
@given(
    st.lists(
        st.sampled_from(WORDS),
        max_size=14,
    )
)
def test_any_sequence_of_known_words_has_constraints_and_each_city_once(parts: list[str]) -> None:
    names = [city.city for city in extract(" ".join(parts)).cities]
    assert len(names) == len(set(names))
