"""Plays finished attempts again, word for word, so that they can be graded anew: a world is where its calls left it.

The calls go to a fresh world and the user's replies come from the record; what the world answers must be what it
answered then, or the attempt cannot be graded again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.episode import Attempt, Exchange, ResultKey, Step, exchanges_in
from environments.policies.script import Scripted
from environments.policy import Action, Answer, Malformed
from environments.task import Call
from environments.user import Reply


@dataclass(frozen=True, slots=True)
class Recorded:
    """A finished attempt as it was stored."""

    steps: tuple[Step, ...]
    answer: str | None
    ended: str
    evidence: str
    exchanges: tuple[Exchange, ...] = ()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Recorded":
        """From a row of episodes; rows from before conversations were stored have none."""
        steps = tuple(Step(Call(name=n, arguments=a), seen) for n, a, seen in json.loads(row["steps"]))
        return cls(steps, row["answer"], row["ended"], row["evidence"], exchanges_in(row.get("exchanges")))

    def actions(self) -> list[Action]:
        """What the agent did, in order, and how it ended."""
        found: list[Action] = []
        for place in range(len(self.steps) + 1):
            found += [Answer(one.said) for one in self.exchanges if one.after == place]
            found += [step.call for step in self.steps[place : place + 1]]
        if self.exchanges and self.ended == "answered":
            return found
        if self.ended == "answered":
            return [*found, Answer(self.answer or "")]
        return [*found, Malformed(self.evidence, self.ended)]

    def differs(self, steps: Sequence[Step]) -> str | None:
        """The first call that came out differently, or None."""
        for number, (then, now) in enumerate(zip(self.steps, steps, strict=False), start=1):
            if _text(then.observation) != _text(now.observation):
                return f"call {number}, {then.call.name}, returned something else than it did then"
        return None if len(self.steps) == len(steps) else f"{len(steps)} calls where there were {len(self.steps)}"


class Replay(Scripted):
    """Plays records; keeps the name under which they were played first."""

    def __init__(self, records: Sequence[Recorded], key: ResultKey) -> None:
        """Make it.

        Args:
            records: one for each attempt that is going to be begun, in order.
            key: the one that the attempts were first graded under.
        """
        self.version, self.sampler, self.template = key.policy, key.sampler, key.template
        self._records, self._due = list(records), dict[int, list[Action]]()

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Lay out what each attempt does."""
        pairs = zip(attempts, self._records, strict=True)
        self._due = {id(attempt): record.actions()[::-1] for attempt, record in pairs}

    def next(self, attempt: Attempt) -> Action:
        """The action that is due; a record that ends before the attempt does is one that cannot be played."""
        due = self._due[id(attempt)]
        return due.pop() if due else Malformed("the record ends here", "failed")


class RecordedUser:
    """Says what the user said then; an `environments.user.User`."""

    def __init__(self, records: Mapping[tuple[str, int], Recorded], version: str) -> None:
        """By task id and number of the attempt."""
        self.records, self.version = records, version

    def reply(self, attempt: Attempt, said: str) -> Reply:
        """The recorded reply; the last one of a conversation that came to an end ends it."""
        record = self.records[attempt.task.task_id, attempt.number]
        place = len(attempt.exchanges)
        last = place == len(record.exchanges) - 1 and record.ended == "answered"
        return Reply(record.exchanges[place].reply, ended=last)


def _text(observation: Any) -> str:
    return json.dumps(observation, sort_keys=True)
