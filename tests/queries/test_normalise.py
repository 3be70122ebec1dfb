"""One form for one request: folding, ids, support, and independence from row order and process."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.queries.normalise import content_ids, distinct_queries, fold, language

START = datetime(2026, 6, 1, tzinfo=UTC).replace(tzinfo=None)


def raw(rows: list[tuple[str, str | None, int | None]]) -> pl.DataFrame:
    """Raw rows from (text, context, minute)."""
    times = [None if minute is None else START + timedelta(minutes=minute) for _, _, minute in rows]
    frame = pl.DataFrame(
        {"text": [r[0] for r in rows], "context": [r[1] for r in rows], "time": times},
        schema={"text": pl.String, "context": pl.String, "time": pl.Datetime("us")},
    )
    return frame.with_columns(pl.format("r{}", pl.int_range(pl.len())).alias("raw_id"))


def normal(text: str) -> str:
    return str(fold(pl.Series([text]))[0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("What is the weather in Paris?", "what is  the weather in PARIS"),
        ("ｗｅａｔｈｅｒ　ｉｎ　Ｐａｒｉｓ", "weather in paris"),
        ("“Paris”, tomorrow!!", "paris tomorrow"),
        ("北京 天气 怎么样？", "北京天气怎么样"),
        ("Paris,tomorrow", "paris tomorrow"),
        ("it’s cold", "it's cold"),
        ("Paris — tomorrow...", "paris tomorrow"),
        ("weather\u200b in\tParis", "weather in paris"),
    ],
)
def test_width_case_space_and_punctuation_do_not_count(first: str, second: str) -> None:
    assert normal(first) == normal(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("FM 1506", "FM 1507"),
        ("under 3.5 euros", "under 35 euros"),
        ("at 10:30", "at 1030"),
        ("-5 degrees", "5 degrees"),
        ("c# jobs", "c jobs"),
        ("50% off", "50 off"),
        ("call <phone>", "call phone"),
        ("2026-06-12", "20260612"),
    ],
)
def test_signs_that_carry_meaning_stay(first: str, second: str) -> None:
    assert normal(first) != normal(second)


def test_a_text_of_punctuation_only_keeps_it() -> None:
    assert [normal(t) for t in ("???", " ! ", "。。")] == ["???", "!", "。。"]


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_folding_twice_changes_nothing(text: str) -> None:
    once = normal(text)
    assert normal(once) == once


def test_ideographs_fold_as_they_do_in_a_text_that_has_to_be_worked_on() -> None:
    signs = [chr(point) for point in range(0x4E00, 0xA000)]
    texts = pl.Series([text for sign in signs for text in (sign, f"a {sign}b 1{sign}", f"{sign} {sign} {sign} a")])
    worked_on = fold(texts + "\u200b")  # an invisible sign, which goes
    assert (fold(texts) == worked_on).all()
    assert fold(texts)[0] == "一"
    assert fold(texts)[2] == "一一一 a"


@pytest.mark.parametrize("text", ["ABC", "北京 Hotel", "İstanbul", "Ｋ", "K", "ｋ 北京", "a\u3000b", "㐀 㐀"])
def test_what_only_looks_folded_is_worked_on(text: str) -> None:
    assert normal(text) == normal(text + "\u200b")


def test_folding_leaves_its_input_alone() -> None:
    texts = pl.Series(["Paris?", None, "北京 天气"])
    fold(texts)
    assert texts.to_list() == ["Paris?", None, "北京 天气"]


def test_language_is_told_by_script_and_function_words() -> None:
    texts = [
        "weather in Malmö",
        "明天 London 天气",
        "wie ist das wetter",
        "東京の天気",
        "best place in los angeles",
        "12",
    ]
    assert language(fold(pl.Series(texts))).to_list() == ["en", "zh", "other", "other", "en", "other"]


def test_ten_equal_rows_are_one_query_with_support_ten() -> None:
    found = distinct_queries(raw([("Weather in Paris?", None, m) for m in range(10)]))
    assert found.queries["support"].to_list() == [10]
    assert len(found.occurrences) == 10
    assert found.occurrences["query_id"].n_unique() == 1


def test_the_text_shown_is_the_one_seen_first() -> None:
    found = distinct_queries(raw([("paris", None, None), ("PARIS", None, 5), ("Paris!", None, 2)])).queries
    assert found["text"].to_list() == ["Paris!"]
    assert found["first_seen"].to_list() == [START + timedelta(minutes=2)]
    assert found["last_seen"].to_list() == [START + timedelta(minutes=5)]


def test_context_is_part_of_the_query() -> None:
    found = distinct_queries(
        raw([("and tomorrow?", c, 0) for c in ("weather in Beijing", "Weather in Paris", "weather in paris?", None)])
    )
    assert sorted(found.queries["support"].to_list()) == [1, 1, 2]


def test_an_empty_log_has_no_queries() -> None:
    assert distinct_queries(raw([])).queries.shape == (0, 8)


rows = st.lists(
    st.tuples(
        st.sampled_from(["Paris", "paris?", "北京 天气", "北京天气", "Rome", ""]),
        st.sampled_from([None, "a", "A!"]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=30,
)


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_row_order_changes_nothing(lines: list[tuple[str, str | None, int | None]], rng: object) -> None:
    frame = raw(lines)
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=rng.randrange(1000))  # type: ignore[attr-defined]
    before, after = distinct_queries(frame), distinct_queries(mixed)
    assert before.queries.equals(after.queries)
    assert before.occurrences.equals(after.occurrences)


@given(rows)
@settings(max_examples=60, deadline=None)
def test_nothing_is_lost(lines: list[tuple[str, str | None, int | None]]) -> None:
    found = distinct_queries(raw(lines))
    assert found.queries["support"].sum() == len(lines) == len(found.occurrences)
    assert found.queries["query_id"].is_unique().all()
    assert set(found.occurrences["query_id"]) == set(found.queries["query_id"])


def test_ids_are_the_same_in_every_process() -> None:
    script = (
        "import polars as pl; from assets.queries.normalise import content_ids;"
        "print(content_ids(pl.DataFrame({'a': ['x', None], 'b': [None, 'y']})).to_list())"
    )
    here = str(content_ids(pl.DataFrame({"a": ["x", None], "b": [None, "y"]})).to_list())
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert done.stdout.strip() == here


def test_null_and_empty_have_different_ids() -> None:
    ids = content_ids(pl.DataFrame({"a": ["", None, "-", "="]}))
    assert ids.n_unique() == 4
