"""How an answer states why it does not solve a task: in words where a world has no codes, by code where it has."""

import pytest

from environments.verifiers.reasons import refusal_reasons, without_reason
from environments.worlds.desk.data_model import REFUSAL_CODES as CODES


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_read_however_it_is_set(code: str) -> None:
    for said in (f"Sorry. Reason: {code}", f"Sorry. reason code: `{code}`.", f"**Reason: {code}**", f"Reason = {code}"):
        assert refusal_reasons(said, CODES) == [code]


def test_two_codes_are_two_reasons_also_where_one_is_only_mentioned() -> None:
    assert refusal_reasons("Reason: too_early. Reason: not_found", CODES) == ["too_early", "not_found"]
    assert refusal_reasons("Reason: too_early (or window_closed)", CODES) == ["too_early", "window_closed"]


def test_words_without_a_code_are_no_refusal_where_there_are_codes() -> None:
    assert refusal_reasons("I cannot do that with these tools.", CODES) == []
    assert refusal_reasons("The return window is closed.", CODES) == []
    assert refusal_reasons("Reason: because I say so", CODES) == ["because"]


def test_a_world_without_codes_is_read_by_its_words() -> None:
    assert refusal_reasons("I cannot find Parlin.") == ["not_found"]
    assert refusal_reasons("Reason: not_found") == []


def test_taking_the_code_out_leaves_every_other_letter_in_its_place() -> None:
    said = "The order SO4001 is delivered. Reason: already_shipped."
    rest = without_reason(said)
    assert len(rest) == len(said)
    assert rest.strip(" .") == "The order SO4001 is delivered"
