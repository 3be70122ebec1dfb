"""How something is said around a claim: about or over it, quoted back as the user's, denied; and its sentence."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from environments.verifiers.claim import Claim
from environments.verifiers.claims import claims
from environments.verifiers.quantities import SPELLED, UNIT_WORDS, comparable, han_value, measured, value_in_words

_END = re.compile(r"(?<!\d)\.(?=\s|$)|(?<=\d)\.(?=\s+[A-Z]|\s*$)|[!?;\n。!?;]")
_ABOUT = re.compile(
    r"(?i)(?:\b(?:about|around|approximately|approx\.?|roughly|some|circa|ca\.?|close to"
    r"|near|just)|[~≈]|大约|约|大概|差不多|接近)\s*(?:is|是|为|有|要|需要)?\s*[€$£¥]?\s*$"
)
_OVER = re.compile(r"(?i)(?:\b(?:over|more than|just over|upwards of)|超过|不止)\s*[€$£¥]?\s*$")
_UNDER = re.compile(r"(?i)(?:\b(?:nearly|almost|just under|not quite)|近|将近|不到|不足)\s*[€$£¥]?\s*$")
_BEHIND = re.compile(r"\s*(?:元|块|公里|分钟|小时|度|米|人)?\s*(?:左右|上下|出头|多(?!少)|or so\b)")
_QUOTE_BEFORE = re.compile(
    r"(?i)(?:\byou(?:'re| are)\s+(?=$)"
    r"|\byour\s+(?:(?:budget|limit|max\w*|cap|own|stated|requested|preferred)\s*(?:price"
    r"|amount)?\s*(?:of|is|was|:)?\s*)?"
    r"|\byou(?:'ve| have| had)?\s+(?:also\s+|just\s+)?(?:say|said|says|mention\w*|ask\w*"
    r"|quot\w*|told|remember\w*|thought|believ\w*|heard|expect\w*|want\w*|need\w*|gave"
    r"|stat\w*|request\w*|specif\w*|set|had in mind)\b[^.;\n]{0,40}?"
    r"|(?:您|你)(?:刚才|之前|自己)?(?:说|提到|记得|听说|给|要求|预算|要|想|告诉|以为|期望)[^,。;\n]{0,12}?"
    r"|(?:您|你)的(?:预算[是为]?)?"
    r"|(?:您|你)[^,。;\n]{0,3}?(?=[^,。;\n]{0,6}的预算))\s*[€$£¥]?\s*$"
)
_QUOTE_BEHIND = re.compile(
    r"(?i)^[^.;\n。;]{0,14}?(?:\byou (?:mentioned|said|asked|quoted|were told|gave|expected"
    r"|thought|heard|remember\w*|had in mind)|的?预算|您说的|你说的)"
)
_DENIAL = re.compile(
    r"(?i)(?:\b(?:not|isn't|wasn't|won't|doesn't|no longer|rather than|instead of|never|neither|nor)\s+"
    r"(?:(?:be|cost|costs|take|the|a|at|on)\s+){0,2}[€$£¥]?|(?:不是|没有|并非|而非|不到|不会是)[^,。;\n]{0,8}?)\s*$"
)


class Hedge(NamedTuple):
    """How exactly a number was meant."""

    about: str
    """`about`, `over`, `under`, or empty where it was meant as it stands."""
    back: bool = False
    """Whether money goes back, which books write with a minus."""


def hedge_of(claim: Claim, text: str) -> Hedge:
    """How exactly a number in `text` was meant."""
    before, after = text[max(0, claim.start - 24) : claim.start], text[claim.end : claim.end + 8]
    back = _goes_back(sentence_of(text, claim.start))
    if _UNDER.search(before):
        return Hedge("under", back)
    if _OVER.search(before) or (_BEHIND.match(after) and "多" in after[:4]) or "多" in text[claim.start : claim.end]:
        return Hedge("over", back)
    return Hedge("about" if _ABOUT.search(before) or _BEHIND.match(after) else "", back)


_BACK = re.compile(r"(?i)\b(?:refund\w*|credited|returned|back|reimburs\w*|saved?|savings)\b|退")


@lru_cache(maxsize=1024)
def _goes_back(sentence: str) -> bool:
    return _BACK.search(sentence) is not None


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[list[int], list[str]]:
    """Where the sentences of `text` begin, and what they are."""
    begins = [0, *(match.end() for match in _END.finditer(text))]
    return begins, [text[a:b] for a, b in pairwise([*begins, len(text)])]


def sentence_at(text: str, at: int) -> tuple[int, str]:
    """The sentence of `text` that holds position `at`, with where it begins."""
    begins, sentences = _sentences(text)
    i = bisect_right(begins, at) - 1
    return begins[i], sentences[i]


def sentence_of(text: str, at: int) -> str:
    """The sentence of `text` that holds position `at`."""
    return sentence_at(text, at)[1]


_ITEM = re.compile(r"(?m)^(?:#+ |\d{1,2}[.)] |[-*•] |\*\*)")


@lru_cache(maxsize=256)
def _items(text: str) -> list[int]:
    """Where the list items and headings of `text` begin."""
    return [match.start() for match in _ITEM.finditer(text)]


def block_of(text: str, at: int) -> str:
    """The list item that holds position `at`, from its first line to the end of the line of `at`."""
    end = text.find("\n", at)
    starts = _items(text)
    count = bisect_right(starts, at)
    line = text.rfind("\n", 0, at) + 1
    begin = starts[count - 1] if count and "\n\n" not in text[starts[count - 1] : line] else line
    return text[begin : end if end >= 0 else len(text)]


def same_as_said(claim: Claim, said: Iterable[str]) -> bool:
    """Whether the user said the same number, time or date."""
    return any(claim.kind == other.kind and _same(claim, other) for text in said for other in claims(text))


def _same(claim: Claim, other: Claim) -> bool:
    if claim.kind == "number":
        return _same_number(claim, other)
    if claim.kind == "date":
        pairs = (sorted(pair, key=len) for pair in product(claim.readings, other.readings))
        return any(bool(short) and long.endswith(short) for short, long in pairs)
    halves = (
        claim.kind == "time" and (claim.note or other.note) and int(claim.value[:2]) % 12 == int(other.value[:2]) % 12
    )
    return claim.value == other.value or (bool(halves) and claim.value[3:] == other.value[3:])


def _same_number(claim: Claim, other: Claim) -> bool:
    a, b = measured(float(claim.value), claim.unit), measured(float(other.value), other.unit)
    bare = {"count", None} & {claim.unit, other.unit}
    if bare:
        return float(claim.value) == float(other.value)
    return abs(a.value - b.value) < 1e-6 and comparable(a.dimension, b.dimension)


def quoted(claim: Claim, text: str, said: Iterable[str]) -> bool:
    """Whether something is quoted back as the user's own: `your 300 euros`, `the 64 you mentioned`."""
    before = text[max(0, claim.start - 60) : claim.start]
    theirs = _QUOTE_BEFORE.search(before) or _QUOTE_BEHIND.match(text[claim.end : claim.end + 40])
    return bool(theirs) and same_as_said(claim, said)


def denied(claim: Claim, text: str, said: Iterable[str]) -> bool:
    """Whether it is what the user believes, and the answer says that it is not so."""
    before = text[max(0, claim.start - 28) : claim.start]
    return bool(_DENIAL.search(before)) and same_as_said(claim, said)


_PLAN = re.compile(
    r"(?i)\b(?:i (?:would )?need to|we'll|confirm|proceed|would you like|shall i|should i"
    r"|i will|i'll|let me|please (?:provide|let)|do you want|you(?:'d| would) (?:like"
    r"|prefer)|you want|to summari[sz]e)\b"
    r"|请确认|确认一下|是否|我来|我帮您|帮您|为您|您想|您要"
)
"""The agent repeats a request, or says what it is about to do."""


def planned(claim: Claim, text: str, said: Iterable[str]) -> bool:
    """Whether it repeats what the user asked for, for the user to confirm or the agent to do."""
    return bool(_PLAN.search(text)) and same_as_said(claim, said)


_BOUND = re.compile(
    r"(?i)\b(?:under|below|within|over|than|up to|at most|limit of|budget of|maximum of"
    r"|less|exceed\w*)\s*(?:of|the|an?)?\s*(?:\d+\s*(?:-|to)\s*)?[€$£¥]?\s*$|(?:不超过"
    r"|低于|以内|预算)[^,。]{0,4}$"
)


def bounded(claim: Claim, text: str, said: Iterable[str]) -> bool:
    """Whether it is the limit that the user set, in what the agent is about to do or asks to confirm."""
    return bool(_BOUND.search(text[max(0, claim.start - 24) : claim.start])) and planned(claim, text, said)


_EXAMPLES = re.compile(r"(?i:\be\.g\.|\bfor example\b|\bsuch as\b)|\b[a-z]+s like (?=[A-Z])|比如|例如")


def exemplified(claim: Claim, text: str) -> bool:
    """Whether a name stands among the examples of a question or of a plan: `(e.g., Los Angeles, Seattle)?`."""
    if re.search(r"\d", claim.value) or not _EXAMPLES.search(text[max(0, claim.start - 90) : claim.end]):
        return False
    return "?" in text[claim.end : claim.end + 90] or bool(re.search(r"(?i)\b(?:i'll|i will|let me)\b", text))


_COUNTED = re.compile(
    rf"(?i)(?<![\w.$€£-])(?P<number>{SPELLED}|\d{{1,2}})\s+(?:[a-z]+\s+)?(?:[a-z]+s|people"
    rf"|children|of us|of you)\b|(?P<han>[两二三四五六七八九十]|\d{{1,2}})(?:个人|位|人"
    rf"|名|张|晚|间|条|份|件|个|次|只|瓶|盒)",
    re.A,
)


def counts_named(sentence: str) -> list[int]:
    """How many of something a sentence names: three passengers, 两个人."""
    found = []
    for match in _COUNTED.finditer(sentence):
        said = match["number"] or match["han"]
        value = int(said) if said.isdigit() else value_in_words(said) if match["number"] else int(han_value(said))
        if 1 < value <= 20 and not _UNIT_BEHIND.match(sentence[match.end("number") :] if match["number"] else ""):
            found.append(value)
    return found + [value_in_words(m[1] or m[2]) for m in _FOR.finditer(sentence)]


_FOR = re.compile(
    r"(?i)\bfor (two|three|four|five|six|seven|eight|nine)\b(?! [a-z])|\bfor (two|three|four|five|six)(?=[.,;]|$)"
)
_UNIT_BEHIND = re.compile(rf"(?i)\s+(?:{UNIT_WORDS})\b")
