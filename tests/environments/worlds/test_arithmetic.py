"""Sums that an agent asks for: arithmetic and nothing else."""

import pytest

from environments.tool import ToolRefusal
from environments.worlds.arithmetic import calculated


@pytest.mark.parametrize(
    ("said", "value"),
    [("3131.1 + 4777.75 + 367.38", 8276.23), ("2 * ((350 - 122) + (499 - 127))", 1200), ("-1/3", -0.33), (" 7 ", 7)],
)
def test_sums_are_worked_out_to_the_cent(said: str, value: float) -> None:
    assert calculated(said) == value


@pytest.mark.parametrize(
    "said",
    [
        "",
        "1 +",
        "1 / 0",
        "__import__('os')",
        "2 ** 99",
        "a",
        "True",
        "'x' * 3",
        "1j",
        "9" * 600,
        "((((",
        "1 < 2",
        "[1]",
    ],
)
def test_what_is_no_arithmetic_is_refused(said: str) -> None:
    with pytest.raises(ToolRefusal, match="bad_expression"):
        calculated(said)
