"""Results of hidden tests that an agent's code made to break the grader: each is a failed case."""

import json

import pytest

from environments.sandbox import Ran
from environments.task import Case
from environments.verifiers.hidden_cases import _failed_calls, _holds

CASE = Case(target="module:function", arguments=[], expected=5)


class Saying:
    """A sandbox whose programs print what they are told."""

    def __init__(self, output: str) -> None:
        self.output = output

    def run(self, command: str, **_: object) -> Ran:
        """Print it."""
        return Ran(0, self.output, 0, 0.1)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "1" + "0" * 5000, "NaN", "1e999", "[1e999]", '"5"', "true"])
def test_strange_values_fail_the_case(value: str) -> None:
    failed = _failed_calls([CASE], Saying(f'{{"value": {value}}}'))  # type: ignore[arg-type]
    assert failed is not None
    assert failed[0] == "failed_case"
    assert not _holds(value.encode(), 5)


def test_results_that_nest_as_deep_as_json_goes_fail_the_case() -> None:
    for levels in range(50, 1050, 25):
        said = json.dumps({"value": 0}).replace("0", "[" * levels + "]" * levels)
        assert _failed_calls([CASE], Saying(said)) is not None  # type: ignore[arg-type]
