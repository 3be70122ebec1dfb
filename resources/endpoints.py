"""Model servers for teachers and judges: who is asked, how, and what may be spent on it."""

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import dagster as dg
from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from environments.answers import Answers
from environments.budget import Budget, Limits, Prices
from environments.endpoint import Client, Endpoint, sampling_of


class ServedModel(BaseModel):
    """A language model over HTTP, how it is asked, and what may be spent on it: all but its key."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    base_url: str = ""
    """Up to and with the version, for example `http://localhost:8000/v1`; empty: there is none."""
    model: str = ""
    """The model's name at that server."""
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

    @property
    def sampling(self) -> dict[str, Any]:
        """How answers are drawn."""
        return sampling_of(self.temperature, self.limit_field, self.max_tokens)


class ChatEndpoint(dg.ConfigurableResource, ServedModel):
    """An OpenAI-compatible server with a budget."""

    api_key: str = ""
    """Sent as a bearer token; give it as an environment variable (`dg.EnvVar`), so that it is shown nowhere."""

    def client(self, folder: Path, *, purse: str) -> Client:
        """A client that keeps its answers and its spending under `folder`.

        Args:
            folder: made if absent.
            purse: what the budget is for: what was spent under this name before counts.

        Raises:
            ValueError: no base URL or no model is set.
        """
        own = {field.name for field in fields(Endpoint)} & set(type(self).model_fields)
        endpoint = Endpoint(**{name: getattr(self, name) for name in own})
        folder.mkdir(parents=True, exist_ok=True)
        limits = Limits(self.budget_calls, self.budget_tokens, self.budget_usd)
        prices = Prices(self.usd_per_million_in, self.usd_per_million_out)
        budget = Budget(limits, prices, path=folder / "spent.db", purse=purse)
        return Client(endpoint, Answers(folder / "answers.db"), budget)
