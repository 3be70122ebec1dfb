"""Vectors are unit length, the model's own, and depend on nothing but the text."""

import os

import numpy as np
import pytest
import wordllama
from hypothesis import given, settings
from hypothesis import strategies as st

from resources.embedder import DIMENSIONS, Embedder, _wordllama, tokens_of
from resources.pooling import sums_of

TEXTS = ["weather in London tomorrow", "明天北京天气怎么样", "a", "cheapest flight from Paris to Rome on June 12", "🙂"]


def test_vectors_are_unit_float32_of_the_stated_width() -> None:
    vectors_ND = Embedder().embed(TEXTS)
    assert vectors_ND.shape == (len(TEXTS), DIMENSIONS)
    assert vectors_ND.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors_ND, axis=1), 1.0, atol=1e-6)


def test_they_are_the_vectors_of_wordllama_itself() -> None:
    home = os.path.dirname(wordllama.__file__)  # noqa: PTH120
    model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)
    pooled = np.stack([model.embed(text.strip(), norm=True)[0] for text in TEXTS])
    ours = Embedder().embed(TEXTS)
    np.testing.assert_allclose(pooled, ours, atol=1e-5)


@settings(deadline=None, max_examples=60)  # the first call loads the model
@given(st.permutations(range(len(TEXTS))), st.integers(1, 6))
def test_order_and_chunking_change_no_bit(order: list[int], chunk: int) -> None:
    reference_ND = Embedder().embed(TEXTS)
    shuffled_ND = Embedder(chunk=chunk).embed([TEXTS[i] for i in order])
    np.testing.assert_array_equal(shuffled_ND, reference_ND[order])


@settings(deadline=None, max_examples=200)  # the first call loads the model
@given(st.text(st.one_of(st.sampled_from(" ▁<s>/北京ab1é🙂"), st.characters(exclude_categories=["Cs"])), min_size=1))
def test_looked_up_tokens_are_those_of_the_tokenizer(text: str) -> None:
    assert tokens_of(text) == _wordllama().tokenizer.encode(text, add_special_tokens=False).ids


def test_no_token_reaches_over_the_edge_of_a_piece() -> None:
    for token in _wordllama().tokenizer.get_vocab():
        assert "▁" not in token.lstrip("▁")
        assert len(token) == 1 or not any("㐀" <= sign <= "鿿" for sign in token)


def test_sums_are_added_in_the_order_of_numpy() -> None:
    rng = np.random.default_rng(1)
    table_VD = rng.normal(size=(500, 24)).astype(np.float32)
    lengths = [1, 2, 7, 8, 9, 10, 17, 128, 129, 130, 137, 257, 258, 300, 1000]
    tokens_T, stops_N = rng.integers(0, 500, sum(lengths)), np.cumsum(lengths)
    expected_ND = np.add.reduceat(table_VD[tokens_T], stops_N - lengths, axis=0)
    np.testing.assert_array_equal(sums_of(tokens_T, stops_N, table_VD), expected_ND)


def test_like_meanings_lie_closer_than_unlike_ones() -> None:
    rain, weather, bank = Embedder().embed(["will it rain tomorrow", "weather forecast tomorrow", "my bank balance"])
    assert rain @ weather > rain @ bank


def test_no_texts_make_an_empty_matrix() -> None:
    assert Embedder().embed([]).shape == (0, DIMENSIONS)


def test_an_empty_text_is_named_by_its_position() -> None:
    with pytest.raises(ValueError, match="text 2 is empty"):
        Embedder(chunk=2).embed(["a", "b", " "])


def test_the_version_names_model_release_and_width() -> None:
    assert Embedder().version == "wordllama-0.4.0.post1-256d"
