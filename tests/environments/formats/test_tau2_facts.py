"""Strings that tau2 looks for as facts by type, and scenarios in the user's mouth."""

import json

import pytest

from environments.formats.tau2_facts import typed
from environments.formats.tau2_user import in_first_person, user_of
from environments.task import Fact
from environments.verifiers.claims import states


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("829.43", Fact(kind="number", value="829.43", unit="dollars")),
        ("481.5", Fact(kind="number", value="481.5", unit="dollars")),
        ("20 hours", Fact(kind="number", value="20", unit="hours")),
        ("1628", Fact(kind="number", value="1628")),
        ("746342064230", Fact(kind="name", value="746342064230")),
        ("943 Maple Drive", Fact(kind="name", value="943 Maple Drive")),
        ("mastercard", Fact(kind="name", value="mastercard")),
        ("4", None),
        ("10", None),
        ("IL", None),
    ],
)
def test_a_string_becomes_the_fact_that_its_shape_says(text: str, fact: Fact | None) -> None:
    assert typed(text) == fact


@pytest.mark.parametrize(
    ("text", "answer", "holds"),
    [
        ("829.43", "You paid $829.43.", True),
        ("829.43", "You paid $1829.43.", False),
        ("829.43", "It weighs 829.43 km.", False),
        ("20 hours", "It lasts 20 hours.", True),
        ("20 hours", "It lasts 120 hours.", False),
        ("polyester", "One is polyester.", True),
        ("full", "It is a full size one.", True),
        ("full", "I am fully sure.", False),
    ],
)
def test_a_fact_is_met_where_the_substring_was_meant_and_not_by_accident(text: str, answer: str, holds: bool) -> None:
    fact = typed(text)
    assert fact is not None
    assert states(answer, fact) is holds


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("You want to cancel your order.", "I want to cancel my order."),
        ("You are Ada. You're in a rush; you've moved.", "I am Ada. I'm in a rush; I've moved."),
        ("Your id is ada_1. If the agent tells you no, insist.", "My id is ada_1. If the agent tells me no, insist."),
        ("Make sure it is sent to you, yourself.", "Make sure it is sent to me, myself."),
        ("What the ticket allows you to take with you.", "What the ticket allows me to take with me."),
        ("A young man named Youri", "A young man named Youri"),
    ],
)  # fmt: skip
def test_a_scenario_is_said_by_the_user_not_to_the_user(told: str, said: str) -> None:
    assert in_first_person(told) == said


def test_what_a_user_can_be_asked_for_is_read_from_the_scenario() -> None:
    scenario = {
        "domain": "retail",
        "known_info": "Your name is Daiki Sanchez, and you live in San Diego 46236, your email is d.s1@example.com.",
        "reason_for_call": "You want to return #W2378156 and W4284542, and #W2378156 first.",
        "task_instructions": "You are Bold. Do not tell 99999.",
    }
    user = user_of(scenario, persona="You are loud.", max_replies=9)
    assert user.facts == {
        "name": "My name is Daiki Sanchez.",
        "email": "My email is d.s1@example.com.",
        "zip code": "My zip code is 46236.",
        "number": "The number is #W2378156 and W4284542.",
    }
    assert json.loads(user.script) == {
        **{k: v for k, v in scenario.items() if k != "domain"},
        "persona": "You are loud.",
    }
