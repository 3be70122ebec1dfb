"""One session of atlas: determinism across processes, resets, effects and the ledger, errors as data."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.task import Booking
from environments.tool import Effect
from environments.world import WorldFailure, WorldPool
from environments.worlds.atlas.world import AtlasWorld

ROOT = Path(__file__).parents[4]
CITY = st.sampled_from(["Paris", "london", "巴黎", "Lyon", "Rome", "Parlin", ""])
DATE = st.sampled_from(["2026-06-12", "tomorrow", "Friday", "2026-06-30", "soon"])
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("weather_forecast_days"), st.fixed_dictionaries({"location": CITY, "date": DATE})),
        st.tuples(
            st.sampled_from(["travel_search_flights", "travel_search_trains"]),
            st.fixed_dictionaries({"origin": CITY, "destination": CITY, "date": DATE}),
        ),
        st.tuples(
            st.just("travel_book_ticket"),
            st.fixed_dictionaries({"number": st.sampled_from(["UA16", "RE95", "KL1"]), "date": DATE}),
        ),
        st.tuples(st.just("map_search_places"), st.fixed_dictionaries({"query": st.just("museum"), "center": CITY})),
        st.tuples(st.just("no_such_tool"), st.just({})),
    ),
    max_size=12,
)
Calls = Sequence[tuple[str, dict[str, Any]]]
SEARCH = ("travel_search_flights", {"origin": "Paris", "destination": "Lyon", "date": "2026-06-12"})
BOOK = ("travel_book_ticket", {"number": "UA16", "date": "2026-06-12"})


def run(world: AtlasWorld, calls: Calls) -> list[Any]:
    return [world.call(name, arguments) for name, arguments in calls]


FACTS = """
import json
from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.atlas.tasks import fresh_tasks
world = AtlasWorld()
names = ["Paris", "Lyon", "Rome", "Berlin", "Madrid"]
seen = [world.call("weather_forecast_days", {"location": n, "date": d}) for n in names for d in ("today", "Friday")]
ends = [{"origin": "Paris", "destination": n, "date": "Friday"} for n in names]
for kind in ("flights", "trains"):
    seen += [world.call(f"travel_search_{kind}", e) for e in ends]
seen += [world.call("map_search_places", {"query": "cafe", "center": n}) for n in names]
seen += [world.call("map_compute_routes", {"origin": "Paris", "destination": "Lyon", "modes": ["driving"]})]
seen += [t.task_id for t in fresh_tasks(30, "hidden", 5)]
print(json.dumps([seen, world.version, world.state_hash()]))
"""


def test_the_world_and_its_tasks_are_the_same_in_every_process() -> None:
    def facts(hash_seed: str) -> list[Any]:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", FACTS], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        found: list[Any] = json.loads(done.stdout)
        return found

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(facts, ("0", "4242"))
    assert one == other
    assert one[1] == AtlasWorld().version


@settings(max_examples=60, deadline=None)
@given(CALLS)
def test_a_reset_world_hashes_as_a_fresh_one_whatever_was_called(calls: Calls) -> None:
    world = AtlasWorld()
    initial = world.state_hash()
    run(world, [SEARCH, *calls])
    world.reset()
    assert world.state_hash() == initial == AtlasWorld().state_hash()
    assert (list(world.bookings()), list(world.ledger())) == ([], [])


@settings(max_examples=40, deadline=None)
@given(CALLS)
def test_a_reset_world_answers_as_a_fresh_one(calls: Calls) -> None:
    used, fresh = AtlasWorld(), AtlasWorld()
    run(used, [SEARCH, BOOK, *calls])
    used.reset()
    assert run(used, calls) == run(fresh, calls)
    assert used.state_hash() == fresh.state_hash()


@settings(max_examples=40, deadline=None)
@given(CALLS)
def test_read_tools_leave_the_state_as_it_was_and_every_write_enters_the_ledger(calls: Calls) -> None:
    world = AtlasWorld()
    run(world, [SEARCH])
    for name, arguments in calls:
        before, written = world.state_hash(), len(world.ledger())
        observation = world.call(name, arguments)
        refused = isinstance(observation, dict) and "error" in observation
        writes = name in world.tools() and world.tools()[name].effect is Effect.WRITE and not refused
        assert (world.state_hash() != before) is writes
        assert len(world.ledger()) == written + writes


def test_the_ledger_says_who_wrote_what_in_order() -> None:
    world = AtlasWorld()
    trains = ("travel_search_trains", {"origin": "Paris", "destination": "Lyon", "date": "2026-06-12"})
    train = ("travel_book_ticket", {"number": "RE95", "date": "2026-06-12"})
    codes = [seen["code"] for seen in run(world, [SEARCH, trains, train, BOOK])[2:]]
    lines = [(e.position, e.actor, e.tool, e.key, e.before, e.after) for e in world.ledger()]
    assert lines == [
        (1, "agent", "travel_book_ticket", codes[0], None, "RE95"),
        (2, "agent", "travel_book_ticket", codes[1], None, "UA16"),
    ]


def test_only_what_a_search_of_this_session_has_shown_can_be_booked() -> None:
    world = AtlasWorld()
    assert world.call(*BOOK) == {"error": "unknown_offer", "number": "UA16"}
    run(world, [SEARCH])
    assert world.call("travel_book_ticket", {"number": "UA16", "date": "2026-06-13"})["error"] == "unknown_offer"
    assert world.call("travel_book_ticket", {"number": "UA16", "date": "Friday"})["booked"] == "UA16"
    assert list(world.bookings()) == [
        Booking(kind="flight", number="UA16", origin="Paris", destination="Lyon", date="2026-06-12")
    ]
    world.reset()
    assert world.call(*BOOK)["error"] == "unknown_offer", "a reset forgets what was shown"


def test_no_booking_replaces_another() -> None:
    world = AtlasWorld()
    run(world, [SEARCH])
    codes = [world.call(*BOOK)["code"] for _ in range(40)]
    assert len(set(codes)) == len(world.bookings()) == len(world.ledger()) == 40


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("weather_forecast_days", {"location": "Parlin", "date": "today"},
         {"error": "unknown_place", "place": "Parlin"}),
        ("weather_forecast_days", {"location": "Paris", "date": "2026-07-01"},
         {"error": "bad_date", "date": "2026-07-01"}),
        ("weather_forecast_days", {"location": "Paris"}, {"error": "bad_arguments", "arguments": "date"}),
        ("map_search_places", {"query": "pub", "center": "Paris"}, {"error": "unknown_kind", "query": "pub"}),
        ("map_compute_routes", {"origin": "Paris", "destination": "Paris", "modes": ["driving"]},
         {"error": "same_place", "place": "Paris"}),
        ("map_compute_routes", {"origin": "Paris", "destination": "Tokyo", "modes": ["walking", "driving"]},
         {"error": "too_far", "mode": "walking"}),
        ("map_compute_routes", {"origin": "Paris", "destination": "Lyon", "modes": []},
         {"error": "bad_arguments", "arguments": "modes"}),
        ("map_compute_routes", {"origin": "Paris", "destination": "Lyon", "modes": ["flying"]},
         {"error": "bad_arguments", "arguments": "modes"}),
        ("map_compute_routes", {"origin": "Paris", "destination": "Nobody Museum", "modes": ["driving"]},
         {"error": "unknown_place", "place": "Nobody Museum"}),
        ("travel_search_flights", {"origin": "Paris", "destination": "Versailles", "date": "today"},
         {"error": "no_flights"}),
        ("travel_search_trains", {"origin": "Paris", "destination": "Tokyo", "date": "today"}, {"error": "no_trains"}),
        ("travel_search_trains", {"origin": "Paris", "destination": "Paris", "date": "today"}, {"error": "no_trains"}),
        ("fly_to_the_moon", {}, {"error": "unknown_tool"}),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_data_with_a_code(name: str, arguments: dict[str, Any], error: dict[str, str]) -> None:
    assert AtlasWorld().call(name, arguments) == error


def test_a_city_without_an_airport_is_named() -> None:
    from environments.worlds.atlas.data_model import speakable

    lonely = next(c.name for c in speakable() if c.airport is None)
    seen = AtlasWorld().call("travel_search_flights", {"origin": "Paris", "destination": lonely, "date": "today"})
    assert seen == {"error": "no_airport", "place": lonely}


def test_a_place_inside_a_city_can_be_travelled_to_from_that_city_only() -> None:
    world = AtlasWorld()
    best = world.call("map_search_places", {"query": "museum", "center": "Paris"})[0]["name"]
    way = {"destination": best, "modes": ["walking"]}
    assert world.call("map_compute_routes", {"origin": "Paris", **way})[0]["mode"] == "walking"
    assert world.call("map_compute_routes", {"origin": "Lyon", **way}) == {"error": "unknown_place", "place": best}


def test_search_results_honour_rating_and_limit() -> None:
    world = AtlasWorld()
    every = world.call("map_search_places", {"query": "museum", "center": "Paris", "limit": 3})
    assert len(every) == 3
    bar = every[1]["rating"]
    kept = world.call("map_search_places", {"query": "museum", "center": "Paris", "limit": 3, "min_rating": bar})
    assert kept == every[:2]
    assert world.call("map_search_places", {"query": "museum", "center": "Paris", "limit": -1}) == {
        "error": "bad_arguments",
        "arguments": "limit",
    }


def test_the_full_world_is_another_world_that_agrees_with_the_brief_one_on_weather_and_names() -> None:
    brief, full = AtlasWorld(), AtlasWorld(brief=False)
    assert brief.version != full.version
    assert (brief.name, full.name) == ("atlas", "atlas_full")
    short = brief.call("weather_forecast_days", {"location": "Paris", "date": "Friday"})
    [long] = full.call("weather_forecast_days", {"location": "Paris", "date": "Friday"})
    assert {k: long[k] for k in short} == short
    few = brief.call("map_search_places", {"query": "museum", "center": "Paris"})
    many = full.call("map_search_places", {"query": "museum", "region": "Paris"})
    assert {(p["name"], p["rating"]) for p in few} <= {(p["name"], p["rating"]) for p in many}


def test_names_in_any_case_spelling_or_script_are_one_city() -> None:
    world = AtlasWorld()
    seen = {json.dumps(world.call("weather_forecast_days", {"location": n, "date": "today"})) for n in
            ("Paris", "paris", " PARIS ", "巴黎")}  # fmt: skip
    assert len(seen) == 1


def test_sixty_four_sessions_side_by_side_do_not_see_each_other() -> None:
    pool = WorldPool(AtlasWorld)
    worlds = [pool.lend() for _ in range(64)]
    for world in worlds[::2]:
        run(world, [SEARCH, BOOK])
    assert [len(w.bookings()) for w in worlds] == [1, 0] * 32
    hashes = {w.state_hash() for w in worlds}
    assert len(hashes) == 2
    for world in worlds:
        pool.give_back(world)
    again = [pool.lend() for _ in range(64)]
    assert {id(w) for w in again} == {id(w) for w in worlds}, "sessions are reused"
    assert {w.state_hash() for w in again} == {AtlasWorld().state_hash()}


def test_sessions_run_in_threads_of_their_own_give_what_they_give_alone() -> None:
    def booked(number: int) -> str:
        world = AtlasWorld()
        seen = run(world, [SEARCH] + [BOOK] * (number % 4))
        return hashlib.sha256(json.dumps([seen, world.state_hash()]).encode()).hexdigest()

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(booked, range(64)))
    assert together == [booked(n) for n in range(64)]


def test_a_state_that_cannot_be_written_is_a_failure_of_the_world_and_not_an_answer() -> None:
    world = AtlasWorld()
    run(world, [SEARCH])
    world.state.connection.close()
    with pytest.raises(WorldFailure, match="atlas state failed in travel_book_ticket"):
        world.call(*BOOK)
    for read in (world.bookings, world.changes, world.ledger, world.state_hash):
        with pytest.raises(WorldFailure, match="atlas state"):
            read()
    with pytest.raises(WorldFailure, match="atlas state"):
        world.reset()


def test_a_session_that_cannot_be_reset_is_left_behind() -> None:
    pool = WorldPool(AtlasWorld)
    broken = pool.lend()
    pool.give_back(broken)
    broken.state.connection.close()  # type: ignore[attr-defined]
    assert run(pool.lend(), [SEARCH, BOOK])[1]["booked"] == "UA16"  # type: ignore[arg-type]
