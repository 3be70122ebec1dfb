"""A pool of sessions and a verifier for tasks of Harbor's, played by scripted policies."""

from environments.episode import Episode, Scored
from environments.policies.scripted import Scripted
from environments.rollout import rollouts
from environments.task import Script, Task
from environments.verifiers.script_reward import ScriptReward
from environments.world import WorldPool
from environments.worlds.harbor.grounds import Grounds
from environments.worlds.harbor.world import HarborWorld


class Ground:
    """One pool of sessions and one verifier for all tests of a file, and the task that most of them play."""

    def __init__(self, grounds: Grounds, base: str, task: Task) -> None:
        self.grounds, self.base, self.task = grounds, base, task
        self.worlds: list[HarborWorld] = []
        self.pool = WorldPool(self.open)
        self.verifier = ScriptReward(grounds, fresh=False)

    def open(self) -> HarborWorld:
        """Another session."""
        self.worlds.append(HarborWorld(self.grounds))
        return self.worlds[-1]

    def play(self, policy: Scripted, task: Task | None = None, k: int = 1) -> list[Episode]:
        """Episodes of a policy, one after another in the same session."""
        found = rollouts([task or self.task], policy, self.pool, self.verifier, k=k, seed=0, batch=1)
        return [episode for batch in found for episode in batch]

    def scored(self, policy: Scripted, task: Task | None = None) -> Scored:
        """The verdict on one episode, which must have come to a score."""
        [episode] = self.play(policy, task)
        assert isinstance(episode.verdict, Scored), episode.verdict
        return episode.verdict

    def close(self) -> None:
        """Remove the containers."""
        self.verifier.close()
        for world in self.worlds:
            world.close()


def with_tests(task: Task, script: str) -> Task:
    """The task with another test script, in the same image."""
    assert task.goal.script is not None
    made = Script(files=({"path": "test.sh", "text": f"#!/bin/sh\n{script}\n"},), seconds=1.5)
    return task.model_copy(update={"goal": task.goal.model_copy(update={"script": made})})
