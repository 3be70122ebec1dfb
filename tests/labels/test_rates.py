"""What a call takes, from a run or from what is kept."""

from pathlib import Path

import pytest

from assets.labels.rates import embedded_rates, teacher_rates
from assets.taxonomy.bill import ENOUGH, bill_of
from environments.answers import Answer
from environments.budget import Prices
from tests.environments.servers import client_of


def test_a_teacher_s_rates_are_those_of_its_run_or_of_all_that_is_kept_where_that_was_short(tmp_path: Path) -> None:
    client = client_of("http://nowhere/v1", tmp_path, prices=Prices(2.0, 10.0), concurrency=4)
    assert teacher_rates(client, 1.0, calls_per_query=4.0) is None
    for number in range(10):
        client.answers.keep(f"{number}", "stand-in", Answer("x", "stop", 900, 50, 2.0))
    client.answers.keep("another", "another-model", Answer("x", "stop", 1, 1, 1.0))
    kept = teacher_rates(client, 0.01, calls_per_query=3.5)
    assert kept == (0.5, 900.0, 50.0, 2.0, 10.0, 0.0, 3.5)
    price = bill_of(300, 200, kept)
    assert (price.tokens_in, price.tokens_out, price.usd) == (900_000, 50_000, pytest.approx(1.8 + 0.5))
    client.usage = client.usage._replace(answered=ENOUGH, prompt_tokens=1000 * ENOUGH, completion_tokens=60 * ENOUGH)
    measured = teacher_rates(client, 0.2 * ENOUGH, calls_per_query=3.5)
    assert measured == (pytest.approx(0.2), 1000.0, 60.0, 2.0, 10.0, 0.0, 3.5)


def test_the_embedded_annotator_has_rates_of_runs_of_some_size_only() -> None:
    assert embedded_rates(ENOUGH - 1, 1.0) is None
    assert embedded_rates(ENOUGH, 5.0) == (0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
