"""Whether an answer stands by what it states: doubt, denial and taking back, by what they are said of.

The same words are harmless elsewhere: "you might want an umbrella" is advice, "I could not be sure it was booked, so I
looked again" a report, "let me know if you're not sure" an offer, "that was wrong of us" an apology, "you will not be
billed for SO4145" what was asked for. So an answer is read clause by clause, and little counts: a whole clause in
which the speaker, or a word that points at the answer, takes it back; a doubt close in front of a required fact or
right behind it; and a denial that the fact itself completes ("is not cloudy"). Taking back in other words passes. That
is the smaller harm: beside it stand the right facts, grounded, without their alternatives, and the right state.

Source: ours; the closings that it was measured on are in its tests.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from environments.task import Fact
from environments.verifiers.claim import VERDICT_WORDS
from environments.verifiers.claims import places
from environments.verifiers.folding import folded

_NEAR: Final = 48
"""Signs in front of a fact that are read: what stands further off is said of something else, and costs time."""
_CLAUSE: Final = re.compile(r"(?<=[!?;。！？；\n])|(?<=\.)(?=\s|$)|(?<!\d),|,(?!\d)|，|、|\s[-–—]\s|:\s")
_END = r"[\s.!?…~]*$"
_START = (
    r"^\W*(?:(?:but|and|or|well|oh|sorry|actually|honestly|frankly|hm+|ah|in fact|please|then again|though|although|so"
    r"|to be honest|wait|no|all right|by the way)\W+)*"
)
_IT = r"(?:it|this|that)"
_ANSWER = (
    rf"(?:{_IT}|all of {_IT}|all {_IT}|everything|the above|all of the above|(?:my|the|this) (?:answer|reply"
    rf"|statement)(?: above)?"
    rf"|the (?:whole )?(?:thing|text)|what I (?:just )?(?:said|wrote)|everything I (?:said|wrote)|(?:these|my|the) "
    r"(?:facts|figures|numbers|data)(?: above)?|(?:that|the) last (?:bit|part|sentence))"
)
_INVENTED = (
    r"(?:made up|invented|fabricated|imaginary|nonsense|fiction|guesswork|guessed|(?:just |only |merely )?"
    r"a (?:wild |mere |pure )?(?:guess|lie|joke|bluff|hunch|bet|placeholder|dummy|test))"
)
_FALSE = (
    rf"(?:wrong|incorrect|untrue|false|mistaken|inaccurate|not (?:true|so|right|correct|accurate)|void|{_INVENTED})"
)
_SURE = r"(?:sure|certain|confident)"
_DEGREE = r"(?:\w+ly |just |only |all |at all |so |too |still )?"
_BACK: Final = re.compile(
    "|".join(
        (
            rf"{_START}{_ANSWER}(?:'s| is| are|'re| (?:may|might|could|must)(?: well| just"
            rf"| also)? be) {_DEGREE}{_FALSE}{_END}",
            rf"{_START}{_ANSWER} (?:was|were) {_DEGREE}{_INVENTED}{_END}",
            rf"{_START}{_ANSWER} (?:is|are)n't (?:true|so|right|correct|accurate|reliable|the case){_END}",
            rf"{_START}{_ANSWER} (?:may|might|could) not be (?:true|so|right|correct|accurate|reliable){_END}",
            rf"{_START}none of (?:{_IT}|the above) (?:is|was) (?:true|right|correct|accurate|real){_END}",
            rf"{_START}(?:consider|treat) {_ANSWER} (?:as )?(?:void|unsaid|a guess|a joke|not said){_END}",
            rf"{_START}(?:ignore|disregard|forget|scratch|strike) {_ANSWER}{_END}",
            r"^\W*(?:其实)?(?:以上|上面|这|那|刚才)(?:些|个)?(?:内容|信息|回答|说的|的话)?(?:都|全|可能|也许)*"
            r"(?:不实|是假的|不对|是错的|不是真的|不准|不一定对?|是?我?(?:瞎|乱)?(?:编|猜)的|不是这样的?)\W*$",
        )
    ),
    re.IGNORECASE,
)
"""A clause that says that the answer is false: behind the facts. In front of them it speaks of something else."""
_UNSURE: Final = re.compile(
    "|".join(
        (
            rf"{_START}I(?:'m| am) {_DEGREE}(?:wrong|mistaken){_END}|{_START}(?:at least )?I(?: may| might"
            rf"| could)(?: well)? be "
            rf"(?:wrong|mistaken){_END}",
            rf"{_START}I(?:'m| am) {_DEGREE}(?:guessing|joking|kidding|lying|bluffing|making {_IT} up)(?: here)?{_END}",
            rf"{_START}(?:just |only )?(?:kidding|joking|guessing|a guess){_END}",
            rf"{_START}I (?:just |only |simply )?(?:made|make) {_ANSWER} (?:all )?up{_END}",
            rf"{_START}I pulled {_ANSWER} out of (?:thin air|my \w+){_END}",
            rf"{_START}I(?:'m| am) {_DEGREE}(?:not {_DEGREE}{_SURE}|unsure|uncertain)(?: (?:about"
            rf"|of) {_ANSWER})?{_END}",
            rf"{_START}not {_DEGREE}{_SURE}(?: (?:about|of) {_ANSWER})?(?:,? though)?{_END}",
            rf"{_START}I (?:have no idea|(?:don't|do not) {_DEGREE}know)(?: {_IT})?(?: for (?:sure|certain))?{_END}",
            rf"{_START}I (?:can't|cannot|can not) {_DEGREE}(?:confirm|verify|vouch for|guarantee|promise"
            rf"|be sure of|stand by)"
            rf" (?:any of )?{_ANSWER}{_END}",
            rf"{_START}I (?:did not|didn't|have not|haven't|never) (?:really |actually |even |ever )?"
            rf"(?:check|checked|look|looked|verify|verified)(?: (?:{_IT}|any of {_IT}|anything))?(?: up)?{_END}",
            rf"{_START}(?:or so )?(?:I|we) (?:guess|suppose|reckon|assume)(?: so)?{_END}",
            rf"{_START}(?:maybe|perhaps|possibly|nope|not|hopefully)(?: not)?{_END}|\bor (?:maybe|perhaps) not{_END}",
            rf"{_START}I (?:do not|don't) (?:really )?(?:think|believe) so{_END}",
            rf"{_START}you (?:should not|shouldn't|can't|cannot|had better not) (?:rely on|trust"
            rf"|believe) (?:any of )?{_ANSWER}{_END}",
            rf"{_START}(?:don't|do not) (?:take my word for it|quote me(?: on {_IT})?|(?:trust|believe|rely on) "
            rf"(?:me|{_ANSWER})){_END}",
            rf"{_START}(?:take {_ANSWER} )?with a (?:grain|pinch) of salt{_END}|{_START}who knows{_END}",
            rf"{_START}I (?:hereby )?(?:take {_ANSWER} back|(?:retract|withdraw|unsay) {_ANSWER}){_END}",
            rf"{_START}(?:the opposite (?:holds|is (?:true|the case|just as likely))|no such thing (?:is|was"
            rf"|has been) \w+){_END}",
            rf"{_START}if I(?:'m| am) not mistaken{_END}|{_START}{_IT}(?:'s| is) (?:just )?what I'd (?:bet"
            rf"|guess){_END}",
            r"^\W*(?:不过|但是?|其实|说实话|老实说)*我?(?:也|真的?|其实|完全|并)*(?:不(?:太|大|是很)?确定|不知道"
            r"|不敢(?:肯定|保证))\W*$",
            r"^\W*(?:其实)?我?(?:没有?|并没有?|还没)(?:查|核实|确认|看)过?\W*$",
            r"^\W*(?:骗你的|(?:我)?(?:是)?开玩笑的?|(?:都|全)?是?我?(?:瞎|乱|随便|随口)?(?:猜|编|说)的)(?:吧|啦)?\W*$",
            r"^\W*(?:请)?(?:忽略|无视)(?:以上|上面|刚才|这)(?:些|个|所有)?(?:内容|回答|的话|的回答)?\W*$",
            r"^\W*(?:我)?说错了\W*$|别当真|当我没说|信不信由你|^\W*谁知道呢?\W*$|^\W*(?:请)?不要相信(?:我|这|以上).*$",
            r"收回(?:刚才|以上|前面|我说)|^\W*也?可能不是\W*$|^\W*其实什么都没有?(?:做|办|处理)\W*$"
            r"|^\W*我不(?:这么)?认为\W*$",
        )
    ),
    re.IGNORECASE,
)
"""A clause in which the speaker takes the answer back or leaves it open."""
_UNDONE: Final = re.compile(
    r"(?i)\b(?:did not|didn't|have not|haven't|never) (?:really |actually )?(?:do|done|make|made|change|changed) "
    r"(?:any|anything|all|some)? ?of (?:this|that|it)[\s.!]*$|\bnothing (?:of (?:this|that) )?(?:was|has been"
    r"|is) done[\s.!]*$"
    r"|\bor perhaps not\b|\bwe refuse\b|(?:以上|这些)(?:都)?(?:没有|并未)(?:真的)?(?:做|办理|处理)",
    re.MULTILINE,
)
"""Words, anywhere, that say that the work was never done."""
_FILLERS = (
    r"(?:(?:at all|really|actually|exactly|going to be|even|the|an?|at|in|on|of|from|to|for|about|called|named)"
    r"\s+){0,3}"
)
_DENIED: Final = re.compile(
    rf"(?i)(?:(?:\b(?:is|are|was|were|am)|'s|'re|'m)\s+(?:not|never|hardly|anything but|far from|nowhere near)"
    r"|\b(?:is|are|was|were)n't|\b(?:will not|won't|would not|wouldn't|cannot|can't|can not|could not|couldn't) be"
    rf"|^\W*(?:no\W+)?not)\s+{_FILLERS}$|(?:不是|并非|并不是|绝非|不会是)(?:在|从|到)?$"
)
"""A denial that the fact completes."""
_DENIED_BEHIND: Final = re.compile(
    rf"(?i)^\W{{0,3}}(?:\w+\s+){{0,2}}?(?:(?:is|are)\s+(?:probably |simply |just |all )?{_FALSE}|(?:was"
    rf"|were)\s+{_INVENTED}"
    r"|(?:is|are|was|were)(?:\s+not|n't)\s+(?:true|right|correct|the case|the answer))\b|^(?:是错的|不对|不是真的"
    r"|是假的|是编的)"
)
_DOUBT: Final = re.compile(
    rf"(?i)\b(?:maybe|perhaps|possibly|probably|presumably|supposedly|I guess|I'd guess|my guess is|I doubt|I'm told)\b"
    r"|\b(?:may|might|could)\s+(?:well\s+|also\s+|just\s+)?(?:be|cost)\b"
    rf"|\b(?:not|n't)\s+(?:be\s+)?{_SURE}\s+(?:if|whether|that|it is|it's)\b"
    r"|\b(?:don't|do not|nobody|no one|who)\s+(?:really\s+)?knows?\s+(?:if|whether)\b"
    r"|\bcan(?:not|'t| not)\s+(?:say|tell)\s+(?:if|whether|for sure)\b|\bI (?:want|would like|'d like) to (?:say"
    r"|think)\b"
    r"|(?:可能|也许|估计|或许|说不定|好像|似乎|我猜|大概)(?:会|是|要|有)*$"
)
"""Close in front of a fact."""
_DOUBT_BEHIND: Final = re.compile(
    r"(?i)^\W*(?:\w+\s+)?(?:maybe|perhaps|possibly|probably|i guess|i suppose|or so i (?:think|guess)"
    r"|or something(?: like that)?"
    r"|可能吧|吧)\W*$"
)
_IDLE: Final = re.compile(
    r"(?i)\b(?:if|whether|unless|in case|should you)\b|\byou(?:'d|'ll|'re| are| would)?\s+(?:\w+\s+)?"
    r"(?:said|say|thought|think|heard|mentioned|asked|told|believed?|want|like|need)\b"
    r"|\bto you\b|(?:您|你)[^,。]{0,3}(?:说|以为|觉得|听说|可能|也许|想|需要|要)|如果|要是|假如|是否"
)
"""What comes behind it in its clause is a condition, or the user's."""


class _Clause(NamedTuple):
    text: str
    start: int


def taken_back(answer: str, facts: Sequence[Fact]) -> str | None:
    """The words by which `answer` leaves open, denies or takes back what it states of `facts`; None where it stands.

    A yes or no that is asked for denies nothing. What says that the work was never done takes all of it back.
    """
    if undone := _UNDONE.search(answer):
        return undone[0]
    text = folded(answer).replace("’", "'")
    stated = sorted(span for f in facts if f.value not in VERDICT_WORDS for span in places(text, f))
    place = 0
    for clause in _clauses(text):
        end, own = clause.start + len(clause.text), []
        while place < len(stated) and stated[place][0] < end:
            own.append((stated[place][0] - clause.start, stated[place][1] - clause.start))
            place += 1
        if found := _objection(clause.text, own, behind=place == len(stated)):
            return found.strip(" .!?…~\n")
    return None


def _clauses(text: str) -> Iterator[_Clause]:
    start = 0
    for match in _CLAUSE.finditer(text):
        if text[start : match.end()].strip():
            yield _Clause(text[start : match.end()], start)
        start = match.end()
    if text[start:].strip():
        yield _Clause(text[start:], start)


def _objection(clause: str, facts: Sequence[tuple[int, int]], *, behind: bool) -> str | None:
    """What a clause objects; `behind`: no fact is stated after it."""
    whole = clause.rstrip(" ,，、:-–—")
    if back := _UNSURE.search(whole) or (_BACK.search(whole) if behind else None):
        return back[0]
    for start, end in facts:
        near = clause[max(0, start - _NEAR) : start]
        denied = _DENIED.search(near)
        if denied and not _IDLE.search(near[: denied.start()]):
            return f"{denied[0]}{clause[start:end]}"
    if not facts:
        return None
    near = clause[max(0, facts[0][0] - _NEAR) : facts[0][0]]
    doubt = _DOUBT.search(near)
    if doubt and not _IDLE.search(near[: doubt.start()]):
        return doubt[0]
    rest = clause[facts[-1][1] :]
    against = _DENIED_BEHIND.search(rest[:_NEAR]) or _DOUBT_BEHIND.search(rest)
    return against[0] if against else None
