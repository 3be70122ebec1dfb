"""Figures of likeness against values worked out by hand."""

import pytest

from assets.taxonomy.comparison import likeness


def test_the_same_groups_under_other_names_are_the_same() -> None:
    assert likeness([1, 1, 2, 2], ["b", "b", "a", "a"])[2:] == (1.0, 1.0, 1.0)


def test_the_textbook_example() -> None:
    found = likeness([0, 0, 1, 1], [0, 0, 1, 2])
    assert found.ari == pytest.approx(4 / 7)
    assert found.nmi == pytest.approx(0.8)
    assert found.purity == 0.75


def test_one_group_tells_nothing() -> None:
    assert likeness([0] * 4, [0, 0, 1, 1])[2:] == (0.0, 0.0, 0.5)


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="got 0 and 1"):
        likeness([], [1])
