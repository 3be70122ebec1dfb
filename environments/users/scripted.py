"""A user who keeps to its goal: tells what it is asked for and no more, and nothing that it does not know.

It keeps nothing between turns: what it says follows from the goal and the conversation so far, so that a conversation
played again is the same. An impatient user goes when it is asked twice or too often; a forgetful one tells nothing the
first time. Which facts a turn asks for is read in `environments.users.asking`.
"""

import hashlib
import inspect
import sys
from dataclasses import dataclass
from functools import cached_property

from environments.episode import Attempt
from environments.task import UserGoal
from environments.user import Reply
from environments.users import asking as asking_module
from environments.users.asking import Asked, asked, is_chinese


@dataclass(frozen=True, slots=True)
class _Phrases:
    """What a user says beside its goal, in one language."""

    unknown: str
    which: str
    waits: str
    forgot: str
    tired: str
    closing: str
    consent: str


_ENGLISH = _Phrases(
    unknown="I do not know that.",
    which="What exactly do you need to know?",
    waits="All right.",
    forgot="I do not remember right now.",
    tired="I have no time for this. Goodbye.",
    closing="Thank you, that is all.",
    consent="Yes, please go ahead.",
)
_CHINESE = _Phrases(
    unknown="这个我不清楚。",
    which="您具体需要知道什么？",
    waits="好的。",
    forgot="我一时想不起来了。",
    tired="我没时间了，再见。",
    closing="谢谢，就这些。",
    consent="好的，请办理。",
)
_OURS = UserGoal()
"""Where a goal says what a goal says by default, the user says it in the language of its task."""


class ScriptedUser:
    """Speaks for the user by rules; an `environments.user.User`."""

    @cached_property
    def version(self) -> str:
        """Hash of the rules."""
        source = inspect.getsource(asking_module) + inspect.getsource(sys.modules[__name__])
        return "scripted-" + hashlib.blake2b(source.encode(), digest_size=8).hexdigest()

    def reply(self, attempt: Attempt, said: str) -> Reply:
        """Answer what the agent just said."""
        goal = attempt.task.user
        if goal is None:
            raise ValueError(
                f"task {attempt.task.task_id} has no user to speak for: its instruction is all that is said"
            )
        phrases = _CHINESE if is_chinese(attempt.instruction) else _ENGLISH
        now = asked(said, goal)
        if now.nothing:
            return Reply(phrases.closing if goal.closing == _OURS.closing else goal.closing, ended=True)
        before = [asked(exchange.said, goal) for exchange in attempt.exchanges]
        if has_enough(goal, now, before):
            return Reply(phrases.tired, ended=True)
        return Reply(_told(attempt.instruction, goal, now, before, phrases), ended=False)


def _known(goal: UserGoal, before: list[Asked]) -> set[str]:
    """Names of the facts that the agent has been told."""
    times = [name for turn in before for name in turn.facts]
    return {name for name in times if times.count(name) > (goal.persona == "forgetful")}


def has_enough(goal: UserGoal, now: Asked, before: list[Asked]) -> bool:
    """Whether a user with `goal` goes instead of answering a turn that asks `now`, after turns that asked `before`."""
    if goal.persona != "impatient":
        return len(before) >= goal.max_replies
    again = not now.go_ahead and bool(set(now.facts) & _known(goal, before))
    return again or len(before) >= min(goal.patience, goal.max_replies)


def _told(request: str, goal: UserGoal, now: Asked, before: list[Asked], phrases: _Phrases) -> str:
    """What the user says to a turn that asks something; a go-ahead with what it was told is one, not a question."""
    known = _known(goal, before)
    due = [name for name in now.facts if not (now.go_ahead and name in known)]
    told = [name for name in due if name in _known(goal, [*before, now])]
    said = [goal.facts[name] for name in told]
    if len(told) < len(due):
        said.append(phrases.forgot)
    if now.go_ahead and not due:
        said.append(phrases.consent if goal.consent == _OURS.consent else goal.consent)
    if now.more and not said:
        said += [request, phrases.which]
    if now.other:
        said.append(phrases.unknown)
    return " ".join(said) or phrases.waits
