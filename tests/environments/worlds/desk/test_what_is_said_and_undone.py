"""Texts that take back what they say, refusals that say the work was done, and writes that were undone."""

import pytest

from environments.policy import Action
from environments.task import Call, Task
from environments.worlds.desk.plans import Level
from environments.worlds.desk.tasks import pair
from tests.environments.worlds.desk.builders import actions_of, changed, task_of, verdict, world

BY_TICKET = task_of("refund_small", Level(depth=2))
MAIL = next(i for i, call in enumerate(BY_TICKET.gold_calls) if call.name == "mail_send")


def mailed(task: Task, text: str) -> list[Action]:
    """The gold solution with another text in its mail."""
    actions = actions_of(task)
    assert isinstance(actions[MAIL], Call)
    return [*actions[:MAIL], changed(actions[MAIL], body=text), *actions[MAIL + 1 :]]


def test_the_gold_mail_passes_and_one_that_takes_itself_back_does_not() -> None:
    said = BY_TICKET.gold_calls[MAIL].arguments["body"]
    assert verdict(BY_TICKET, *mailed(BY_TICKET, said)).reward == 1.0
    for more in (
        "We did not do any of this.",
        "This is not true.",
        "Or perhaps not.",
        "Reason: window_closed",
        "以上都没有办理。",
    ):
        assert verdict(BY_TICKET, *mailed(BY_TICKET, f"{said} {more}")).reward == 0.0, more


@pytest.mark.parametrize("more", ["We did not do any of this.", "Nothing of this was done.", "That is not true."])
def test_an_answer_that_takes_itself_back_earns_nothing(more: str) -> None:
    task = task_of("cancel_order")
    *calls, _ = actions_of(task)
    assert verdict(task, *calls, f"{task.gold_answer} {more}").reward == 0.0


def test_a_refusal_that_says_the_work_was_done_earns_nothing() -> None:
    refused, _ = pair("refund_small", "train", 3)
    *calls, _ = actions_of(refused)
    assert verdict(refused, *actions_of(refused)).reward == 1.0
    for said in ("It is all done.", "I have refunded the money.", "已经办好了。"):
        assert verdict(refused, *calls, f"{said} {refused.gold_answer}").reward == 0.0, said


def test_a_write_that_was_put_back_is_still_a_write() -> None:
    task = task_of("change_address")
    other = next(c for c in ("CU1001", "CU1002", "CU1003") if c not in str(task.gold_calls))
    row = world(task).call("crm_get_customer", {"customer_id": other})
    there = Call(name="crm_update_email", arguments={"customer_id": other, "email": "someone@else.example"})
    back = Call(name="crm_update_email", arguments={"customer_id": other, "email": row["email"]})
    roomy = task.model_copy(update={"max_calls": task.max_calls + 4})
    assert verdict(roomy, *actions_of(task)).reward == 1.0
    undone = verdict(roomy, there, back, *actions_of(task))
    assert (undone.reward, undone.cause) == (0.0, "unasked_write")
