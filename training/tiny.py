"""The from-scratch policy of nano and micro: tokenizer, Llama configuration and structured initialisation.

A model this small learns to copy names from the request into JSON only if an entity is the same tokens in both
places, and only soon enough if its first two layers start as an induction circuit: layer 0 attends to the previous
token, layer 1 to what followed the last occurrence of the current one. All weights are ordinary Llama weights and all
of them are trained.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from training.chat import (
    ASSISTANT_OPEN,
    CALL_CLOSE,
    CALL_OPEN,
    JINJA,
    PAD,
    RESULT_CLOSE,
    RESULT_OPEN,
    SPECIAL,
    SYSTEM_OPEN,
    USER_OPEN,
)

_OTHER = r"[a-z_]+|[A-Z][a-z]+|[A-Z]+|\d{1,2}|\s|[^\sA-Za-z\d]"
_HOLE = "\x00"
_MEANING = 0.7
"""Weight of pretrained word vectors in a word's first embedding; the rest of its length is random."""


def json_pieces(value: Any) -> list[str]:
    """The text of `value` as JSON between its scalar values: keys, quotes and brackets that repeat from call to call.

    `{"sky": "rainy", "temp": 14}` gives `{"sky": "`, `", "temp": ` and `}`.
    """
    text = json.dumps(_hollow(value), ensure_ascii=False)
    return [p for p in re.split(r'\\u0000|"\\u0000#"', text) if p]


def _hollow(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _hollow(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_hollow(v) for v in value]
    return _HOLE if isinstance(value, str) else _HOLE + "#"


def call_pieces(name: str, arguments: dict[str, Any]) -> list[str]:
    """The fixed pieces of a call's text, its opening with the tool's name and first key as one piece."""
    inner = json_pieces(arguments)
    inner[0] = f'{CALL_OPEN}{name}", "arguments": {inner[0]}'
    inner[-1] += CALL_CLOSE
    return inner


def build_tokenizer(
    texts: Iterable[str], pieces: Iterable[str], words: Iterable[str], *, common: Iterable[str], size: int
) -> Tokenizer:
    """Byte-level BPE in which entities are the same tokens in prose and in JSON.

    Common words carry their space and nothing else does; numbers are cut into one- or two-digit tokens; fixed pieces of
    JSON, chat marks and `words` (tool signatures) are tokens of their own.

    Args:
        texts: what to learn merges from.
        pieces: JSON pieces, from `json_pieces` and `call_pieces`.
        words: strings that become one token each.
        common: lower-case words of prose that no tool takes as an argument.
        size: vocabulary before pieces and words are added.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_pattern(common)), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    numbers = [f"{i:02d}" for i in range(100)] * 300
    tokenizer.train_from_iterator([*texts, *numbers], trainer)
    marks = (SYSTEM_OPEN, USER_OPEN, ASSISTANT_OPEN, RESULT_OPEN, RESULT_CLOSE)
    counted = Counter(p for p in pieces if len(p) > 1)
    glue = [*marks, *words, *sorted(counted, key=lambda p: (-counted[p], p))]
    tokenizer.add_tokens([AddedToken(g, normalized=False) for g in dict.fromkeys(glue)])
    return tokenizer


def _pattern(common: Iterable[str]) -> str:
    """Cut text into common words with their space, other words, capitalised words, numbers and single marks."""
    listed = "|".join(sorted(map(re.escape, common), key=lambda w: (-len(w), w)))
    return rf" ?(?:{listed})(?![a-z_])|{_OTHER}" if listed else _OTHER


def build_model(vocabulary: int, *, hidden: int, layers: int, heads: int, positions: int = 1024) -> Any:
    """A fresh `LlamaForCausalLM` with tied embeddings; the vocabulary is padded to a multiple of 64."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=(vocabulary + 63) // 64 * 64,
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=positions,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=SPECIAL.index("<|im_end|>"),
    )
    return LlamaForCausalLM(config)


@torch.no_grad()
def initialise(model: Any, tokenizer: Tokenizer, seed: int) -> None:
    """Draw every weight, then set the induction circuit and the number embeddings."""
    generator = torch.Generator().manual_seed(seed)
    weights = dict(model.named_parameters())
    for parameter in weights.values():
        if parameter.dim() == 2:
            parameter.copy_(0.03 * torch.randn(parameter.shape, generator=generator))
    circuit = _Circuit(model.config, generator)
    circuit.embed(weights["model.embed_tokens.weight"])
    circuit.previous_token(model.model.layers[0].self_attn)
    circuit.induction(model.model.layers[1].self_attn)
    _word_embeddings(weights["model.embed_tokens.weight"], tokenizer, circuit.content)
    _number_embeddings(weights["model.embed_tokens.weight"], tokenizer, circuit.content)


class _Circuit:
    """Residual stream cut in two: content of this token, content of the previous one, and one constant channel."""

    scale, constant, sharp, match, gain = 0.15, 0.5, 7.0, 10.0, 1.5

    def __init__(self, config: Any, generator: torch.Generator) -> None:
        self.hidden, self.head = config.hidden_size, config.hidden_size // config.num_attention_heads
        self.content, self.half, self.channel = self.hidden // 2 - 1, self.hidden // 2, self.hidden - 1
        self.generator = generator
        steps = torch.arange(0, self.head, 2).float() / self.head
        self.frequency = 1e6**-steps
        self.heads = math.ceil(self.content / self.head)

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)

    def embed(self, table: Tensor) -> None:
        """Content in the first half, almost nothing in the second, a constant in the last channel."""
        table.zero_()
        table[:, : self.content] = self._normal(len(table), self.content) * self.scale
        table[:, self.half : self.half + self.content] = self._normal(len(table), self.content) * 0.02
        table[:, self.channel] = self.constant

    def previous_token(self, attention: Any) -> None:
        """Heads that attend to the previous position by rotary phase and copy its content into the second half."""
        power = (self.content * self.scale**2 + self.constant**2) / self.hidden
        constant, scale = self.constant / math.sqrt(power), self.scale / math.sqrt(power)
        strength = math.sqrt(self.sharp * math.sqrt(self.head)) / constant
        for head in range(self.heads):
            self._clear(attention, head)
            base, low = head * self.head, self.head // 2
            for i in range(3):
                angle = float(self.frequency[i])
                attention.q_proj.weight[base + i, self.channel] = strength
                attention.k_proj.weight[base + i, self.channel] = strength * math.cos(angle)
                attention.k_proj.weight[base + low + i, self.channel] = strength * math.sin(angle)
            self._copy(attention, head, to=self.half, gain=self.scale / scale)

    def induction(self, attention: Any) -> None:
        """Heads that look for a position whose previous token is this one and copy what stands there."""
        power = (2 * self.content * self.scale**2 + self.constant**2) / self.hidden
        scale = self.scale / math.sqrt(power)
        slow = [i for i in range(self.head // 2) if self.frequency[i] < 0.015]
        slots = slow + [i + self.head // 2 for i in slow]
        strength = math.sqrt(self.match * math.sqrt(self.head) / (len(slots) * scale**2))
        rotation = torch.linalg.qr(self._normal(self.content, self.content))[0]
        for head in range(self.heads):
            self._clear(attention, head)
            start = (head * len(slots)) % (self.content - len(slots) + 1)
            for row, slot in zip(rotation[start:], slots, strict=False):
                attention.q_proj.weight[head * self.head + slot, : self.content] = row * strength
                attention.k_proj.weight[head * self.head + slot, self.half : self.half + self.content] = row * strength
            self._copy(attention, head, to=0, gain=self.gain * self.scale / scale)

    def _clear(self, attention: Any, head: int) -> None:
        rows = slice(head * self.head, (head + 1) * self.head)
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
            projection.weight[rows] = 0
        attention.o_proj.weight[:, rows] = 0

    def _copy(self, attention: Any, head: int, *, to: int, gain: float) -> None:
        for i in range(self.head):
            channel = head * self.head + i
            if channel < self.content:
                attention.v_proj.weight[channel, channel] = 1.0
                attention.o_proj.weight[to + channel, channel] = gain


def _word_embeddings(table: Tensor, tokenizer: Tokenizer, content: int, scale: float = 0.15) -> None:
    """Mix pretrained word vectors into the lower-case words, so that wordings never seen lie near wordings that were.

    Half of each row stays random: names and codes must remain apart for copying, and words of one meaning too.
    Source: WordLlama (MIT), the static embeddings that the funnel uses.
    """
    import wordllama

    words = {i: t.replace("\u0120", "") for t, i in tokenizer.get_vocab().items()}
    chosen = sorted(i for i, w in words.items() if re.fullmatch(r"[a-z]{2,}", w))
    model = wordllama.WordLlama.load(cache_dir=str(Path(wordllama.__file__).parent), disable_download=True)
    vectors = torch.tensor(model.embed([words[i] for i in chosen], norm=True))
    vectors = vectors - vectors.mean(0)
    left, strength, _ = torch.linalg.svd(vectors, full_matrices=False)
    reduced = (left * strength)[:, :content]
    reduced = torch.nn.functional.pad(reduced, (0, content - reduced.shape[1]))
    reduced = reduced / reduced.norm(dim=1, keepdim=True).clamp_min(1e-6) * scale * math.sqrt(content)
    table[chosen, :content] = _MEANING * reduced + math.sqrt(1 - _MEANING**2) * table[chosen, :content]


def _number_embeddings(table: Tensor, tokenizer: Tokenizer, content: int, scale: float = 0.15) -> None:
    """Give digit tokens embeddings that vary smoothly with their value, so that order can be told early."""
    generator = torch.Generator().manual_seed(7)
    directions = torch.linalg.qr(torch.randn(content, 4, generator=generator))[0].T
    for width in (1, 2):
        for value in range(10**width):
            token = tokenizer.token_to_id(f"{value:0{width}d}")
            if token is None:
                continue
            x = (value + 0.5) / 10**width
            waves = [2 * x - 1, math.cos(math.pi * x), math.cos(2 * math.pi * x), math.sin(2 * math.pi * x)]
            ramp = (torch.tensor(waves)[:, None] * directions).sum(0)
            table[token, :content] = 0.6 * table[token, :content] + 0.6 * scale * math.sqrt(content) * ramp


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and a tokenizer_config.json with the chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": PAD,
        "chat_template": JINJA,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def wrapped_tokenizer(tokenizer: Tokenizer) -> Any:
    """The tokenizer as transformers and TRL want it."""
    from transformers import PreTrainedTokenizerFast

    kinds: Any = PreTrainedTokenizerFast
    return kinds(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token=PAD)
