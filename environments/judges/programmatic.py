"""The judge that works without a model: rules per dimension, each objection told before the grade.

It grades the dimensions of a rubric; a leaf of an eval tree is a question in words, and words it cannot read: no grade.
How far it can be trusted is measured like that of any judge.
"""

import hashlib
import inspect
from collections.abc import Sequence
from functools import cached_property

from environments.judge import Asked, Grade, NoGrade
from environments.judges import excuses, manners, reading, rules
from environments.judges.reading import Seen, lexicon
from environments.judges.rules import RULES


class ProgrammaticJudge:
    """Rules; an `environments.judge.Judge`."""

    @cached_property
    def version(self) -> str:
        """Hash of rules and phrases."""
        source = "".join(inspect.getsource(m) for m in (reading, excuses, manners, rules)) + repr(lexicon())
        return "rules-" + hashlib.blake2b(source.encode(), digest_size=8).hexdigest()

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """The grade of each question, in order."""
        return [_grade(one) for one in asked]


def _grade(asked: Asked) -> Grade | NoGrade:
    if asked.question.kind not in RULES:
        return NoGrade(
            f"no rules for {asked.question.name!r}: it takes a judge that can read (rules: {', '.join(RULES)})"
        )
    seen = Seen(asked.attempt)
    found = [(told, cost) for rule, cost in RULES[asked.question.kind] if (told := rule(seen)) is not None]
    reason = "; ".join(dict.fromkeys(told for told, _ in found)) or "nothing to object to"
    return Grade(reason, max(0.0, 1.0 - sum(cost for _, cost in found)))
