"""Reading of turns against 200 real conversations of tau-bench's airline (GPT-4o on both sides)."""

import json
import os
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from environments.task import UserGoal
from environments.users.asking import asked
from environments.users.faithful import out_of_role

pytestmark = pytest.mark.corpora
STOP = "###STOP###"
FILE = "audit/tau_bench_gpt-4o_airline_trajectories.json"


@cache
def talks() -> list[list[tuple[str, str]]]:
    """Who said what, without calls and their results."""
    episodes = json.loads(Path(os.environ["LOOPWRIGHT_CORPORA"], FILE).read_text(encoding="utf-8"))
    said = [[(m["role"], m.get("content") or "") for m in e["traj"] if not m.get("tool_calls")] for e in episodes]
    return [[(who, text) for who, text in talk if who in ("user", "assistant") and text] for talk in said]


def test_hardly_a_turn_of_a_real_user_is_taken_for_the_agents() -> None:
    turns = [text for talk in talks() for who, text in talk if who == "user"]
    taken = [text for text in turns if out_of_role(text, UserGoal())]
    assert len(turns) > 1400
    assert len(taken) <= 0.002 * len(turns), taken


def test_real_agents_that_ask_for_a_user_id_are_understood_and_their_refusals_ask_for_nothing() -> None:
    goal = UserGoal(facts={"user id": "mia"})
    openings = [talk[1][1] for talk in talks() if len(talk) > 1]
    for_id = [asked(text, goal).facts for text in openings if "your user id" in text.casefold()]
    assert len(for_id) > 100
    assert sum(facts == ("user id",) for facts in for_id) >= 0.97 * len(for_id)
    refusals = [asked(text, goal) for text in openings if "unable to" in text and "?" not in text]
    assert len(refusals) >= 5
    assert all(turn.nothing for turn in refusals)


def test_where_real_users_stopped_the_agent_was_through_but_for_the_stops_that_came_too_early() -> None:
    pairs = [(a[1], b[1]) for talk in talks() for a, b in pairwise(talk) if STOP in b[1]]
    early = [reply for said, reply in pairs if not asked(said, UserGoal()).nothing]
    assert len(pairs) > 140
    assert len(early) <= 0.07 * len(pairs)
    assert any("please go ahead and issue the certificate" in reply for reply in early), "stopped before it was done"
