"""The semantic layer day by day equals the semantic layer over all days, row for row, whatever came when or moved."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assets.pool import readings, semantic
from assets.pool.decisions import Decisions, decide
from assets.pool.layers import Layer, Policy, semantic_layer
from assets.pool.readings import Reader
from assets.pool.vectors import Vectors, rounded
from resources.embedder import Embedder
from tests.pool.builders import queries, unit_vectors

ROOT = Path(__file__).parents[2]
LEAVES = ("weather", "hotels", "gone")
"""A query whose label is the last one is not there: irrelevant, or a near copy of another by now."""


@contextmanager
def blocks_of(rows: int) -> Iterator[None]:
    """Blocks as if a few dozen rows were many."""
    before, semantic._BLOCK = semantic._BLOCK, rows
    try:
        yield
    finally:
        semantic._BLOCK = before


def decided(order: NDArray[np.int64], leaves: Sequence[str], known: pl.DataFrame | None) -> Decisions:
    """What is decided about these rows of a world of vectors, in this order."""
    halves = rounded(unit_vectors(200, dimensions=4, seed=7))
    return decide(
        [f"q{i:05d}" for i in order],
        Vectors([halves], order),
        [leaves[i] for i in order],
        [""] * len(order),
        0.9,
        known,
    )


@st.composite
def histories(draw: st.DrawFn, most: int) -> list[tuple[NDArray[np.int64], list[str]]]:
    """Days, each with the rows that are there, in keep order, and the label of each.

    When a row was seen has nothing to do with when it arrives, and each day some rows get another label.
    """
    count = draw(st.integers(1, most))
    seen = draw(st.permutations(range(count)))
    arrival = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    leaves = draw(st.lists(st.sampled_from(LEAVES[:2]), min_size=count, max_size=count))
    days = []
    for day in range(4):
        for row, leaf in draw(st.dictionaries(st.integers(0, count - 1), st.sampled_from(LEAVES), max_size=3)).items():
            leaves[row] = leaf
        there = [row for row in seen if arrival[row] <= day and leaves[row] != "gone"]
        days.append((np.array(there, dtype=np.int64), list(leaves)))
    return days


@pytest.mark.parametrize("block", [1024, 8, 3])
@settings(deadline=None, max_examples=25)
@given(st.data())
def test_any_history_gives_what_a_run_from_scratch_gives(block: int, data: st.DataObject) -> None:
    known: pl.DataFrame | None = None
    with blocks_of(block):
        for order, leaves in data.draw(histories(most=100)):
            grown, scratch = decided(order, leaves, known), decided(order, leaves, None)
            np.testing.assert_array_equal(grown.survival.survivor_N, scratch.survival.survivor_N)
            np.testing.assert_array_equal(grown.survival.similarity_N, scratch.survival.similarity_N)
            assert grown.before + grown.now == len(order)
            known = grown.remembered
            assert decided(order, leaves, known).now == 0, "nothing changed, nothing is decided"


def test_only_the_rows_from_the_first_changed_place_of_a_group_are_decided() -> None:
    order, leaves = np.arange(100), ["weather"] * 60 + ["hotels"] * 40
    known = decided(order, leaves, None).remembered
    assert decided(np.arange(110), leaves + ["weather"] * 10, known).now == 10
    late = np.concatenate([order[:50], [150], order[50:]])
    assert decided(late, ["weather"] * 60 + ["hotels"] * 140, known).now == 1 + 40, "seen before all the hotels"
    assert decided(late, ["weather"] * 60 + ["hotels"] * 90 + ["weather"] * 50, known).now == 1 + 10
    moved = ["weather"] * 30 + ["hotels"] + ["weather"] * 29 + ["hotels"] * 40
    assert decided(order, moved, known).now == 29 + 41
    assert decided(order, ["sights"] * 60 + ["hotels"] * 40, known).now == 0, "a bucket with another name"
    assert decided(order, ["all"] * 100, known).now == 40, "those of the second bucket come after the first"


def test_rows_of_two_groups_that_change_places_are_decided_again() -> None:
    order = np.array([0, 2, 1, 3])
    known = decided(order, ["weather", "weather", "hotels", "hotels"], None).remembered
    assert decided(order, ["weather", "hotels", "hotels", "weather"], known).now == 2, "each second in the other group"


TEXTS = [
    f"what is the {word} in {city}" for word in ("weather", "forecast", "temperature") for city in ("rome", "oslo")
]
TEXTS += ["the weather in rome what is it", "cheap hotel in oslo", "a cheap hotel in oslo", "cheap hotels in oslo"]


def table(texts: Sequence[str] = TEXTS) -> pl.DataFrame:
    """Labelled rows, one second apart."""
    nothing = pl.lit(None, dtype=pl.String)
    leaf = pl.when(pl.col("normal").str.contains("hotel")).then(pl.lit("hotels")).otherwise(pl.lit("weather"))
    return queries(texts).with_columns(primary=leaf, secondary=nothing, context=nothing)


def layer_in(folder: Path, rows: pl.DataFrame, embedder: str = "one") -> Layer:
    reader = Reader(Embedder().embed, embedder, folder / "readings")
    return semantic_layer(rows, reader, folder / "decisions", threshold=0.9, policy=Policy())


def counts(layer: Layer) -> tuple[float, ...]:
    return tuple(layer.numbers[name] for name in ("read_before", "read_now", "decided_before", "decided_now"))


def equal(one: Layer, other: Layer) -> bool:
    return one.kept.equals(other.kept) and one.dropped.equals(other.dropped)


def test_a_day_reads_and_decides_its_own_rows(tmp_path: Path) -> None:
    rows, everything = table()[:8], table()
    assert counts(layer_in(tmp_path, rows)) == (0, 8, 0, 8)
    before = sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*"))
    assert counts(layer_in(tmp_path, rows)) == (8, 0, 8, 0)
    assert sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*")) == before, "nothing is written"
    grown = layer_in(tmp_path, everything)
    assert counts(grown) == (8, 2, 8, 2)
    assert equal(grown, layer_in(tmp_path / "scratch", everything))
    assert len(grown.dropped) == 2
    assert counts(layer_in(tmp_path, everything, embedder="another")) == (0, 10, 0, 10)


def test_a_hundredth_more_rows_are_read_and_embedded_alone(tmp_path: Path) -> None:
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        embedded.extend(texts)
        return Embedder().embed(texts)

    reader = Reader(embed, "one", tmp_path)
    rows = table(
        [f"room {i} of the hotel in {city}" for i in range(202) for city in ("rome", "oslo", "bergen", "lyon", "nice")]
    )
    semantic_layer(rows[:1000], reader, threshold=0.9, policy=Policy())
    embedded.clear()
    layer = semantic_layer(rows, reader, threshold=0.9, policy=Policy())
    assert layer.numbers["read_now"] == len(embedded) == 10


def test_a_large_log_is_read_a_segment_at_a_time_and_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "AT_ONCE", 4)
    monkeypatch.setattr(readings, "PART", 2)
    seen: list[int] = []

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        seen.append(len(texts))
        if len(seen) == 5:  # at the third segment
            raise KeyboardInterrupt
        return Embedder().embed(texts)

    rows = table()
    with pytest.raises(KeyboardInterrupt):
        Reader(embed, "one", tmp_path).read(rows["query_id"], rows["normal"])
    again = Reader(embed, "one", tmp_path).read(rows["query_id"], rows["normal"])
    assert (again.before, again.now) == (8, 2)
    backwards = rows.reverse()
    once_more = Reader(embed, "one", tmp_path).read(backwards["query_id"], backwards["normal"])
    assert (once_more.before, once_more.now) == (10, 0)
    fresh = Reader(Embedder().embed).read(backwards["query_id"], backwards["normal"])
    assert once_more.rows.equals(fresh.rows)
    every = np.arange(10)
    np.testing.assert_array_equal(once_more.vectors.half(every), fresh.vectors.half(every))


SEGMENT, STATE = "readings/*/vectors.npy", "decisions/*/rows.arrow"
"""Of a segment the size is looked at, of the state each byte."""
DAMAGE = [(file, damage) for damage in ("gone", "torn") for file in (SEGMENT, "readings/*/rows.arrow", STATE)]
DAMAGE += [
    (STATE, "changed"),
    (SEGMENT, "longer"),
    ("readings/manifest.json", "torn"),
    ("decisions/manifest.json", "torn"),
]


@pytest.mark.parametrize(("file", "damage"), DAMAGE)
def test_damage_is_made_anew_and_said(tmp_path: Path, file: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    expected = layer_in(tmp_path, table())
    [found] = tmp_path.glob(file)
    whole = found.read_bytes()
    middle = len(whole) // 2
    if damage == "gone":
        found.unlink()
    else:
        changed = whole[:middle] + b"\x00\x01" + whole[middle + 2 :]
        found.write_bytes({"torn": whole[:middle], "longer": whole + b"1", "changed": changed}[damage])
    again = layer_in(tmp_path, table())
    assert equal(again, expected)
    assert "made anew" in caplog.text
    assert counts(again)[1 if "readings" in file else 3] == 10
    assert counts(layer_in(tmp_path, table())) == (10, 0, 10, 0)


KILLED_AT = """
import os, signal, sys
from pathlib import Path
import wordllama
from assets.pool import kernels, pair_kernels, store
from resources import pooling
from tests.pool.test_days import layer_in, table

def dies_at(write):
    left = [write]
    def counted(real):
        def wrapped(*args, **kwargs):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*args, **kwargs)
        return wrapped
    store.sync_tree = counted(store.sync_tree)
    store.replace_durably = counted(store.replace_durably)

for write, home in enumerate(sys.argv[1:]):
    child = os.fork()
    if child == 0:
        dies_at(write)
        layer_in(Path(home), table())
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""In each folder the layer, killed at a later write than in the one before; says how each ended."""


@pytest.mark.slow
def test_killed_at_any_write_and_run_again_the_result_is_the_same(tmp_path: Path) -> None:
    expected = layer_in(tmp_path / "whole", table())
    homes = [tmp_path / str(writes) for writes in range(6)]
    for home in homes:
        layer_in(home, table()[3:7])
    command = [sys.executable, "-c", KILLED_AT, *map(str, homes)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ)
    ended = [int(code) for code in done.stdout.split()]
    writes = "segment, state and manifest of the readings, state and manifest of the decisions"
    assert ended == [-signal.SIGKILL] * 5 + [0], f"{writes}: {done.stderr}"
    for home in homes:
        assert equal(layer_in(home, table()), expected)


def test_a_vector_that_is_none_names_its_query(tmp_path: Path) -> None:
    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 4), np.nan, np.float32)

    rows = table()
    with pytest.raises(ValueError, match="vector q00000 of 10 holds NaN"):
        Reader(embed, "one", tmp_path).read(rows["query_id"], rows["normal"])


def test_no_rows_are_no_error(tmp_path: Path) -> None:
    assert len(layer_in(tmp_path, table()[:0]).kept) == 0
    assert counts(layer_in(tmp_path, table())) == (0, 10, 0, 10)
