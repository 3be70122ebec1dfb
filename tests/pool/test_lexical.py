"""Near copies in letters: what counts as one, which of them stays, and that the order of rows changes nothing."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from datasketch import MinHash, MinHashLSH
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.pool.facts import facts_of
from assets.pool.kernels import cut_set
from assets.pool.lexical import groups_of, in_order, lexical_survivors, row_bits, shared_buckets, silent
from assets.pool.minhash import bands_for, gram_hash, signatures, utf8_of
from assets.pool.shingles import shingles_of, spelled
from assets.pool.survival import dropped_rows, kept_rows
from tests.pool.builders import by_the_rule, queries, shuffled

TEXTS = ["weather in london tomorrow", "明天北京天气怎么样", "ab", "a", "🙂", "مرحبا بالعالم", "x" * 5000]


def jaccard(left: str, right: str) -> float:
    a, b = (set(shingles_of([text]).grams_G.tolist()) for text in (left, right))
    return len(a & b) / len(a | b)


def encodable(text: str) -> bool:
    return text.isprintable() or ("\x00" not in text and not any("\ud800" <= c <= "\udfff" for c in text))


def survivors(texts: list[str], threshold: float = 0.85) -> list[int]:
    return lexical_survivors(texts, facts_of(texts), threshold).survivor_N.tolist()


def test_latin_is_cut_into_three_and_chinese_into_two_characters() -> None:
    shingles = shingles_of(["rome", "北京天气"])
    cut = [spelled(int(gram)) for gram in shingles.grams_G]
    assert cut == ["ome", "rom", "京天", "北京", "天气"]
    assert shingles.starts_N.tolist() == [0, 2, 5]


@pytest.mark.parametrize("text", TEXTS)
def test_signatures_are_those_of_datasketch(text: str) -> None:
    reference = MinHash(num_perm=80, hashfunc=gram_hash)
    reference.update_batch([spelled(int(gram)).encode() for gram in shingles_of([text]).grams_G])
    np.testing.assert_array_equal(signatures(pl.Series([text]), 80)[0], reference.hashvalues)


def test_a_signature_loads_into_datasketchs_index() -> None:
    index = MinHashLSH(num_perm=80, params=bands_for(0.85))
    for name, row in zip("ab", signatures(pl.Series(["weather in rome", "hotels in oslo"]), 80), strict=True):
        index.insert(name, MinHash(num_perm=80, hashvalues=row, scheme="affine32"))
    [row] = signatures(pl.Series(["weather in rome"]), 80)
    assert index.query(MinHash(num_perm=80, hashvalues=row, scheme="affine32")) == ["a"]


def test_bands_find_almost_every_pair_at_the_threshold() -> None:
    assert bands_for(0.85) == (16, 5)
    assert bands_for(0.85).recall(0.85) > 0.999
    assert all(bands_for(t).recall(t) >= 0.999 for t in (0.6, 0.7, 0.8, 0.9, 0.95, 1.0))


def test_a_recall_out_of_reach_is_an_error_that_says_how_far_one_gets() -> None:
    with pytest.raises(ValueError, match=r"80 permutations find at most 0\.9"):
        bands_for(0.05, recall=0.999)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(min_size=1, max_size=150).filter(encodable), min_size=1, max_size=4))
def test_the_kernel_cuts_every_script_as_the_plain_version_does(texts: list[str]) -> None:
    utf8, plain = utf8_of(pl.Series(texts)), shingles_of(texts)
    for row in range(len(texts)):
        grams_L = np.empty(utf8.longest + 1, dtype=np.uint64)
        count = cut_set(utf8.bytes_C, utf8.starts_N[row], utf8.starts_N[row + 1], grams_L)
        np.testing.assert_array_equal(grams_L[:count], plain.grams_G[plain.starts_N[row] : plain.starts_N[row + 1]])


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("FM 1506", "FM 1507", False), ("at 7 on 8", "at 78", False), ("a 7", "b 7", True), ("at 7", "at 77", False),
        ("7 then 8", "8 then 7", False), ("none", "nothing", True), ("7", "x7y", True), ("1 2", "12", False),
        ("١٥٠٦", "١٥٠٧", False), ("१५०६", "१५०७", False), ("۱۲", "۱۳", False), ("๑๒", "๑๓", False), ("৭", "৮", False),
        ("مرحبا", "سلام", True), ("१५०६", "१५०६", True),
    ],
)  # fmt: skip
def test_numbers_alone_keep_texts_apart_where_no_facts_are_given(one: str, other: str, equal: bool) -> None:
    texts = [
        f"the long way home to the old house by the mill {one}",
        f"the long way home to the old house by the mill {other}",
    ]
    assert (lexical_survivors(texts, None, 0.5).survivor_N.tolist() == [0, 0]) is equal
    assert lexical_survivors(texts, None, 0.5, numbers=False).survivor_N.tolist() == [0, 0]


def test_recall_and_precision_on_planted_pairs() -> None:
    rng = random.Random(0)
    words = ["weather", "forecast", "please", "tell", "umbrella", "holiday", "mountain", "evening", "concert", "garden"]
    originals = [" ".join(rng.choices(words, k=9)) + f" {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(400)]
    copies = [text[:k] + rng.choice("xyz") + text[k + 1 :] for text in originals for k in [rng.randrange(len(text))]]
    pairs = [(a, b) for a, b in zip(originals, copies, strict=True) if jaccard(a, b) >= 0.85]
    found = [survivors([a, b]) == [0, 0] for a, b in pairs]
    assert len(pairs) > 200
    assert np.mean(found) >= 0.99
    survival = lexical_survivors(originals + copies, [""] * 800, 0.85)
    gone = np.flatnonzero(~survival.kept_N)
    texts = originals + copies
    for row in gone:
        assert jaccard(texts[row], texts[survival.survivor_N[row]]) == pytest.approx(survival.similarity_N[row])
        assert survival.similarity_N[row] >= 0.85


def test_ten_rows_of_one_meaning_leave_one_and_nine_that_name_it() -> None:
    rows = queries([f"what is the weather going to be like in london tomorrow{'!' * i}" for i in range(10)])
    survival = lexical_survivors(rows["normal"].to_list(), facts_of(rows["normal"].to_list()), 0.7)
    kept = kept_rows(rows, survival)
    dropped = dropped_rows(rows["query_id"].to_list(), survival, layer="lexical", rule="near_copy")
    assert kept["query_id"].to_list() == ["q00000"]
    assert len(dropped) == 9
    assert set(dropped["survivor"]) == {"q00000"}
    assert kept["support"].sum() == rows["support"].sum()
    assert dropped["similarity"].is_between(0.7, 1.0).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "directions to the farm on road FM 1506 by the old mill",
            "directions to the farm on road FM 1507 by the old mill",
        ),
        ("what will the weather be in london on friday", "what will the weather be in london on sunday"),
        ("the cheapest flight from paris to rome on friday", "the cheapest flight from rome to paris on friday"),
        ("the weather forecast for the city of lyon", "the weather forecast for the city of luton"),
        ("帮我查一下从北京到上海最便宜的航班是哪一个", "帮我查一下从上海到北京最便宜的航班是哪一个"),
        ("请问6月12日北京的天气预报怎么样呢", "请问6月13日北京的天气预报怎么样呢"),
        ("我六月十二号从北京出发,六月十五号回来", "我六月十二号从北京出发,六月十六号回来"),
        ("请问中山路十二号附近有什么餐馆", "请问中山路十三号附近有什么餐馆"),
        ("帮我找明天早上八点的航班去上海", "帮我找明天早上九点的航班去上海"),
        ("帮我找明天早上八点的航班去上海", "帮我找明天晚上八点的航班去上海"),
        ("is it really going to be -5 degrees in oslo", "is it really going to be 5 degrees in oslo"),
        ("which of the cafes are open at 8 a.m.", "which of the cafes are open at 8 p.m."),
        ("how do i get to 12a baker street from here", "how do i get to 12b baker street from here"),
        ("who was the king louis xiv of france again", "who was the king louis xvi of france again"),
    ],
)
def test_what_is_near_in_letters_but_not_in_fact_stays(one: str, other: str) -> None:
    assert survivors([one, other], 0.6) == [0, 1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the museum opens at 8 am on friday i think", "the museum opens at 8am on friday i think"),
        ("请帮我找一家便宜一点的酒店在上海", "请帮我找一家便宜点的酒店在上海"),
        ("a walk of 10-15 minutes to the old mill", "a walk of 10-15 minutes to the old mil"),
        ("vivid colours of the hills in the fall", "vivid colors of the hills in the fall"),
    ],
)
def test_the_same_number_in_another_spelling_is_still_a_copy(one: str, other: str) -> None:
    assert survivors([one, other], 0.6) == [0, 0]


@pytest.mark.parametrize("sign", ["二", "一", "9", "-1", "9 ", "x"])
def test_long_numbers_of_no_unit_are_read_in_no_time(sign: str) -> None:
    assert facts_of([sign * 2000 + "号楼", sign * 2000]) != []
    assert len({*facts_of(["一点", "一晚", ""])}) == 1


def test_the_policy_of_facts_can_be_switched_off() -> None:
    texts = ["the house on farm road FM 1506 near the mill", "the house on farm road FM 1507 near the mill"]
    assert lexical_survivors(texts, facts_of(texts, numbers=False), 0.8).survivor_N.tolist() == [0, 0]
    assert facts_of(["weather in Rome", "weather in Oslo"], names=False) == ["#", "#"]
    assert facts_of(["anything at 5"], numbers=False, names=False) == [""]


def test_a_day_written_in_two_ways_is_one_fact() -> None:
    assert len(set(facts_of(["weather in Rome on June 12", "weather in Rome 12 June", "Rome weather 2026-06-12"]))) == 1


def test_no_chain_of_neighbours_pulls_unlike_texts_together() -> None:
    chain = ["abcdefghijklmnop", "bcdefghijklmnopq", "cdefghijklmnopqr", "defghijklmnopqrs"]
    result = lexical_survivors(chain, [""] * 4, 0.8)
    assert result.survivor_N.tolist() == [0, 0, 2, 2]
    assert jaccard(chain[0], chain[2]) < 0.8


def test_a_pair_exactly_at_a_threshold_that_no_float_holds_is_a_copy() -> None:
    long = "abcdefghijklmnopqrstuvwxyz0"
    short = long[:16]
    assert jaccard(long, short) == 14 / 25 == 0.56
    assert 0.56 * 25 > 14, "the product that a bound compares is larger than what it bounds"
    assert lexical_survivors([long, short], ["", ""], 0.56).survivor_N.tolist() == [0, 0]
    assert lexical_survivors([short, long], ["", ""], 0.56).survivor_N.tolist() == [0, 0]


def test_keys_in_order_name_their_rows_and_rows_of_equal_keys_stay_in_order() -> None:
    keys = np.array([7 << 40, 3 << 40, 7 << 40, (1 << 63) + 5, 3 << 40], dtype=np.uint64)
    packed = in_order(keys.copy())
    assert (packed & np.uint64((1 << row_bits(len(keys))) - 1)).tolist() == [1, 4, 0, 2, 3]
    assert row_bits(0) == row_bits(1 << 26) == 26
    assert row_bits((1 << 26) + 1) == 27


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=5), min_size=1, max_size=40))
def test_buckets_hold_the_rows_that_agree_in_a_band_and_components_the_rows_that_hang_together(
    texts: list[str],
) -> None:
    utf8, banding = utf8_of(pl.Series(texts)), bands_for(0.8)
    signature_NP = signatures(pl.Series(texts), banding.permutations)
    with ThreadPoolExecutor(2) as pool:
        found = shared_buckets(utf8, groups_of(utf8, [""] * len(texts), numbers=False), banding, pool, silent)
    near = np.zeros((len(texts), len(texts)), dtype=np.bool_)
    for band, bucket_N in enumerate(found.by_band()):
        cut = signature_NP[:, band * banding.rows : (band + 1) * banding.rows]
        agree = (cut[:, None] == cut[None]).all(axis=2)
        near |= agree
        np.testing.assert_array_equal(bucket_N >= 0, agree.sum(axis=1) > 1)
        together = (bucket_N[:, None] == bucket_N[None]) & (bucket_N[:, None] >= 0)
        np.testing.assert_array_equal(together | np.eye(len(texts), dtype=np.bool_), agree)
    for _ in texts:
        near = near @ near
    np.testing.assert_array_equal(found.root_N, near.argmax(axis=1))


def test_no_rows_are_no_error_and_bad_input_is_one() -> None:
    assert lexical_survivors([], [], 0.85).survivor_N.tolist() == []
    with pytest.raises(ValueError, match="text 1 is empty"):
        lexical_survivors(["a", ""], ["", ""], 0.85)
    with pytest.raises(ValueError, match=r"threshold must be in \(0, 1\], got 0"):
        lexical_survivors(["a"], [""], 0)
    with pytest.raises(ValueError, match="2 texts and 1 keys"):
        lexical_survivors(["a", "b"], [""], 0.85)


NEAR_TEXTS = st.lists(st.text(alphabet="ab 北京1", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=30)


@settings(deadline=None, max_examples=40)
@given(NEAR_TEXTS)
def test_the_rule_holds_word_for_word_where_every_pair_is_compared(texts: list[str]) -> None:
    similarity = np.array([[jaccard(a, b) for b in texts] for a in texts])
    expected = by_the_rule(similarity, 0.9)
    found = lexical_survivors(texts, [""] * len(texts), 0.9)
    missed = (found.kept_N & ~expected.kept_N).sum()  # the bands find a pair above the threshold with 99.9%
    assert missed == 0
    np.testing.assert_array_equal(found.survivor_N, expected.survivor_N)


@settings(deadline=None, max_examples=40)
@given(NEAR_TEXTS, st.integers(0, 10))
def test_the_order_of_rows_changes_nothing_and_nothing_is_lost(texts: list[str], seed: int) -> None:
    rows = queries(texts)
    tables = []
    for frame in (rows, shuffled(rows, seed)):
        survival = lexical_survivors(frame["normal"].to_list(), facts_of(frame["normal"].to_list()), 0.8)
        dropped = dropped_rows(frame["query_id"].to_list(), survival, layer="lexical", rule="near_copy")
        tables.append((kept_rows(frame, survival), dropped))
    (kept, dropped), (kept_again, dropped_again) = tables
    assert kept.equals(kept_again)
    assert dropped.equals(dropped_again)
    assert len(kept) + len(dropped) == len(rows)
    assert kept["support"].sum() == rows["support"].sum()
    assert set(dropped["survivor"]) <= set(kept["query_id"])


def test_rows_without_a_time_come_last() -> None:
    rows = queries(["weather in rome", "weather in rome!"]).with_columns(
        first_seen=pl.Series([None, queries(["a"])["first_seen"][0]])
    )
    assert shuffled(rows, 3)["query_id"].to_list() == ["q00001", "q00000"]
