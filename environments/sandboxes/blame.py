"""Who broke a sandbox: what ran inside it, or we.

Process 1 of a container cannot be killed from inside but by using up its memory (`confine` closes the other way). So
one that was killed otherwise was killed from outside (an operator, an engine that stopped, a host without memory), and
that is ours. A worker that only
is silent is judged by what its container used: at its limits of processes, memory or CPU it was starved by what ran
beside it; far from them, the machine is too slow, and that is ours again.
"""

from typing import Any, Final

from environments.sandbox import Limits, SandboxError, SandboxRuined
from environments.sandboxes.channel import Closed, Forged, Silent
from environments.sandboxes.engine import Engine, engine_errors

_KILLED: Final = (137, 143)
_NEAR: Final = 0.5
"""Share of a limit from which on a silent worker counts as starved."""


def blamed(
    engine: Engine, container: str, broken: Silent | Closed | Forged, errors: bytes, limits: Limits
) -> SandboxRuined | SandboxError:
    """The error that says whose fault it was.

    Args:
        engine: still to be asked about it.
        container: its id.
        broken: what happened on the line to the worker.
        errors: what the worker wrote to its standard error.
        limits: of the container.
    """
    from docker.errors import NotFound

    if isinstance(broken, Forged):
        return SandboxRuined(f"something else answered for the worker: {broken}")
    try:
        with engine_errors("inspect a container"):
            try:
                state = engine.client.api.inspect_container(container)["State"]
            except NotFound:
                return SandboxError("the container was removed from outside")
            if isinstance(broken, Closed):
                state = _ended(engine, container, state)
                return of_end(state, errors)
            used = engine.client.api.stats(container, stream=False, one_shot=True)
    except SandboxError as error:
        return error
    return of_silence(used, limits, state)


def _ended(engine: Engine, container: str, state: dict[str, Any]) -> dict[str, Any]:
    """The state after the container has ended, which the engine may learn a little later than we."""
    if state["Running"]:
        engine.client.api.wait(container, timeout=10)
        state = engine.client.api.inspect_container(container)["State"]
    return state


def of_end(state: dict[str, Any], errors: bytes) -> SandboxRuined | SandboxError:
    """Who ended it, by the state of the container and the last that its worker said."""
    said = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
    code = state["ExitCode"]
    if state["OOMKilled"]:
        return SandboxRuined("memory used up")
    if code in _KILLED or code == 0 or state.get("Error"):
        return SandboxError(f"the container ended from outside (exit code {code}; {state.get('Error') or said})")
    return SandboxRuined(f"the worker ended with exit code {code}: {said}")


def of_silence(used: dict[str, Any], limits: Limits, state: dict[str, Any]) -> SandboxRuined | SandboxError:
    """Whether it was starved from inside, by the engine's statistics of it."""
    processes = used.get("pids_stats", {}).get("current", 0) / limits.processes
    memory = used.get("memory_stats", {}).get("usage", 0) / (limits.memory_mb << 20)
    throttled = used.get("cpu_stats", {}).get("throttling_data", {})
    starved = throttled.get("throttled_periods", 0) / max(1, throttled.get("periods", 0))
    shares = f"{processes:.0%} of the processes, {memory:.0%} of the memory, throttled {starved:.0%} of the time"
    if max(processes, memory, starved) >= _NEAR or not state["Running"]:
        return SandboxRuined(f"the worker was starved: {shares}")
    return SandboxError(f"the worker did not answer, though it had room ({shares}): is the machine overloaded?")
