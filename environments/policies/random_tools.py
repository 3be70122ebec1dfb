"""The policy that calls tools at random and reads back what came."""

import random
import re

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer
from environments.task import Call


class RandomTools(Cheater):
    """Calls tools on offer with words of the request as arguments, then reads the first result back."""

    version = "random-tools-1"

    def next(self, attempt: Attempt) -> Action:
        """A random call, or everything seen so far as the answer."""
        rng = random.Random(attempt.seed * 31 + len(attempt.steps))
        if not attempt.task.tools or len(attempt.steps) >= attempt.task.max_calls or rng.random() < 0.3:
            return Answer(" ".join(str(s.observation) for s in attempt.steps))
        words = re.findall(r"[A-Z]\w+|\d[\w-]+", attempt.instruction) or ["Paris"]
        names = ("origin", "destination", "date", "location", "query", "center", "number")
        return Call(name=rng.choice(attempt.task.tools), arguments={n: rng.choice(words) for n in rng.sample(names, 3)})
