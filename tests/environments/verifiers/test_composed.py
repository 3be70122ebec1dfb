"""Reward = veto x outcome x rubric: what beats what, and what is never a zero."""

from collections.abc import Sequence

import pytest

from environments.episode import Attempt, Exchange, Invalid, NoResult, Scored, Verdict, scored_rewards
from environments.judge import Asked, Grade, NoGrade
from environments.judges.programmatic import ProgrammaticJudge
from environments.policies.scripted import CHEATERS, AlwaysRefuse, Garbage
from environments.rollout import result_key
from environments.task import Goal, Task
from environments.verifier import judged_by
from environments.verifiers.composed import ComposedVerifier, verifier_for, versions_of_judging
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.desk.tasks import fresh_tasks
from environments.worlds.desk.world import DeskWorld
from tests.environments.builders import Call, Script, call, flights, forecast, played, task_of

OPEN = "Suggest where to go from Paris on June 12: I like sun."
ADVICE = "Paris is cloudy, 26 degrees. Would you like to hear of another city?"


class Scale:
    """A judge that gives each dimension the score it is told, or none."""

    def __init__(self, *scores: float | None, version: str = "scale-1") -> None:
        self.scores, self.version = scores, version
        self.asked: list[Asked] = []

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """As told."""
        self.asked += asked
        return [Grade("told so", s) if s is not None else NoGrade("timeout") for s in self.scores]


def open_task(rubric: str = "consultation") -> Task:
    """A task that states no goal and names a rubric."""
    made = task_of("weather", OPEN)
    return made.model_copy(update={"goal": Goal(), "rubric": rubric, "max_calls": 3})


def graded(task: Task, judge: Scale, *actions: Call | str) -> Verdict:
    """The verdict on what a script does."""
    [episode] = played([task], Script(*actions), verifier=ComposedVerifier(judge))
    return episode.verdict


def test_what_the_state_does_not_show_is_graded_by_the_rubric_with_its_reasons() -> None:
    found = graded(open_task(), Scale(1.0, 0.5, 0.75), forecast(), ADVICE)
    assert isinstance(found, Scored)
    assert found.reward == pytest.approx(0.2 + 0.3 * 0.5 + 0.5 * 0.75) == found.rubric
    assert (found.outcome, found.vetoed, found.success) == (1.0, False, False)
    assert [(d.name, d.score, d.reason) for d in found.dimensions] == [
        ("reasoning", 1.0, "told so"), ("fidelity", 0.5, "told so"), ("service", 0.75, "told so"),
    ]  # fmt: skip
    assert (found.cause, found.evidence) == ("rubric_fidelity", "told so"), "what cost most"


def test_success_is_perfect_in_every_dimension() -> None:
    perfect = graded(open_task(), Scale(1.0, 1.0, 1.0), forecast(), ADVICE)
    assert isinstance(perfect, Scored)
    assert (perfect.reward, perfect.success, perfect.cause) == (1.0, True, "ok")
    nearly = graded(open_task(), Scale(1.0, 1.0, 0.99), forecast(), ADVICE)
    assert isinstance(nearly, Scored)
    assert not nearly.success


def test_the_veto_beats_any_other_score() -> None:
    judge = Scale(1.0, 1.0, 1.0)
    found = graded(open_task(), judge, forecast(), "Go to Lisbon, it has 31 degrees. Shall I book?")
    assert isinstance(found, Scored)
    assert (found.reward, found.vetoed, found.cause) == (0.0, True, "hallucination")
    assert not judge.asked, "what is 0 already costs no question"
    dead = graded(open_task(), Scale(None, None, None), forecast(), "Go to Lisbon, it has 31 degrees.")
    assert isinstance(dead, Scored)
    assert dead.vetoed


def test_a_veto_with_a_reward_cannot_be_made() -> None:
    with pytest.raises(AssertionError, match="a veto leaves no reward"):
        Scored(0.5, outcome=1.0, vetoed=True, cause="hallucination")


def test_a_lost_outcome_is_a_zero_whatever_the_rubric_says() -> None:
    task = task_of("weather").model_copy(update={"rubric": "retrieval"})
    found = graded(task, Scale(1.0, 1.0, 1.0), forecast(), "26 degrees")
    assert isinstance(found, Scored)
    assert (found.reward, found.cause) == (0.0, "missing_fact")
    won = graded(task, Scale(1.0, 1.0, 0.5), forecast(), "cloudy, 26 degrees.")
    assert isinstance(won, Scored)
    assert won.reward == pytest.approx(0.9)


def test_a_task_without_a_goal_still_forbids_to_write() -> None:
    book = call("travel_book_ticket", number="UA16", date="2026-06-12")
    found = graded(open_task(), Scale(1.0, 1.0, 1.0), flights(), book, "UA16 is booked.")
    assert isinstance(found, Scored)
    assert (found.reward, found.cause) == (0.0, "unasked_write")


def test_a_judge_without_an_answer_gives_no_result_and_enters_no_mean() -> None:
    tasks, verifier = [open_task()] * 2, ComposedVerifier(Scale(1.0, None, 1.0))
    episodes = played(tasks, Script(forecast(), ADVICE), verifier=verifier)
    assert {e.verdict for e in episodes} == {NoResult("judge: fidelity: timeout")}
    assert scored_rewards(episodes) == []
    assert {(e.row()["status"], e.row()["reward"], e.row()["success"]) for e in episodes} == {("no_result", None, None)}


def test_a_rubric_that_is_not_there_makes_the_task_invalid() -> None:
    found = graded(open_task("charm"), Scale(1.0, 1.0, 1.0), forecast(), ADVICE)
    assert isinstance(found, Invalid)
    assert "'charm'" in found.cause


def test_tasks_without_a_rubric_are_graded_as_before() -> None:
    for answer in ("cloudy, 26 degrees.", "26 degrees", "cloudy, 99 degrees"):
        one, other = (
            played([task_of("weather")], Script(forecast(), answer), verifier=v)[0].verdict
            for v in (OutcomeVerifier(), ComposedVerifier(Scale()))
        )
        assert one == other


def test_a_verifier_without_a_judge_refuses_a_task_with_a_rubric() -> None:
    [episode] = played([open_task()], Script(forecast(), ADVICE), verifier=OutcomeVerifier())
    assert isinstance(episode.verdict, Invalid)


def test_judge_and_rubric_are_part_of_the_key_only_where_a_rubric_is_asked() -> None:
    pool, script = WorldPool(AtlasWorld), Script("x")
    plain = result_key(script, pool, verifier_for([task_of("weather")]))
    asked = result_key(script, pool, verifier_for([task_of("weather"), open_task()]))
    other = result_key(script, pool, verifier_for([open_task()], Scale(version="scale-2")))
    assert (plain.judge, plain.rubric) == ("none", "none")
    assert asked.judge.startswith("rules-")
    assert asked.rubric.startswith("rubrics-")
    assert len({plain.digest, asked.digest, other.digest}) == 3
    assert (versions_of_judging([task_of("weather")]), judged_by(OutcomeVerifier())["judge"]) == ({}, "none")
    assert versions_of_judging([open_task()])["judge"] == asked.judge


RUBRIC_TASKS = [
    open_task("planning"),
    open_task("retrieval"),
    open_task("consultation"),
    task_of("flight").model_copy(update={"rubric": "retrieval"}),
    task_of("warmer").model_copy(update={"rubric": "planning"}),
    task_of("book_flight").model_copy(update={"rubric": "planning"}),
]


@pytest.mark.parametrize("cheater", [c for c in CHEATERS if c.__name__ != "OneLook"], ids=lambda c: c.__name__)
def test_no_cheater_earns_anything_from_a_judge_without_a_model(cheater: type) -> None:
    episodes = played(RUBRIC_TASKS, cheater(), verifier=ComposedVerifier(ProgrammaticJudge()))
    assert [e.row()["reward"] for e in episodes] == [0.0] * len(RUBRIC_TASKS)


@pytest.mark.parametrize("said", ["asdf qwer", "Sure!", "As you wish, dear friend?", "I am sorry, I cannot do that."])
def test_words_without_work_earn_nothing(said: str) -> None:
    episodes = played(RUBRIC_TASKS, Script(said), verifier=ComposedVerifier(ProgrammaticJudge()))
    assert [e.row()["reward"] for e in episodes] == [0.0] * len(RUBRIC_TASKS)


def test_the_credit_for_a_refusal_needs_a_well_formed_one_with_the_right_reason() -> None:
    refusals = [task_of(f).model_copy(update={"rubric": "consultation"}) for f in ("out_of_scope", "no_origin")]
    verifier = ComposedVerifier(ProgrammaticJudge())
    right, wrong = played(refusals, AlwaysRefuse(), verifier=verifier)
    assert isinstance(right.verdict, Scored)
    assert right.verdict.outcome == 1.0
    assert right.verdict.reward > 0
    assert (wrong.row()["reward"], wrong.row()["cause"]) == (0.0, "wrong_reason")
    garbage = played(refusals, Garbage(), verifier=verifier)
    assert [e.row()["reward"] for e in garbage] == [0.0, 0.0]


def test_gold_with_a_next_step_is_perfect_by_the_judge_without_a_model() -> None:
    task = task_of("flight", "The cheapest flight from Paris to Lyon on June 12?")
    task = task.model_copy(update={"rubric": "retrieval"})
    [episode] = played([task], Script(*task.gold_calls, task.gold_answer), verifier=verifier_for([task]))
    assert isinstance(episode.verdict, Scored)
    assert episode.verdict.success, episode.verdict


def test_the_judge_sees_the_attempt_and_its_own_question_only() -> None:
    judge = Scale(1.0, 1.0, 1.0)
    graded(open_task(), judge, forecast(), ADVICE)
    assert [one.question.kind for one in judge.asked] == ["reasoning", "fidelity", "service"]
    assert {type(one.attempt) for one in judge.asked} == {Attempt}


def test_without_a_goal_claims_are_held_against_the_world_that_the_task_is_set_in() -> None:
    world = DeskWorld()
    task = fresh_tasks(1, "train", seed=3)[0].model_copy(update={"goal": Goal(), "rubric": "consultation"})
    world.begin(task)
    attempt = Attempt(task, 0, 0, [], "An order can be returned within 30 days of delivery.", "answered")
    found = ComposedVerifier(Scale(1.0, 1.0, 1.0)).grade(attempt, world)
    assert isinstance(found, Scored)
    assert (found.reward, found.vetoed) == (1.0, False), "the policy of desk says so"


def test_without_a_goal_the_words_shown_are_those_of_the_turn_that_made_them_up() -> None:
    task = open_task()
    attempt = Attempt(task, 0, 0, [], "Goodbye.", "answered")
    attempt.exchanges = [Exchange(0, "It costs 777 euros.", "Thanks."), Exchange(0, "Goodbye.", "")]
    world = AtlasWorld()
    world.begin(task)
    found = ComposedVerifier(Scale(1.0, 1.0, 1.0)).grade(attempt, world)
    assert isinstance(found, Scored)
    assert (found.cause, found.evidence) == ("hallucination", "777")
    assert found.nearest.startswith("money; nearest:")
