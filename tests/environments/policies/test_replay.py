"""Finished attempts played again: the same calls, the same end, the same verdict, or it is told what differs."""

import json

import pytest

from environments.episode import Attempt, Episode, Exchange, Step
from environments.policies.replay import Recorded, RecordedUser, Replay
from environments.policies.scripted import NoisyTeacher
from environments.policy import Answer, Malformed
from environments.rollout import result_key, rollout
from environments.task import Call
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import Script, forecast, played, task_of


def replayed(episodes: list[Episode], tasks: dict[str, object], pool: WorldPool) -> list[Episode]:
    verifier = OutcomeVerifier()
    key = result_key(NoisyTeacher(0.4), pool, verifier)
    records = [Recorded.of(e.row()) for e in episodes]
    attempts = [Attempt(tasks[e.task_id], e.attempt, e.seed) for e in episodes]  # type: ignore[arg-type]
    return rollout(attempts, Replay(records, key), pool, verifier, key)


def test_every_kind_of_end_comes_out_as_it_was() -> None:
    tasks = fresh_tasks(40, "train", 5)
    pool = WorldPool(AtlasWorld)
    before = played(tasks, NoisyTeacher(0.4), pool=pool, k=2)
    before += played([tasks[0]], Script(Malformed("<tool", "malformed")))
    before += played([task_of("route")], Script(*[forecast()] * 9))
    assert {e.ended for e in before} >= {"answered", "malformed", "budget"}
    after = replayed(before, {t.task_id: t for t in [*tasks, task_of("route")]}, pool)
    for old, new in zip(before, after, strict=True):
        assert (old.steps, old.answer, old.ended, old.verdict) == (new.steps, new.answer, new.ended, new.verdict)
        assert Recorded.of(old.row()).differs(new.steps) is None


def test_a_world_that_answers_differently_is_told() -> None:
    [episode] = played([task_of("weather")], Script(forecast(), "cloudy, 26 degrees."))
    row = {**episode.row(), "steps": json.dumps([["weather_forecast_days", {"location": "Paris"}, {"sky": "sunny"}]])}
    assert "call 1, weather_forecast_days" in str(Recorded.of(row).differs(episode.steps))
    assert "0 calls where there were 1" in str(Recorded.of(row).differs(()))


def test_a_conversation_is_played_turn_by_turn() -> None:
    exchanges = (Exchange(0, "From where?", "From Paris."), Exchange(1, "UA16.", "Thank you, that is all."))
    record = Recorded((Step(Call(name="look", arguments={}), {}),), "UA16.", "answered", "", exchanges)
    assert record.actions() == [Answer("From where?"), Call(name="look", arguments={}), Answer("UA16.")]
    task = task_of("weather")
    user, attempt = RecordedUser({(task.task_id, 0): record}, "u"), Attempt(task, 0, 0)
    first = user.reply(attempt, "From where?")
    attempt.exchanges.append(Exchange(0, "From where?", first.text))
    second = user.reply(attempt, "UA16.")
    assert (first.ended, second.ended, second.text) == (False, True, "Thank you, that is all.")


@pytest.mark.parametrize("missing", ["exchanges"])
def test_rows_from_before_conversations_were_stored_can_be_played(missing: str) -> None:
    [episode] = played([task_of("weather")], Script(forecast(), "cloudy, 26 degrees."))
    row = episode.row()
    assert Recorded.of({name: value for name, value in row.items() if name != missing}) == Recorded.of(row)
