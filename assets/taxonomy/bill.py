"""What re-labelling costs: calls, tokens, seconds and money, from measured rates."""

from typing import Final, NamedTuple

import polars as pl

RATES: Final = "labels/rates"
"""Table with one partition per annotator: what its last run of some size measured."""
ENOUGH: Final = 500
"""Calls from which on a run says something about a rate. Ours."""
_MILLION: Final = 1e6


class Rates(NamedTuple):
    """What one annotator needs for one call."""

    seconds_per_call: float = 0.0002
    """Wall time per call, with all the calls that go on at once. The default is the embedded annotator's."""
    tokens_in_per_call: float = 0.0
    tokens_out_per_call: float = 0.0
    usd_per_million_in: float = 0.0
    """Price of a million tokens sent."""
    usd_per_million_out: float = 0.0
    """Price of a million tokens answered."""
    startup_s: float = 0.0
    """What a run takes before its first call."""
    calls_per_query: float = 1.0
    """Calls for a query of which nothing is known; a row in question, of which only the leaf is, takes one."""

    def frame(self) -> pl.DataFrame:
        """As stored: one row."""
        return pl.DataFrame([self._asdict()], schema=dict.fromkeys(self._fields, pl.Float64))


TEACHER: Final = Rates(seconds_per_call=0.5, tokens_in_per_call=800.0, tokens_out_per_call=100.0, calls_per_query=4.0)
"""Ours, for a teacher before any run of one: the prompts over the default tree at four bytes a token, an answer of a
few lines, eight calls at once of a few seconds each; a reading and a choice on each of three levels. Prices are the
endpoint's."""


class Priced(NamedTuple):
    """Rates, and where they are from."""

    rates: Rates
    source: str
    """In words, for the reader of a bill."""


class Bill(NamedTuple):
    """What a plan costs."""

    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    usd: float

    def __str__(self) -> str:
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out"
        return f"{self.calls:,} calls, {tokens}, {self.seconds:,.1f} s, {self.usd:,.2f} USD"


def bill(calls: int, rates: Rates) -> Bill:
    """The price of some calls; nothing where there are none."""
    tokens_in, tokens_out = calls * rates.tokens_in_per_call, calls * rates.tokens_out_per_call
    usd = (tokens_in * rates.usd_per_million_in + tokens_out * rates.usd_per_million_out) / _MILLION
    seconds = rates.startup_s + calls * rates.seconds_per_call if calls else 0.0
    return Bill(calls, round(tokens_in), round(tokens_out), seconds, usd)


def bill_of(asked: int, fresh: int, rates: Rates) -> Bill:
    """The price of asking about some rows again and of labelling queries of which nothing is known."""
    return bill(asked + round(fresh * rates.calls_per_query), rates)


def rates_of(frame: pl.DataFrame) -> Rates:
    """The rates of a stored row; what an earlier release did not measure has its default."""
    return Rates(**frame.row(0, named=True))
