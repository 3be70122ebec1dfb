"""The three layers and their audits on tables: conservation, context, and what is found when something is amiss."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assets.pool.audit import conservation, jaccard_of, similar_pairs_left
from assets.pool.epoch import Wanted
from assets.pool.layers import Policy, buckets_of, geometric_layer, lexical_layer, semantic_layer
from assets.pool.readings import Reader
from assets.pool.survival import set_aside
from resources.embedder import Embedder
from tests.pool.builders import queries


def labelled(texts: list[str], leaves: list[str], contexts: list[str | None] | None = None) -> pl.DataFrame:
    context = pl.Series("context", contexts or [None] * len(texts), dtype=pl.String)
    second = pl.Series("secondary", [None] * len(texts), dtype=pl.String)
    return queries(texts).with_columns(context, second, primary=pl.Series(leaves))


def by_letters(texts: list[str]) -> NDArray[np.float64]:
    return jaccard_of(texts)


TEXTS = ["what is the weather in rome", "what is the weather in rome please", "museum in rome", "a museum in rome"]


def test_a_follow_up_is_near_another_only_where_the_turn_before_is_too() -> None:
    contexts = ["weather in rome", "weather in rome!", "best museum in oslo"]
    layer = lexical_layer(labelled(["and tomorrow"] * 3, ["x"] * 3, contexts), threshold=0.7, policy=Policy())
    assert layer.dropped.select("query_id", "survivor").rows() == [("q00001", "q00000")]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12), st.integers(0, 5))
def test_every_layer_conserves_rows_and_support_whatever_the_order(texts: list[str], seed: int) -> None:
    rows = labelled(texts, ["a" if "weather" in text else "b" for text in texts])
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=seed)
    reader = Reader(Embedder().embed)
    for made, again in (
        (lexical_layer(rows, threshold=0.7, policy=Policy()), lexical_layer(shuffled, threshold=0.7, policy=Policy())),
        (
            semantic_layer(rows, reader, threshold=0.9, policy=Policy()),
            semantic_layer(shuffled, reader, threshold=0.9, policy=Policy()),
        ),
        (
            geometric_layer(rows, reader, wanted=Wanted(2, None)).layer,
            geometric_layer(shuffled, reader, wanted=Wanted(2, None)).layer,
        ),
    ):
        assert conservation(rows, made.kept, made.dropped).holds
        assert made.kept.equals(again.kept)
        assert made.dropped.equals(again.dropped)
        assert made.numbers["rows_in"] == len(rows)


def test_the_pick_of_the_geometric_layer_carries_its_distance_and_what_it_covers() -> None:
    rows = labelled(TEXTS, ["a", "a", "b", "b"])
    layer, certificate, *_ = geometric_layer(rows, Reader(Embedder().embed), wanted=Wanted(2, None))
    assert len(layer.kept) == 2
    assert np.isinf(layer.kept["distance"].to_numpy()).all()
    assert layer.dropped["rule"].to_list() == ["covered"] * 2
    assert layer.dropped["similarity"].is_between(0, 1).all()
    assert certificate.radius > 0


def test_queries_without_tools_leave_the_pool_without_a_survivor() -> None:
    labels = pl.DataFrame({"query_id": ["b", "a", "c"], "difficulty": [-1, 0, 3]})
    assert set_aside(labels).rows() == [
        ("a", "labels", "irrelevant", None, None),
        ("b", "labels", "irrelevant", None, None),
    ]


def test_a_bucket_is_the_pair_of_intents() -> None:
    rows = pl.DataFrame({"primary": ["a", "a"], "secondary": [None, "b"]})
    assert buckets_of(rows) == ["a + ", "a + b"]


@pytest.mark.parametrize(
    ("kept", "dropped", "amiss"),
    [
        ([("a", 3)], [("b", "a")], {}),
        ([("a", 1)], [("b", "a")], {"support_lost": 2}),
        ([("a", 3)], [], {"lost": 1}),
        ([("a", 3)], [("a", "a"), ("b", "a")], {"twice": 1}),
        ([("a", 3)], [("b", "z")], {"orphans": 1}),
        ([("a", 3)], [("b", "a"), ("c", "a")], {"strange": 1}),
    ],
)
def test_the_audit_says_what_is_amiss(
    kept: list[tuple[str, int]], dropped: list[tuple[str, str]], amiss: dict[str, int]
) -> None:
    found = conservation(
        pl.DataFrame({"query_id": ["a", "b"], "support": [1, 2]}),
        pl.DataFrame(kept, schema=["query_id", "support"], orient="row"),
        pl.DataFrame(dropped, schema={"query_id": pl.String, "survivor": pl.String}, orient="row"),
    )
    assert {name: value for name, value in found._asdict().items() if value} == amiss
    assert found.holds == (not amiss)


def test_the_audit_finds_similar_pairs_of_one_group_and_equal_facts_only() -> None:
    texts = ["weather in rome now", "weather in rome noq", "weather in oslo now"]
    assert similar_pairs_left(texts, ["x"] * 3, by_letters, 0.6) == [(0, 1)]
    assert similar_pairs_left(texts, ["x", "y", "x"], by_letters, 0.6) == []
    assert similar_pairs_left(texts, ["x"] * 3, by_letters, 0.99) == []
    written = ["a room on 2026-06-12 with a view", "a room on 2026-6-12 with a view"]
    assert similar_pairs_left(written, ["x"] * 2, by_letters, 0.6) == [], "kept where only digits are looked at"


def test_jaccard_of_all_pairs_is_exact() -> None:
    similarity = jaccard_of(["abcd", "abcd", "abce", "wxyz"])
    np.testing.assert_allclose(similarity[0], [1.0, 1.0, 1 / 3, 0.0])
