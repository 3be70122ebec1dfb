"""Which tokens are learned from: the policy's own turns, each with its end-of-turn mark, and nothing else.

What a tool or the user said is not the policy's. Text is encoded turn by turn, exactly as generation does it, so no
token ever spans the border of a turn.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from environments.episode import Exchange, Step, Tokens
from training.chat import prompt_text, turns_text


class Encoder(Protocol):
    """Text to token ids without special handling."""

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`."""
        ...


def encode_trajectory(
    encoder: Encoder,
    tools: Sequence[str],
    instruction: str,
    steps: Sequence[Step],
    answer: str,
    signatures: Mapping[str, str],
    exchanges: Sequence[Exchange] = (),
) -> Tokens:
    """Token ids of a finished trajectory with its mask: 1 on the policy's turns, 0 on all that others said."""
    ids = encoder.encode(prompt_text(instruction, tools, signatures))
    tokens = Tokens(ids=ids, generated=[0] * len(ids), logprobs=[0.0] * len(ids), prompt_length=len(ids))
    for text, own in turns_text(steps, answer, exchanges):
        more = encoder.encode(text)
        tokens.ids += more
        tokens.generated += [int(own)] * len(more)
        tokens.logprobs += [0.0] * len(more)
    return tokens
