"""Model servers for teachers and judges: who is asked, how, and what may be spent on it."""

from pathlib import Path
from typing import Literal

import dagster as dg
from pydantic import ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from environments.answers import Answers
from environments.budget import Budget, Limits, Prices
from environments.endpoint import Client, Endpoint


class ChatEndpoint(dg.ConfigurableResource):
    """An OpenAI-compatible server with a budget."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    base_url: str = ""
    """Up to and with the version, for example `http://localhost:8000/v1`; empty: there is none."""
    model: str = ""
    """The model's name at that server."""
    api_key: str = ""
    """Sent as a bearer token; give it as an environment variable (`dg.EnvVar`), so that it is shown nowhere."""
    timeout_s: PositiveFloat = 60.0
    """Seconds that one attempt may take."""
    concurrency: PositiveInt = 8
    """Calls under way at once."""
    attempts: PositiveInt = 6
    """Attempts at one question."""
    first_wait_s: NonNegativeFloat = 1.0
    """Bound of the first wait before another attempt; it doubles each time."""
    longest_wait_s: PositiveFloat = 60.0
    """Bound of every wait."""
    temperature: float | None = 0.0
    """None leaves it to the server: some models refuse any."""
    max_tokens: PositiveInt = 1024
    """Bound of an answer; models that think before they answer need more."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the server calls the bound of an answer."""
    usd_per_million_in: NonNegativeFloat = 0.0
    """Price of a million prompt tokens."""
    usd_per_million_out: NonNegativeFloat = 0.0
    """Price of a million answer tokens."""
    budget_calls: NonNegativeInt | None = None
    """Most calls of one run and its re-executions, every attempt counted."""
    budget_tokens: NonNegativeInt | None = None
    """Most tokens of one run and its re-executions."""
    budget_usd: NonNegativeFloat | None = 10.0
    """Most money of one run and its re-executions; counts only where prices are given."""

    def client(self, folder: Path, *, purse: str) -> Client:
        """A client that keeps its answers and its spending under `folder`.

        Args:
            folder: made if absent.
            purse: what the budget is for: what was spent under this name before counts.

        Raises:
            ValueError: no base URL or no model is set.
        """
        own = ("base_url", "model", "api_key", "timeout_s", "concurrency", "attempts", "first_wait_s", "longest_wait_s")
        drawn = ("temperature", "max_tokens", "limit_field")
        endpoint = Endpoint(**{name: getattr(self, name) for name in (*own, *drawn)})
        folder.mkdir(parents=True, exist_ok=True)
        limits = Limits(self.budget_calls, self.budget_tokens, self.budget_usd)
        prices = Prices(self.usd_per_million_in, self.usd_per_million_out)
        budget = Budget(limits, prices, path=folder / "spent.db", purse=purse)
        return Client(endpoint, Answers(folder / "answers.db"), budget)
