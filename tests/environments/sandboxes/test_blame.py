"""Whose fault it is when a sandbox breaks."""

import pytest

from environments.sandbox import Limits, SandboxError, SandboxRuined
from environments.sandboxes.blame import of_end, of_silence

RUNNING = {"Running": True}


@pytest.mark.parametrize(
    ("code", "out_of_memory", "ours"),
    [
        (137, True, False),
        (137, False, True),
        (143, False, True),
        (0, False, True),
        (1, False, False),
        (139, False, False),
    ],
    ids=["memory used up", "killed", "stopped", "hung up", "worker failed", "worker crashed"],
)
def test_process_1_can_only_be_killed_from_outside_or_by_memory(code: int, out_of_memory: bool, ours: bool) -> None:
    blame = of_end({"ExitCode": code, "OOMKilled": out_of_memory, "Error": ""}, b"Traceback\nMemoryError\n")
    assert type(blame) is (SandboxError if ours else SandboxRuined)
    assert "MemoryError" in str(blame) or out_of_memory


@pytest.mark.parametrize(
    ("used", "ours"),
    [
        ({"pids_stats": {"current": 60}}, False),
        ({"memory_stats": {"usage": 250 << 20}}, False),
        ({"cpu_stats": {"throttling_data": {"periods": 100, "throttled_periods": 90}}}, False),
        ({"pids_stats": {"current": 2}, "memory_stats": {"usage": 20 << 20}}, True),
        ({}, True),
    ],
    ids=["processes", "memory", "cpu", "far from all limits", "nothing known"],
)
def test_a_silent_worker_was_starved_from_inside_or_the_machine_is_slow(used: dict[str, object], ours: bool) -> None:
    blame = of_silence(used, Limits(processes=64, memory_mb=256), RUNNING)
    assert type(blame) is (SandboxError if ours else SandboxRuined)
