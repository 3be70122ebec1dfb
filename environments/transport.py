"""What can go wrong between us and a model server, told apart by what follows from it.

A fault of the way (time-out, lost connection, a body cut short, 408, 429, 5xx) may be gone at the next attempt; a
refusal of this request will not be; a server that takes no request of ours at all ends the run.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Final

import httpx

from environments.answers import Answer
from environments.budget import Tokens
from environments.ending import EndsTheRun

_PASSING: Final = {408, 409, 425, 429}
_UNUSABLE: Final = {
    401: "the API key is missing or wrong",
    402: "the account has no credit left",
    403: "the API key may not use this model",
    404: "no such address or model",
}
_SHOWN: Final = 300


class EndpointError(RuntimeError):
    """A call to a model server had no answer."""

    may_be_billed: ClassVar[bool] = False


class NoResult(EndpointError):
    """No answer after all attempts: nothing may be concluded from it."""


class RequestRefused(EndpointError):
    """The server will not answer this request, however often it is sent."""


class EndpointUnusable(EndpointError, EndsTheRun):
    """The server will answer no request of ours: key, account, address or model are wrong."""


class Fault(EndpointError):
    """One attempt failed in a way that the next may not."""

    def __init__(self, cause: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(cause)
        self.retry_after_s = retry_after_s


class BilledFault(Fault):
    """A fault after which the server may have done, and billed, its work."""

    may_be_billed = True


def fault_of(error: httpx.RequestError | TimeoutError, timeout_s: float) -> Fault:
    """The fault behind an exception of the transport."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Fault(f"no connection ({error or type(error).__name__})")
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return BilledFault(f"no answer within {timeout_s:g} s")
    return BilledFault(f"the connection was lost ({type(error).__name__}: {error})")


_MOST_TOKENS: Final = 10_000_000
"""No answer has more: a server that says so is not believed."""


def require_ok(response: httpx.Response) -> None:
    """Turn a status that is not 200 into what follows from it.

    Raises:
        Fault: 408, 409, 425, 429 or 5xx, with the wait that the server asks for.
        EndpointUnusable: 401, 402, 403 or 404.
        RequestRefused: any other.
    """
    status = response.status_code
    if status == httpx.codes.OK:
        return
    said = f"{status} {response.reason_phrase}: {response.text[:_SHOWN]}"
    if status in _PASSING:
        raise Fault(said, retry_after_s=_retry_after_s(response))
    if status >= 500:
        raise BilledFault(said, retry_after_s=_retry_after_s(response))
    if status in _UNUSABLE:
        raise EndpointUnusable(f"{response.request.url}: {_UNUSABLE[status]} ({said})")
    raise RequestRefused(said)


def answer_in(came: tuple[httpx.Response, float], worst: Tokens) -> Answer:
    """The answer in a response and the seconds it took; usage that the server does not state counts at its worst.

    Raises:
        Fault: the body is not a chat completion.
    """
    response, seconds = came
    try:
        body: Any = response.json()
        choice = body["choices"][0]
        text, finish = str(choice["message"]["content"] or ""), choice.get("finish_reason") or "stop"
        text.encode()  # half of an emoji is no text
        usage = body.get("usage") or {}
        prompt = _stated(usage.get("prompt_tokens"), worst.prompt)
        completion = _stated(usage.get("completion_tokens"), worst.completion)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BilledFault(f"the body is no chat completion ({error!r}): {response.text[:_SHOWN]!r}") from error
    return Answer(text, str(finish), prompt, completion, round(seconds, 4))


def _stated(tokens: object, worst: int) -> int:
    """Tokens as the server states them; at their worst where it states none, or what cannot be."""
    stated = int(tokens) if isinstance(tokens, int | float | str) else 0
    return stated if 0 < stated < _MOST_TOKENS else worst


def _retry_after_s(response: httpx.Response) -> float:
    """Seconds to wait by `Retry-After`, which is a number or an HTTP date; 0 where it says nothing."""
    said = response.headers.get("Retry-After", "").strip()
    if said.replace(".", "", 1).isdecimal():
        return float(said)
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
