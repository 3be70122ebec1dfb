"""A client asked from plain code: one question, one text, in the order of the calls; nothing is asked twice.

For the little that must be asked in order, where each answer decides the next question. What asks thousands of
questions side by side awaits the client itself.
"""

import asyncio
from types import TracebackType
from typing import Self

from environments.budget import Spent
from environments.endpoint import Client, Usage
from environments.transport import NoResult


class OneByOne:
    """Asks one endpoint as a function from a prompt to a text; open for the length of a `with`."""

    def __init__(self, client: Client) -> None:
        """Make it; nothing is opened or sent yet."""
        self.client = client
        self._before = client.budget.spent

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner()
        self._runner.run(self.client.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self.client.__aexit__(kind, error, trace))
        self._runner.close()

    def __call__(self, prompt: str) -> str:
        """The answer to a prompt, from disk where it is known.

        Raises:
            NoResult: no answer after all attempts, or one that was cut at its bound.
            RequestRefused: the server will not answer this request.
            EndpointUnusable: the server will not answer any (key, model, address).
            BudgetSpent: the worst case would pass a limit.
        """
        answer = self._runner.run(self.client.ask([{"role": "user", "content": prompt}]))
        if answer.finish == "length":
            most = self.client.endpoint.max_tokens
            raise NoResult(f"the answer was cut at {most} tokens: allow more (max_tokens)")
        return answer.text

    @property
    def usage(self) -> Usage:
        """What was asked and sent so far."""
        return self.client.usage

    @property
    def spent(self) -> Spent:
        """What this client spent, without what its purse had spent before."""
        now, before = self.client.budget.spent, self._before
        return Spent(now.calls - before.calls, now.tokens - before.tokens, now.usd - before.usd)
