"""Chat over an OpenAI-compatible server, for teachers and judges: bounded, retried, budgeted, and paid for once.

A question that was answered before costs nothing. Otherwise the worst case is reserved from the budget, the request is
sent, and the answer is on disk before it is used. Time-outs, lost connections, bodies cut short, 408, 429 and 5xx are
tried again with exponential back-off and jitter; what then has no answer is `NoResult`, never a verdict (law 1).
A server that refuses `response_format` is asked again with the schema in the prompt.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from environments.answers import Answer, Answers, key_of
from environments.budget import Budget, BudgetSpent, Tokens
from environments.transport import EndpointError, Fault, NoResult, RequestRefused, answer_in, fault_of, require_ok

Messages: TypeAlias = Sequence[Mapping[str, str]]
_TEMPLATE_TOKENS: Final = 256
"""What a chat template may add to a prompt. Ours."""
_NOTHING: Final = Tokens(0, 0)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served, and how it is asked."""

    base_url: str
    """Up to and with the version, for example `http://localhost:8000/v1`."""
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 60.0
    """Seconds that one attempt may take in all."""
    concurrency: int = 8
    """Calls under way at once."""
    attempts: int = 6
    first_wait_s: float = 1.0
    """Bound of the first wait before another attempt; it doubles each time."""
    longest_wait_s: float = 60.0
    """A server that asks to wait longer has given no result."""
    give_up_after: int = 8
    """Questions in a row without a result after which the endpoint counts as dead."""
    temperature: float | None = 0.0
    """None leaves it to the server: some models refuse any."""
    max_tokens: int = 1024
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the server calls the bound of an answer."""

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")) or not self.model:
            raise ValueError(
                f"an endpoint needs a base URL (http:// or https://) and a model, got {self.base_url!r} and "
                f"{self.model!r}: set base_url and model of the endpoint, in the profile or in the run's configuration"
            )

    @property
    def sampling(self) -> dict[str, Any]:
        """How answers are drawn, as it is sent and as it is part of a question's key."""
        return sampling_of(self.temperature, self.limit_field, self.max_tokens)


def sampling_of(temperature: float | None, limit_field: str, max_tokens: int) -> dict[str, Any]:
    """The fields of a request that say how an answer is drawn."""
    drawn = {} if temperature is None else {"temperature": temperature}
    return {**drawn, limit_field: max_tokens}


class Usage(NamedTuple):
    """What a client did so far."""

    questions: int
    """Asked of it, the known ones included."""
    known: int
    """Answered from disk."""
    calls: int
    """Sent, every attempt included."""
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    """Time that answered calls took, summed."""
    answered: int = 0
    """Calls that brought an answer: those that the tokens and seconds are of."""


class Client:
    """Asks one endpoint; `async with client:` opens its connections, and it may be opened again later."""

    def __init__(self, endpoint: Endpoint, answers: Answers, budget: Budget | None = None) -> None:
        """Make a client; nothing is sent yet.

        Args:
            endpoint: whom to ask.
            answers: what was answered before, and where new answers go.
            budget: what may be spent; None spends without limit.
        """
        self.endpoint, self.answers, self.budget = endpoint, answers, budget or Budget()
        self.usage = Usage(0, 0, 0, 0, 0, 0.0)
        self._is_structured = True
        self._failed_in_a_row = 0

    async def __aenter__(self) -> Self:
        endpoint = self.endpoint
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._open, self._settled = 0, asyncio.Event()
        self._under_way: dict[str, asyncio.Task[Answer]] = {}
        self._http = httpx.AsyncClient(
            base_url=endpoint.base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            timeout=httpx.Timeout(endpoint.timeout_s, pool=None),
            limits=httpx.Limits(max_connections=endpoint.concurrency),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def ask(self, messages: Messages, schema: Mapping[str, Any] | None = None) -> Answer:
        """The answer to `messages`, from disk where it is known.

        Args:
            messages: OpenAI chat messages.
            schema: JSON schema that the answer is to follow; whether it does is the caller's to check.

        Raises:
            NoResult: no answer after all attempts, or the endpoint counts as dead.
            RequestRefused: the server will not answer this request.
            EndpointUnusable: the server will not answer any (key, model, address).
            BudgetSpent: the worst case would pass a limit.
        """
        key = key_of(self.endpoint.model, messages, schema, self.endpoint.sampling)
        known = self.answers.get(key)
        self._count(questions=1, known=int(known is not None))
        if known is not None:
            return known
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._fetch(key, messages, schema))
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await task

    async def _fetch(self, key: str, messages: Messages, schema: Mapping[str, Any] | None) -> Answer:
        async with self._slots:
            if schema is None or not self._is_structured:
                return await self._answered(key, self._body(_with_schema(messages, schema)))
            try:
                return await self._answered(key, self._body(messages, schema))
            except RequestRefused:
                answer = await self._answered(key, self._body(_with_schema(messages, schema)))
                self._is_structured = False
                return answer

    async def _answered(self, key: str, body: bytes) -> Answer:
        """Attempts until there is an answer."""
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.endpoint.attempts), wait=self._wait, retry=retry_if_exception(self._may_retry),
            reraise=True,
        )  # fmt: skip
        try:
            answer: Answer = await retrying(self._attempt, key, body)
        except Fault as fault:
            self._failed_in_a_row += 1
            raise NoResult(f"{self.endpoint.base_url} gave no result: {fault}") from fault
        self._failed_in_a_row = 0
        return answer

    async def _attempt(self, key: str, body: bytes) -> Answer:
        if self._failed_in_a_row >= self.endpoint.give_up_after:
            raise NoResult(
                f"{self.endpoint.base_url} counts as dead: {self._failed_in_a_row} questions in a row had no result"
            )
        worst = Tokens(len(body) + _TEMPLATE_TOKENS, self.endpoint.max_tokens)  # a token is at least one byte
        await self._reserve(worst)
        used = worst  # what is not known to have been free may have been billed
        try:
            answer = answer_in(await self._post(body), worst)
            kept = await asyncio.to_thread(self.answers.keep, key, self.endpoint.model, answer)
            used = Tokens(answer.prompt_tokens, answer.completion_tokens)
            self._count(
                prompt_tokens=used.prompt, completion_tokens=used.completion, seconds=answer.seconds, answered=1
            )
            return kept
        except EndpointError as error:
            used = worst if error.may_be_billed else _NOTHING
            raise
        finally:
            self._settle(worst, used)

    async def _post(self, body: bytes) -> "tuple[httpx.Response, float]":
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self.endpoint.timeout_s):
                response = await self._http.post(
                    "chat/completions", content=body, headers={"Content-Type": "application/json"}
                )
        except (httpx.RequestError, TimeoutError) as error:
            raise fault_of(error, self.endpoint.timeout_s) from error
        require_ok(response)
        return response, time.monotonic() - begun

    async def _reserve(self, worst: Tokens) -> None:
        """Set a call aside; where only calls under way stand in the way, wait for what they give back."""
        while not self.budget.reserve(worst):
            if not self._open:
                raise BudgetSpent(f"a call of up to {sum(worst):,} tokens would pass the budget: {self.budget.told()}")
            await self._settled.wait()
        self._open += 1
        self._count(calls=1)

    def _settle(self, worst: Tokens, used: Tokens) -> None:
        self.budget.settle(worst, used)
        self._open -= 1
        self._settled.set()
        self._settled = asyncio.Event()

    def _may_retry(self, error: BaseException) -> bool:
        return isinstance(error, Fault) and error.retry_after_s <= self.endpoint.longest_wait_s

    def _wait(self, state: RetryCallState) -> float:
        back_off = wait_random_exponential(self.endpoint.first_wait_s, self.endpoint.longest_wait_s)(state)
        fault = state.outcome.exception() if state.outcome is not None else None
        return max(back_off, fault.retry_after_s) if isinstance(fault, Fault) else back_off

    def _body(self, messages: Messages, schema: Mapping[str, Any] | None = None) -> bytes:
        content: dict[str, Any] = {"model": self.endpoint.model, "messages": list(messages), **self.endpoint.sampling}
        if schema is not None:
            strict = {"name": "answer", "strict": True, "schema": schema}
            content["response_format"] = {"type": "json_schema", "json_schema": strict}
        return json.dumps(content, ensure_ascii=False).encode()

    def _count(self, **more: float) -> None:
        self.usage = self.usage._replace(**{name: getattr(self.usage, name) + value for name, value in more.items()})


def _with_schema(messages: Messages, schema: Mapping[str, Any] | None) -> Messages:
    """The schema in words at the end of the last message, for a server that takes none beside them."""
    if schema is None:
        return messages
    asked = f"Answer with one JSON object and nothing else, after this JSON schema:\n{json.dumps(schema)}"
    *before, last = messages
    return [*before, {**last, "content": f"{last['content']}\n\n{asked}"}]
