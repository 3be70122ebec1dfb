"""The rollout engine: three outcomes by type, tools on offer, budgets, keys, and batches that repeat."""

import errno
import sys
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.budget import BudgetSpent
from environments.episode import Attempt, Invalid, NoResult, ResultKey, Scored, Verdict, scored_rewards
from environments.policies.scripted import Gold, NoisyTeacher
from environments.policy import Action, Answer, Malformed
from environments.rollout import attempts_at, result_key, rollouts
from environments.verifier import VerifierError, verifier_failure
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import World, WorldFailure, WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import Script, call, flights, forecast, played, task_of
from training.journal import episodes_frame, verifier_failures


class Flaky(AtlasWorld):
    """A world whose weather service breaks for good when it is asked about London."""

    broken = False

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Any tool."""
        self.broken = self.broken or arguments.get("location") == "London"
        if self.broken:
            raise WorldFailure("weather service is gone")
        return super().call(name, arguments)


class Torn(OutcomeVerifier):
    """A verifier that breaks on one answer and finds the world gone on another."""

    version = "torn"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        if attempt.answer == "break":
            raise VerifierError("rubric has no such dimension")
        if attempt.answer == "lose":
            raise WorldFailure("state is gone")
        return super().grade(attempt, world)


def verdicts(policy: Any, **how: Any) -> list[Verdict]:
    tasks = [task_of("weather"), task_of("weather", c="London"), task_of("flight")]
    return [e.verdict for e in played(tasks, policy, **how)]


def test_a_world_that_breaks_gives_no_result_and_no_zero() -> None:
    episodes = played([task_of("weather"), task_of("weather", c="London")], Gold(), pool=WorldPool(Flaky))
    assert [e.ended for e in episodes] == ["answered", "failed"]
    assert episodes[1].verdict == NoResult("weather service is gone")
    assert scored_rewards(episodes) == [1.0], "the broken one is in no mean"


def test_a_broken_session_is_not_lent_again() -> None:
    pool = WorldPool(Flaky)
    assert isinstance(played([task_of("weather", c="London")], Gold(), pool=pool)[0].verdict, NoResult)
    assert scored_rewards(played([task_of("weather")], Gold(), pool=pool)) == [1.0]


def test_a_verifier_that_breaks_gives_invalid() -> None:
    [episode] = played([task_of("weather")], Script("break"), verifier=Torn())
    assert episode.verdict == Invalid("rubric has no such dimension")
    assert scored_rewards([episode]) == []


def test_a_world_lost_while_grading_gives_no_result() -> None:
    [episode] = played([task_of("weather")], Script("lose"), verifier=Torn())
    assert episode.verdict == NoResult("state is gone")


def test_a_bug_of_ours_in_a_policy_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):

        class Buggy(Script):
            """Divides by zero."""

            def next(self, attempt: Attempt) -> Answer:
                """Any attempt."""
                return Answer(str(1 / 0))

        played([task_of("weather")], Buggy("?"))


def test_a_tool_that_is_not_on_offer_is_refused_though_the_world_has_it() -> None:
    task = task_of("weather")
    blind = task.model_copy(update={"tools": tuple(t for t in task.tools if t != "weather_forecast_days")})
    [episode] = played([blind], Script(forecast(), "cloudy, 26 degrees."))
    assert episode.steps[0].observation == {"error": "unknown_tool"}
    assert isinstance(episode.verdict, Scored)
    assert episode.verdict.reward == 0


def test_calls_beyond_the_budget_are_not_made_and_hanging_is_a_scored_zero() -> None:
    task = task_of("weather")
    [episode] = played([task], Script(*[forecast()] * 50))
    assert len(episode.steps) == task.max_calls == 2
    assert isinstance(episode.verdict, Scored)
    assert (episode.verdict.reward, episode.verdict.cause) == (0.0, "budget")


def test_an_answer_right_at_the_budget_counts() -> None:
    [episode] = played([task_of("weather")], Script(forecast(), forecast(), "cloudy, 26 degrees."))
    assert scored_rewards([episode]) == [1.0]


def test_what_is_neither_call_nor_answer_ends_with_a_scored_zero_that_shows_it() -> None:
    [episode] = played([task_of("weather")], Script(Malformed("<tool_call> {{", "malformed")))
    assert isinstance(episode.verdict, Scored)
    assert (episode.verdict.reward, episode.verdict.cause) == (0.0, "malformed")
    assert episode.verdict.evidence == "<tool_call> {{"


def test_side_by_side_attempts_do_not_see_each_others_offers_or_bookings() -> None:
    task = task_of("book_flight")
    number = task.gold_calls[1].arguments["number"]
    books_unseen = Script(call("travel_book_ticket", number=number, date="2026-06-12"), "?")
    tasks = [task] * 64
    searched = {e.steps[-1].observation.get("booked") for e in played(tasks, Gold())}
    refused = {e.steps[0].observation.get("error") for e in played(tasks, books_unseen)}
    assert (searched, refused) == ({number}, {"unknown_offer"})


def test_sixty_four_attempts_at_different_tasks_all_end_as_they_do_alone() -> None:
    tasks = fresh_tasks(64, "train", 1)
    together = [e.row() for e in played(tasks, NoisyTeacher(0.3))]
    alone = [e.row() for t in tasks for e in played([t], NoisyTeacher(0.3))]
    assert together == alone


@settings(max_examples=15, deadline=None)
@given(batch=st.integers(1, 40), k=st.integers(1, 4))
def test_the_size_of_a_batch_changes_nothing(batch: int, k: int) -> None:
    tasks = [task_of("weather"), task_of("flight"), task_of("book_train"), task_of("premise")]
    whole = played(tasks, NoisyTeacher(0.4), k=k)
    assert [e.row() for e in played(tasks, NoisyTeacher(0.4), k=k, batch=batch)] == [e.row() for e in whole]


def test_every_attempt_has_a_seed_of_its_own_that_other_tasks_do_not_touch() -> None:
    tasks = fresh_tasks(20, "train", 2)
    seeds = {(a.task.task_id, a.number): a.seed for a in attempts_at(tasks, 4, 7)}
    assert len(set(seeds.values())) == len(seeds) == 4 * len(tasks)
    alone = {(a.task.task_id, a.number): a.seed for a in attempts_at(tasks[5:6], 4, 7)}
    assert alone.items() <= seeds.items()
    assert not set(seeds.values()) & {a.seed for a in attempts_at(tasks, 4, 8)}


def digest(policy: Any = None, world: Any = AtlasWorld, verifier: Any = None) -> str:
    key: ResultKey = result_key(policy or Script("?"), WorldPool(world), verifier or OutcomeVerifier())
    return key.digest


def test_another_policy_sampler_template_verifier_or_world_gives_another_key() -> None:
    class Warm(Script):
        """Another sampler."""

        sampler = "t=0.5"

    class Spoken(Script):
        """Another template."""

        template = "hermes-2"

    keys = [
        digest(),
        digest(Script("?", version="script-2")),
        digest(Warm("?")),
        digest(Spoken("?")),
        digest(verifier=Torn()),
        digest(world=lambda: AtlasWorld(brief=False)),
    ]
    assert len(set(keys)) == len(keys)
    assert digest() == digest(), "and nothing else does"


def test_more_or_fewer_tools_give_another_key() -> None:
    class Smaller(AtlasWorld):
        """Atlas without trains."""

        def tools(self) -> Any:
            """The others."""
            return {n: t for n, t in super().tools().items() if "train" not in n}

    assert digest(world=Smaller) != digest()


def test_episodes_carry_the_key_they_were_graded_under() -> None:
    [episode] = played([task_of("weather")], Script("?"))
    assert episode.key == digest(Script("?"))


def test_batches_come_out_as_they_finish() -> None:
    parts = rollouts([task_of("weather"), task_of("flight")], Script(flights(), "?"), WorldPool(AtlasWorld),
                     OutcomeVerifier(), k=3, seed=0, batch=3)  # fmt: skip
    assert [len(part) for part in parts] == [3, 3]


def test_half_a_character_of_a_policy_ends_no_batch_and_can_be_stored() -> None:
    half = forecast("Paris\ud83d")
    for actions in ((half, "Paris \ud83d"), (Malformed("\ud83d", "malformed"),)):
        [episode] = played([task_of("weather")], Script(*actions))
        assert isinstance(episode.verdict, Scored)
        pl.DataFrame([episode.row()])


class Stumbling(OutcomeVerifier):
    """A verifier with a fault: it cannot read one answer, and its disk is full at another."""

    version = "stumbling"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        if attempt.answer == "9" * 5000:
            int(attempt.answer)
        if attempt.answer == "fill":
            raise OSError(errno.ENOSPC, "No space left on device")
        if attempt.answer == "leave":
            sys.exit("no such file")
        if attempt.answer == "spend":
            raise BudgetSpent("the next call could cost more than is left")
        return super().grade(attempt, world)


class Each(Script):
    """Gives each task's attempt its own answer."""

    def next(self, attempt: Attempt) -> Action:
        """The action that is due."""
        return Answer("9" * 5000) if attempt.task.family == "route" else Gold().next(attempt)


def test_a_verifier_that_stumbles_ends_no_batch_and_pays_nothing() -> None:
    episodes = played([task_of("weather"), task_of("route"), task_of("flight")], Each("?"), verifier=Stumbling())
    assert scored_rewards(episodes) == [1.0, 0.0, 1.0]
    why = verifier_failure(episodes[1])
    assert isinstance(episodes[1].verdict, Scored)
    assert episodes[1].verdict.cause == "verifier_failed"
    assert why is not None
    assert why.startswith("ValueError: Exceeds the limit")
    assert "tests.environments.test_rollout:" in why, "the traceback says where"
    assert [verifier_failure(e) for e in (episodes[0], episodes[2])] == [None, None]
    assert verifier_failures(episodes_frame(episodes))["episode_id"].to_list() == [episodes[1].episode_id]


def test_a_verifier_that_leaves_the_process_ends_no_batch_either() -> None:
    episodes = played([task_of("weather"), task_of("weather")], Script("leave"), verifier=Stumbling())
    assert scored_rewards(episodes) == [0.0, 0.0]
    assert str(verifier_failure(episodes[0])).startswith("SystemExit: no such file")


@pytest.mark.parametrize(("said", "error"), [("fill", OSError), ("spend", BudgetSpent)])
def test_what_no_later_attempt_can_escape_ends_the_run(said: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        played([task_of("weather")], Script(said), verifier=Stumbling())
