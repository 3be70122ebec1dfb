"""The lexical layer day by day equals the lexical layer over all days, row for row, whatever arrives when."""

import json
import random
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.pool import store
from assets.pool.audit import jaccard_of, similar_pairs_left
from assets.pool.increment import LexicalIndex
from assets.pool.layers import Policy, lexical_layer
from assets.pool.lexical import lexical_survivors
from assets.pool.survival import keep_order
from tests.pool.builders import EPOCH, queries

TEXTS = st.lists(st.text(alphabet="ab 北京1", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=40)


def seen_on(texts: list[str], days: list[int]) -> pl.DataFrame:
    """A table whose rows were first seen on these days; equal times, so that ids decide."""
    times = [EPOCH + timedelta(days=day) if day >= 0 else None for day in days]
    return queries(texts).with_columns(first_seen=pl.Series(times, dtype=pl.Datetime("us")))


def day_by_day(
    rows: pl.DataFrame, arrival: list[int], threshold: float, facts: list[str] | None = None
) -> LexicalIndex:
    """An index that took in the rows of each arrival in turn."""
    index, at = LexicalIndex(threshold), np.array(arrival)
    for day in sorted(set(arrival)):
        mine = rows.filter(pl.Series(at == day))
        chosen = [facts[i] for i in np.flatnonzero(at == day)] if facts is not None else None
        index.add(mine["query_id"].to_list(), mine["first_seen"], mine["normal"], chosen)
    return index


def decided(index: LexicalIndex) -> dict[str, tuple[str, float]]:
    names = [name for segment in index.segments for name in segment.ids.to_list()]
    return {
        name: (names[survivor], round(float(similarity), 6))
        for name, survivor, similarity in zip(names, index.survivor_S, index.similarity_S, strict=True)
    }


def at_once(rows: pl.DataFrame, threshold: float, facts: list[str] | None = None) -> dict[str, tuple[str, float]]:
    by_id = dict(zip(rows["query_id"], facts, strict=True)) if facts is not None else None
    ordered = keep_order(rows)
    names = ordered["query_id"].to_list()
    found = lexical_survivors(ordered["normal"], [by_id[n] for n in names] if by_id else None, threshold)
    return {
        name: (names[survivor], round(float(similarity), 6))
        for name, survivor, similarity in zip(names, found.survivor_N, found.similarity_N, strict=True)
    }


@settings(deadline=None, max_examples=150)
@given(TEXTS, st.data())
def test_any_split_into_days_gives_what_all_days_at_once_give(texts: list[str], data: st.DataObject) -> None:
    days = data.draw(st.lists(st.integers(-1, 4), min_size=len(texts), max_size=len(texts)))
    arrival = data.draw(st.lists(st.integers(0, 4), min_size=len(texts), max_size=len(texts)))  # late ones among them
    rows = seen_on(texts, days)
    index = day_by_day(rows, arrival, 0.7)
    assert decided(index) == at_once(rows, 0.7)
    order = index.in_keep_order()
    survival = index.survival(order)
    expected = keep_order(rows)
    found = lexical_survivors(expected["normal"], None, 0.7)
    np.testing.assert_array_equal(survival.survivor_N, found.survivor_N)


@settings(deadline=None, max_examples=40)
@given(TEXTS, st.data())
def test_facts_that_differ_keep_rows_of_different_days_apart_too(texts: list[str], data: st.DataObject) -> None:
    arrival = data.draw(st.lists(st.integers(0, 2), min_size=len(texts), max_size=len(texts)))
    facts = data.draw(st.lists(st.sampled_from(["rome", "oslo"]), min_size=len(texts), max_size=len(texts)))
    rows = seen_on(texts, arrival)
    assert decided(day_by_day(rows, arrival, 0.6, facts)) == at_once(rows, 0.6, facts)


def test_a_late_row_takes_the_place_of_later_ones_and_that_is_carried_on() -> None:
    chain = ["abcdefghijklmnop", "bcdefghijklmnopq", "cdefghijklmnopqr", "defghijklmnopqrs"]
    rows = seen_on(chain, [0, 1, 2, 3])
    index = day_by_day(rows, [1, 0, 0, 0], 0.8)
    assert decided(index) == at_once(rows, 0.8)
    assert decided(index)["q00001"][0] == "q00000", "the late first row takes the second"
    assert decided(index)["q00003"][0] == "q00002", "and so frees the third"


def test_what_changed_among_older_rows_is_told() -> None:
    rows = seen_on(["weather in rome", "weather in rome!"], [1, 0])
    index = LexicalIndex(0.8)
    assert index.add(["q00000"], rows["first_seen"][:1], rows["normal"][:1], None) == []
    assert index.add(["q00001"], rows["first_seen"][1:], rows["normal"][1:], None) == [0]
    assert index.add([], rows["first_seen"][:0], rows["normal"][:0], None) == []
    with pytest.raises(ValueError, match="got 1, 2, 2"):
        index.add(["x"], rows["first_seen"], rows["normal"], None)


def test_two_thousand_rows_over_twenty_days() -> None:
    rng = random.Random(0)
    words = ["weather", "forecast", "please", "tell", "umbrella", "holiday", "mountain", "evening", "concert", "garden"]
    texts = [" ".join(rng.choices(words, k=8)) for _ in range(1200)]
    texts += [
        t[:k] + rng.choice("xyz") + t[k + 1 :] for t in rng.choices(texts, k=800) for k in [rng.randrange(len(t))]
    ]
    texts = list(dict.fromkeys(texts))
    rows = seen_on(texts, [rng.randrange(20) for _ in texts])
    index = day_by_day(rows, [rng.randrange(20) for _ in texts], 0.85)
    expected = at_once(rows, 0.85)
    assert sum(kept[0] != name for name, kept in expected.items()) > 200
    assert decided(index) == expected


def rows_of(texts: list[str], days: list[int]) -> pl.DataFrame:
    return seen_on(texts, days).with_columns(context=pl.lit(None, dtype=pl.String))


DAY_ONE = ["weather in rome tomorrow", "best museum in oslo", "weather in rome tomorrow!", "flight 12 to lyon"]
DAY_TWO = [*DAY_ONE, "weather in rome tomorrow?", "the best museum in oslo", "flight 13 to lyon"]


def test_the_layer_remembers_what_it_decided_and_decides_only_what_is_new(tmp_path: Path) -> None:
    first, both = rows_of(DAY_ONE, [0] * 4), rows_of(DAY_TWO, [0] * 4 + [1] * 3)
    layer = lexical_layer(first, tmp_path, threshold=0.7, policy=Policy())
    assert layer.numbers["decided_now"] == 4
    again = lexical_layer(first, tmp_path, threshold=0.7, policy=Policy())
    assert (again.numbers["decided_before"], again.numbers["decided_now"]) == (4, 0)
    assert again.kept.equals(layer.kept)
    more = lexical_layer(both[:5], tmp_path, threshold=0.7, policy=Policy())
    assert (more.numbers["decided_before"], more.numbers["decided_now"]) == (4, 1)
    grown = lexical_layer(both[:6], tmp_path, threshold=0.7, policy=Policy())
    whole = lexical_layer(both[:6], threshold=0.7, policy=Policy())
    assert grown.numbers["decided_now"] == 1
    assert grown.kept.equals(whole.kept)
    assert grown.dropped.equals(whole.dropped)


@pytest.mark.parametrize("policy", [Policy(), Policy(names=False), Policy(numbers=False, names=False)])
def test_another_setting_another_log_or_another_time_starts_anew(tmp_path: Path, policy: Policy) -> None:
    first = rows_of(DAY_ONE, [0] * 4)
    lexical_layer(first, tmp_path, threshold=0.8, policy=Policy(numbers=False))
    for rows in (first, first[:3], rows_of(DAY_ONE, [1, 0, 0, 0])):
        found = lexical_layer(rows, tmp_path, threshold=0.7, policy=policy)
        assert found.numbers["decided_now"] == len(rows)
        expected = lexical_layer(rows, threshold=0.7, policy=policy)
        assert found.kept.equals(expected.kept)
        assert found.dropped.equals(expected.dropped)


def test_killed_before_the_manifest_the_index_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, both = rows_of(DAY_ONE, [0] * 4), rows_of(DAY_TWO, [0] * 4 + [1] * 3)
    lexical_layer(first, tmp_path, threshold=0.7, policy=Policy())
    before = (tmp_path / "manifest.json").read_text()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "replace_durably", killed)
        with pytest.raises(KeyboardInterrupt):
            lexical_layer(both[:5], tmp_path, threshold=0.7, policy=Policy())
    assert (tmp_path / "manifest.json").read_text() == before
    found = lexical_layer(both[:5], tmp_path, threshold=0.7, policy=Policy())
    assert found.numbers["decided_now"] == 1
    assert found.kept.equals(lexical_layer(both[:5], threshold=0.7, policy=Policy()).kept)
    listed = json.loads((tmp_path / "manifest.json").read_text())
    assert {p.name for p in tmp_path.iterdir()} == {"manifest.json", listed["state"], *listed["segments"]}


@pytest.mark.parametrize("damage", ["gone", "torn"])
@pytest.mark.parametrize("file", ["rows.arrow", "packed_BN.npy", "survivor_S.npy"])
def test_a_damaged_index_is_made_anew(tmp_path: Path, file: str, damage: str) -> None:
    rows = rows_of(DAY_ONE, [0] * 4)
    expected = lexical_layer(rows, tmp_path, threshold=0.7, policy=Policy())
    [found] = tmp_path.rglob(file)
    found.unlink() if damage == "gone" else found.write_bytes(found.read_bytes()[:40])
    again = lexical_layer(rows, tmp_path, threshold=0.7, policy=Policy())
    assert again.numbers["decided_now"] == 4
    assert again.kept.equals(expected.kept)


def test_the_turn_before_counts_folded_so_that_another_spelling_of_it_changes_nothing() -> None:
    rows = queries(["and in rome", "and in rome please", "weather in oslo"]).with_columns(
        context=pl.Series(["Weather in Paris?", "weather in paris", None], dtype=pl.String)
    )
    kept = lexical_layer(rows, threshold=0.6, policy=Policy(names=False)).kept["query_id"].to_list()
    assert kept == ["q00000", "q00002"]
    shouted = rows.with_columns(context=pl.col("context").str.to_uppercase())
    again = lexical_layer(shouted, threshold=0.6, policy=Policy(names=False))
    assert again.kept["query_id"].to_list() == kept


def test_a_crowd_of_one_opening_is_decided_day_by_day_as_at_once() -> None:
    rng, opening = random.Random(3), "could you please tell me the way to the "
    places = ["museum", "station", "harbour", "market", "castle", "library", "bridge", "garden", "theatre", "zoo"]
    places += ["palace", "tower", "temple", "cafe", "bakery", "school", "hotel", "square", "river", "beach"]
    texts = [
        opening + " ".join(rng.choices(places, k=rng.choice((1, 2, 3)))) + rng.choice(("", "s", " x", " ok"))
        for _ in range(1500)
    ]
    rows = queries(list(dict.fromkeys(texts)))
    index = LexicalIndex(0.85)
    for part in (rows[:800], rows[800:830], rows[830:]):
        index.add(part["query_id"], part["first_seen"], part["normal"], None)
    order = index.in_keep_order()
    at_once = lexical_survivors(rows["normal"], None, 0.85)
    np.testing.assert_array_equal(index.survival(order).survivor_N, at_once.survivor_N)
    assert 0 < at_once.kept_N.sum() < len(rows)
    left = rows["normal"].filter(pl.Series(at_once.kept_N)).to_list()
    assert similar_pairs_left(left, [""] * len(left), jaccard_of, 0.85) == []
