"""Searches agree with brute force, and bad vectors are named."""

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from resources.neighbours import Index, within


def unit_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    points = np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_the_nearest_are_those_of_brute_force() -> None:
    stored_ND, queries_QD = unit_vectors(300), unit_vectors(40, seed=1)
    index = Index(16)
    index.add(stored_ND[:100])
    index.add(stored_ND[100:])
    found = index.nearest(queries_QD, k=5)
    np.testing.assert_array_equal(found.row_QK, np.argsort(-(queries_QD @ stored_ND.T), axis=1)[:, :5])
    assert len(index) == 300


def test_only_the_cells_that_are_named_are_searched() -> None:
    stored_ND, index = unit_vectors(300), Index(16, cells=3)
    cell_N = np.arange(300) % 3
    index.add(stored_ND[:100], cell_N[:100])
    index.add(stored_ND[100:], cell_N[100:])
    asked_QC = np.tile([2, 0], (40, 1))
    found = index.nearest(unit_vectors(40, seed=1), k=5, cell_QC=asked_QC)
    there = np.flatnonzero(cell_N != 1)
    expected = there[np.argsort(-(unit_vectors(40, seed=1) @ stored_ND[there].T), axis=1)[:, :5]]
    np.testing.assert_array_equal(found.row_QK, expected)
    assert len(index) == 300


def test_an_empty_index_answers_row_minus_one() -> None:
    found = Index(16).nearest(unit_vectors(2), k=3)
    assert (found.row_QK == -1).all()
    assert found.row_QK.shape == (2, 3)


def test_the_range_search_finds_every_pair_at_or_above_the_bound_and_no_other() -> None:
    stored_ND, queries_QD = unit_vectors(500), unit_vectors(5000, seed=1)
    found = within(stored_ND, queries_QD, 0.6)
    expected = np.argwhere(queries_QD @ stored_ND.T >= 0.6)
    np.testing.assert_array_equal(np.stack([found.query_P, found.row_P], axis=1), expected)
    assert (found.similarity_P >= 0.6).all()


def test_a_pair_exactly_at_the_bound_is_within_it() -> None:
    one = np.eye(16, dtype=np.float32)[:1]
    assert within(one, one, 1.0).row_P.tolist() == [0]


def test_no_queries_find_nothing() -> None:
    assert within(unit_vectors(3), unit_vectors(0), 0.5).row_P.tolist() == []


def test_nan_is_an_error_that_names_the_row() -> None:
    vectors_ND = unit_vectors(5)
    vectors_ND[3, 2] = np.nan
    with pytest.raises(ValueError, match="vector 3 of 5 holds NaN"):
        Index(16).add(vectors_ND)


def test_without_faiss_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "loopwright\[cpu\]"'):
        Index(16)
