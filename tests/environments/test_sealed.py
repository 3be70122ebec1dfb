"""What a policy is handed: enough to act on, nothing that grades, and nothing that it could change."""

from typing import Any

from environments.episode import Attempt, Scored, Tokens
from environments.policies.gold_reader import GoldReader, gold_in_reach, reached
from environments.policies.rewarding import VerifierEditor
from environments.policies.script import Scripted
from environments.policies.scripted import Gold
from environments.policy import Action, Answer
from environments.sealed import Sealed, sealed
from tests.environments.builders import flights, played, task_of

TASK = task_of("flight").model_copy(update={"twin": "another", "group": "g"})


class Curious(Scripted):
    """Writes down all that is in reach."""

    sees_gold = False

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.instructions: list[str] = []

    def next(self, attempt: Attempt) -> Action:
        """One look, then an answer; tokens of its own."""
        self.values += [value for _, value in reached(attempt)]
        self.instructions.append(attempt.instruction)
        attempt.tokens = Tokens(ids=[7] * (1 + len(attempt.steps)))
        if not attempt.steps:
            return flights()
        attempt.steps.clear()
        return Answer("nothing")


def test_gold_lies_open_in_an_attempt_and_not_in_a_sealed_one() -> None:
    calls, answer = gold_in_reach(Attempt(TASK, 0, 0))
    assert (calls, answer) == (TASK.gold_calls, TASK.gold_answer)
    curious = Curious()
    played([TASK], curious)
    texts = [v for v in curious.values if isinstance(v, str)]
    assert TASK.instruction in texts
    assert not any(TASK.gold_answer in t for t in texts)
    assert not any(fact in curious.values for fact in (*TASK.goal.required, *TASK.goal.forbidden))
    assert not {*TASK.goal.seen, "another", TASK.task_id} & set(texts)


def test_a_sealed_policy_sees_what_was_said_and_shown_and_its_tokens_come_through() -> None:
    curious = Curious()
    [episode] = played([TASK], curious)
    assert curious.instructions == [TASK.instruction] * 2
    assert episode.tokens == Tokens(ids=[7, 7])
    assert len(episode.steps) == 1, "what it cleared was its own view"
    shown = [v for v in curious.values if isinstance(v, dict) and "price" in v]
    assert sorted(shown, key=str) == sorted(episode.steps[0].observation, key=str)


def test_a_reader_of_gold_and_an_editor_of_verifiers_earn_nothing_and_leave_no_trace() -> None:
    tasks = [TASK, task_of("weather"), task_of("premise")]
    for policy in (GoldReader(), VerifierEditor()):
        for episode in played(tasks, policy):
            assert isinstance(episode.verdict, Scored)
            assert episode.verdict.reward == 0.0
            assert type(episode.answer) is str
            assert all("sky" not in s.observation for s in episode.steps if isinstance(s.observation, dict))


def test_a_reader_of_gold_would_win_without_the_seal() -> None:
    reader = GoldReader()
    reader.sees_gold = True
    [episode] = played([TASK], reader)
    assert isinstance(episode.verdict, Scored)
    assert episode.verdict.success


def test_only_scripted_policies_that_say_so_are_handed_the_gold_solution() -> None:
    gold, curious = Gold(), Curious()
    assert sealed(gold) is gold
    assert isinstance(sealed(curious), Sealed)
    behind = Sealed(curious)
    assert sealed(behind) is behind
    assert (behind.version, behind.sampler) == (curious.version, curious.sampler)
