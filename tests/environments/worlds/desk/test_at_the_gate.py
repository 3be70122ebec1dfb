"""Families of desk that once fell at the gate pass it: one write too many, and a way to a look that is no look."""

import pytest

from environments.gate.examine import Depth, examined
from environments.gate.ground import Ground
from environments.policy import Action
from environments.task import Call, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.worlds.desk.plans import Level
from environments.worlds.desk.tasks import pair
from environments.worlds.desk.world import DeskWorld
from tests.environments.worlds.desk.builders import actions_of, task_of, verdict

GROUND = Ground.of(DeskWorld, OutcomeVerifier())


@pytest.mark.parametrize("family", ["lost_parcel_refund", "ticket_triage", "account_shows", "refund_small"])
def test_its_tasks_pass_the_whole_examination(family: str) -> None:
    tasks = [task_of(family, level, seed=3) for level in (Level(), Level(depth=1), Level(entities=1))]
    found = examined(tasks, GROUND, Depth(deep=True, budget=16))
    assert [f for own in found.values() for f in own if f.failed] == []


def test_so_do_a_refusal_and_its_twin() -> None:
    found = examined(pair("goodwill", "train", 0), GROUND, Depth(deep=True, budget=16))
    assert [f for own in found.values() for f in own if f.failed] == []


def test_a_look_that_the_goal_names_may_not_be_left_out() -> None:
    task = task_of("ticket_triage", seed=3)
    checks = {f.check for f in examined([task], GROUND, Depth(deep=True, budget=16))[task.task_id]}
    assert "missing_look" in checks


def test_a_denied_approval_justifies_a_refusal_only_to_somebody_who_has_proven_who_they_are() -> None:
    refused, _ = next(filter(None, (pair("refund_large", "train", seed) for seed in range(9))))
    assert refused.goal.reason == "approval_denied"
    assert (verdict(refused, *actions_of(refused)).cause, verdict(refused, *without_proof(refused)).cause) == (
        "ok",
        "wrong_order",
    )


def without_proof(task: Task) -> list[Action]:
    """The gold solution without the identity check."""
    return [c for c in actions_of(task) if not (isinstance(c, Call) and c.name == "crm_verify_identity")]


def test_who_was_proven_once_is_not_asked_again_when_a_lost_parcel_is_paid_back() -> None:
    names = [call.name for call in task_of("lost_parcel_refund").gold_calls]
    assert names.count("crm_verify_identity") == 1
