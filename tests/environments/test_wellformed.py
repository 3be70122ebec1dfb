"""What a policy sends in broken signs or endless nesting becomes data with a verdict, never a crash of the run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.episode import Scored
from environments.policy import Answer, Malformed
from environments.task import Call
from environments.wellformed import DEEPEST, is_all_text, wellformed
from environments.worlds.desk.tasks import fresh_tasks
from environments.worlds.desk.world import DeskWorld
from tests.environments.builders import Script, call, played, task_of
from training.journal import episodes_frame

HALF = "\ud83d"
"""Half of an emoji, as a server that cuts text at a token sends it."""
SEARCH = "weather_forecast_days"


def nested(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    "actions",
    [
        (f"cloudy {HALF}, 26 degrees",),
        (call(SEARCH, location=f"Paris{HALF}", date="2026-06-12"), "26 degrees"),
        (call(SEARCH, location={HALF: [HALF]}, date="2026-06-12"), "26 degrees"),
        (call(SEARCH + HALF, location="Paris"), "26 degrees"),
    ],
)
def test_half_a_sign_is_graded_and_can_be_written_down(actions: tuple[Call | str, ...]) -> None:
    episodes = played([task_of("weather")], Script(*actions))
    assert isinstance(episodes[0].verdict, Scored)
    assert len(episodes_frame(episodes)) == 1
    assert HALF.encode("utf-8", "surrogatepass") not in str(episodes[0]).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("levels", [DEEPEST + 1, 900, 100_000])
def test_arguments_without_end_are_malformed(levels: int) -> None:
    [episode] = played([task_of("weather")], Script(Call.model_construct(name=SEARCH, arguments={"a": nested(levels)})))
    assert isinstance(episode.verdict, Scored)
    assert (episode.verdict.reward, episode.ended) == (0.0, "malformed")


def test_a_tool_refuses_what_is_no_text_also_without_a_rollout() -> None:
    world = DeskWorld()
    world.begin(fresh_tasks(1, "train", seed=3)[0])
    assert world.call("erp_get_order", {"order_id": HALF}) == {"error": "bad_arguments", "arguments": "order_id"}


@given(st.recursive(st.text() | st.integers(), lambda part: st.lists(part, max_size=2), max_leaves=5))
def test_what_is_well_formed_stays_as_it_is(value: Any) -> None:
    made = call("tool", value=value)
    assert is_all_text(value)
    assert wellformed(made) is made
    assert wellformed(Answer("十 x")) == Answer("十 x")
    assert wellformed(Malformed("x", "length")) == Malformed("x", "length")
