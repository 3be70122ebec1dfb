"""Attempts as a policy may see them: what a user and the tools said, and nothing that grades.

Every policy but the scripted ones that need the gold solution is handed sealed attempts: no goal, no gold, no verifier,
no world can be reached from them, and what a policy does to them changes nothing but the tokens it reports. What runs
in our process could still search its frames; a policy that is not ours is asked over text.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from environments.episode import Attempt, Step
from environments.policy import Action, Answer, Malformed, Policy
from environments.task import Call, Goal, Task

HIDDEN: dict[str, Any] = {
    "goal": Goal(), "gold_calls": (), "gold_answer": "", "twin": None, "group": "", "query_id": None, "initial": {},
    "faults": (), "user": None, "rubric": None,
}  # fmt: skip
"""What a task holds beside what its agent is told, and what stands there in its place."""


def without_gold(task: Task) -> Task:
    """The task as its agent knows it."""
    return task.model_copy(update=HIDDEN)


class Sealed:
    """A policy behind a seal; an `environments.policy.Policy`."""

    def __init__(self, policy: Policy) -> None:
        """Seal what `policy` is handed."""
        self.policy = policy
        self.version, self.sampler, self.template = policy.version, policy.sampler, policy.template
        self._views: dict[int, Attempt] = {}
        self._steps: dict[int, list[Step]] = {}

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Make a view of each attempt and get the policy ready for those."""
        hidden = {id(task): without_gold(task) for task in (a.task for a in attempts)}
        self._views = {id(a): Attempt(hidden[id(a.task)], a.number, a.seed) for a in attempts}
        self._steps = {id(a): [] for a in attempts}
        self.policy.begin([self._views[id(a)] for a in attempts])
        self._report_tokens(attempts)

    def act(self, attempts: Sequence[Attempt]) -> list[Action]:
        """What the policy does next, as plain values of our own."""
        actions = self.policy.act([self._seen(a) for a in attempts])
        self._report_tokens(attempts)
        return [_plain(action) for action in actions]

    def _seen(self, attempt: Attempt) -> Attempt:
        """The view of an attempt, brought up to date."""
        view, steps = self._views[id(attempt)], self._steps[id(attempt)]
        steps += [Step(_plain_call(s.call), deepcopy(s.observation)) for s in attempt.steps[len(steps) :]]
        view.steps, view.exchanges = list(steps), list(attempt.exchanges)
        return view

    def _report_tokens(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            attempt.tokens = self._views[id(attempt)].tokens


def sealed(policy: Policy) -> Policy:
    """`policy` itself where it is one of ours that needs the gold solution, else behind a seal."""
    return policy if getattr(policy, "sees_gold", False) is True or isinstance(policy, Sealed) else Sealed(policy)


def _plain(action: Action) -> Action:
    if isinstance(action, Answer):
        return Answer(str.__str__(action.text))
    if isinstance(action, Malformed):
        return Malformed(str.__str__(action.text), str.__str__(action.cause))
    return _plain_call(action)


def _plain_call(call: Call) -> Call:
    return Call(name=str.__str__(call.name), arguments=deepcopy(call.arguments))
