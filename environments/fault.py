"""The contract of a fault: what goes wrong in a world, at which call, as data of the task.

The same faults give the same episode again, bit for bit: positions and seeds are explicit, and nothing
is drawn while it runs.

Source: pipeline stage 5; verifiers and Agent World Model reports of faults without commit semantics.
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class UnplayableTask(ValueError):
    """The task asks for a fault that cannot happen in its world: the task is broken, and nobody is to blame for it."""


class FaultKind(StrEnum):
    """What may go wrong."""

    LOST_RESPONSE = "lost_response"
    """The call takes effect, then its response is lost: the agent sees a timeout."""
    DOUBLE_DELIVERY = "double_delivery"
    """The call reaches the world twice; the second finds its idempotency key, if it has one."""
    STALE_READ = "stale_read"
    """The read shows the state as it was `size` writes ago."""
    PARTIAL_PAGE = "partial_page"
    """A list comes back `size` rows long and says that there is more."""
    EXPIRED_RIGHT = "expired_right"
    """The agent's right to call the tool has run out; it must be asked for again."""
    HOMONYM = "homonym"
    """Another row goes by the same name."""
    SLOW_CALL = "slow_call"
    """The call takes the time of `size` calls of the budget."""
    CROSS_SYSTEM_DELAY = "cross_system_delay"
    """What one system writes reaches the next after `size` calls."""


STATE_LEVEL = frozenset({FaultKind.EXPIRED_RIGHT, FaultKind.HOMONYM, FaultKind.CROSS_SYSTEM_DELAY})
"""Kinds that a world itself brings about when a task begins; the others happen to any world, on the way to it."""


class Fault(BaseModel):
    """One fault."""

    model_config = ConfigDict(frozen=True)

    kind: FaultKind
    tool: str
    """The tool whose call goes wrong; for what befalls rows rather than calls, as the world says."""
    nth: int = Field(default=1, ge=1)
    """Which call of that tool, counted from 1; one that the world refuses is not counted and uses nothing up."""
    size: int = Field(default=1, ge=1)
    seed: int = 0
