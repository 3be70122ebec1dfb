"""Half precision in, similarity without rounding out: the same for a pair whatever stands beside it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.pool.vectors import Vectors, cosines, cosines_of_pairs, directions, nearest_cells, rounded
from tests.pool.builders import unit_vectors


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 40), st.sampled_from([2, 17, 256]), st.integers(0, 1000))
def test_the_similarity_of_a_pair_does_not_depend_on_what_else_is_compared(
    count: int, dimensions: int, seed: int
) -> None:
    half = rounded(unit_vectors(count, dimensions=dimensions, seed=seed))
    together = cosines(half, half)
    left, right = np.divmod(np.arange(count * count), count)
    np.testing.assert_array_equal(cosines_of_pairs(half[left], half[right]), together.ravel())
    np.testing.assert_array_equal(cosines(half[:1], half[1:]), together[:1, 1:])
    assert (together.diagonal() == 1).all()


def test_the_sum_behind_it_is_exact() -> None:
    half = rounded(unit_vectors(20, dimensions=256))
    wide = half.astype(np.float64)
    for row in range(1, 20):
        exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(half[0], half[row], strict=True))
        assert Fraction(float(wide[0] @ wide[row])) == exact


def test_rows_come_from_whichever_part_they_lie_in() -> None:
    half = rounded(unit_vectors(50))
    slots = np.array([40, 3, 3, 19, 20, 49])
    vectors = Vectors([half[:20], half[20:20], half[20:]], slots)
    np.testing.assert_array_equal(vectors.half(np.array([5, 0, 1])), half[[49, 40, 3]])
    np.testing.assert_array_equal(vectors.directions(), directions(half)[slots])
    assert vectors.directions().dtype == np.float32
    assert len(vectors) == 6
    assert Vectors([]).directions().shape == (0, 0)


def test_the_nearest_cells_are_those_of_brute_force_and_the_own_one_comes_first() -> None:
    half, cells = rounded(unit_vectors(100)), rounded(unit_vectors(12, seed=1))
    product = half.astype(np.float64) @ cells.astype(np.float64).T
    found = nearest_cells(half, cells, 4)
    np.testing.assert_array_equal(found[:, 0], product.argmax(axis=1))
    np.testing.assert_array_equal(np.sort(found), np.sort(np.argsort(-product, axis=1)[:, :4]))
    np.testing.assert_array_equal(nearest_cells(half, cells, 1)[:, 0], found[:, 0])
    assert nearest_cells(half, cells, 99).shape == (100, 12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3.0])
def test_what_is_no_unit_vector_is_an_error_that_names_it(bad: float) -> None:
    vectors = unit_vectors(3)
    vectors[1, 0] = bad
    with pytest.raises(ValueError, match="vector 1 of 3 holds NaN or is no unit vector"):
        rounded(vectors)
    with pytest.raises(ValueError, match="vector b of 3"):
        rounded(vectors, ["a", "b", "c"])
