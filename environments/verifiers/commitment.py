"""Whether an answer stands by what it states: doubt, denial and taking back, by what they are said of.

The same words are harmless elsewhere: "you might want an umbrella" is advice, "I did not need to look further" a
report, "let me know if you're not sure" an offer. So an answer is read clause by clause. A doubt or a denial counts in
a clause that states a required fact, in front of it or right behind; taking back counts where the speaker, or a word
that points at what was said, is its subject. A condition, a question to the user and what the user is said to have said
count for nothing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from environments.task import Fact
from environments.verifiers.claim import VERDICT_WORDS
from environments.verifiers.claims import places
from environments.verifiers.folding import folded

_CLAUSE: Final = re.compile(r"(?<=[!?;。！？；\n])|(?<=\.)(?=\s|$)|(?<!\d),|,(?!\d)|，|、|\s[-–—]\s")
_BE = r"(?:is|are|was|were|am|'s|'re|'m|be|been)"
_NOT = rf"(?:{_BE}|do|does|did|has|have|had|can|could|will|would|should|may|might)(?:\s+not|n't)|not|never|won't|cannot"
_DOUBT: Final = re.compile(
    r"(?i)\b(?:maybe|perhaps|possibly|probably|presumably|supposedly|might|doubt|guess(?:ed|ing)?|unsure)\b"
    r"|\b(?:may|could)\s+(?:well\s+|also\s+)?(?:be|cost|take|have|leave|depart|run|call)\b"
    r"|\b(?:not|n't)\s+(?:be\s+)?(?:sure|certain|confident)\b|\bcan(?:no|')t\s+(?:say|tell|confirm|promise|be sure)\b"
    r"|\bcan not\s+(?:say|tell|confirm)\b|\bno idea\b|\bdon'?t know\b"
    r"|\b(?:who|nobody|no one|noone) (?:really )?knows\b"
    r"|\bI (?:want|would like|'d like|'m inclined|am inclined) to (?:say|think)\b|\bI'm told\b"
    r"|可能|也许|估计|或许|说不定|好像|似乎|我?猜|不(?:太)?确定|不敢(?:肯定|说)"
)
"""In front of a fact, or right behind it."""
_DENIED: Final = re.compile(
    rf"(?i)(?:(?:\b(?:{_NOT})|\w+n't|\bno(?: such| way)?|\bneither|\bnowhere near|\banything but|\bfar from)\b"
    r"|不是|并非|并不是|没有|不会(?:是)?|绝非)"
    r"(?P<between>[^,;:]{0,36})$"
)
"""A denial that the fact directly follows."""
_TURNS: Final = re.compile(
    r"(?i)\b(?:but|only|just|than|except|until|till|before|after|unless|because|besides|beyond|other|any\w*|need\w*"
    r"|have to|without|hard|far|while|with|and)\b|而是|只|除了|需要|用"
)
"""Between a denial and a fact: what is denied is something else."""
_FALSE = (
    r"(?:wrong|incorrect|untrue|false|mistaken|inaccurate|nonsense|made up|invented|fabricated|imaginary|fiction"
    r"|a (?:wild |mere |pure )?(?:guess|lie|joke|bluff)|guess\w*|kidding|joking|lying)"
)
_DENIED_BEHIND: Final = re.compile(
    rf"(?i)^\W{{0,3}}(?:\w+\s+){{0,2}}?(?:(?:{_BE})\s+(?:probably |simply |just |all )?{_FALSE}\b"
    rf"|(?:{_NOT})\s+(?:true|so|right|correct|it|the case|the answer)\b)|^(?:是错的|不对|不是真的|是假的|是不对的)"
)
_DOUBT_BEHIND: Final = re.compile(
    r"(?i)^\W*(?:\w+\s+)?(?:maybe|perhaps|possibly|probably|i guess|i suppose|or so i (?:think|guess)|可能吧"
    r"|吧)\W*$"
)
_SAID = (
    r"(?:it|this|that|these|those|they|which|all|none|nothing|any|some|(?:the|my|these|those) [^,.;]{0,24}?)(?: of "
    r"(?:it|this|that|these|those|the above))?(?: above)?"
)
_BACK: Final = re.compile(
    rf"(?i)\b{_SAID}(?:\s+(?:may|might|could|can|must|will|would)(?: (?:well|just|also|all))? be|\s*{_BE})"
    rf"\s+(?:\w+ly |just |all |only |merely |also )?{_FALSE}\b"
    rf"|\b{_SAID}\s*{_BE}(?:\s+not|n't)\s+(?:\w+ly )?(?:true|so|right|correct|accurate|the case|reliable)\b"
    r"|\bnone of (?:it|this|that|these) (?:is|was|are) (?:true|right|correct|accurate|real)\b"
    rf"|\bI(?:\s+(?:may|might|could|must)(?: (?:well|also|just))? be|\s*{_BE})"
    rf"\s+(?:\w+ly |just |only |still )?{_FALSE}\b"
    r"|^\W*(?:just |only )?(?:kidding|joking|guessing)\b"
    r"|\bI (?:just |only |simply )?(?:made|make) (?:it|this|that|them) up\b"
    r"|\b(?:ignore|disregard|forget|scratch|strike|cancel)\s+(?:it|this|that|all|everything|the above"
    r"|what(?:ever)? I(?:'ve| have)?(?: just)? (?:said|wrote))\b"
    r"|\bI(?:'m| am)\s+(?:really |still |honestly )?"
    r"(?:not (?:at all |so |too |entirely |completely )?(?:sure|certain|confident)"
    r"|unsure|uncertain)\b(?!\s+(?:if|whether|what|which|where|when|how) you\b)"
    r"|^\W*(?:but |though |although )?not (?:so |too |entirely |at all )?(?:sure|certain|confident)\b(?!.*\?)"
    r"|\bI (?:have )?(?:no idea|don'?t (?:really )?know)\b(?!\s+(?:if|whether|what|which|where|when|how) you\b)"
    r"|\bI (?:can'?t|cannot|can not|could not|couldn't) (?:really )?"
    r"(?:confirm|verify|vouch|guarantee|be sure|say for sure)\b"
    r"|\bI (?:did not|didn't|have not|haven't|never) (?:really |actually |even )?"
    r"(?:check(?:ed)?|look(?:ed)? (?:it |this |that |anything )?up|verif(?:y|ied)|look(?:ed)? at (?:it|this|that))\b"
    r"|^\W*(?:or so )?(?:I|we) (?:guess|suppose|reckon|assume)\W*$"
    r"|^\W*(?:or )?(?:maybe|perhaps|possibly)(?: not)?\W*$|\bor (?:maybe|perhaps) not\b|\bor not\W*$"
    r"|\bI (?:do not|don't) (?:really )?(?:think|believe) so\b"
    r"|\b(?:don't|do not) (?:take my word|quote me|trust (?:me|this|that|it))\b"
    r"|\bwith a (?:grain|pinch) of salt\b|\bwho knows\b|\bif I(?:'m| am) not mistaken\b|\bwe refuse\b"
    r"|(?:我|其实)[^,。]{0,4}(?:不(?:太|大|是很)?确定|不知道|不清楚(?!您)|不敢(?:肯定|保证)|没(?:有)?(?:查|核实|确认|看)过?(?!您|其他|其它|别的|另)|瞎|乱|随便)"
    r"|我(?:只是)?(?:瞎|乱|随便)?(?:猜|编)的?|(?:是|都是)我?(?:瞎|乱)?(?:编|猜|骗)|说错了|别当真|当我没说|不要相信|(?:请)?忽略(?:以上|上面|这)"
    r"|(?:以上|上面)[^,。]{0,6}忽略|(?:这|那|以上|上面)[^,。]{0,4}(?:不对|不是真的|是错的|是假的|不准|不一定)|不是这样|我不(?:这么)?认为|谁知道"
)
"""The speaker, or what points at the answer, takes it back or leaves it open."""
_KNOWING = (
    r"(?:know\w*|check\w*|verif\w*|confirm\w*|look(?:ed)? it up|seen? (?:a|the|any) \w+|believe|trust|rely|relied"
    r"|count on|depend on|hold|stand by|source|basis|evidence|proof|grounds?|bet)\b"
)
_WEAK: Final = re.compile(
    r"(?i)\b(?:I|we|you|one|nobody|which)\b(?:\s+\w+)?\s*"
    r"(?:should(?:n't| not)|would(?:n't| not)|do(?:n't| not)|did(?:n't| not)"
    rf"|have(?:n't| not| no| never)|had no|never|can(?:'t|not| not))\s+(?:\w+ly )?{_KNOWING}"
    rf"(?!\s+(?:if|whether|what|which|where|when|how|yet|with|your|any other|other|you)\b)"
    r"|\b(?:the above|this|that|it|the answer|my answer)\s+(?:does(?:n't| not)|did(?:n't| not)|won't|will not)"
    r" (?:hold|stand|count)\b"
    r"|\b(?:I|let me)\s+(?:hereby )?(?:take|retract|withdraw|unsay|strike)\b[^,;.]{0,20}?"
    r"(?:\bback|that|this|it|above)\b"
    r"|\b(?:strike|scratch|drop|delete)\s+(?:that|this|the)(?: last| above)?\b|^\W*correction\b"
    r"|\b(?:out of thin air|out of my (?:head|hat)|at random|off the top of my head|a coin)\b"
    r"|\b(?:that|this|it)(?:'s| is| was)?\s+(?:just )?what I'd (?:bet|guess)\b|\bif I had to (?:guess|bet|pick)\b"
    r"|\b(?:my|the|these|those) (?:numbers?|figures?|facts?|answers?|data)(?:\s+\w+)?\s+(?:\w+ly )?(?:be )?off\b"
    r"|\b(?:this|that|the|my) (?:answer|number|figure|text|reply)?\s*(?:is|was)\s+"
    r"(?:only |just )?a (?:placeholder|dummy|test|bet|hunch|shot)\b"
    r"|\b(?:the opposite|the reverse|anything else|something else)\b.{0,30}\b(?:likely|possible|true|as well)\b"
    r"|\b(?:could|might|may) just as well\b|开玩笑|随口|收回(?:刚才|以上|前面|我)"
    r"|说不好|没有?(?:任何)?(?:依据|根据|把握)"
    r"|信不信由你|没(?:有)?看(?:过)?(?:预报|数据|结果)|不(?:要|必|用|能)(?:信|当真|依赖)"
)
"""The speaker's ground is missing, or what was said does not stand."""
_IDLE: Final = re.compile(
    r"(?i)\b(?:if|whether|unless|in case|should you)\b|\byou(?:'d|'ll|'re| are| would)?\s+(?:\w+\s+)?"
    r"(?:said|say|thought|think|heard|mentioned|asked|told|believed?|might|may|could|probably|want|like|need"
    r"|weren't|wasn't|aren't|won't|don't|can't)\b"
    r"|\bto you\b|(?:您|你)[^,。]{0,3}(?:说|以为|觉得|听说|可能|也许|想|需要|要)|如果|要是|假如|是否"
)
"""What comes behind it in its clause is a condition, or the user's."""


class _Clause(NamedTuple):
    text: str
    start: int


def taken_back(answer: str, facts: Sequence[Fact]) -> str | None:
    """The words by which `answer` leaves open, denies or takes back what it states of `facts`; None where it stands.

    A yes or no that is asked for denies nothing.
    """
    text = folded(answer).replace("’", "'")
    stated = sorted(span for f in facts if f.value not in VERDICT_WORDS for span in places(text, f))
    for clause in _clauses(text):
        own = [
            (a - clause.start, b - clause.start)
            for a, b in stated
            if clause.start <= a < clause.start + len(clause.text)
        ]
        found = _objection(clause.text, own)
        if found:
            return found.strip()
    return None


def _clauses(text: str) -> Iterator[_Clause]:
    start = 0
    for match in _CLAUSE.finditer(text):
        if text[start : match.end()].strip():
            yield _Clause(text[start : match.end()], start)
        start = match.end()
    if text[start:].strip():
        yield _Clause(text[start:], start)


def _objection(clause: str, facts: Sequence[tuple[int, int]]) -> str | None:
    back = _BACK.search(clause)
    if back and not _IDLE.search(clause[: back.start()]):
        return back[0]
    weak = _WEAK.search(clause)
    if weak and "?" not in clause[weak.end() :]:
        return weak[0]
    if not facts:
        return None
    before, behind = clause[: facts[0][0]], clause[facts[-1][1] :]
    doubt = _DOUBT.search(before)
    if doubt and not _IDLE.search(clause[: doubt.end()]):
        return doubt[0]
    for start, end in facts:
        denied = _DENIED.search(clause[:start])
        if denied and not _TURNS.search(denied["between"]) and not _IDLE.search(clause[: denied.start()]):
            return clause[denied.start() : end]
    against = _DENIED_BEHIND.search(behind) or _DOUBT_BEHIND.search(behind)
    return against[0] if against else None
