"""ATIF: episodes out, other tools' trajectories in."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from atif import Trajectory

from environments.episode import Episode, Exchange, Tokens
from environments.formats.atif import read_trajectory, trajectory_of, write_trajectory
from environments.policies.scripted import Gold
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import played, task_of

OTHERS: dict[str, Any] = {
    "schema_version": "ATIF-v1.8", "session_id": "s-1", "agent": {"name": "other", "version": "2.0", "model_name": "m"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be brief."},
        {"step_id": 2, "source": "user", "message": "Refund order 7"},
        {"step_id": 3, "source": "agent", "message": "", "reasoning_content": "look it up",
         "tool_calls": [{"tool_call_id": "a", "function_name": "get_order", "arguments": {"id": 7}},
                        {"tool_call_id": "b", "function_name": "get_policy", "arguments": {}}],
         "observation": {"results": [{"source_call_id": "b", "content": "refunds within 30 days"},
                                     {"source_call_id": "a", "content": "{\"status\": \"delivered\"}"}]}},
        {"step_id": 4, "source": "agent", "message": "Which card?"},
        {"step_id": 5, "source": "user", "message": "The blue one."},
        {"step_id": 6, "source": "agent", "message": [{"type": "text", "text": "Done."}],
         "metrics": {"prompt_tokens": 120, "completion_tokens": 15}},
    ],
}  # fmt: skip


def written(document: dict[str, Any], folder: Path) -> Path:
    path = folder / "trajectory.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def gold_episode() -> Episode:
    [episode] = played([task_of("place_route")], Gold())
    return episode


def test_an_episode_comes_back_as_it_went_out(tmp_path: Path) -> None:
    episode, path = gold_episode(), tmp_path / "e.json"
    schemas = [t.schema() for t in AtlasWorld().tools().values()]
    write_trajectory(trajectory_of(episode, model="gold-1", tools=schemas), path)
    found = read_trajectory(path)
    assert (found.instruction, found.steps, found.answer) == (episode.instruction, episode.steps, episode.answer)
    assert found.extra["loopwright"]["reward"] == 1.0
    assert found.session_id == episode.episode_id
    names = [
        t["function"]["name"] for t in Trajectory.model_validate_json(path.read_text()).agent.tool_definitions or []
    ]
    assert names == list(AtlasWorld().tools())


def test_a_conversation_comes_back_with_its_turns_in_their_places(tmp_path: Path) -> None:
    said = (Exchange(0, "Which day?", "June 12."), Exchange(2, "It takes 20 minutes.", "Thank you."))
    episode = replace(gold_episode(), exchanges=said, answer="It takes 20 minutes.")
    write_trajectory(trajectory_of(episode, model="m"), tmp_path / "e.json")
    found = read_trajectory(tmp_path / "e.json")
    assert (found.exchanges, found.steps, found.answer) == (said, episode.steps, episode.answer)


def test_token_ids_stand_with_the_turn_that_they_made() -> None:
    generated = [0, 0, 1, 1, 0, 1, 0, 0, 1, 1]
    tokens = Tokens(list(range(10)), generated, [-float(i) * g for i, g in enumerate(generated)], 2)
    trajectory = trajectory_of(replace(gold_episode(), tokens=tokens), model="m")
    made = [s.metrics for s in trajectory.steps if s.metrics is not None]
    assert [(m.prompt_token_ids, m.completion_token_ids, m.logprobs) for m in made] == [
        ([0, 1], [2, 3], [-2.0, -3.0]),
        ([0, 1, 2, 3, 4], [5], [-5.0]),
        ([0, 1, 2, 3, 4, 5, 6, 7], [8, 9], [-8.0, -9.0]),
    ]
    assert trajectory.final_metrics is not None
    assert trajectory.final_metrics.total_completion_tokens == 5
    with pytest.raises(ValueError, match="hold 4 turns of the policy and the episode 3"):
        trajectory_of(replace(gold_episode(), tokens=Tokens([1] * 8, [0, 1] * 4, [0.0] * 8, 1)), model="m")


def test_a_trajectory_of_another_tool_is_read_call_by_call(tmp_path: Path) -> None:
    found = read_trajectory(written(OTHERS, tmp_path))
    assert (found.session_id, found.instruction, found.answer) == ("s-1", "Refund order 7", "Done.")
    assert [(s.call.name, s.observation) for s in found.steps] == [
        ("get_order", {"status": "delivered"}), ("get_policy", "refunds within 30 days"),
    ]  # fmt: skip
    assert found.exchanges == (Exchange(2, "Which card?", "The blue one."),)


def test_copied_context_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    copied = {"step_id": 1, "source": "user", "message": "earlier", "is_copied_context": True}
    steps = [copied, *({**s, "step_id": s["step_id"] + 1} for s in OTHERS["steps"])]
    assert read_trajectory(written({**OTHERS, "steps": steps}, tmp_path)).instruction == "Refund order 7"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"steps": [{"step_id": 1, "source": "agent", "message": "hi"}]}, "begins with no user's step"),
        ({"unknown": 1}, "is no ATIF trajectory: unknown: "),
        ({"steps": [{"step_id": 2, "source": "user", "message": "hi"}]}, "is no ATIF trajectory: "),
        ({"steps": [*OTHERS["steps"][1:2], {"step_id": 3, "source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "a", "function_name": "f", "arguments": {}}]}]}, "trajectory"),
    ],
)  # fmt: skip
def test_what_is_no_trajectory_is_refused_with_its_place(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=told):
        read_trajectory(written({**OTHERS, **change}, tmp_path))
