"""The central case: the refund was written, the response was lost, and what the agent does then."""

from typing import Any

import pytest

from environments.policy import Action, Answer
from environments.task import Call, Task
from environments.verifiers.state import state_failure
from environments.worlds.desk.plans import Level
from tests.environments.worlds.desk.builders import actions_of, changed, task_of, verdict, without_key, world

TASK = task_of("lost_response")
LOST = next(i for i, call in enumerate(TASK.gold_calls) if call.name == "erp_issue_refund")
"""Place of the refund whose response does not come."""


def call(name: str, **arguments: Any) -> Call:
    return Call(name=name, arguments=arguments)


def gold(task: Task = TASK) -> list[Action]:
    return actions_of(task)


def ends(task: Task, actions: list[Action], table: str = "refund") -> tuple[list[str], str]:
    """Keys of the new rows of `table` when these calls are made, and what is wrong with the state then."""
    desk = world(task)
    for action in actions:
        if isinstance(action, Call):
            desk.call(action.name, action.arguments)
    failure = state_failure(task.goal, desk)
    return [c.key for c in desk.changes() if c.table == table], failure.cause if failure else "ok"


def refunds(task: Task, actions: list[Action]) -> int:
    """How many refunds stand at the end."""
    return len(ends(task, actions)[0])


def test_the_reference_solution_repeats_the_lost_call_under_its_key() -> None:
    first, second = TASK.gold_calls[LOST], TASK.gold_calls[LOST + 1]
    assert first == second
    assert first.arguments["idempotency_key"]


def test_a_retry_under_the_same_key_makes_one_refund_and_reward_1() -> None:
    assert refunds(TASK, gold()) == 1
    assert verdict(TASK, *gold()).reward == 1.0


def test_a_retry_without_a_key_makes_two_refunds_and_reward_0() -> None:
    careless = [*TASK.gold_calls[:LOST], *[without_key(TASK.gold_calls[LOST])] * 2]
    [first, second], cause = ends(TASK, careless)
    assert cause == "unasked_write"
    for said in (TASK.gold_answer, TASK.gold_answer.replace(first, second)):
        assert first in TASK.gold_answer
        assert verdict(TASK, *careless, said).reward == 0.0


def test_a_retry_under_another_key_makes_two_refunds_and_reward_0() -> None:
    careless = [*TASK.gold_calls[: LOST + 1], changed(TASK.gold_calls[LOST], idempotency_key="another"), gold()[-1]]
    assert refunds(TASK, careless) == 2
    assert verdict(TASK, *careless).reward == 0.0


def test_a_look_instead_of_a_retry_is_as_good() -> None:
    order = TASK.gold_calls[LOST].arguments["order_id"]
    look = call("erp_get_payments", order_id=order)
    careful = [*TASK.gold_calls[:LOST], without_key(TASK.gold_calls[LOST]), look, gold()[-1]]
    assert verdict(TASK, *careful).reward == 1.0


def test_a_refund_before_its_approval_is_worth_nothing() -> None:
    refund = TASK.gold_calls[LOST]
    bare = Call(name=refund.name, arguments={k: v for k, v in refund.arguments.items() if k != "approval_id"})
    rest = [c for c in TASK.gold_calls if c.name != "erp_issue_refund"]
    split = next(i for i, c in enumerate(rest) if c.name == "erp_request_approval")
    found = verdict(TASK, *rest[:split], bare, bare, *rest[split:], gold()[-1])
    assert found.reward == 0.0
    without = [c for c in rest if c.name not in ("erp_request_approval", "erp_get_approval")]
    assert verdict(TASK, *without, bare, bare, gold()[-1]).reward == 0.0


def test_a_refund_without_the_identity_check_is_worth_nothing() -> None:
    skipped = [a for a in gold() if not (isinstance(a, Call) and a.name == "crm_verify_identity")]
    found = verdict(TASK, *skipped)
    assert (found.reward, found.cause) == (0.0, "wrong_order")


@pytest.mark.parametrize(
    "said",
    [
        "The refund failed, please try again tomorrow.",
        "The refund could not be booked. Reason: not_permitted",
        "I am sorry, the system timed out and nothing was refunded.",
        "Your refund is on its way.",
        TASK.gold_answer,
    ],
)
def test_no_retry_and_no_look_is_worth_nothing_whatever_is_said(said: str) -> None:
    assert verdict(TASK, *TASK.gold_calls[: LOST + 1], said).reward == 0.0


def test_the_lost_response_shows_nothing_of_the_refund_but_a_timeout() -> None:
    from environments.faults.wrapper import TIMEOUT, with_faults

    desk = world(TASK)
    faulty = with_faults(desk, TASK.faults)
    shown = [faulty.call(c.name, c.arguments) for c in TASK.gold_calls]
    assert shown[LOST] == TIMEOUT
    assert shown[LOST + 1]["amount"] == TASK.gold_calls[LOST].arguments["amount"]


@pytest.mark.parametrize("level", [1, 2])
def test_the_same_holds_where_more_goes_wrong(level: int) -> None:
    task = task_of("lost_response", Level(faults=level), seed=level)
    assert verdict(task, *gold(task)).reward == 1.0
    careless = [
        without_key(c) if c.name.startswith("erp_") and "idempotency_key" in c.arguments else c for c in task.gold_calls
    ]
    assert verdict(task, *careless, Answer(task.gold_answer)).reward == 0.0


def test_a_ticket_is_opened_once_whatever_gets_lost() -> None:
    task = task_of("escalation", Level(faults=1))
    opened = [c for c in task.gold_calls if c.name == "ticket_create"]
    assert len(opened) == 2
    assert verdict(task, *gold(task)).reward == 1.0
    careless = [without_key(c) if c.name == "ticket_create" else c for c in task.gold_calls]
    [first, second], cause = ends(task, careless, "ticket")
    assert cause == "unasked_write"
    for said in (task.gold_answer, task.gold_answer.replace(first, second)):
        assert verdict(task, *careless, said).reward == 0.0
