"""Searches agree with brute force, and bad vectors are named."""

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from resources.neighbours import Index


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


@pytest.mark.parametrize("least", [-0.2, 0.3, 0.6, 0.99])
def test_all_that_reach_a_similarity_are_named_however_many(least: float) -> None:
    stored_ND, asked_QD, index = unit_vectors(300), unit_vectors(40, seed=1), Index(16)
    index.add(stored_ND)
    asked_P, stored_P = index.reaching(asked_QD, least)
    similar_QN = asked_QD.astype(np.float64) @ stored_ND.T.astype(np.float64)
    found_QN = np.zeros(similar_QN.shape, dtype=np.bool_)
    found_QN[asked_P, stored_P] = True
    assert len(asked_P) == found_QN.sum(), "no pair twice"
    assert found_QN[similar_QN >= least].all()
    assert (similar_QN[found_QN] > least - 2e-4).all()
    later_P, earlier_P = index.within(asked_QD, least)
    similar_QQ = np.tril(asked_QD.astype(np.float64) @ asked_QD.T.astype(np.float64) + 2, -1) - 2
    within = set(zip(later_P.tolist(), earlier_P.tolist(), strict=True))
    assert set(zip(*(part.tolist() for part in np.nonzero(similar_QQ >= least)), strict=True)) <= within
    assert all(similar_QQ[pair] > least - 2e-4 for pair in within)


def test_an_empty_index_answers_row_minus_one() -> None:
    found = Index(16).nearest(unit_vectors(2), k=3)
    assert (found.row_QK == -1).all()
    assert found.row_QK.shape == (2, 3)


def test_nan_is_an_error_that_names_the_row() -> None:
    vectors_ND = unit_vectors(5)
    vectors_ND[3, 2] = np.nan
    with pytest.raises(ValueError, match="vector 3 of 5 holds NaN"):
        Index(16).add(vectors_ND)


def test_without_faiss_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "loopwright\[cpu\]"'):
        Index(16)
