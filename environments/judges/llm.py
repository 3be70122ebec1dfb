"""A language model as the judge: one question in one call, the reason before the grade, at temperature 0.

Goes through `environments.endpoint`: a budget, retries, and every answer on disk before it is used, so that no question
is paid for twice. An answer that cannot be read is repaired once; then, as after a dead server or a refusal of this
request, there is no grade. A spent budget or a server that takes no request at all ends the run instead: finished
episodes would otherwise be written down without a result, and nothing would ask again.

Source: PaperBench (SimpleJudge: one call per leaf); TravelBench (five grades, reason first, temperature 0).
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from string import Template
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments.endpoint import Client
from environments.episode import Attempt
from environments.judge import Asked, Grade, NoGrade, Question
from environments.structured import json_in, strict_schema
from environments.transport import NoResult, RequestRefused

_MOST_CHARACTERS: Final = 60_000
"""Of an attempt as it is shown; one that is longer has no grade, since what is cut off may decide."""


class _Judged(BaseModel):
    """What the model is to answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, str_strip_whitespace=True)

    reason: str = Field(min_length=1)
    grade: str


class LlmJudge:
    """Asks a model; an `environments.judge.Judge`."""

    def __init__(self, client: Client) -> None:
        """Make it; nothing is sent yet.

        Raises:
            ValueError: the endpoint would draw its answers at random.
        """
        if client.endpoint.temperature:
            raise ValueError(
                f"a judge answers at temperature 0, got {client.endpoint.temperature:g}: set temperature of the "
                "judge's endpoint to 0, or leave it to the server (null) where the model refuses any"
            )
        self.client = client

    @cached_property
    def version(self) -> str:
        """Hash of model, sampling and prompts."""
        endpoint = self.client.endpoint
        prompts = [_prompt(name).template for name in ("grade", "attempt", "repair")]
        content = [endpoint.model, endpoint.sampling, prompts, strict_schema(_Judged), _MOST_CHARACTERS]
        digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
        return f"llm-{endpoint.model}-{digest}"

    def judge(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        """The grade of each question, in order, asked side by side.

        Raises:
            EndpointUnusable: the server will answer no request of ours.
            BudgetSpent: the next call would pass a limit.
        """
        return asyncio.run(self._all(asked))

    async def _all(self, asked: Sequence[Asked]) -> list[Grade | NoGrade]:
        try:
            async with self.client, asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(one)) for one in asked]
        except BaseExceptionGroup as errors:  # the first ends them all
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _one(self, asked: Asked) -> Grade | NoGrade:
        shown = shown_to_judge(asked.attempt)
        if len(shown) > _MOST_CHARACTERS:
            return NoGrade(
                f"the attempt is {len(shown):,} characters long, more than the {_MOST_CHARACTERS:,} of a question"
            )
        try:
            return await self._answered(asked.question, shown)
        except (NoResult, RequestRefused) as error:
            return NoGrade(str(error))

    async def _answered(self, question: Question, shown: str) -> Grade | NoGrade:
        """The grade in the first answer that can be read, of two."""
        messages = _messages(question, shown)
        schema = _schema(question)
        answer = await self.client.ask(messages, schema)
        found = _grade_in(answer.text, question)
        if isinstance(found, Grade):
            return found
        repair = _prompt("repair").substitute(problem=found.cause)
        again = [*messages, {"role": "assistant", "content": answer.text}, {"role": "user", "content": repair}]
        second = await self.client.ask(again, schema)
        found = _grade_in(second.text, question)
        if isinstance(found, NoGrade) and second.finish == "length":
            return NoGrade(f"cut at {self.client.endpoint.max_tokens} tokens (max_tokens): {found.cause}")
        return found


def shown_to_judge(attempt: Attempt) -> str:
    """An attempt as a judge sees it: one JSON object, so that nothing in it can step out of its place.

    Neither the goal nor the gold solution is shown, nor who made the attempt.
    """
    content: dict[str, Any] = {
        "request": attempt.instruction,
        "tools_on_offer": list(attempt.task.tools),
        "calls": [{"tool": s.call.name, "arguments": s.call.arguments, "result": s.observation} for s in attempt.steps],
    }
    if attempt.exchanges:
        content["conversation"] = [
            {"agent": e.said, "user": e.reply, "after_calls": e.after} for e in attempt.exchanges
        ]
    return json.dumps({**content, "answer": attempt.answer or ""}, ensure_ascii=False, indent=1)


def _messages(question: Question, shown: str) -> list[dict[str, str]]:
    asked = _prompt("grade").substitute(question=question.text, grades=", ".join(map(json.dumps, question.grades)))
    told = _prompt("attempt").substitute(attempt=shown)
    return [{"role": "system", "content": asked}, {"role": "user", "content": told}]


def _schema(question: Question) -> Mapping[str, Any]:
    schema = strict_schema(_Judged)
    schema["properties"]["grade"]["enum"] = list(question.grades)
    return schema


def _grade_in(text: str, question: Question) -> Grade | NoGrade:
    """The grade in an answer; what is wrong with it is told to the model once."""
    try:
        said = _Judged.model_validate_json(json_in(text), strict=True)
    except ValidationError as error:
        causes = (f"{'.'.join(map(str, e['loc'])) or 'the answer'}: {e['msg']}" for e in error.errors()[:3])
        return NoGrade("; ".join(causes))
    grades = question.grades
    if said.grade not in grades:
        return NoGrade(f"grade: {said.grade!r} is not one of {', '.join(grades)}")
    return Grade(said.reason, grades.index(said.grade) / (len(grades) - 1))


def _prompt(name: str) -> Template:
    return Template(files("environments.judges").joinpath(f"prompts/{name}.txt").read_text(encoding="utf-8"))
