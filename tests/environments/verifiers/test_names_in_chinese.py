"""Whether an answer states a name: whole words where words are written apart, anywhere in Chinese."""

import pytest

from environments.task import Fact
from environments.verifiers.claims import states


@pytest.mark.parametrize(
    ("answer", "name", "stated"),
    [
        ("故宫的评分是4.7", "故宫", True),
        ("我推荐去故宫", "故宫", True),
        ("推荐Hilton酒店", "Hilton", True),
        ("天坛的评分是4.7", "故宫", False),
        ("Parisian cafes", "Paris", False),
        ("in Paris.", "Paris", True),
        ("the Hiltons", "Hilton", False),
    ],
)
def test_a_name_is_found_where_it_stands_as_a_name(answer: str, name: str, stated: bool) -> None:
    assert states(answer, Fact(kind="name", value=name)) is stated
