"""The base of the scripted policies: one decision per attempt, no weights, no state of a batch."""

from collections.abc import Sequence

from environments.episode import Attempt
from environments.policy import Action, Answer
from environments.task import Task


class Scripted:
    """Base of the scripted policies: one decision per attempt, no batch state."""

    version = "scripted-1"
    sampler = "none"
    template = "none"
    sees_gold = True
    """Whether it may look at a task's goal and gold solution; who may not is handed sealed attempts."""

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Nothing to get ready."""

    def act(self, attempts: Sequence[Attempt]) -> list[Action]:
        """The next action of each attempt."""
        return [self.next(a) for a in attempts]

    def next(self, attempt: Attempt) -> Action:
        """The next action of one attempt."""
        raise NotImplementedError


class Cheater(Scripted):
    """Base of the policies that must earn nothing at the gate."""

    sees_gold = False
    everywhere = True
    """Tried on every task; the others attack what all tasks share, and are tried on a sample of each family."""

    def applies(self, task: Task) -> bool:
        """Whether this is a way to cheat at `task`, and not simply its solution or impossible there."""
        return True


class GoldThen(Cheater):
    """Plays the gold calls, as an agent may find them, and then does something else than to answer well."""

    sees_gold = True

    def next(self, attempt: Attempt) -> Action:
        """The gold call that is due, or what comes after."""
        done, task = len(attempt.steps), attempt.task
        return task.gold_calls[done] if done < len(task.gold_calls) else self.after(attempt)

    def after(self, attempt: Attempt) -> Action:
        """What comes after the gold calls."""
        return Answer(attempt.task.gold_answer)
