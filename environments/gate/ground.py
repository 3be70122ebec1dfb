"""What a check of the gate stands on: sessions of the world, the verifier, and who speaks for the user."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from environments.episode import Attempt, Episode, Invalid, NoResult, ResultKey, Scored, Verdict
from environments.gate.finding import VERIFIER_BROKE, Finding, Kind, Status
from environments.gate.witness import Plan, Planned, Testimony, Witness
from environments.policy import Policy
from environments.rollout import MakeWorld, result_key, rollout, rollouts
from environments.task import Task
from environments.user import User
from environments.verifier import Verifier, VerifierError, verifier_failure
from environments.world import World, WorldPool


@dataclass(frozen=True)
class Ground:
    """Everything that the checks of one world's tasks share."""

    make_world: MakeWorld
    pool: WorldPool
    verifier: Verifier
    user: User | None
    key: ResultKey
    """Of what the gate itself plays."""

    @classmethod
    def of(cls, make_world: MakeWorld, verifier: Verifier, user: User | None = None) -> "Ground":
        """A ground with sessions of its own."""
        pool = WorldPool(make_world)
        return cls(make_world, pool, verifier, user, result_key(Planned(()), pool, verifier, **_speaking(user)))

    def run(self, task: Task, plans: Sequence[Plan], verifier: Verifier | None = None) -> list[Episode]:
        """One episode per plan, each in a fresh world."""
        attempts = [Attempt(task, 0, seed=0) for _ in plans]
        return rollout(attempts, Planned(plans), self.pool, verifier or self.verifier, self.key, **_speaking(self.user))

    def witness(self, task: Task, plans: Sequence[Plan]) -> list[Testimony]:
        """What plans do, as the world saw it; plans without a result are left out."""
        witness = Witness()
        self.run(task, plans, witness)
        return witness.heard

    def play(
        self, tasks: Sequence[Task], policy: Policy, k: int = 1, verifier: Verifier | None = None
    ) -> list[Episode]:
        """`k` episodes of `policy` at each task, in order."""
        graded = verifier or self.verifier
        played = rollouts(tasks, policy, self.pool, graded, k=k, seed=0, **_speaking(self.user))
        return [episode for batch in played for episode in batch]

    def by_task(self, tasks: Sequence[Task], policy: Policy, k: int = 1, verifier: Verifier | None = None) -> "ByTask":
        """The same by task id."""
        found: ByTask = defaultdict(list)
        for episode in self.play(tasks, policy, k, verifier):
            found[episode.task_id].append(episode)
        return found


ByTask = dict[str, list[Episode]]


def _speaking(user: User | None) -> dict[str, Any]:
    """Who speaks in tasks with a user, as the engine's argument; None leaves it to the engine."""
    return {} if user is None else {"user": user}


class Twice:
    """Grades the first attempt at each task twice: an `environments.verifier.Verifier` that must agree with itself."""

    def __init__(self, verifier: Verifier) -> None:
        """Ask `verifier`."""
        self.verifier, self.version = verifier, verifier.version

    def grade(self, attempt: Attempt, world: World) -> Verdict:
        """The verdict.

        Raises:
            VerifierError: the second verdict on the same attempt is another one.
        """
        first = self.verifier.grade(attempt, world)
        if attempt.number == 0 and (second := self.verifier.grade(attempt, world)) != first:
            raise VerifierError(f"two verdicts on one attempt: {first} and {second}")
        return first


def reward_of(episode: Episode) -> float:
    """The reward, 0 where there is none."""
    return episode.verdict.reward if isinstance(episode.verdict, Scored) else 0.0


def broke(episode: Episode) -> str | None:
    """How the verifier broke over an episode, as the evidence of a finding; None where it graded it."""
    why = episode.verdict.cause if isinstance(episode.verdict, Invalid) else verifier_failure(episode)
    return None if why is None else f"{VERIFIER_BROKE}: {why}"


def must_score(kind: Kind, check: str, episodes: Sequence[Episode]) -> Finding:
    """One finding on episodes that must all score 1."""
    verdicts = [e.verdict for e in episodes]
    if none := [v for v in verdicts if isinstance(v, NoResult)]:
        return Finding(kind, check, Status.NO_RESULT, none[0].cause)
    if stumbled := [why for e in episodes if (why := broke(e))]:
        return Finding(kind, check, Status.FAILED, stumbled[0])
    failed = [v for v in verdicts if isinstance(v, Scored) and not v.success]
    return Finding(kind, check, Status.FAILED if failed else Status.PASSED, said(failed[0]) if failed else "")


def said(verdict: Verdict) -> str:
    """A verdict in one line."""
    if isinstance(verdict, Scored):
        return f"reward {verdict.reward:g}, {verdict.cause}: {verdict.evidence}".rstrip(": ")
    return verdict.cause


def told(episode: Episode) -> str:
    """What an episode did, in one line."""
    calls = "; ".join(f"{s.call.name} {s.call.arguments}" for s in episode.steps)
    return f"{calls or 'no call'} -> {(episode.answer or episode.ended)[:200]!r}"
