"""Policies that guess: a yes or a no, or, with luck, the right answer after one look or none."""

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer
from environments.task import Task


class OneLook(Cheater):
    """Looks where the gold solution looks first, and then gives the gold answer: a lucky guess at the rest."""

    version = "one-look-1"
    sees_gold = True

    def applies(self, task: Task) -> bool:
        """Where one look is not all it takes."""
        return len(task.gold_calls) > 1

    def next(self, attempt: Attempt) -> Action:
        """The first gold call, then the answer."""
        calls = attempt.task.gold_calls
        return calls[0] if calls and not attempt.steps else Answer(attempt.task.gold_answer)


class NoLook(Cheater):
    """Gives the gold answer at once: somebody told it, or it was lucky."""

    version = "no-look-1"
    sees_gold = True

    def applies(self, task: Task) -> bool:
        """Where there is anything to look at, or to do."""
        return bool(task.gold_calls)

    def next(self, attempt: Attempt) -> Action:
        """The answer."""
        return Answer(attempt.task.gold_answer)


class Guess(Cheater):
    """Says one word to everything."""

    def __init__(self, word: str) -> None:
        """Say `word`, for example yes or no."""
        self.word = word
        self.version = f"guess-{word}-1"

    def next(self, attempt: Attempt) -> Action:
        """The word."""
        return Answer(f"{self.word}.")
