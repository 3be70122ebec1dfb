"""The limit on calls that a task sets (`Task.max_calls`): one rule for a rollout in this process and a client over MCP.

Every call counts, refused ones and tools that are not on offer among them; a slow one counts for what it took. A call
beyond the limit is not carried out, and the episode is over: what is played after that is no part of it.

Source: pipeline law 1 (the agent's own budget used up is scored 0).
"""

from collections.abc import Sequence
from typing import Final

from environments.episode import Step
from environments.faults.wrapper import FaultyWorld
from environments.task import Task
from environments.world import World

ENDED: Final = "budget"
"""How an attempt ends that asked for more."""


def used(steps: Sequence[Step], world: World) -> int:
    """How much of the limit is used: every call, and what slow ones took beyond one."""
    return len(steps) + (world.waited if isinstance(world, FaultyWorld) else 0)


def line_of(task: Task) -> str:
    """What is said of an attempt that asked for more calls than there are: evidence here, an answer over MCP."""
    return f"all {task.max_calls} calls of the task are used: the episode is over"


def beyond(task: Task) -> dict[str, str]:
    """What a client over MCP reads in place of an observation."""
    return {"error": ENDED, "detail": line_of(task)}
