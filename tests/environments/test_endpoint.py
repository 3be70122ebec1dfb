"""The client of a model server, against a server process that misbehaves; the server's log is the judge."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from environments.answers import Answer, Answers, AnswersError
from environments.budget import Budget, BudgetSpent, Limits, Prices, Tokens
from environments.endpoint import Client, Endpoint
from environments.transport import EndpointUnusable, NoResult, RequestRefused
from tests.environments.servers import ROOT, client_of, served

MISBEHAVES = {"timeout": 0.03, "cut": 0.05, "busy": 0.08}
SCHEMA = {"type": "object", "properties": {"echo": {"type": "string"}}, "required": ["echo"]}


def prompt(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def asked(client: Client, texts: Sequence[str], schema: dict[str, Any] | None = None) -> list[Any]:
    async def all_of_them() -> list[Any]:
        async with client:
            return await asyncio.gather(*(client.ask(prompt(t), schema) for t in texts), return_exceptions=True)

    return asyncio.run(all_of_them())


def texts_of(answers: Sequence[Any]) -> list[str]:
    return [json.loads(answer.text)["echo"] for answer in answers]


def test_every_question_is_answered_by_a_server_that_misbehaves_and_none_twice(tmp_path: Path) -> None:
    questions = [f"question {i}" for i in range(150)]
    with served(tmp_path, faults=MISBEHAVES, stall_s=2.5) as server:
        client = client_of(server.url, tmp_path, timeout_s=2.0, attempts=8)
        assert texts_of(asked(client, questions)) == questions
        outcomes = Counter(line["outcome"] for line in server.lines)
        assert outcomes["answered"] == 150
        assert min(outcomes[fault] for fault in ("timeout", "cut", "429")) > 0
        assert client.usage.calls == len(server.lines) == client.budget.spent.calls
        again = client_of(server.url, tmp_path)
        assert texts_of(asked(again, questions)) == questions
        assert len(server.lines) == sum(outcomes.values()), "the second run sends nothing"
        assert again.usage.known == 150


def test_one_question_asked_many_times_at_once_is_sent_once(tmp_path: Path) -> None:
    with served(tmp_path, delay_s=0.1) as server:
        assert texts_of(asked(client_of(server.url, tmp_path), ["same"] * 20)) == ["same"] * 20
        assert len(server.lines) == 1


def test_no_more_calls_are_under_way_than_allowed(tmp_path: Path) -> None:
    with served(tmp_path, delay_s=0.05) as server:
        asked(client_of(server.url, tmp_path, concurrency=3), [str(i) for i in range(20)])
        assert server.lines[-1]["most_open"] == 3


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured_in_both_forms(tmp_path: Path, form: str) -> None:
    until = datetime.now(UTC) + timedelta(seconds=3)
    says = "1" if form == "seconds" else format_datetime(until, usegmt=True)
    with served(tmp_path, faults={"busy": 0.5}, retry_after=says, seed=2) as server:
        asked(client_of(server.url, tmp_path, longest_wait_s=4.0), [str(i) for i in range(6)])
        first: dict[str, float] = {}
        waits = [line["at"] - first.setdefault(line["prompt"], line["at"]) for line in server.lines]
        waits = [wait for wait in waits if wait]
        assert waits
        if form == "seconds":
            assert min(waits) >= 0.99
        else:
            late = [line["at"] for line in server.lines if line["at"] > first[line["prompt"]]]
            assert min(late) >= until.timestamp() - 1.0, "the date has whole seconds"


def test_a_server_that_asks_for_too_long_a_wait_has_given_no_result(tmp_path: Path) -> None:
    with served(tmp_path, status=429, retry_after="3600") as server:
        begun = time.monotonic()
        [error] = asked(client_of(server.url, tmp_path), ["?"])
        assert isinstance(error, NoResult)
        assert time.monotonic() - begun < 2
        assert len(server.lines) == 1


def test_a_dead_endpoint_is_no_result_and_is_soon_left_alone(tmp_path: Path) -> None:
    client = client_of("http://127.0.0.1:9", tmp_path, attempts=2, concurrency=2, give_up_after=4)
    errors = asked(client, [str(i) for i in range(50)])
    assert all(isinstance(error, NoResult) for error in errors)
    assert client.usage.calls <= 2 * (4 + 2), "two questions may be on their way when the fourth fails"
    assert "counts as dead" in str(errors[-1])
    assert client.budget.spent.tokens == 0, "nothing was sent, so nothing can have been billed"
    assert len(client.answers) == 0


def test_a_server_that_fails_inside_is_asked_as_often_as_allowed(tmp_path: Path) -> None:
    with served(tmp_path, status=503) as server:
        [error] = asked(client_of(server.url, tmp_path, attempts=4), ["?"])
        assert isinstance(error, NoResult)
        assert len(server.lines) == 4


def test_a_wrong_key_ends_the_run_at_once_and_the_right_one_is_sent(tmp_path: Path) -> None:
    with served(tmp_path, key="secret") as server:
        [error] = asked(client_of(server.url, tmp_path, api_key="guess"), ["?"])
        assert isinstance(error, EndpointUnusable)
        assert "key" in str(error)
        assert len(server.lines) == 1
        right = client_of(server.url, tmp_path, api_key="secret")
        assert texts_of(asked(right, ["?"])) == ["?"]
        assert "secret" not in repr(right.endpoint)


def test_a_server_without_structured_output_is_given_the_schema_in_words(tmp_path: Path) -> None:
    with served(tmp_path, refuses_schema=True) as server:
        client = client_of(server.url, tmp_path, concurrency=1)
        [answer, _] = asked(client, ["one", "two"], SCHEMA)
        assert json.dumps(SCHEMA) in json.loads(answer.text)["echo"]
        assert [line["outcome"] for line in server.lines] == ["400", "answered", "answered"], "found out once"
        asked(client_of(server.url, tmp_path), ["one", "two"], SCHEMA)
        assert len(server.lines) == 3, "the next run knows the answers whichever way they were asked for"


def test_a_request_that_is_refused_is_not_tried_again(tmp_path: Path) -> None:
    with served(tmp_path, status=422) as server:
        [error] = asked(client_of(server.url, tmp_path), ["?"])
        assert isinstance(error, RequestRefused)
        assert len(server.lines) == 1


@pytest.mark.parametrize("limit", ["calls", "tokens", "usd"])
def test_no_budget_is_ever_exceeded(tmp_path: Path, limit: str) -> None:
    most: dict[str, Any] = {"calls": 40, "tokens": 20_000, "usd": 0.05}
    prices = Prices(usd_per_million_in=2.0, usd_per_million_out=8.0)
    with served(tmp_path, faults=MISBEHAVES | {"timeout": 0.02}, stall_s=1.5, delay_s=0.005) as server:
        limits = Limits(**{limit: most[limit]})
        client = client_of(server.url, tmp_path, limits=limits, prices=prices, concurrency=16, timeout_s=1.0)
        found = asked(client, [f"question {i} {'word ' * 100}" for i in range(150)])
        answered = [one for one in found if isinstance(one, Answer)]
        billed = server.billed
        used_in, used_out = (sum(line[f"{kind}_tokens"] for line in billed) for kind in ("prompt", "completion"))
        used = {"calls": len(server.lines), "tokens": used_in + used_out, "usd": (used_in * 2 + used_out * 8) / 1e6}
        assert used[limit] <= most[limit]
        assert getattr(client.budget.spent, limit) <= most[limit]
        assert answered
        assert {type(one) for one in found if one not in answered} == {BudgetSpent}
        assert used[limit] > most[limit] * 0.3, "what calls did not use is given back, and spent"


def test_usage_that_the_server_does_not_state_counts_at_its_worst(tmp_path: Path) -> None:
    with served(tmp_path, no_usage=True) as server:
        client = client_of(server.url, tmp_path)
        asked(client, ["?"])
        assert client.budget.spent.tokens > 400


def test_a_purse_is_shared_by_all_that_open_it_and_keeps_what_was_spent(tmp_path: Path) -> None:
    path = tmp_path / "spent.db"
    one, two = (Budget(Limits(calls=3), path=path) for _ in range(2))
    assert [one.reserve(Tokens(5, 5)), two.reserve(Tokens(5, 5)), one.reserve(Tokens(5, 5))] == [True] * 3
    assert not two.reserve(Tokens(1, 1))
    two.settle(Tokens(5, 5), Tokens(1, 0))
    later = Budget(Limits(calls=3), path=path)
    assert (later.spent.calls, later.spent.tokens) == (3, 21)
    assert Budget(Limits(calls=3), path=path, purse="another").reserve(Tokens(1, 1))


@pytest.mark.parametrize("usd", [0.000001, 0.1, 1 / 3])
def test_money_is_counted_without_drift(usd: float) -> None:
    budget = Budget(prices=Prices(usd, usd))
    for _ in range(1000):
        assert budget.reserve(Tokens(1000, 1000))
        budget.settle(Tokens(1000, 1000), Tokens(0, 0))
    assert budget.spent.usd == 0


def test_two_processes_that_add_to_one_store_at_once_lose_nothing(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from environments.answers import Answer, Answers
store = Answers(Path(sys.argv[1]))
for i in range(100):
    store.keep(f"shared {i}", "m", Answer(sys.argv[2], "stop", 1, 1, 0.1))
    store.keep(f"{sys.argv[2]} {i}", "m", Answer(sys.argv[2], "stop", 1, 1, 0.1))
"""
    path = tmp_path / "answers.db"
    command = [sys.executable, "-c", script, str(path)]
    both = [subprocess.Popen([*command, name], cwd=ROOT) for name in ("one", "two")]
    assert [process.wait() for process in both] == [0, 0]
    store = Answers(path)
    assert len(store) == 300
    assert store.measured("m").calls == 300
    first = store.get("shared 0")
    assert first is not None
    assert store.keep("shared 0", "m", Answer("late", "stop", 1, 1, 0.1)) == first


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    path.write_text("something else entirely, and long enough to be looked at as a database" * 20)
    with pytest.raises(AnswersError, match=r"answers\.db holds no answers"):
        Answers(path)


def test_an_endpoint_without_an_address_says_what_to_set() -> None:
    with pytest.raises(ValueError, match="set base_url and model"):
        Endpoint("", "model")
