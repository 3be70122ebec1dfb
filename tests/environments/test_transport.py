"""What a server may say that is no answer."""

import httpx
import pytest

from environments.budget import Tokens
from environments.transport import Fault, answer_in

WORST = Tokens(100, 50)


def came(body: bytes) -> tuple[httpx.Response, float]:
    return httpx.Response(200, content=body, request=httpx.Request("POST", "http://here/v1")), 0.1


def completion(text: str, usage: str) -> bytes:
    return f'{{"choices": [{{"message": {{"content": "{text}"}}}}], "usage": {usage}}}'.encode()


@pytest.mark.parametrize(
    "body",
    [
        b"no JSON",
        b"[" * 100_000,
        completion("half an emoji: \\ud83d", "{}"),
        completion("fine", '{"prompt_tokens": 1e999}'),
        b'{"choices": []}',
    ],
    ids=["no json", "deep", "surrogate", "infinite usage", "no choice"],
)
def test_a_body_that_is_no_completion_is_a_fault_and_ends_no_run(body: bytes) -> None:
    with pytest.raises(Fault):
        answer_in(came(body), WORST)


@pytest.mark.parametrize("usage", ["{}", "null", '{"prompt_tokens": -5, "completion_tokens": 1e30}'])
def test_usage_that_is_not_stated_or_cannot_be_counts_at_its_worst(usage: str) -> None:
    answer = answer_in(came(completion("fine", usage)), WORST)
    assert (answer.prompt_tokens, answer.completion_tokens) == (100, 50)
