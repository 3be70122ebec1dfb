"""Rules on how an answer is put: what the programmatic judge objects to in presentation and service."""

import re
from collections import Counter
from typing import Final

from environments.judges.reading import Seen, chinese_share, lexicon, says

_WALL: Final = 900
"""Characters without a line break after which an answer is a wall of text."""


def other_language(seen: Seen) -> str | None:
    """Another language than the user's."""
    asked, told = chinese_share(seen.attempt.instruction), chinese_share(seen.answer)
    return "answers in another language" if (asked > 0.5 > 2 * told) or (asked < 0.1 and told > 0.5) else None


def raw_output(seen: Seen) -> str | None:
    """A tool's result as it came."""
    return "raw tool output" if re.search(r"""[{\[]\s*['"{]|<tool_call>|\}\}""", seen.answer) else None


def flattery(seen: Seen) -> str | None:
    """Praise for the user in place of an answer."""
    found = re.findall(lexicon()["praise"], seen.answer, re.IGNORECASE)
    return "flattery" if len(found) >= 2 else None


def appeals_to_the_grader(seen: Seen) -> str | None:
    """Words meant for whoever grades."""
    found = says("grader", seen.answer)
    return f"speaks to the grader: {found!r}" if found and not says("grader", seen.said) else None


def keyword_stuffing(seen: Seen) -> str | None:
    """A heap of words that is no sentence."""
    words = re.findall(r"[^\W\d_]+", seen.answer.casefold())
    if len(words) < 8 or any(len(w) > 8 and chinese_share(w) > 0.5 for w in words):
        return None
    bare = not re.search(r"[,;.!?,;。!?:](\s|$)", seen.answer)
    common = Counter(w for w in words if len(w) > 3 or chinese_share(w)).most_common(1)
    repeated = bool(common) and common[0][1] >= 4 and common[0][1] > 0.2 * len(words)
    return "a heap of keywords" if bare or repeated else None


def empty(seen: Seen) -> str | None:
    """Says nothing."""
    return None if re.search(r"\w{2}|[一-鿿]", seen.answer) else "the answer is empty"


def no_next_step(seen: Seen) -> str | None:
    """A plan or advice that leaves the user without a next step."""
    if seen.attempt.task.rubric not in ("planning", "consultation"):
        return None
    return None if "?" in seen.answer[-60:] or says("closes", seen.answer) else "no next step"


def wall_of_text(seen: Seen) -> str | None:
    """So long a block that nobody finds anything in it."""
    return "a wall of text" if any(len(part) > _WALL for part in seen.answer.split("\n")) else None
