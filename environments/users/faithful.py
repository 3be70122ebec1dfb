"""Whether a simulated user kept to its part: said something, spoke as the user, told what it knows and was asked for.

A user written by a model makes mistakes, and what an agent earns after one says nothing about the agent. What is looked
for is what can be seen from the goal and the conversation: pieces of fact without a source, facts told before they were
asked for, the other side's lines, an end before the work is done. Where the words leave it open, the user is believed.

Source: tau2-bench, reports of user errors behind failed episodes.
"""

import re
from collections.abc import Sequence
from typing import Final

from environments.episode import Attempt
from environments.task import UserGoal
from environments.users.asking import Asked, asked, asking_sentences, is_chinese
from environments.users.scripted import has_enough
from environments.users.telling import folded, holds, pieces

LONGEST = 1200
"""Characters of a reply; a longer one does not end. Ours."""
_REPEATS: Final = 4
_TOLD_SHARE: Final = 0.6
"""Share of a fact's own words that must be there before it counts as told, where it has no name or number."""
_ROLE = re.compile(
    r"<tool_call|\"arguments\"\s*:|^\s*(?:assistant|agent|system|customer service|客服|助手)\s*[:：]"
    r"|\bas an? (?:ai|language model|assistant|(?:customer )?(?:service|support) (?:agent|representative))\b"
    r"|\bhow (?:can|may) i (?:help|assist)\b|\bi(?: can|'ll| will|'d be (?:glad|happy) to) (?:help|assist) you\b"
    r"|\bi(?:'ve| have)(?: now| successfully)? (?:\w+ed|sent|made) (?:the \w+ (?:for|to) you|your)\b"
    r"|\byour (?:refund|order|booking|request|reservation|flight|account|ticket)\b.{0,30}\b(?:been|is|was|will be) \w+"
    r"|\b(?:provide|tell me|confirm|share|give me)(?: \w+){0,2} your\b|\bwhat is your (?:name|order|e-?mail|phone)\b"
    r"|\b(?:check|look)(?: \w+){0,3} for you\b|\banything else i can (?:help|assist|do for)\b"
    r"|作为(?:一个|一名)?(?:ai|人工智能|客服|助手|语言模型)|有什么(?:可以|能)(?:帮|为)|(?:我来|我可以|我这就|我)(?:帮|为)您"
    r"|已(?:经)?(?:为|帮)您|您的(?:订单|退款|账户|预订|申请|航班|工单)|请(?:您)?(?:提供|告诉我|确认)您的|感谢您的(?:耐心|理解|支持)",
    re.IGNORECASE | re.MULTILINE,
)  # fmt: skip
_STOP: Final = {
    "the", "and", "for", "that", "this", "with", "was", "are", "you", "your", "have", "has", "had", "not",
    "but", "from", "they", "them", "there", "here", "what", "when", "where", "which", "who", "how", "why",
    "can", "could", "would", "should", "will", "may", "its", "it's", "i'm", "don't", "does", "did", "been",
    "being", "about", "into", "just", "please", "want", "need", "like", "know", "tell", "give", "yes", "were",
    "our", "out", "get", "any", "all", "some",
}  # fmt: skip


def mistake(attempt: Attempt, said: str, reply: str, *, ended: bool) -> str | None:
    """What is wrong with `reply` to the agent's turn `said`, or None.

    Args:
        attempt: the conversation before it.
        said: what the agent said.
        reply: what the user said, without its mark for the end.
        ended: whether the user ended the conversation.
    """
    goal = attempt.task.user
    assert goal is not None
    text = reply.strip()
    if not text and not ended:
        return "said nothing"
    if len(text) > LONGEST or _goes_round(text):
        return f"went on without an end ({len(text)} characters)"
    if found := out_of_role(text, goal):
        return f"left its role: {found!r}"
    before = [asked(exchange.said, goal) for exchange in attempt.exchanges]
    now = asked(said, goal)
    wrong = _invented(attempt, goal, said, text) or _unasked(attempt, goal, said, text, now, before)
    if wrong is None and ended and _too_early(attempt, goal, now, before):
        wrong = "stopped before the agent had done what it was asked for"
    return wrong


def out_of_role(text: str, goal: UserGoal) -> str | None:
    """The words of `text` that are the agent's to say and do not stand in the goal, or None."""
    found = _ROLE.search(_without(text, [*goal.facts.values(), goal.closing, goal.consent]))
    return found[0].strip() if found else None


def _goes_round(text: str) -> bool:
    """Whether one sentence comes again and again."""
    parts = [p.strip() for p in re.split(r"[.!?。！？\n]", text) if len(p.strip()) > 3]
    return any(parts.count(part) >= _REPEATS for part in set(parts))


def _without(text: str, sayings: Sequence[str]) -> str:
    for saying in sayings:
        text = text.replace(saying, " ") if saying else text
    return text


def _invented(attempt: Attempt, goal: UserGoal, said: str, text: str) -> str | None:
    """A piece of fact that stands neither in the goal, nor in the request, nor in what was said before."""
    sources = [attempt.instruction, goal.closing, goal.consent, *goal.facts.values(), *goal.facts, said]
    sources += [words for e in attempt.exchanges for words in (e.said, e.reply)]
    known = " \n".join(sources)
    strange = sorted(piece for piece in pieces(text) if not holds(known, piece))
    return f"told what is not in its goal: {strange[0]!r}" if strange else None


def _unasked(attempt: Attempt, goal: UserGoal, said: str, text: str, now: Asked, before: Sequence[Asked]) -> str | None:
    """A fact that nobody asked for; an open question asks for all, and one that is not understood may ask for any."""
    turns = [*before, now]
    if any(turn.more and not turn.facts for turn in turns):
        return None
    wanted = {name for turn in turns for name in turn.facts}
    heard = [attempt.instruction, said, goal.closing, goal.consent, *(goal.facts[name] for name in wanted)]
    heard += [words for e in attempt.exchanges for words in (e.said, e.reply)]
    told = [name for name in goal.facts if name not in wanted and _tells(text, goal.facts[name], " \n".join(heard))]
    open_questions = len(asking_sentences(said)) - len(now.facts) if now.other else 0
    return f"told unasked: {told[0]!r}" if len(told) > max(0, open_questions) else None


def _tells(text: str, saying: str, heard: str) -> bool:
    """Whether `text` tells what only `saying` can have said."""
    hard = {piece for piece in pieces(saying) if not holds(heard, piece)}
    if hard:
        return any(holds(text, piece) for piece in hard)
    own = _words(saying) - _words(heard)
    return bool(own) and len(own & _words(text)) >= _TOLD_SHARE * len(own)


def _words(text: str) -> set[str]:
    """Words that carry something: English ones of three letters and more, pairs of Chinese characters."""
    plain = folded(text)
    pairs = {plain[i : i + 2] for i in range(len(plain) - 1) if is_chinese(plain[i]) and is_chinese(plain[i + 1])}
    return {w for w in re.findall(r"[a-z']{3,}", plain) if w not in _STOP} | pairs


def _too_early(attempt: Attempt, goal: UserGoal, now: Asked, before: list[Asked]) -> bool:
    """Whether the user ended while the agent was still asking or at work, and had not done what it was asked for."""
    wanted = attempt.task.goal
    done = attempt.landed and bool(wanted.bookings or wanted.changes)
    return not (done or now.nothing or has_enough(goal, now, before))
