"""The teacher: labels by a language model over an OpenAI-compatible endpoint, level by level.

A first call reads the request (constraints, difficulty, whether a tool is needed, whether there is a second intent) and
does not depend on the taxonomy; then one call at each node chooses among its children, reason first. So each call's
prompt, which is its key, changes with its own node only. Below a confidence the label is the node's Other. A malformed
answer is shown its error once; what is malformed again, and what has no answer at all, is refused with the cause.

Source: pipeline stage 3 and laws 1, 8, 9.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from assets.labels.annotator import Label
from assets.labels.difficulty import Axes
from assets.labels.options import Option, Tree
from assets.labels.rules import IRRELEVANT
from assets.labels.teacher_answers import (
    NO_ASIDE,
    Choice,
    MalformedAnswer,
    Reading,
    choice_in,
    choice_schema,
    groups,
    reading_in,
    reading_schema,
)
from assets.labels.teacher_prompts import Asked, Message, all_rules, choice_prompt, reading_prompt, repair_prompt
from assets.taxonomy.tree import OTHER
from environments.budget import BudgetSpent
from environments.endpoint import Client
from environments.transport import NoResult, RequestRefused
from environments.worlds.atlas.data_model import gazetteer
from training.code import code_of

MALFORMED, REFUSED, NO_ANSWER, NO_BUDGET = "malformed_answer", "request_refused", "no_result", "budget_spent"
_CAUSES: Final[dict[type[Exception], str]] = {
    MalformedAnswer: MALFORMED,
    RequestRefused: REFUSED,
    NoResult: NO_ANSWER,
    BudgetSpent: NO_BUDGET,
}
Shape = TypeVar("Shape")


class Refused(NamedTuple):
    """A request that has no label: it goes to quarantine."""

    cause: str
    """`malformed_answer`, `request_refused`, `no_result` or `budget_spent`."""
    raw: str
    """The answer as it came; empty where none did."""
    problem: str = ""
    """What is wrong, in words."""

    @property
    def may_pass(self) -> bool:
        """Whether it says nothing about the request: asked again, it may have a label."""
        return self.cause in (NO_ANSWER, NO_BUDGET)


class Teacher:
    """Labels requests against one taxonomy by asking a model."""

    def __init__(self, tree: Tree, client: Client, *, abstain_below: float = 0.3) -> None:
        """Make a teacher; nothing is asked yet.

        Args:
            tree: the taxonomy as it is shown.
            client: of the endpoint.
            abstain_below: stated confidence of a choice under which the label is the Other of that node.
        """
        self.tree, self.client, self.abstain_below = tree, client, abstain_below
        self.kind = teacher_kind(client.endpoint.model, client.endpoint.sampling, abstain_below)
        shown = all_rules([tree.nodes[node] for node in sorted(tree.nodes)])
        self.version = f"{self.kind}-{_digest([shown, sorted(tree.leaves)])}"

    def annotate(
        self,
        texts: Sequence[str],
        contexts: Sequence[str | None] | None = None,
        among: Sequence[str] | None = None,
    ) -> list[Label | Refused]:
        """One label per text, in order, or why there is none.

        Args:
            texts: requests, in any language.
            contexts: for each, the turn before it where the request does not stand alone.
            among: leaf ids; then the primary is exactly one of these, by one choice, and there is no second intent.

        Raises:
            EndpointUnusable: the endpoint takes no request at all.
            ValueError: `among` names no leaf.
        """
        options = None if among is None else self.tree.among(among)
        gazetteer()  # takes seconds the first time: not while calls are under way
        before = contexts if contexts is not None else [None] * len(texts)
        asked = [Asked(text, context) for text, context in zip(texts, before, strict=True)]
        return asyncio.run(self._all([self._label(one, options) for one in asked]))

    def place(self, texts: Sequence[str]) -> list[str | Refused]:
        """The leaf of each text, in order, or why there is none: what annotating does but for the reading.

        Raises:
            EndpointUnusable: the endpoint takes no request at all.
        """
        return [
            found if isinstance(found, Refused) else found.leaf
            for found in asyncio.run(self._all([self._walk(Asked(text, None)) for text in texts]))
        ]

    async def _all(self, asked: Sequence[Coroutine[None, None, Shape]]) -> list[Shape | Refused]:
        try:
            async with self.client, asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(one)) for one in asked]
        except BaseExceptionGroup as errors:  # the first ends them all
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _one(self, asked: Coroutine[None, None, Shape]) -> Shape | Refused:
        try:
            return await asked
        except (MalformedAnswer, RequestRefused, NoResult, BudgetSpent) as error:
            return Refused(_CAUSES[type(error)], error.raw if isinstance(error, MalformedAnswer) else "", str(error))

    async def _label(self, asked: Asked, options: Sequence[Option] | None) -> Label:
        reading = await self._checked(reading_prompt(asked), reading_schema(), lambda raw: reading_in(raw, asked.text))
        if options is not None:
            return _labelled(reading, await self._exactly(options, asked), None)
        if reading.aside != NO_ASIDE:
            return _set_aside(reading)
        first = await self._walk(asked._replace(apart=reading.second_intent))
        if reading.second_intent is None:
            return _labelled(reading, first, None)
        second = await self._walk(Asked(reading.second_intent, asked.context, whole=asked.text))
        return _labelled(reading, first, second.leaf if second.leaf != first.leaf else None)

    async def _walk(self, asked: Asked) -> "_Found":
        """From the top of the tree to a leaf, or to the Other of the first node where the model is not sure."""
        node, sure = "", 1.0
        closest: tuple[float, str | None] = (1.0, None)
        while True:
            choice = await self._choose(self.tree.nodes[node], asked)
            child = _under(node, choice.child)
            if choice.confidence < self.abstain_below:
                return _Found(_under(node, OTHER), self._leaf(child), choice.confidence)
            sure *= choice.confidence
            if choice.confidence <= closest[0]:
                closest = (choice.confidence, self._leaf(_under(node, choice.runner_up)))
            if child in self.tree.leaves:
                return _Found(child, closest[1], sure)
            node = child

    async def _exactly(self, options: Sequence[Option], asked: Asked) -> "_Found":
        if len(options) == 1:
            return _Found(options[0].id, None, 1.0)
        choice = await self._choose(options, asked)
        return _Found(choice.child, choice.runner_up, choice.confidence)

    async def _choose(self, options: Sequence[Option], asked: Asked) -> Choice:
        ids = [option.id for option in options]
        return await self._checked(choice_prompt(options, asked), choice_schema(ids), lambda raw: choice_in(raw, ids))

    async def _checked(self, prompt: list[Message], schema: dict[str, object], read: Callable[[str], Shape]) -> Shape:
        """The answer to a prompt as `read` reads it, repaired once."""
        first = await self.client.ask(prompt, schema)
        try:
            return read(first.text)
        except MalformedAnswer as error:
            second = await self.client.ask(repair_prompt(prompt, first.text, str(error)), schema)
        try:
            return read(second.text)
        except MalformedAnswer as error:
            if second.finish != "length":
                raise
            most = self.client.endpoint.max_tokens
            raise MalformedAnswer(f"cut at {most} tokens (max_tokens): {error}", second.text) from error

    def _leaf(self, node: str) -> str | None:
        """A node as a leaf: an inner one stands for itself by its Other."""
        return node if node in self.tree.leaves else _under(node, OTHER)


class _Found(NamedTuple):
    """Where a request came out in the tree."""

    leaf: str
    runner_up: str | None
    confidence: float


def _labelled(reading: Reading, found: _Found, secondary: str | None) -> Label:
    axes = Axes(reading.tools, reading.depth, reading.complexity)
    runner_up = found.runner_up if found.runner_up != found.leaf else None
    told = json.dumps(axes._asdict())
    sure = round(found.confidence, 3)
    return Label(found.leaf, secondary, runner_up, sure, axes.difficulty, told, reading.grounded())


def _set_aside(reading: Reading) -> Label:
    group = groups()[reading.aside]
    told = json.dumps({"group": reading.aside, "reason": group.reason, "words": reading.reason}, ensure_ascii=False)
    return Label(IRRELEVANT, None, None, round(reading.confidence, 3), group.difficulty, told, reading.grounded())


def _under(node: str, child: str) -> str:
    return f"{node}.{child}" if node else child


def teacher_kind(model: str, sampling: Mapping[str, Any], abstain_below: float) -> str:
    """Everything that decides a label of a teacher but the taxonomy, as one name."""
    code = code_of(__name__, ("assets", "environments"))
    return f"teacher-2-{_digest([all_rules([()]), model, sampling, abstain_below, code])}"


def _digest(content: object) -> str:
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=6).hexdigest()
