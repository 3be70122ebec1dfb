"""The typed reasons for not solving a task, and how an answer states one.

atlas has no document that names its reasons, so they are read from what is said. A world whose policy names codes says
which (`World.refusal_codes`): an answer gives one as `Reason: window_closed`, and states its facts beside it, which the
veto then checks like any other.
"""

import re
from collections.abc import Mapping, Sequence

_CANNOT = r"(?:cannot|can ?not|can't|could not|couldn't|(?:am|'m|was) (?:unable|not able) to)"
SPOKEN: Mapping[str, re.Pattern[str]] = {
    "no_tool": re.compile(rf"(?i)\b{_CANNOT} do (that|this)\b.*\btools?\b"),
    "missing_origin": re.compile(r"(?i)\b(from which|which) (city|place)\b.*\?|\bwhere (are you|do you) .*from.*\?"),
    "not_found": re.compile(rf"(?i)\b{_CANNOT} find (?P<place>[^.]+)"),
    "not_allowed": re.compile(
        r"(?i)\b(?:polic(?:y|ies)|rules?) (?:does|do)(?: not|n't) (?:allow|permit)"
        r"|\b(?:not allowed by|against) (?:the|our) (?:polic(?:y|ies)|rules?)\b"
    ),
}
"""Reasons of worlds without codes."""
_CODE = re.compile(r"(?i)\breason(?: code)?\s*[:：=]\s*[`'\"*]*(?P<code>[a-z]+(?:_[a-z]+)*)")


def refusal_reasons(answer: str, codes: Sequence[str] = ()) -> list[str]:
    """The typed reasons that `answer` gives for not solving a task; more than one is hedging.

    Args:
        answer: what is read.
        codes: the world's (`World.refusal_codes`); without any, reasons are read from what is said.
    """
    if codes:
        given = [m["code"].lower() for m in _CODE.finditer(answer)]
        beside = [code for code in codes if re.search(rf"\b{code}\b", answer) and code not in given]
        return list(dict.fromkeys([*given, *(beside if given else [])]))
    return [reason for reason, pattern in SPOKEN.items() if pattern.search(answer)]


def without_reason(answer: str) -> str:
    """`answer` with the line that gives its code taken out, at equal length."""
    return _CODE.sub(lambda m: " " * len(m[0]), answer)


DONE = re.compile(
    r"(?i)\b(?:it|all|everything)(?: is|'s|\s+has been)? (?:now |all )?done\b"
    r"|\bI(?:'ve| have) (?:refunded|cancelled|renewed|changed|approved|paid|issued|reshipped)\b"
    r"|\b(?:has|have) been (?:successfully )?(?:approved and paid|processed successfully)\b"
    r"|(?:已经?|都)(?:为您)?(?:办好|处理好|完成)了"
)
"""Words that say the work was done, where it was refused."""
