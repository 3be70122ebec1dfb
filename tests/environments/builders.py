"""Tasks, attempts and policies for the tests of the environments."""

from collections.abc import Sequence
from typing import Any

from environments.episode import Attempt, Episode, Scored
from environments.policies.scripted import Scripted
from environments.policy import Action, Answer
from environments.rollout import rollouts
from environments.task import Call, Task
from environments.verifier import Verifier
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.families import plan_of
from environments.worlds.atlas.tasks import make_task, tool_names
from environments.worlds.atlas.world import AtlasWorld

SLOTS = {
    "a": "Paris", "b": "Lyon", "c": "Paris", "d": "on June 12", "m": "by car", "n": "by public transport",
    "k": "museum", "p": "250", "s": "sunny",
}  # fmt: skip
"""Cities, a day and the rest that give every family but two a clear answer."""
ASKED = "Paris to Lyon on June 12 from Paris, please, sunny museum, your 250 euros"
"""An instruction that names what `SLOTS` names."""


def task_of(family: str, instruction: str = ASKED, **slots: str) -> Task:
    """A task of `family` with every tool on offer."""
    filled = {**SLOTS, **slots}
    plan = plan_of(family, filled)
    assert plan is not None, f"{family} has no clear answer for {filled}"
    return make_task(family, filled, instruction, plan, tool_names())


def call(name: str, **arguments: Any) -> Call:
    """A tool call."""
    return Call(name=name, arguments=arguments)


def flights(origin: str = "Paris", destination: str = "Lyon", date: str = "2026-06-12") -> Call:
    """The search that every flight task needs."""
    return call("travel_search_flights", origin=origin, destination=destination, date=date)


def forecast(location: str = "Paris", date: str = "2026-06-12") -> Call:
    """The search that every weather task needs."""
    return call("weather_forecast_days", location=location, date=date)


class Script(Scripted):
    """Plays the same actions in every attempt, the last one for ever."""

    def __init__(self, *actions: Action | str, version: str = "script") -> None:
        self.actions = [Answer(a) if isinstance(a, str) else a for a in actions]
        self.version = version

    def next(self, attempt: Attempt) -> Action:
        """The action that is due."""
        return self.actions[min(len(attempt.steps), len(self.actions) - 1)]


def played(
    tasks: Sequence[Task],
    policy: Scripted,
    *,
    pool: WorldPool | None = None,
    verifier: Verifier | None = None,
    k: int = 1,
    batch: int = 192,
) -> list[Episode]:
    """Episodes of `policy` at `tasks`."""
    found = rollouts(
        tasks, policy, pool or WorldPool(AtlasWorld), verifier or OutcomeVerifier(), k=k, seed=0, batch=batch
    )
    return [episode for part in found for episode in part]


def verdict(task: Task, *actions: Action | str) -> Scored:
    """What the outcome verifier says when `actions` are played at `task`."""
    [episode] = played([task], Script(*actions))
    assert isinstance(episode.verdict, Scored)
    return episode.verdict
