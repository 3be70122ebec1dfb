"""Sessions, cases and tasks of desk for its tests."""

import random
from collections.abc import Sequence
from typing import Any

from environments.episode import Episode, Scored
from environments.policies.scripted import Scripted
from environments.policy import Action, Answer
from environments.task import Call, Goal, Split, Task
from environments.world import WorldPool
from environments.worlds.desk.plans import Level
from environments.worlds.desk.population import customers, population
from environments.worlds.desk.tasks import draw_case, make_task
from environments.worlds.desk.world import DeskWorld
from tests.environments.builders import Script
from tests.environments.builders import played as played_in

POOL = WorldPool(DeskWorld)
NOTHING = Task(
    world="desk", family="any", depth=1, instruction="?", tools=(), goal=Goal(), gold_answer="", max_calls=9
)  # fmt: skip


def world(task: Task = NOTHING) -> DeskWorld:
    """A session at the start of `task`."""
    lent = POOL.lend()
    POOL.give_back(lent)
    lent.begin(task)
    assert isinstance(lent, DeskWorld)
    return lent


def task_of(family: str, level: Level = Level(), split: Split = "train", seed: int = 0, **more: Any) -> Task:  # noqa: B008
    """A task of `family` that the policy allows."""
    rng = random.Random(f"{family} {split} {seed}")
    for _ in range(20):
        case = draw_case(family, split, rng)
        made = case and make_task(family, case, level, split, rng, **more)
        if made and made.goal.reason is None:
            return made
    raise AssertionError(f"no task of {family} on {split}")


def played(tasks: Sequence[Task], policy: Scripted, k: int = 1) -> list[Episode]:
    """Episodes of `policy` at `tasks`."""
    return played_in(tasks, policy, pool=POOL, k=k, batch=48)


def rewards(tasks: Sequence[Task], policy: Scripted, k: int = 1) -> list[float]:
    """Rewards of `policy` at `tasks`; every attempt must have been graded."""
    verdicts = [episode.verdict for episode in played(tasks, policy, k)]
    assert all(isinstance(v, Scored) for v in verdicts), [v for v in verdicts if not isinstance(v, Scored)][:3]
    return [v.reward for v in verdicts if isinstance(v, Scored)]


def verdict(task: Task, *actions: Action | str) -> Scored:
    """What the verifier says when `actions` are played at `task`."""
    [episode] = played([task], Script(*actions))
    assert isinstance(episode.verdict, Scored), episode.verdict
    return episode.verdict


def actions_of(task: Task) -> list[Action]:
    """The gold calls and the gold answer."""
    return [*task.gold_calls, Answer(task.gold_answer)]


def without_key(call: Call) -> Call:
    """The call without its idempotency key."""
    return Call(name=call.name, arguments={k: v for k, v in call.arguments.items() if k != "idempotency_key"})


def changed(call: Call, **arguments: Any) -> Call:
    """The call with other arguments."""
    return Call(name=call.name, arguments={**call.arguments, **arguments})


def order_in(status: str, *, standing: str = "good", dear: bool = False) -> dict[str, Any]:
    """The first order with this status of a customer with this standing, its total above 300 euros where `dear`."""
    known = {c.row["id"]: c.row["standing"] for c in customers()}
    return next(
        order
        for order in population()["purchase"]
        if order["status"] == status
        and known[order["customer_id"]] == standing
        and (not dear or order["total_cents"] > 30_000)
    )
