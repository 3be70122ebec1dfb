"""A pool of workspace sessions and a verifier, played by scripted policies."""

from environments.episode import Episode, Scored
from environments.policies.scripted import Scripted
from environments.rollout import rollouts
from environments.sandboxes.containers import DockerSandboxes
from environments.task import Task
from environments.verifiers.hidden_cases import HiddenCases
from environments.world import WorldPool
from environments.worlds.workspace.world import WorkspaceWorld


class Ground:
    """One pool of sessions and one verifier for all tests of this file."""

    def __init__(self, made: DockerSandboxes) -> None:
        self.made = made
        self.pool = WorldPool(lambda: WorkspaceWorld(made))
        self.verifier = HiddenCases(made, fresh=False)

    def play(self, policy: Scripted, *tasks: Task) -> list[Episode]:
        """Episodes of a policy, one after another in the same session."""
        found = rollouts(tasks, policy, self.pool, self.verifier, k=1, seed=0, batch=1)
        return [episode for batch in found for episode in batch]

    def world(self) -> WorkspaceWorld:
        """The session, fresh."""
        world = self.pool.lend()
        assert isinstance(world, WorkspaceWorld)
        self.pool.give_back(world)
        return world


def scored(episode: Episode) -> Scored:
    assert isinstance(episode.verdict, Scored), episode.verdict
    return episode.verdict
