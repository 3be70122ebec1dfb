"""Episodes as ATIF trajectories (Agent Trajectory Interchange Format), out and in.

A call and its observation are one agent step; what the agent says to the user, and its final answer, are agent steps
with a message; the instruction and the user's replies are user steps. Token ids and log-probabilities stand in the
metrics of the step that they made: the ids before a turn are its prompt, so that nothing has to be tokenised again.
The verdict, which ATIF has no field for, stands under `extra`.

Source: ATIF 1.8, through the models of the package `atif`.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from atif import Agent, FinalMetrics, Metrics, Observation, ObservationResult, ToolCall, Trajectory
from atif import Step as AtifStep
from pydantic import ValidationError

from environments.episode import Episode, Exchange, Step, Tokens, verdict_columns
from environments.task import Call
from environments.tool import observation_text

VERSION: Final = "ATIF-v1.8"


class Transcript(NamedTuple):
    """A conversation as another tool recorded it."""

    session_id: str
    instruction: str
    steps: tuple[Step, ...]
    exchanges: tuple[Exchange, ...]
    answer: str | None
    extra: dict[str, Any]


def trajectory_of(episode: Episode, *, model: str, tools: Sequence[dict[str, Any]] = ()) -> Trajectory:
    """An episode as an ATIF trajectory.

    Args:
        episode: with or without token ids.
        model: name and version of the policy, as ATIF's `model_name`.
        tools: in the OpenAI function-calling format, as `environments.tool.Tool.schema` gives them.
    """
    turns = list(_turns(episode))
    spent = _metrics(episode.tokens, sum(turn.get("source") == "agent" for turn in turns))
    steps = []
    for number, turn in enumerate(turns, start=1):
        metrics = next(spent, None) if turn["source"] == "agent" else None
        steps.append(AtifStep(step_id=number, metrics=metrics, **turn))
    return Trajectory(
        schema_version=VERSION,
        session_id=episode.episode_id,
        agent=Agent(name="loopwright", version="1", model_name=model, tool_definitions=list(tools) or None),
        steps=steps,
        final_metrics=_total(steps),
        extra=_extra(episode),
    )


def _extra(episode: Episode) -> dict[str, Any]:
    told = {"task_id": episode.task_id, "attempt": episode.attempt, "seed": episode.seed, "key": episode.key}
    return {"loopwright": {**told, "ended": episode.ended, **verdict_columns(episode.verdict)}}


def _turns(episode: Episode) -> Iterator[dict[str, Any]]:
    """Steps without their numbers and metrics."""
    said = list(episode.exchanges)
    yield {"source": "user", "message": episode.instruction}
    for done, step in enumerate(episode.steps):
        while said and said[0].after <= done:
            yield from _exchange(said.pop(0))
        yield _call(step, f"call_{done + 1}")
    for exchange in said:
        yield from _exchange(exchange)
    if episode.answer is not None and not (episode.exchanges and episode.exchanges[-1].said == episode.answer):
        yield {"source": "agent", "message": episode.answer}


def _exchange(exchange: Exchange) -> Iterator[dict[str, Any]]:
    yield {"source": "agent", "message": exchange.said}
    yield {"source": "user", "message": exchange.reply}


def _call(step: Step, name: str) -> dict[str, Any]:
    call = ToolCall(tool_call_id=name, function_name=step.call.name, arguments=step.call.arguments)
    seen = ObservationResult(source_call_id=name, content=observation_text(step.observation))
    return {"source": "agent", "message": "", "tool_calls": [call], "observation": Observation(results=[seen])}


def _metrics(tokens: Tokens | None, turns: int) -> Iterator[Metrics]:
    """Token counts, ids and log-probabilities of each turn that the policy wrote, in order.

    Raises:
        ValueError: the tokens hold more turns than the episode.
    """
    if tokens is None:
        return
    spans, at = [], 0
    for generated, group in groupby(tokens.generated):
        length = len(list(group))
        if generated:
            spans.append((at, at + length))
        at += length
    if len(spans) > turns:
        raise ValueError(f"the tokens hold {len(spans)} turns of the policy and the episode {turns}")
    for start, stop in spans:
        yield Metrics(
            prompt_tokens=start,
            completion_tokens=stop - start,
            prompt_token_ids=tokens.ids[:start],
            completion_token_ids=tokens.ids[start:stop],
            logprobs=tokens.logprobs[start:stop],
        )


def _total(steps: Sequence[AtifStep]) -> FinalMetrics:
    measured = [s.metrics for s in steps if s.metrics is not None]
    return FinalMetrics(
        total_prompt_tokens=sum(m.prompt_tokens or 0 for m in measured) if measured else None,
        total_completion_tokens=sum(m.completion_tokens or 0 for m in measured) if measured else None,
        total_steps=len(steps),
    )


def write_trajectory(trajectory: Trajectory, path: Path) -> None:
    """Write a trajectory as ATIF's JSON, without fields that say nothing."""
    path.write_text(trajectory.model_dump_json(exclude_none=True, indent=1), encoding="utf-8")


def read_trajectory(path: Path) -> Transcript:
    """The conversation of an ATIF file of whatever tool; context copied from another trajectory is left out.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no ATIF, or a conversation of another shape than instruction, turns, answer; the message names the
            file and the field or step.
    """
    text = path.read_text(encoding="utf-8")
    try:
        trajectory = Trajectory.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise ValueError(f"{path} is no ATIF trajectory: {where}: {first['msg']}") from error
    return _transcript(trajectory, path)


def _transcript(trajectory: Trajectory, path: Path) -> Transcript:
    turns = [s for s in trajectory.steps if not s.is_copied_context and s.source != "system"]
    if not turns or turns[0].source != "user":
        raise ValueError(f"{path} begins with no user's step: there is no instruction to read")
    steps: list[Step] = []
    exchanges: list[Exchange] = []
    said: str | None = None
    for turn in turns[1:]:
        if turn.source == "user":
            exchanges.append(Exchange(len(steps), said or "", _text(turn.message)))
            said = None
            continue
        steps += _steps(turn, path)
        said = _text(turn.message) or said
    instruction = _text(turns[0].message)
    answer = said if said is not None else exchanges[-1].said if exchanges else None
    return Transcript(
        trajectory.session_id or trajectory.trajectory_id or path.stem, instruction, tuple(steps), tuple(exchanges),
        answer, trajectory.extra or {},
    )  # fmt: skip


def _steps(turn: AtifStep, path: Path) -> Iterator[Step]:
    """Every call of one agent step with what came back; several calls of a step become as many."""
    seen = {r.source_call_id: r.content for r in turn.observation.results} if turn.observation else {}
    for call in turn.tool_calls or ():
        if call.tool_call_id not in seen:
            raise ValueError(f"{path}, step {turn.step_id}: call {call.tool_call_id} has no observation")
        yield Step(Call(name=call.function_name, arguments=call.arguments), _observation(seen[call.tool_call_id]))


def _observation(content: Any) -> Any:
    """JSON where it is JSON, else text."""
    text = _text(content)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text(content: Any) -> str:
    """The text parts of a message or an observation."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text for part in content if part.type == "text")
