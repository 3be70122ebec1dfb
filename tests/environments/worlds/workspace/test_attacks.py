"""Attacks on the sandbox and on the tests: each earns nothing, within its limits, and harms nobody.

Source: faults 13.
"""

import time

import pytest

from environments.policies.saboteurs import ATTACKS, Saboteur
from environments.policies.scripted import Gold
from environments.sandboxes.engine import LABEL
from environments.worlds.workspace.tasks import make_tasks
from environments.worlds.workspace.world import WorkspaceWorld
from tests.environments.sandboxes.builders import TIGHT
from tests.environments.worlds.workspace.builders import Ground, scored

pytestmark = pytest.mark.docker
LONGEST_S = 40.0
"""No attack may hold an episode longer, on a busy machine."""


def traces(ground: Ground) -> list[tuple[int, int, bool]]:
    """What each container holds of the host: processes, bytes on disk, and whether its memory is given back."""
    api = ground.made.engine.client.api
    found = []
    for container in api.containers(size=True, filters={"label": LABEL}):
        used = api.stats(container["Id"], stream=False, one_shot=True)["memory_stats"]
        assert used.get("limit", TIGHT.memory_mb << 20) == TIGHT.memory_mb << 20
        processes = len(api.top(container["Id"])["Processes"])
        found.append((processes, container.get("SizeRw", 0), used.get("usage", 0) < 64 << 20))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_an_attack_earns_nothing_and_harms_neither_the_host_nor_the_next_episode(ground: Ground, attack: str) -> None:
    task, started = make_tasks("query", [3])[0], time.monotonic()
    [episode] = ground.play(Saboteur(attack), task)
    assert time.monotonic() - started < LONGEST_S
    assert scored(episode).reward == 0.0
    [after] = ground.play(Gold(), task)
    assert scored(after).reward == 1.0, "the next episode is not clean"
    assert ground.world().state_hash() == WorkspaceWorld(ground.made).state_hash()
    assert traces(ground) == [(1, 0, True)] * 2, "one container for the agent and one for the tests, both at rest"
