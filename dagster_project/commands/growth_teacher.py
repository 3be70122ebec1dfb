"""The teacher as the verbs of `loopwright taxonomy` ask it: whom the profile names, what it cost, what was of no use.

Its answers and spending lie where the labels' teacher keeps its own, so that a second run, and a labelling by the same
tree, ask nothing that is known. What could not be used is kept with its raw answer in `taxonomy/teacher_unusable`.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from assets.labels.options import tree_of
from assets.labels.teacher import Refused, Teacher
from assets.taxonomy.drafts import Branches
from assets.taxonomy.induction import Induced
from assets.taxonomy.proposals import Names
from assets.taxonomy.teacher import Unusable, named_anew, namer, taught
from assets.taxonomy.tree import OTHER, taxonomy_over
from dagster_project import profiles
from dagster_project.commands.console import say
from environments.endpoint import Client
from environments.one_by_one import OneByOne
from resources.lake import Lake

UNUSABLE: Final = "taxonomy/teacher_unusable"
_SHOWN: Final = 160
"""Characters of an answer of no use."""


@dataclass
class GrowthTeacher:
    """A teacher for the length of one verb."""

    ask: OneByOne
    """Names things, one question after another."""
    tagger: Client
    """Places queries, many side by side; on the same answers and the same purse."""
    unusable: list[Unusable] = field(default_factory=list)
    """What was of no use so far."""

    def annotate(self, branches: Branches, texts: Sequence[str]) -> list[str]:
        """The leaf of each text under a tree; what has no usable answer is the Other of the tree, and noted.

        Raises:
            ValueError: the endpoint or the budget failed: that says nothing about a text.
        """
        teacher = Teacher(tree_of(taxonomy_over(branches).table()), self.tagger)
        placed = list(zip(texts, teacher.place(texts), strict=True))
        refused = [(text, one) for text, one in placed if isinstance(one, Refused)]
        if lost := [one for _, one in refused if one.may_pass]:
            raise ValueError(
                f"{len(lost):,} of {len(texts):,} queries have no answer ({lost[0].problem}): nothing is concluded "
                "from that. What was answered is kept: mend the endpoint or allow more, and run it again"
            )
        self.unusable += [Unusable(text, one.problem, one.raw) for text, one in refused]
        return [OTHER if isinstance(one, Refused) else one for _, one in placed]

    def arranged(self, induced: Induced) -> Induced:
        """An induced tree as the teacher names and arranges it.

        Raises:
            ValueError: it answered nothing.
        """
        made = taught(induced, self.ask)
        self.unusable += made.unusable
        self.require_any_answer()
        return made.induced

    def name(self, examples: Sequence[str], words: Sequence[str]) -> tuple[str, Names, str] | None:
        """Id, names and definition of a cluster; None where it gives nothing usable."""
        return namer(self.ask, self.unusable)(examples, words)

    def named_anew(self, before: Branches, after: Branches) -> Branches:
        """A tree in which the leaves that the tree before did not have are named."""
        return named_anew(before, after, self.ask, self.unusable)

    def require_any_answer(self) -> None:
        """Refuse a tree that no answer went into.

        Raises:
            ValueError: every question was left without an answer.
        """
        first = next(iter(self.unusable), None)
        if first is not None and not (self.ask.usage.known + self.ask.usage.answered):
            raise ValueError(f"the teacher answered nothing ({first.fault}): nothing was written")

    def told(self) -> str:
        """What was asked and spent, in one line; by this run, not by one before."""
        usages = (self.ask.usage, self.tagger.usage)
        asked, known, calls, tokens_in, tokens_out = (sum(one[i] for one in usages) for i in range(5))
        tokens = f"{tokens_in:,} tokens in, {tokens_out:,} out"
        return f"teacher: {asked:,} questions, {known:,} known, {calls:,} calls, {tokens}, {self.ask.spent.usd:.4f} USD"


@contextmanager
def growth_teacher(lake: Lake, verb: str, *about: object) -> Iterator[GrowthTeacher]:
    """The profile's teacher; when the block ends well, what it cost and what was of no use is told and kept.

    Args:
        lake: where its answers lie.
        verb: of the command.
        about: what it is asked about; one budget holds for all runs about the same.

    Raises:
        ValueError: the profile names no endpoint, or the variable of its key is not set.
    """
    endpoint, folder = profiles.endpoint_of("teacher"), lake.folder("labels/teacher_answers")
    digest = hashlib.blake2b(json.dumps(about, ensure_ascii=False).encode(), digest_size=8).hexdigest()
    asking, tagging = (endpoint.client(folder, purse=f"{verb} {digest}") for _ in range(2))
    with OneByOne(asking) as ask:
        teacher = GrowthTeacher(ask, tagging)
        yield teacher
    lost = list(dict.fromkeys(teacher.unusable))
    lake.write(UNUSABLE, pl.DataFrame(lost, schema=dict.fromkeys(Unusable._fields, pl.String), orient="row"), verb)
    say(teacher.told())
    for one in lost:
        answer = f"; it answered {one.answer[:_SHOWN]!r}" if one.answer else ""
        say(f"no use of the teacher for {one.what!r}, what stood there stays: {one.fault}{answer}")
