"""What one call of an annotator takes, as a run measured it: the rates of a bill.

A call of the embedded annotator is a text read; a call of a teacher is one question answered over HTTP. That is also
what a row in question costs: its reading is known from before, and one choice among the leaves in question is asked. A
query of which nothing is known costs a teacher a reading and a choice at every node on its way.
"""

from assets.taxonomy.bill import ENOUGH, Rates
from environments.endpoint import Client


def embedded_rates(calls: int, seconds: float) -> Rates | None:
    """Of a run that read so many texts; None where they were too few to say anything."""
    return Rates(seconds / calls) if calls >= ENOUGH else None


def teacher_rates(client: Client, seconds: float, *, calls_per_query: float) -> Rates | None:
    """Of the calls that a client made; of all answers that are kept where these were few; None where there are none.

    Args:
        client: after its run.
        seconds: wall time of the run.
        calls_per_query: of queries of which nothing was known.
    """
    usage, kept = client.usage, client.answers.measured(client.endpoint.model)
    prices = client.budget.prices
    if usage.answered >= ENOUGH:
        calls, tokens_in, tokens_out = usage.answered, usage.prompt_tokens, usage.completion_tokens
    elif kept.calls:
        calls, tokens_in, tokens_out = kept.calls, kept.prompt_tokens, kept.completion_tokens
        seconds = kept.seconds / client.endpoint.concurrency
    else:
        return None
    return Rates(seconds / calls, tokens_in / calls, tokens_out / calls, *prices, calls_per_query=calls_per_query)
