"""The policy that stuffs its answer with all a verifier might look for."""

from environments.episode import Attempt
from environments.policies.script import Cheater
from environments.policy import Action, Answer
from environments.verifiers.claims import CHOICE_WORDS, MODE_WORDS, SKY_WORDS, VERDICT_WORDS


class KeywordStuffer(Cheater):
    """Stuffs the answer with every word of the closed vocabularies and every number a verifier might look for."""

    version = "keyword-stuffer-1"

    def next(self, attempt: Attempt) -> Action:
        """One long answer."""
        words = [*VERDICT_WORDS, *SKY_WORDS, *MODE_WORDS, *CHOICE_WORDS, attempt.instruction]
        return Answer(" ".join([*words, *map(str, range(10, 40))]))
