"""Bounds along a few directions: no pair that reaches a similarity is missed, and few others are proposed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assets.pool.projections import Projections
from tests.pool.builders import unit_vectors


def along_few(count: int, dimensions: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors that vary most along some directions, as embeddings do."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(count, dimensions)) / np.arange(1, dimensions + 1) ** 0.7
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def pairs(found: tuple[NDArray[np.int64], NDArray[np.int64]]) -> set[tuple[int, int]]:
    return set(zip(found[0].tolist(), found[1].tolist(), strict=True))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 70), st.integers(1, 80), st.sampled_from([1, 2, 8, 40, 100]), st.integers(0, 30), st.floats(-0.5, 1)
)
def test_every_pair_that_reaches_the_similarity_is_proposed(
    asked: int, stored: int, dimensions: int, seed: int, least: float
) -> None:
    asked_QD, stored_ND = along_few(asked, dimensions, seed), along_few(stored, dimensions, seed + 100)
    stored_ND[: min(asked, stored) // 2] = asked_QD[: min(asked, stored) // 2]
    search = Projections(unit_vectors(30, dimensions=dimensions, seed=seed), least)
    search.add(stored_ND[:20])
    search.add(stored_ND[20:])
    assert len(search) == stored
    close_QN = asked_QD.astype(np.float64) @ stored_ND.T.astype(np.float64) >= least
    assert set(zip(*(part.tolist() for part in np.nonzero(close_QN)), strict=True)) <= pairs(
        search.reaching(asked_QD, least)
    )
    close_QQ = np.tril(asked_QD.astype(np.float64) @ asked_QD.T.astype(np.float64) >= least, -1)
    within = pairs(search.within(asked_QD, least))
    assert set(zip(*(part.tolist() for part in np.nonzero(close_QQ)), strict=True)) <= within
    assert all(later > earlier for later, earlier in within)


def test_vectors_that_vary_along_few_directions_are_told_apart_by_these() -> None:
    vectors = along_few(6000, 256, seed=3)
    search = Projections(vectors, 0.93)
    search.add(vectors)
    proposed = len(search.reaching(vectors[:1000], 0.93)[0])
    true = int((vectors[:1000] @ vectors.T >= 0.93).sum())
    assert search._near < 64
    assert true <= proposed < 3 * true + 1000


@pytest.mark.parametrize("least", [0.2, 0.93])
def test_vectors_that_vary_in_all_directions_are_found_too(least: float) -> None:
    vectors = unit_vectors(2000, dimensions=64)
    search = Projections(vectors, least)
    search.add(vectors)
    expected = np.nonzero(vectors[:50] @ vectors.T >= least + 1e-4)
    assert set(zip(*(part.tolist() for part in expected), strict=True)) <= pairs(search.reaching(vectors[:50], least))
