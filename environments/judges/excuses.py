"""When nothing had to be looked up: a question that only the user can answer, a right refusal, an admitted failure."""

import re

from environments.judges.reading import Seen, codes_in, dates_in, lexicon, names_in, numbers_in, says


def is_question_back(seen: Seen) -> bool:
    """Whether the answer asks for what only the user can tell, and nothing else was to be done first."""
    if seen.attempt.task.goal.reason is not None:
        return True
    open_request = not (names_in(seen.said) or dates_in(seen.said) or codes_in(seen.said) or says("owned", seen.said))
    asks = "?" in seen.answer and says("asks", seen.answer)
    claims = numbers_in(seen.answer) or codes_in(seen.answer)
    advises = seen.attempt.task.rubric != "retrieval"
    return bool(open_request and asks and not claims and advises and not seen.attempt.steps)


def is_right_refusal(seen: Seen) -> bool:
    """Whether the answer refuses and the task is one whose right end is a refusal.

    A task that does not say so is one that can be done: else refusing everything would earn something wherever a rubric
    is all that grades, and that costs more than a right refusal that is taken for a wrong one.
    """
    return seen.attempt.task.goal.reason is not None and says("refusal", seen.answer) is not None


def admits_failure(seen: Seen) -> bool:
    """Whether every call failed and the answer says so."""
    return bool(seen.attempt.steps) and not seen.fine and says("admits", seen.answer) is not None


def is_excused(seen: Seen) -> bool:
    """Whether nothing had to be found out."""
    return is_question_back(seen) or is_right_refusal(seen) or admits_failure(seen)


def topics(seen: Seen) -> list[str]:
    """What the request is about, as far as a tool on offer serves it."""
    return [
        name
        for name, topic in lexicon()["topics"].items()
        if re.search(topic["said"], seen.said, re.IGNORECASE)
        and any(re.search(topic["tool"], tool) for tool in seen.attempt.task.tools)
    ]
