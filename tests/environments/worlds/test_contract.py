"""What every world of the catalogue keeps to, found out by seeded walks through its tools.

A walk makes up arguments from the tools' schemas and from what the world has shown, so it needs to know nothing of a
world; `KNOWN` gives it words to begin with. A new world joins by being in the catalogue.
"""

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.faults.wrapper import with_faults
from environments.owner import description_of
from environments.task import Goal, Task
from environments.tool import Effect
from environments.world import World, WorldPool
from environments.worlds.catalogue import shipped_worlds, world_maker
from tests.environments.places_folder import small_places
from tests.environments.tau2_folders import small_tau2

OF_A_FOLDER = ("airline", "atlas_places", "retail")
WORLDS = pytest.mark.parametrize("name", [*shipped_worlds(), *OF_A_FOLDER])
SEEDS = st.integers(0, 10_000)
KNOWN: Mapping[str, tuple[str, ...]] = {
    "atlas": ("Paris", "Lyon", "巴黎", "2026-06-12", "tomorrow", "museum", "UA16"),
    "atlas_full": (
        "Paris",
        "Lyon",
        "巴黎",
        "48.8534,2.3488",
        "2026-06-12",
        "2026-06-12T09:00",
        "tomorrow",
        "museum",
        "UA383",
        "France",
    ),
    "atlas_places": ("故宫", "Forbidden City", "海淀区", "餐馆", "hotel", "Beijing", "天津", "2026-06-12", "tomorrow"),
    "desk": ("CU1001", "CU1002", "SO4001", "SO4002", "KT1104", "CT1001", "TK2001", "ML1001", "refund", "goodwill"),
    "airline": (
        "ada_byron_1001",
        "AAA111",
        "HAT901",
        "HAT902",
        "BOS",
        "JFK",
        "SEA",
        "2024-05-20",
        "economy",
        "gift_card_7",
    ),
    "retail": ("ada_byron_1001", "#W1", "#W2", "#W4", "10", "101", "102", "201", "gift_card_7", "no longer needed"),
}
"""Words that mean something in a world."""


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Of a small tau2 and a few real places, gone when the tests are over."""
    made = tempfile.TemporaryDirectory()
    small_tau2(Path(made.name))
    small_places(Path(made.name))
    return made


def maker(name: str) -> Callable[[], World]:
    return world_maker(name, folder=Path(folder().name) if name in OF_A_FOLDER else None)


@cache
def pool(name: str) -> WorldPool:
    return WorldPool(maker(name))


def session(name: str) -> World:
    """A session in its initial state, with the count of changes at zero."""
    world = pool(name).lend()
    pool(name).give_back(world)
    world.begin(task(name))
    return world


def task(name: str) -> Task:
    return Task(
        world=name, family="any", depth=1, instruction="?", tools=(), goal=Goal(), gold_answer="", max_calls=9
    )  # fmt: skip


def argument(schema: Mapping[str, Any], definitions: Mapping[str, Any], words: list[str], rng: random.Random) -> Any:
    """A value that mostly fits a JSON schema."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        schema = rng.choice(schema["anyOf"])
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return [argument(schema.get("items", {}), definitions, words, rng) for _ in range(rng.randint(0, 2))]
    if kind in ("integer", "number"):
        return rng.choice((0, 1, 2, 5, 12, 45)) if kind == "integer" else rng.choice((1.0, 45.5, 200.0, -3.0))
    if kind == "object":
        return {}
    return rng.random() < 0.5 if kind == "boolean" else rng.choice(words)


def strings(shown: Any) -> Iterator[str]:
    """The short texts in what a tool returned."""
    if isinstance(shown, dict):
        for value in shown.values():
            yield from strings(value)
    elif isinstance(shown, list):
        for value in shown:
            yield from strings(value)
    elif isinstance(shown, str) and len(shown) < 60:
        yield shown


def walk(world: World, seed: int, steps: int = 10) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Calls and what came back; what was shown goes into later arguments."""
    rng, words = random.Random(seed), [*KNOWN.get(world.name, ()), "", "no such thing"]
    schemas = {n: t.schema()["function"]["parameters"] for n, t in world.tools().items()}
    for _ in range(steps):
        name = rng.choice(list(schemas))
        parts, definitions = schemas[name].get("properties", {}), schemas[name].get("$defs", {})
        given = {n: p for n, p in parts.items() if n in schemas[name].get("required", ()) or rng.random() < 0.3}
        arguments = {n: argument(p, definitions, words, rng) for n, p in given.items()}
        shown = world.call(name, arguments)
        words += list(strings(shown))[:12]
        yield name, arguments, shown


@WORLDS
def test_two_sessions_of_a_world_are_alike(name: str) -> None:
    one, other = maker(name)(), maker(name)()
    assert one.name == name
    assert (one.version, one.state_hash(), one.policy) == (other.version, other.state_hash(), other.policy)
    assert list(one.tools()) == list(other.tools())


@WORLDS
def test_a_world_says_what_day_it_is_and_how_it_refuses_also_through_faults_and_to_its_owner(name: str) -> None:
    world = session(name)
    described = description_of(world)
    assert world.today == ("2024-05-15" if name in ("airline", "retail") else "2026-06-10")
    assert {with_faults(world, ()).today, described["today"]} == {world.today}
    assert all(code in world.policy for code in world.refusal_codes)
    assert [*with_faults(world, ()).refusal_codes] == described["refusal_codes"] == [*world.refusal_codes]


@WORLDS
def test_every_tool_has_an_effect_a_description_and_a_schema(name: str) -> None:
    for tool in session(name).tools().values():
        schema = tool.schema()["function"]
        assert isinstance(tool.effect, Effect)
        assert len(schema["description"]) > 20
        assert schema["parameters"]["type"] == "object"
        assert json.loads(json.dumps(schema)) == schema


@WORLDS
@settings(max_examples=8)
@given(seed=SEEDS)
def test_a_reset_brings_the_state_back_bit_for_bit(name: str, seed: int) -> None:
    world = session(name)
    world.reset()
    start = world.state_hash()
    for _ in walk(world, seed):
        pass
    world.reset()
    assert world.state_hash() == start
    assert list(world.ledger()) == []


@WORLDS
@settings(max_examples=8)
@given(seed=SEEDS)
def test_reads_leave_the_state_and_the_ledger_and_every_change_is_in_the_ledger(name: str, seed: int) -> None:
    world = session(name)
    before, lines = world.state_hash(), len(world.ledger())
    for called, _, shown in walk(world, seed, 8):
        after, now = world.state_hash(), len(world.ledger())
        refused = isinstance(shown, dict) and "error" in shown
        if refused or world.tools()[called].effect is Effect.READ:
            assert (after, now) == (before, lines), f"{called} left a trace"
        elif after != before:
            assert now > lines, f"{called} wrote past the ledger"
        before, lines = after, now
    writes = {n for n, t in world.tools().items() if t.effect is Effect.WRITE}
    ledger = world.ledger()
    assert [line.position for line in ledger] == list(range(1, len(ledger) + 1))
    assert {line.tool for line in ledger} <= writes
    assert all(line.actor and line.key for line in ledger)
    assert not world.changes() or ledger


@WORLDS
@settings(max_examples=6)
@given(seeds=st.tuples(SEEDS, SEEDS))
def test_sessions_side_by_side_see_nothing_of_each_other(name: str, seeds: tuple[int, int]) -> None:
    alone = []
    for seed in seeds:
        world = session(name)
        alone.append((list(walk(world, seed, 6)), world.state_hash()))
    worlds = [pool(name).lend() for _ in seeds]
    for world in worlds:
        world.begin(task(name))
    walks = [walk(world, seed, 6) for world, seed in zip(worlds, seeds, strict=True)]
    pairs = list(zip(*walks, strict=True))
    for i, world in enumerate(worlds):
        assert ([pair[i] for pair in pairs], world.state_hash()) == alone[i]
        pool(name).give_back(world)


@WORLDS
@settings(max_examples=8)
@given(seed=SEEDS)
def test_what_tools_return_is_json_and_no_argument_makes_them_raise(name: str, seed: int) -> None:
    world = session(name)
    for _, arguments, shown in walk(world, seed):
        assert json.loads(json.dumps(shown, ensure_ascii=False)) == shown, arguments
    tool = next(iter(world.tools()))
    assert world.call("no_such_tool", {})["error"] == "unknown_tool"
    assert world.call(tool, {"no_such_argument": 1})["error"] == "bad_arguments"


@WORLDS
def test_nothing_has_changed_when_a_task_begins(name: str) -> None:
    world = session(name)
    assert list(world.changes()) == []
    assert list(world.ledger()) == []
