"""How a conversation is written as text for a policy with weights, and how its turns are read back.

Hermes style: tools in the system turn, calls as JSON between `<tool_call>` marks, results in user turns. The tools on
offer are rendered in every prompt, in SFT, RL and serving alike; the same text comes from the tokenizer's chat
template.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from environments.episode import Exchange, Step, before_answer
from environments.policy import Action, Answer, Malformed
from environments.task import Call
from environments.tool import Tool, observation_text

END_OF_TURN = "<|im_end|>"
PAD = "<|endoftext|>"
SPECIAL = (PAD, "<|im_start|>", END_OF_TURN, "<tool_call>", "</tool_call>")
SYSTEM_OPEN = "<|im_start|>system\ntools: "
USER_OPEN = "\n<|im_start|>user\n"
ASSISTANT_OPEN = "<|im_end|>\n<|im_start|>assistant\n"
RESULT_OPEN = "\n<|im_start|>user\n<tool_response>\n"
RESULT_CLOSE = "\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
# These are tokens of their own in the nano tokenizer. None but the assistant's opening begins with the end of a turn:
# the longest match would swallow the mark that closes the turn before, and a server that encodes the whole text at once
# would see other tokens than the policy was trained on.
CALL_OPEN = '<tool_call>\n{"name": "'
CALL_CLOSE = "}\n</tool_call>"

_OPENINGS = ("<|", "<tool_", "</tool_")
_UNMARKED = "".join(f" | replace({mark!r}, {'< ' + mark[1:]!r})" for mark in _OPENINGS)
JINJA = (
    "{{ '<|im_start|>system\ntools: ' + (tools | map(attribute='function.signature') | join('; ')) + '<|im_end|>' }}"
    "{% for m in messages %}"
    "{% if m.role == 'user' %}{{ '\n<|im_start|>user\n' + (m.content" + _UNMARKED + ") }}"
    "{{ '<|im_end|>\n<|im_start|>assistant\n' }}"
    "{% elif m.role == 'tool' %}{{ '\n<|im_start|>user\n<tool_response>\n' + (m.content" + _UNMARKED + ") }}"
    "{{ '\n</tool_response><|im_end|>\n<|im_start|>assistant\n' }}"
    "{% else %}{% generation %}{% if m.tool_calls %}"
    '{{ \'<tool_call>\n{"name": "\' + m.tool_calls[0].function.name + \'", "arguments": \' }}'
    "{{ m.tool_calls[0].function.arguments + '}\n</tool_call>' }}"
    "{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>' }}{% endgeneration %}{% endif %}{% endfor %}"
)
"""The same text as `prompt_text`, `call_text` and `result_text`, for servers that render messages themselves."""

TEMPLATE_VERSION = "hermes-" + hashlib.blake2b(JINJA.encode(), digest_size=8).hexdigest()

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>\s*\Z", re.S)


def signature(tool: Tool) -> str:
    """A tool as the system turn shows it: its name and required arguments."""
    return f"{tool.name}({', '.join(tool.required)})"


def unmarked(text: str) -> str:
    """Text of users and tools with the openings of chat marks broken up, so that it can speak for nobody else."""
    for mark in _OPENINGS:
        text = text.replace(mark, "< " + mark[1:])
    return text


def prompt_text(instruction: str, tools: Sequence[str], signatures: Mapping[str, str]) -> str:
    """Everything before the assistant's first turn."""
    system = SYSTEM_OPEN + "; ".join(signatures[t] for t in tools) + END_OF_TURN
    return system + USER_OPEN + unmarked(instruction) + ASSISTANT_OPEN


def call_text(call: Call) -> str:
    """An assistant turn that calls a tool, without its end-of-turn mark."""
    return f'{CALL_OPEN}{call.name}", "arguments": {json.dumps(call.arguments, ensure_ascii=False)}{CALL_CLOSE}'


def result_text(observation: object) -> str:
    """A tool's result, from after the assistant's end-of-turn mark to the opening of its next turn."""
    return RESULT_OPEN + unmarked(observation_text(observation)) + RESULT_CLOSE


def parse_turn(text: str) -> Action:
    """Read an assistant turn (without end-of-turn mark): a call, an answer, or something malformed."""
    if "<tool_call>" not in text and "</tool_call>" not in text:
        return Answer(text.strip())
    match = _CALL.fullmatch(text.strip())
    if match is None:
        return Malformed(text, "malformed")
    try:
        said: Any = json.loads(match[1])
    except json.JSONDecodeError:
        return Malformed(text, "malformed")
    if not (isinstance(said, dict) and isinstance(said.get("name"), str) and isinstance(said.get("arguments"), dict)):
        return Malformed(text, "malformed")
    return Call(name=said["name"], arguments=said["arguments"])


def reply_text(said: str) -> str:
    """What the user replies, from after the assistant's end-of-turn mark to the opening of its next turn."""
    return USER_OPEN + unmarked(said) + ASSISTANT_OPEN


def turns_text(steps: Sequence[Step], answer: str, exchanges: Sequence[Exchange] = ()) -> list[tuple[str, bool]]:
    """A finished conversation after its prompt as (text, written by the policy), ends of turn included.

    The reply to the answer itself is left out: nothing was said after it.
    """
    turns: list[tuple[str, bool]] = []
    talk = before_answer(exchanges, answer)
    for done in range(len(steps) + 1):
        for exchange in (e for e in talk if e.after == done):
            turns += [(exchange.said + END_OF_TURN, True), (reply_text(exchange.reply), False)]
        if done < len(steps):
            turns += [(call_text(steps[done].call) + END_OF_TURN, True), (result_text(steps[done].observation), False)]
    return [*turns, (answer + END_OF_TURN, True)]
