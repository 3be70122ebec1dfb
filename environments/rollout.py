"""Policy x world -> episodes: the one engine behind probing, trajectories, RL and evaluation.

Attempts of a lane advance in lockstep: every running one takes one action, then the worlds answer. The failures of our
own side (a world that breaks, a task that cannot be graded) are caught here and nowhere else, and become `NoResult` or
`Invalid`, never a zero. A verifier that stumbles over an attempt gives a zero that is counted (`verifier.py`).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from environments import call_limit
from environments.episode import Attempt, Episode, Exchange, Invalid, NoResult, ResultKey, Step, Verdict
from environments.fault import UnplayableTask
from environments.faults.wrapper import faults_version, with_faults
from environments.policy import Action, Answer, Beside, Malformed, Policy
from environments.sealed import sealed
from environments.seeds import stable_hash
from environments.task import Call, Task
from environments.user import User, UserFailure
from environments.users.scripted import ScriptedUser
from environments.verifier import Stumbling, Verifier, VerifierError, graded, judged_by
from environments.verifiers.state import state_failure
from environments.wellformed import wellformed
from environments.world import Waited, World, WorldFailure, WorldPool

MakeWorld = Callable[[], World]
SCRIPTED_USER = ScriptedUser()
_LEAST_IN_A_LANE: Final = 32
"""Attempts; with fewer a policy with weights runs no faster for being asked about less."""


def attempts_at(tasks: Sequence[Task], k: int, seed: int) -> list[Attempt]:
    """`k` fresh attempts at each task, in order; each has a seed of its own from the task, its number and `seed`."""
    return [
        Attempt(task, number, seed=stable_hash("attempt", seed, task.task_id, number) % 2**31)
        for task in tasks
        for number in range(k)
    ]


def rollout(
    attempts: Sequence[Attempt],
    policy: Policy,
    pool: WorldPool,
    verifier: Verifier,
    key: ResultKey,
    *,
    user: User = SCRIPTED_USER,
) -> list[Episode]:
    """Run one batch of fresh attempts to their ends and grade them, in order; `user` speaks in tasks that have one.

    A pool whose worlds answer from elsewhere has the batch cut into lanes that take turns at the policy, where the
    policy can run several batches beside each other (`environments.policy.Beside`).
    """
    policies = _policies(policy, min(pool.lanes, len(attempts) // _LEAST_IN_A_LANE))
    lanes = [_Lane(a, p, pool, user) for a, p in zip(_parts(attempts, len(policies)), policies, strict=True)]
    for lane in lanes:
        lane.begin()
    turning = list(lanes)
    while turning:
        turning = [lane for lane in turning if lane.turn()]
    return [episode for lane in lanes for episode in lane.graded(verifier, key)]


class _Lane:
    """Attempts in lockstep: each takes one action, then their worlds answer, on whom other lanes need not wait."""

    def __init__(self, attempts: Sequence[Attempt], policy: Policy, pool: WorldPool, user: User) -> None:
        self._attempts, self._policy, self._pool, self._user = attempts, sealed(policy), pool, user
        self._opened = pool.each(self._open, attempts)
        self._answered: Waited[None] | None = None

    def begin(self) -> None:
        """Get the policy ready, while the worlds do."""
        self._policy.begin(self._attempts)

    def turn(self) -> bool:
        """Wait for what the worlds answered last and take the next action; False when every attempt has ended."""
        if self._answered is None:
            opened = self._opened()
            self._lent, self._worlds = [lent for lent, _ in opened], [world for _, world in opened]
        else:
            self._answered()
        running = [i for i, attempt in enumerate(self._attempts) if attempt.ended is None]
        if not running:
            self._settled = self._pool.settle(self._lent)
            return False
        actions = [wellformed(action) for action in self._policy.act([self._attempts[i] for i in running])]
        moves = [(self._attempts[i], a, self._worlds[i], self._user) for i, a in zip(running, actions, strict=True)]
        for move in (m for m in moves if not isinstance(m[1], Call)):
            _advance(*move)
        self._answered = self._pool.each(lambda move: _advance(*move), [m for m in moves if isinstance(m[1], Call)])
        return True

    def graded(self, verifier: Verifier, key: ResultKey) -> list[Episode]:
        """The episodes in order; sessions go back to the pool."""
        self._settled()
        episodes = [_finish(a, w, verifier, key) for a, w in zip(self._attempts, self._worlds, strict=True)]
        for episode, world in zip(episodes, self._lent, strict=True):
            if not isinstance(episode.verdict, NoResult):  # a session that broke is never lent again
                self._pool.give_back(world)
        return episodes

    def _open(self, attempt: Attempt) -> tuple[World, World]:
        """A session, and the world in it as the attempt's task begins."""
        lent = self._pool.lend()
        return lent, _begun(attempt, lent)


def _policies(policy: Policy, count: int) -> list[Policy]:
    """Up to `count` policies for batches that run at the same time: one where it cannot run several."""
    return [policy, *(policy.beside() for _ in range(count - 1))] if isinstance(policy, Beside) else [policy]


def _parts(attempts: Sequence[Attempt], count: int) -> list[Sequence[Attempt]]:
    """`count` parts of about equal size, in order."""
    borders = [len(attempts) * n // count for n in range(count + 1)]
    return [attempts[start:stop] for start, stop in pairwise(borders)]


def rollouts(
    tasks: Sequence[Task],
    policy: Policy,
    pool: WorldPool,
    verifier: Verifier,
    *,
    k: int,
    seed: int,
    batch: int = 192,
    user: User = SCRIPTED_USER,
) -> Iterator[list[Episode]]:
    """`k` episodes of each task, in fixed batches of about `batch` attempts, so that a resumed run repeats none.

    The composition of a batch depends only on the order of `tasks`, `k` and `batch`, that of its lanes on the pool:
    redoing one gives the same episodes.
    """
    key = result_key(policy, pool, verifier, user)
    per = max(1, batch // k)
    for start in range(0, len(tasks), per):
        yield rollout(attempts_at(tasks[start : start + per], k, seed), policy, pool, verifier, key, user=user)


def result_key(policy: Policy, pool: WorldPool, verifier: Verifier, user: User = SCRIPTED_USER) -> ResultKey:
    """The key under which this policy, world, verifier and user score; faults' code counts as the world's."""
    world = pool.lend()
    schemas = [t.schema() for t in world.tools().values()]
    version = world.version
    pool.give_back(world)
    return ResultKey(
        world=f"{version}+{faults_version()}",
        tools=f"{stable_hash(json.dumps(schemas, sort_keys=True)):016x}",
        verifier=verifier.version,
        **judged_by(verifier),
        user=user.version,
        sampler=policy.sampler,
        template=policy.template,
        policy=policy.version,
    )


def _begun(attempt: Attempt, world: World) -> World:
    """The world in the initial state of the attempt's task, with the task's faults on the way to it."""
    try:
        world.begin(attempt.task)
        return with_faults(world, attempt.task.faults) if attempt.task.faults else world
    except UnplayableTask as broken:
        attempt.ended, attempt.failure = "unplayable", str(broken)
    except WorldFailure as failure:
        attempt.ended, attempt.failure = "failed", str(failure)
    return world


def _advance(attempt: Attempt, action: Action, world: World, user: User) -> None:
    if isinstance(action, Answer) and attempt.task.user is not None:
        _converse(attempt, action.text, user, world)
    elif isinstance(action, Answer):
        attempt.answer, attempt.ended = action.text, "answered"
    elif isinstance(action, Malformed):
        attempt.ended, attempt.failure = action.cause, action.text
    elif call_limit.used(attempt.steps, world) >= attempt.task.max_calls:
        _out_of_calls(attempt)
    else:
        _call(attempt, action, world)


def _out_of_calls(attempt: Attempt) -> None:
    attempt.ended, attempt.failure = call_limit.ENDED, call_limit.line_of(attempt.task)


def _converse(attempt: Attempt, said: str, user: User, world: World) -> None:
    """The user answers; what the agent said last is its answer."""
    try:
        attempt.landed = _landed(attempt, world)
        reply = user.reply(attempt, said)
    except UserFailure as failure:
        attempt.ended, attempt.failure = "failed", f"user: {failure}"
        return
    except WorldFailure as failure:
        attempt.ended, attempt.failure = "failed", str(failure)
        return
    attempt.answer = said
    attempt.exchanges.append(Exchange(len(attempt.steps), said, reply.text))
    if reply.ended:
        attempt.ended = "answered"


def _landed(attempt: Attempt, world: World) -> bool:
    """Whether the goal holds; where that cannot be told, it does not, and the verifier stumbles over it at the end."""
    with Stumbling():
        return state_failure(attempt.task.goal, world) is None
    return False


def _call(attempt: Attempt, call: Call, world: World) -> None:
    """Run a call; a tool that is not on offer is refused as data."""
    try:
        offered = call.name in attempt.task.tools
        observation = world.call(call.name, call.arguments) if offered else {"error": "unknown_tool"}
    except WorldFailure as failure:
        attempt.ended, attempt.failure = "failed", str(failure)
    else:
        attempt.steps.append(Step(call, observation))
        if call_limit.used(attempt.steps, world) > attempt.task.max_calls:  # the time ran out during a slow call
            _out_of_calls(attempt)


def _finish(attempt: Attempt, world: World, verifier: Verifier, key: ResultKey) -> Episode:
    return Episode(
        task_id=attempt.task.task_id,
        attempt=attempt.number,
        seed=attempt.seed,
        key=key.digest,
        instruction=attempt.instruction,
        steps=tuple(attempt.steps),
        answer=attempt.answer,
        ended=attempt.ended or "failed",
        verdict=_verdict(attempt, world, verifier),
        tokens=attempt.tokens,
        exchanges=tuple(attempt.exchanges),
    )


def _verdict(attempt: Attempt, world: World, verifier: Verifier) -> Verdict:
    if attempt.ended == "failed":
        return NoResult(attempt.failure or "the world failed")
    if attempt.ended == "unplayable":
        return Invalid(attempt.failure or "the task cannot be played")
    try:
        return graded(attempt, world, verifier)
    except VerifierError as error:
        return Invalid(str(error))
    except WorldFailure as failure:
        return NoResult(str(failure))
