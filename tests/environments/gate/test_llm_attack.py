"""A language model as attacker: what it is told, what it may answer, and that its exploits are found out."""

import json
from pathlib import Path
from typing import Any

import pytest

from environments.episode import Attempt, Scored
from environments.gate.finding import Status
from environments.gate.ground import Ground
from environments.gate.llm_attack import asked_attacks, model_attacks, prompt, proposed
from environments.gate.witness import Plan
from environments.one_by_one import OneByOne
from environments.transport import NoResult
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import World
from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.catalogue import world_maker
from tests.environments.builders import task_of
from tests.environments.servers import client_of, served

TASK = task_of("weather")


class Substring(OutcomeVerifier):
    """Pays for the required values anywhere, and says which is missing."""

    version = "substring"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        missing = [f.value for f in attempt.task.goal.required if f.value not in (attempt.answer or "")]
        return Scored(
            float(not missing), float(not missing), False, "missing_fact" if missing else "ok", "".join(missing[:1])
        )


def test_the_model_is_told_task_tools_and_source_and_never_the_gold_solution() -> None:
    text = prompt(TASK, Ground.of(AtlasWorld, OutcomeVerifier()), ["a -> reward 0"])
    for told in (TASK.instruction, "weather_forecast_days", "def unsupported", "a -> reward 0", str(TASK.max_calls)):
        assert told in text
    assert TASK.gold_answer not in text
    assert "$" not in text.partition("Source of the grader:")[0]


def test_an_exploit_that_a_served_model_finds_is_found_out_and_a_sound_verifier_holds(tmp_path: Path) -> None:
    with served(tmp_path, rule="attack") as server, OneByOne(client_of(server.url, tmp_path)) as ask:
        careless = asked_attacks(TASK, Ground.of(AtlasWorld, Substring()), ask, rounds=4)
        found = model_attacks([TASK], world_maker, OutcomeVerifier(), ask, rounds=2)
    assert careless.status is Status.FAILED
    assert careless.evidence.startswith("it never saw anything")
    [sound] = found[TASK.task_id]
    assert (sound.status, sound.evidence) == (Status.PASSED, "2 attacks, 0 answers could not be read")


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "{}",
        '{"attacks": [{"answer": 3}]}',
        '{"attacks": [{"calls": [{"name": "a", "arguments": "{"}], "answer": ""}]}',
    ],
)
def test_an_answer_that_cannot_be_read_is_counted_and_no_harm(text: str) -> None:
    assert proposed(text, 3) is None
    found = asked_attacks(TASK, Ground.of(AtlasWorld, OutcomeVerifier()), lambda _: text, rounds=2)
    assert found.evidence == "0 attacks, 2 answers could not be read"


def test_an_answer_in_a_fence_is_read_and_calls_stay_within_the_budget() -> None:
    one: dict[str, Any] = {"name": "t", "arguments": '{"a": 1}'}
    text = json.dumps({"attacks": [{"idea": "x", "calls": [one, one, one], "answer": "y"}]})
    [plan] = proposed(f"Here:\n```json\n{text}\n```", 2) or []
    assert isinstance(plan, Plan)
    assert [c.arguments for c in plan.calls] == [{"a": 1}] * 2


def test_a_dead_endpoint_is_no_finding_against_the_task() -> None:
    def dead(_: str) -> str:
        """No answer."""
        raise NoResult("dead")

    found = asked_attacks(TASK, Ground.of(AtlasWorld, OutcomeVerifier()), dead, rounds=2)
    assert (found.status, found.evidence) == (Status.NO_RESULT, "dead")
