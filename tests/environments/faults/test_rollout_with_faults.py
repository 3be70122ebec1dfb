"""Episodes in which calls go wrong: the retry, the budget, the verdict by type, and sessions that stay clean."""

from dataclasses import replace

import pytest

from environments.episode import Invalid, NoResult, Scored
from environments.fault import FaultKind
from environments.faults.wrapper import TIMEOUT
from environments.policies.scripted import Gold
from environments.rollout import result_key
from environments.task import Call, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldFailure, WorldPool
from tests.environments.builders import Script, task_of
from tests.environments.builders import played as played_in_atlas
from tests.environments.faults.builders import GOLD, Shop, do, fault, played, shop_task

APPROVE, REFUND = GOLD
BARE = do("refund", order_id="A")
LOST = fault("lost_response", "refund")


def scored(task: Task, *actions: Call | str) -> Scored:
    [episode] = played([task], Script(*actions))
    assert isinstance(episode.verdict, Scored)
    return episode.verdict


def test_a_refund_whose_response_was_lost_and_that_is_retried_with_its_key_leaves_one_ticket() -> None:
    [episode] = played([shop_task(LOST)], Script(APPROVE, REFUND, REFUND, "settled."))
    assert [s.observation for s in episode.steps] == [{"approved": "A"}, TIMEOUT, {"ticket": 1}]
    assert episode.verdict == Scored(1.0, outcome=1.0, vetoed=False, cause="ok")


def test_retried_without_a_key_it_leaves_two_and_fails() -> None:
    verdict = scored(shop_task(LOST), APPROVE, BARE, BARE, "settled.")
    assert (verdict.reward, verdict.cause, verdict.evidence) == (0.0, "unasked_write", "ticket 2")


def test_looking_before_a_retry_is_as_good_as_a_key() -> None:
    assert scored(shop_task(LOST), APPROVE, BARE, do("list_tickets"), "settled.").reward == 1.0


def test_giving_up_after_the_timeout_is_judged_by_the_state_and_not_by_what_was_seen() -> None:
    assert scored(shop_task(LOST), APPROVE, BARE, "settled.").reward == 1.0
    assert scored(shop_task(fault("lost_response", "approve")), REFUND, "settled.").cause == "not_written"


def test_a_refund_before_its_approval_fails_however_often_it_is_retried() -> None:
    assert scored(shop_task(LOST), REFUND, APPROVE, REFUND, "settled.").cause == "wrong_order"


@pytest.mark.parametrize(("call", "reward"), [(REFUND, 1.0), (BARE, 0.0)])
def test_double_delivery_fails_those_who_send_no_key(call: Call, reward: float) -> None:
    assert scored(shop_task(fault("double_delivery", "refund")), APPROVE, call, "settled.").reward == reward


@pytest.mark.parametrize(
    ("max_calls", "ended", "steps"), [(4, "answered", 2), (3, "budget", 2), (2, "budget", 2), (7, "answered", 2)]
)
def test_a_slow_call_takes_its_time_of_the_budget(max_calls: int, ended: str, steps: int) -> None:
    [episode] = played([shop_task(fault("slow_call", "refund", size=3), max_calls=max_calls)], Gold())
    assert (episode.ended, len(episode.steps)) == (ended, steps)
    assert isinstance(episode.verdict, Scored)
    assert episode.verdict.reward == float(ended == "answered"), "an exhausted budget is the agent's zero"


def test_after_a_slow_call_fewer_calls_are_left() -> None:
    task = shop_task(fault("slow_call", "approve", size=4), max_calls=5)
    [episode] = played([task], Script(APPROVE, REFUND, do("list_tickets"), "settled."))
    assert (episode.ended, len(episode.steps)) == ("budget", 2)


def test_a_fault_that_the_world_does_not_know_makes_the_task_invalid_and_no_zero() -> None:
    episodes = played([shop_task(fault("homonym", "orders")), shop_task()], Gold())
    assert isinstance(episodes[0].verdict, Invalid)
    assert "homonym" in episodes[0].verdict.cause
    assert isinstance(episodes[1].verdict, Scored)
    assert (episodes[0].ended, episodes[1].verdict.reward) == ("unplayable", 1.0)
    [unknown] = played_in_atlas([task_of("weather").model_copy(update={"faults": (LOST,)})], Gold())
    assert isinstance(unknown.verdict, Invalid)


def test_a_world_that_breaks_under_a_fault_gives_no_result() -> None:
    class Breaks(Shop):
        """Breaks at the second delivery."""

        def call(self, name: str, arguments: object) -> object:
            """Any tool."""
            if name == "refund" and self.ledger()[-1].tool == "refund":
                raise WorldFailure("shop is gone")
            return super().call(name, arguments)  # type: ignore[arg-type]

    task = shop_task(fault("double_delivery", "refund"))
    [episode] = played([task], Gold(), pool=WorldPool(Breaks))
    assert episode.verdict == NoResult("shop is gone")


def test_sessions_come_back_clean_and_without_faults() -> None:
    pool, initial = WorldPool(Shop), Shop().state_hash()
    for _ in range(2):
        episodes = played([shop_task(LOST), shop_task()], Script(APPROVE, REFUND, REFUND, "settled."), pool=pool)
        assert [e.steps[1].observation for e in episodes] == [TIMEOUT, {"ticket": 1}]
    lent = [pool.lend() for _ in range(2)]
    assert [type(world) for world in lent] == [Shop, Shop], "the wrapped worlds are not lent again"
    assert [world.state_hash() for world in lent] == [initial] * 2


def test_sixty_four_sessions_at_once_with_faults_end_as_each_does_alone() -> None:
    kinds = ("lost_response", "double_delivery", "slow_call")
    tasks = [
        shop_task(fault(kinds[i % 3], "refund", 1 + i % 2, 1 + i % 3), max_calls=4 + i % 5) for i in range(64)
    ]  # fmt: skip
    policy = Script(APPROVE, REFUND, do("list_tickets"), REFUND, "settled.")
    together = played(tasks, policy, batch=64)
    assert [e.row() for e in together] == [e.row() for t in tasks for e in played([t], policy)]
    assert {e.steps[-1].observation.get("ticket", 1) for e in together if "error" not in e.steps[-1].observation} == {1}


def test_the_code_of_faults_is_part_of_the_key_and_the_faults_of_the_task_are_part_of_its_id() -> None:
    key = result_key(Gold(), WorldPool(Shop), OutcomeVerifier())
    assert key.world.startswith("shop-1+faults-")
    assert key.user.startswith("scripted-")
    one, seed = LOST, LOST.model_copy(update={"seed": 1})
    ids = [shop_task(*f).task_id for f in ((), (one,), (seed,), (LOST.model_copy(update={"nth": 2}),))]
    assert len(set(ids)) == 4


def test_attempts_at_one_task_meet_the_same_faults() -> None:
    rows = [replace(e, attempt=0, seed=0).row() for e in played([shop_task(LOST)], Gold(), k=3)]
    assert rows[0] == rows[1] == rows[2]
    assert {k.value for k in FaultKind} > {"lost_response"}
