"""Three outcomes by type, result keys, and what an episode looks like as a row."""

import json

import pytest

from environments.episode import Episode, Invalid, NoResult, ResultKey, Scored, Step, Tokens, scored_rewards
from environments.policy import Malformed
from tests.environments.builders import Script, call, flights, forecast, played, task_of


def episode(verdict: Scored | NoResult | Invalid, **changes: object) -> Episode:
    parts = {"task_id": "t", "attempt": 0, "seed": 1, "key": "k", "instruction": "?", "steps": (), "answer": None}
    return Episode(**{**parts, "ended": "answered", "verdict": verdict, **changes})  # type: ignore[arg-type]


def scored(reward: float) -> Scored:
    return Scored(reward, outcome=reward, vetoed=False, cause="ok")


def test_only_scored_episodes_have_a_reward() -> None:
    assert scored_rewards([episode(scored(1.0)), episode(NoResult("server")), episode(Invalid("verifier"))]) == [1.0]
    assert not hasattr(NoResult("server"), "reward")
    assert not hasattr(Invalid("verifier"), "reward")


@pytest.mark.parametrize(("reward", "success"), [(1.0, True), (0.999, False), (0.0, False)])
def test_success_is_perfect_in_every_dimension(reward: float, success: bool) -> None:
    assert scored(reward).success is success


@pytest.mark.parametrize(("verdict", "status"), [(NoResult("server"), "no_result"), (Invalid("verifier"), "invalid")])
def test_a_row_without_a_score_has_nulls_and_not_zeros(verdict: NoResult | Invalid, status: str) -> None:
    row = episode(verdict).row()
    assert (row["status"], row["cause"]) == (status, verdict.cause)
    assert row["reward"] is row["success"] is row["vetoed"] is None


def test_a_row_keeps_steps_and_tokens() -> None:
    steps = (Step(call("look", city="巴黎"), {"temp": 4}),)
    tokens = Tokens([5, 6, 7], [0, 1, 1], [0.0, -0.5, -0.25], 1)
    row = episode(scored(1.0), steps=steps, tokens=tokens).row()
    assert json.loads(row["steps"]) == [["look", {"city": "巴黎"}, {"temp": 4}]]
    assert (row["token_ids"], row["generated"], row["logprobs"]) == ([5, 6, 7], [0, 1, 1], [0.0, -0.5, -0.25])
    assert row["prompt_length"] == 1


def test_an_episode_of_another_key_attempt_seed_or_task_is_another_episode() -> None:
    base = episode(scored(1.0))
    others = [episode(scored(1.0), **{name: value}) for name, value in
              (("key", "k2"), ("attempt", 1), ("seed", 2), ("task_id", "u"))]  # fmt: skip
    assert len({base.episode_id, *(o.episode_id for o in others)}) == 5
    assert base.episode_id == episode(NoResult("server")).episode_id, "how it ended is not what it is"


@pytest.mark.parametrize("part", list(ResultKey.model_fields))
def test_any_change_of_what_scores_changes_the_key(part: str) -> None:
    parts = {name: "1" for name in ResultKey.model_fields}
    assert ResultKey(**parts).digest != ResultKey(**{**parts, part: "2"}).digest


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    parts = {name: "x" for name in ResultKey.model_fields}
    assert ResultKey(**{**parts, "world": "ab", "tools": "c"}) != ResultKey(**{**parts, "world": "a", "tools": "bc"})


def test_episodes_say_how_they_ended() -> None:
    task = task_of("weather")
    ends = {
        "answered": Script("cloudy, 26 degrees."),
        "malformed": Script(Malformed("<tool_call>", "malformed")),
        "length": Script(Malformed("so many words", "length")),
        "budget": Script(*[forecast()] * 9),
    }
    assert {said: played([task], policy)[0].ended for said, policy in ends.items()} == {said: said for said in ends}


def test_a_task_is_known_by_what_is_shown_and_what_is_checked() -> None:
    task = task_of("flight")
    changes = [
        {"instruction": "other"}, {"tools": task.tools[1:]}, {"max_calls": 9}, {"fault_seed": 1}, {"world": "desk"},
        {"goal": task.goal.model_copy(update={"reason": "no_tool"})},
    ]  # fmt: skip
    assert len({task.task_id, *(task.model_copy(update=c).task_id for c in changes)}) == len(changes) + 1
    unseen = {"split": "hidden", "group": "g", "query_id": "q", "twin": "t", "gold_answer": "?", "gold_calls": ()}
    assert task.model_copy(update=unseen).task_id == task.task_id


def test_attempts_take_the_wordings_in_turn() -> None:
    task = task_of("flight", "first").model_copy(update={"wordings": ("second", "third")})
    assert [task.wording(i) for i in range(5)] == ["first", "second", "third", "first", "second"]
    assert [e.instruction for e in played([task], Script(flights(), "?"), k=4)] == ["first", "second", "third", "first"]
