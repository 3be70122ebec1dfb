"""Whole conversations: the gold solution asks, the user tells, and a mistake of the user is nobody else's."""

import json

import pytest

from environments.episode import Attempt, Exchange, NoResult, Scored, exchanges_in
from environments.policies.scripted import Gold, NoisyTeacher
from environments.task import Saying, UserGoal
from environments.user import Reply, UserFailure
from tests.environments.builders import Script
from tests.environments.faults.builders import GOLD, played, shop_task

USER = UserGoal(facts={"order": "It is order A.", "reason": "It is broken."}, synonyms={"order": ("订单",)})
ASK = "Please tell me: order, reason."
TOLD = "It is order A. It is broken."
THANKS = "Thank you, that is all."


@pytest.mark.parametrize("persona", ["plain", "impatient", "forgetful"])
def test_the_gold_solution_asks_what_it_has_to_know_and_is_perfect(persona: str) -> None:
    task = shop_task(user=USER.model_copy(update={"persona": persona}))
    [episode] = played([task], Gold())
    forgot = [Exchange(0, ASK, "I do not remember right now.")] if persona == "forgetful" else []
    assert list(episode.exchanges) == [*forgot, Exchange(0, ASK, TOLD), Exchange(2, "settled.", THANKS)]
    assert [s.call for s in episode.steps] == list(GOLD)
    assert (episode.ended, episode.answer) == ("answered", "settled.")
    assert isinstance(episode.verdict, Scored)
    assert episode.verdict.reward == 1.0


def test_the_gold_solution_says_what_the_task_has_for_it_to_say() -> None:
    says = (Saying(after=0, text="Which order?"), Saying(after=1, text="Shall I refund it?"))
    [episode] = played([shop_task(user=USER, gold_says=says)], Gold())
    assert [(e.after, e.said, e.reply) for e in episode.exchanges] == [
        (0, "Which order?", "It is order A."),
        (1, "Shall I refund it?", "Yes, please go ahead."),
        (2, "settled.", THANKS),
    ]
    assert isinstance(episode.verdict, Scored)
    assert episode.verdict.reward == 1.0


def test_the_teacher_asks_too_and_a_chinese_task_is_asked_in_chinese() -> None:
    [episode] = played([shop_task(user=USER)], NoisyTeacher(0.0))
    assert [e.said for e in episode.exchanges] == [ASK, "settled."]
    chinese = shop_task(user=USER).model_copy(update={"instruction": "我要退款。"})
    [episode] = played([chinese], Gold())
    assert episode.exchanges[0] == Exchange(0, "请告诉我：order、reason。", TOLD)


def test_what_the_agent_said_last_is_its_answer_and_hanging_on_a_user_ends() -> None:
    [episode] = played([shop_task(user=USER.model_copy(update={"max_replies": 3}))], Script("What is your shoe size?"))
    assert (len(episode.exchanges), episode.ended, episode.answer) == (4, "answered", "What is your shoe size?")
    assert isinstance(episode.verdict, Scored)
    assert episode.verdict.reward == 0.0


def test_a_row_keeps_the_conversation_and_a_row_without_one_reads_as_none() -> None:
    with_user, without = played([shop_task(user=USER), shop_task()], Gold())
    row = with_user.row()
    assert json.loads(row["exchanges"]) == [[0, ASK, TOLD], [2, "settled.", THANKS]]
    assert exchanges_in(row["exchanges"]) == with_user.exchanges
    assert without.row()["exchanges"] is None
    assert exchanges_in(None) == ()


class Broken:
    """A user that fails at its second reply."""

    version = "broken"

    def reply(self, attempt: Attempt, said: str) -> Reply:
        """Fine once."""
        if attempt.exchanges:
            raise UserFailure("left its role")
        return Reply("All right.", ended=False)


def test_a_mistake_of_the_user_is_no_result_and_no_zero() -> None:
    [episode] = played([shop_task(user=USER)], Script("Hm?"), user=Broken())
    assert episode.verdict == NoResult("user: left its role")
    assert episode.exchanges == (Exchange(0, "Hm?", "All right."),)


class Watches:
    """Remembers whether the goal held each time it was spoken to."""

    version = "watches"

    def __init__(self) -> None:
        self.seen: list[bool] = []

    def reply(self, attempt: Attempt, said: str) -> Reply:
        """Ends at the third turn."""
        self.seen.append(attempt.landed)
        return Reply("Yes.", ended=len(self.seen) == 3)


def test_a_user_can_be_judged_by_whether_the_write_had_landed_when_it_spoke() -> None:
    user, approve, refund = Watches(), *GOLD

    class Talks(Script):
        """Speaks between its calls."""

        def next(self, attempt: Attempt) -> object:  # type: ignore[override]
            """Two calls, a word before and after each."""
            spoken = len(attempt.exchanges) > len(attempt.steps)
            return self.actions[len(attempt.steps)] if spoken else Script("Hm?").next(attempt)

    played([shop_task(user=USER)], Talks(approve, refund, "?"), user=user)
    assert user.seen == [False, False, True]
