"""What an agent's turn asks of its user, in English and Chinese: facts by name, a go-ahead, something else, nothing.

Only sentences that ask count: "I found your order number" asks for nothing, "please give me: your name, your e-mail"
asks for two things. Which words mean which fact the goal says (names and synonyms), not this module.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from environments.task import UserGoal


def _either(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_END = re.compile(r"(?<=[?!。;\n])|(?<=[.](?=\s))(?<!\n\d[.])")
_ASKS = _either(
    r"\?",
    r"\b(?:please|kindly) (?:\w+ ){0,2}(?:provide|tell|give|share|confirm|state|enter|specify|send|verify|supply)\b",
    r"\b(?:tell|give) (?:me|us)\b",
    r"\b(?:provide|specify|confirm|verify|share|state) (?:me |us )?(?:with )?(?:your|the|which|what|whether)\b",
    r"\b(?:i|we)(?:'ll| will| would|'d)?(?: also| still| just| first)? (?:need|require)\b"
    r"(?! to (?!know|have|verify|gather|ask|collect|confirm))",
    r"\b(?:like|want) to know\b",
    r"\blet me know\b",
    r"\b(?:could|can|may|might|would|will) (?:you|i have|i get|i ask|we have)\b",
    r"^\W*(?:and )?(?:what|which|who|whose|when|where|how)\b.{0,80}$",
    r"吗|呢\W*$|请问|麻烦(?:您|你)|能否|可否|是否|能不能|可不可以|什么|哪|多少|几(?:号|点|位)|怎么称呼|贵姓",
    r"请(?:您|你)?(?:再|先)?(?:提供|告诉|告知|说明|确认|输入|给|发|报|补充|核对|说)|(?:告诉|告知|提供给)(?:我|一下)",
    r"需要(?:您|你|知道|了解|先知道)",
)
_ASKS_NOT = _either(
    r"\b(?:do not|don't|no longer|won't|will not|not) (?:need|require|have to|want)\b",
    r"\bno need\b|\bnever mind\b",
    r"不需要|不用|无需|无须|不必",
)
_GO_AHEAD = _either(
    r"(?<!how )(?<!what )(?<!where )(?<!when )\b(?:shall|should|may|can) i (?!have|get|ask|know|see|take|help|assist)"
    r"(?!.*\bor (?!not\b))",
    r"\b(?:do|would) you (?:want|like) me to\b(?!.*\bor (?!not\b))",
    r"\bgo ahead\b|\bproceed\b|\bdo you (?:agree|approve|confirm)\b|\(yes/no\)",
    r"\bis (?:that|this|everything) (?:ok|okay|all right|alright|correct|right|fine)\b",
    r"\bplease confirm\b(?! (?:your|the|which|what))",
    r"要我.{0,40}[吗?]|是否(?:继续|确认|同意|办理|需要我|要我|现在)|可以(?:吗|继续|办理)",
    r"(?:确认|同意)(?:吗|\?)|好吗|行吗|对吗|要不要|请(?:您|你)?确认(?!您|你)",
)
_ANYTHING_ELSE = _either(
    r"\b(?:anything|something|what|how) else\b|\b(?:any|other|more|further) (?:questions|help|assistance)\b",
    r"\bmore i can (?:do|help)\b|\bif you (?:need|change your mind)\b|\bif there is anything\b",
    r"还有(?:什么|其他|别的)|还需要(?:什么|其他|别的)|其他(?:需要|问题|可以帮)",
)
_MORE = _either(
    r"\b(?:more|further|additional|your|some|the|these|those|this|that) (?:details?|information)\b",
    r"\btell me more\b|\bmore about\b",
    r"\bhow (?:can|may) i (?:help|assist)\b|\bwhat can i do for you\b|\bwhat do you need\b",
    r"(?:更多|详细|具体)(?:的)?(?:信息|情况|资料|要求|内容|说明)|有什么可以帮|请问您需要什么",
)
_LATER = _either(
    r"\b(?:one|a|just a) (?:moment|second|sec|minute)\b|\bhold on\b|\bbear with me\b|\bplease wait\b",
    r"\b(?:let me|i'll|i will|i am going to|i'm going to) (?:now |just |quickly |first |go and )*"
    r"(?:check|look|see|find|search|verify|pull|process|start|do|try|get|cancel|refund|book|change|update)\b",
    r"稍等|请等|等一下|(?:我|让我)(?:先|来|马上|现在|这就|去)*(?:查|看|核实|确认一下|处理|找|办)",
)
_LATER_WORDS = 25
"""A longer turn that also promises something is a report."""
_BULLET = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,2}[.)、）])\s*")
_WORD = re.compile(r"[a-zA-Z']+|[㐀-鿿]")
_CHINESE = re.compile(r"[㐀-鿿]")


@dataclass(frozen=True, slots=True)
class Asked:
    """What one turn of the agent asks for."""

    facts: tuple[str, ...]
    """Names of the goal's facts that are asked for, in the goal's order."""
    go_ahead: bool
    """Whether it asks if it should do something."""
    other: bool
    """Whether it asks for something that the goal knows nothing of."""
    more: bool
    """Whether it asks for details without saying which."""
    later: bool
    """Whether it only says that it will do something."""

    @property
    def nothing(self) -> bool:
        """Whether it is a report or a refusal: the conversation may end here."""
        return not (self.facts or self.go_ahead or self.other or self.more or self.later)


def is_chinese(text: str) -> bool:
    """Whether a text has Chinese characters."""
    return _CHINESE.search(text) is not None


def asked(said: str, goal: UserGoal) -> Asked:
    """What the agent's turn `said` asks of a user with `goal`."""
    asking = asking_sentences(said)
    wanted = [s for s in asking if not _is_courtesy(s) or _words_of(s, goal)]
    facts = {name for sentence in wanted for name in _words_of(sentence, goal)}
    go_ahead = any(_GO_AHEAD.search(s) for s in wanted)
    rest = [s for s in wanted if not _words_of(s, goal) and not _GO_AHEAD.search(s)]
    more = any(_MORE.search(s) for s in rest)
    other = any(not _MORE.search(s) for s in rest)
    short = len(_WORD.findall(said)) <= _LATER_WORDS
    later = not asking and short and _LATER.search(_plain(said)) is not None
    return Asked(tuple(n for n in goal.facts if n in facts), go_ahead, other, more, later)


def _is_courtesy(sentence: str) -> bool:
    """Whether a sentence only asks if there is anything else; one that offers something is a question."""
    offers = _GO_AHEAD.search(sentence) or "would you prefer" in sentence
    return _ANYTHING_ELSE.search(sentence) is not None and not offers


def asking_sentences(said: str) -> list[str]:
    """The sentences and list items of `said` that ask something."""
    found, open_list = [], False
    for raw in _END.split(unicodedata.normalize("NFKC", said)):
        sentence = raw.strip()
        if not sentence:
            continue
        item = _BULLET.match(sentence) is not None and open_list
        asks = item or (_ASKS.search(sentence) is not None and not _ASKS_NOT.search(sentence))
        open_list = asks and (item or sentence.rstrip().endswith(":"))
        if asks:
            found.append(_plain(sentence))
    return found


def _words_of(sentence: str, goal: UserGoal) -> set[str]:
    """Names of the facts whose words stand in `sentence`; the longest words win, so that no part of them counts."""
    found, left = set(), sentence
    for name, pattern in _patterns(_frozen(goal.facts, goal.synonyms)):
        if pattern.search(left):
            found.add(name)
            left = pattern.sub(" | ", left)
    return found


def _frozen(facts: Mapping[str, str], synonyms: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(synonyms.get(name, ()))) for name in facts)


@lru_cache(maxsize=4096)
def _patterns(words: tuple[tuple[str, tuple[str, ...]], ...]) -> list[tuple[str, re.Pattern[str]]]:
    pairs = [(name, _plain(word)) for name, more in words for word in (name, *more)]
    ordered = sorted(pairs, key=lambda pair: (-len(pair[1]), pair))
    return [(name, _pattern(word)) for name, word in ordered if word]


def _pattern(word: str) -> re.Pattern[str]:
    """`word` as a whole; Chinese has no spaces between words, English may put an s behind."""
    body = re.escape(word).replace(r"\ ", r"\s+")
    return re.compile(body if is_chinese(word) else rf"(?<![a-z0-9]){body}(?:s|'s)?(?![a-z0-9])")


def _plain(text: str) -> str:
    """Case, width, hyphens and underscores folded: e-mail is email, order_id and order-id are order id."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("_", " ")
    joined = re.sub(r"(?<![a-z])([a-z])-(?=[a-z])", r"\1", folded)
    return re.sub(r"(?<=[a-z])-(?=[a-z])", " ", joined).strip()
