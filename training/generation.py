"""Batched in-process generation that keeps token ids: the policy behind probing, trajectories, RL and evaluation.

Reads the weights of any Llama-architecture model in place, so a policy in training needs no copy. Attempts of a batch
advance together over a ragged key-value cache; each attempt draws from uniform numbers of its own, so a batch redone
gives the same tokens, whatever ran before it.

Shapes: B rows of the batch, t new tokens of a row, H heads, T cache positions, D channels of a head, V vocabulary.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from environments.episode import Attempt, Tokens
from environments.policy import Action, Malformed
from training.chat import END_OF_TURN, TEMPLATE_VERSION, parse_turn, prompt_text, result_text

_SHRINK = 0.5
"""A working cache is cut to its running rows when no more than this share of them still runs."""


@dataclass(frozen=True)
class LlamaShape:
    """The numbers of a Llama configuration that the forward pass needs."""

    layers: int
    heads: int
    kv_heads: int
    head_size: int
    rope_theta: float
    epsilon: float
    tied: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "LlamaShape":
        """Read a Hugging Face `config.json`.

        Raises:
            ValueError: the model is not of the Llama architecture.
        """
        if config.get("model_type") != "llama":
            raise ValueError(f"in-process generation reads Llama models, got model_type {config.get('model_type')!r}")
        heads = int(config["num_attention_heads"])
        rope = config.get("rope_parameters") or {}
        return cls(
            layers=int(config["num_hidden_layers"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_size=int(config.get("head_dim") or config["hidden_size"] // heads),
            rope_theta=float(rope.get("rope_theta") or config.get("rope_theta") or 10_000.0),
            epsilon=float(config["rms_norm_eps"]),
            tied=bool(config.get("tie_word_embeddings", False)),
        )


class Cache:
    """Keys and values of B rows, per layer of shape (B, H, T, D)."""

    def __init__(self, keys: list[Tensor], values: list[Tensor]) -> None:
        self.keys, self.values = keys, values

    @classmethod
    def empty(cls, shape: LlamaShape, rows: int, positions: int) -> "Cache":
        """A cache of zeros."""
        size = (rows, shape.kv_heads, positions, shape.head_size)
        return cls([torch.zeros(size) for _ in range(shape.layers)], [torch.zeros(size) for _ in range(shape.layers)])

    def rows(self, index: Tensor) -> "Cache":
        """A copy of the chosen rows."""
        return Cache([k[index] for k in self.keys], [v[index] for v in self.values])


class LlamaDecoder:
    """Forward pass of a Llama over a ragged cache; weights are shared with whoever owns them."""

    def __init__(self, weights: Mapping[str, Tensor], shape: LlamaShape) -> None:
        self.shape = shape
        self.embedding = weights["model.embed_tokens.weight"]
        self.head = self.embedding if shape.tied else weights["lm_head.weight"]
        self.norm = weights["model.norm.weight"]
        self.layers = [_Layer(weights, f"model.layers.{i}.") for i in range(shape.layers)]
        steps = torch.arange(0, shape.head_size, 2).float() / shape.head_size
        self.frequency = shape.rope_theta**-steps

    @torch.no_grad()
    def forward(self, ids_Bt: Tensor, positions_Bt: Tensor, cache: Cache, last_B: Tensor) -> Tensor:
        """Feed t new tokens per row; returns logits (B, V) after each row's token number `last_B`."""
        angle = positions_Bt[:, None, :, None].float() * self.frequency
        cos, sin = angle.cos(), angle.sin()
        reach = int(positions_Bt.max()) + 1
        mask = (torch.arange(reach) <= positions_Bt[:, :, None])[:, None]
        x = F.embedding(ids_Bt, self.embedding)
        for number, layer in enumerate(self.layers):
            y = F.rms_norm(x, (x.shape[-1],), layer.input_norm, self.shape.epsilon)
            x = x + self._attend(layer, number, y, positions_Bt, cache, cos, sin, mask)
            y = F.rms_norm(x, (x.shape[-1],), layer.post_norm, self.shape.epsilon)
            x = x + F.linear(F.silu(F.linear(y, layer.gate)) * F.linear(y, layer.up), layer.down)
        x = x[torch.arange(len(x)), last_B]
        return F.linear(F.rms_norm(x, (x.shape[-1],), self.norm, self.shape.epsilon), self.head)

    def _attend(
        self,
        layer: "_Layer",
        number: int,
        y: Tensor,
        positions: Tensor,
        cache: Cache,
        cos: Tensor,
        sin: Tensor,
        mask: Tensor,
    ) -> Tensor:
        b, t, s = len(y), y.shape[1], self.shape
        q = _rotate(F.linear(y, layer.q).view(b, t, s.heads, s.head_size).transpose(1, 2), cos, sin)
        k = _rotate(F.linear(y, layer.k).view(b, t, s.kv_heads, s.head_size).transpose(1, 2), cos, sin)
        v = F.linear(y, layer.v).view(b, t, s.kv_heads, s.head_size).transpose(1, 2)
        rows = torch.arange(b)[:, None]
        keys, values = cache.keys[number], cache.values[number]
        keys[rows, :, positions] = k.transpose(1, 2)
        values[rows, :, positions] = v.transpose(1, 2)
        reach = mask.shape[-1]
        out = F.scaled_dot_product_attention(
            q, keys[:, :, :reach], values[:, :, :reach], attn_mask=mask, enable_gqa=s.heads != s.kv_heads
        )
        return F.linear(out.transpose(1, 2).reshape(b, t, -1), layer.o)


class _Layer:
    """The weights of one decoder layer."""

    def __init__(self, weights: Mapping[str, Tensor], prefix: str) -> None:
        self.q, self.k, self.v, self.o = (weights[f"{prefix}self_attn.{n}_proj.weight"] for n in "qkvo")
        self.gate, self.up, self.down = (weights[f"{prefix}mlp.{n}_proj.weight"] for n in ("gate", "up", "down"))
        self.input_norm = weights[f"{prefix}input_layernorm.weight"]
        self.post_norm = weights[f"{prefix}post_attention_layernorm.weight"]


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def _token_id(tokenizer: Tokenizer, text: str) -> int:
    found = tokenizer.token_to_id(text)
    if found is None:
        raise ValueError(f"the tokenizer has no token {text!r}: this policy needs a tokenizer with the chat marks")
    return int(found)


@dataclass
class _Row:
    """One attempt inside the batch."""

    tokens: Tokens
    draws: np.ndarray
    drawn: int = 0
    unseen: int = 0
    """How many of the last token ids the cache has not been fed yet."""


class TokenPolicy:
    """A policy with weights; an `environments.policy.Policy`."""

    template = TEMPLATE_VERSION

    def __init__(
        self,
        decoder: LlamaDecoder,
        tokenizer: Tokenizer,
        signatures: Mapping[str, str],
        *,
        version: str,
        temperature: float = 1.0,
        turn_tokens: int = 48,
        positions: int = 448,
    ) -> None:
        """Set up sampling.

        Args:
            decoder: the weights.
            tokenizer: its tokenizer.
            signatures: each tool as the system turn shows it.
            version: hash of the weights.
            temperature: 0 for greedy.
            turn_tokens: most tokens of one turn.
            positions: most tokens of a whole conversation.
        """
        self.decoder, self.tokenizer, self.signatures = decoder, tokenizer, dict(signatures)
        self.version, self.temperature = version, temperature
        self.turn_tokens, self.positions = turn_tokens, positions
        self.end = _token_id(tokenizer, END_OF_TURN)
        self._rows: dict[int, _Row] = {}
        self._slots: list[int] = []
        self._cache: Cache

    @property
    def sampler(self) -> str:
        """Temperature and token budgets."""
        return f"t={self.temperature:g} turn={self.turn_tokens} all={self.positions}"

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`."""
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Encode the prompts and fill the cache, once for each distinct prompt."""
        first: dict[tuple[int, ...], int] = {}
        self._rows, order = {}, []
        for attempt in attempts:
            ids = self.encode(prompt_text(attempt.instruction, attempt.task.tools, self.signatures))
            attempt.tokens = Tokens(list(ids), [0] * len(ids), [0.0] * len(ids), len(ids))
            draws = np.random.default_rng(attempt.seed).random(self.positions)
            self._rows[id(attempt)] = _Row(attempt.tokens, draws, unseen=1)
            order.append(first.setdefault(tuple(ids), len(first)))
        self._slots = [id(a) for a in attempts]
        distinct = Cache.empty(self.decoder.shape, len(first), self.positions)
        heads = [list(ids)[:-1][: self.positions] for ids in first]
        self._feed(heads, [0] * len(heads), distinct)
        self._cache = distinct.rows(torch.tensor(order))

    def act(self, attempts: Sequence[Attempt]) -> list[Action]:
        """One turn for each attempt: feed what its cache has not seen, then decode until every turn has ended."""
        self._keep([id(a) for a in attempts])
        rows = [self._rows[s] for s in self._slots]
        for attempt, row in zip(attempts, rows, strict=True):
            self._observe(attempt, row)
        starts = [len(r.tokens.ids) for r in rows]
        fits = [start + self.turn_tokens <= self.positions for start in starts]
        self._decode(rows, [i for i, ok in enumerate(fits) if ok])
        return [self._action(r, s, ok) for r, s, ok in zip(rows, starts, fits, strict=True)]

    def _keep(self, wanted: list[int]) -> None:
        if wanted != self._slots:
            where = {s: i for i, s in enumerate(self._slots)}
            self._cache = self._cache.rows(torch.tensor([where[w] for w in wanted]))
            self._slots = wanted

    def _observe(self, attempt: Attempt, row: _Row) -> None:
        """Append the result of the last call, if there is one that the tokens do not hold yet."""
        if row.tokens.ids[-1] == self.end and attempt.steps:
            more = self.encode(result_text(attempt.steps[-1].observation))
            row.tokens.ids += more
            row.tokens.generated += [0] * len(more)
            row.tokens.logprobs += [0.0] * len(more)
            row.unseen += len(more)

    def _decode(self, rows: list[_Row], active: list[int]) -> None:
        """Decode one turn of the rows in `active`; finished rows idle until the working cache is worth shrinking."""
        if not active:
            return
        fed = [rows[i].tokens.ids[-rows[i].unseen :] for i in active]
        starts = [len(rows[i].tokens.ids) - rows[i].unseen for i in active]
        cache = self._cache if len(active) == len(rows) else self._cache.rows(torch.tensor(active))
        logits, running = self._feed(fed, starts, cache), list(active)
        finished: set[int] = set()
        for _ in range(self.turn_tokens):
            self._extend(logits, [None if i in finished else rows[i] for i in running])
            finished.update(i for i in running if rows[i].tokens.ids[-1] == self.end)
            alive = [j for j, i in enumerate(running) if i not in finished]
            if not alive:
                break
            if len(alive) <= _SHRINK * len(running):
                self._write_back(cache, running, set(alive))
                cache, running = cache.rows(torch.tensor(alive)), [running[j] for j in alive]
            last = [rows[i].tokens.ids[-1:] for i in running]
            logits = self._feed(last, [len(rows[i].tokens.ids) - 1 for i in running], cache)
        self._write_back(cache, running, set())

    def _extend(self, logits: Tensor, rows: Sequence[_Row | None]) -> None:
        """Append one sampled token to every row that is not None."""
        for row, token, logprob in zip(rows, *self._sample(logits, rows), strict=True):
            if row is not None:
                row.tokens.ids.append(token)
                row.tokens.generated.append(1)
                row.tokens.logprobs.append(logprob)
                row.drawn, row.unseen = row.drawn + 1, 1

    def _write_back(self, cache: Cache, running: list[int], alive: set[int]) -> None:
        """Put rows that leave the working cache back where the next turn looks for them."""
        leaving = [j for j in range(len(running)) if j not in alive]
        if cache is self._cache or not leaving:
            return
        index, target = torch.tensor(leaving), torch.tensor([running[j] for j in leaving])
        for old, new in zip(self._cache.keys + self._cache.values, cache.keys + cache.values, strict=True):
            old[target] = new[index]

    def _feed(self, ids: list[list[int]], starts: list[int], cache: Cache) -> Tensor:
        """Feed ragged rows of new tokens, padded on the right; logits after each row's last one."""
        width = max(map(len, ids))
        padded = torch.tensor([row + [0] * (width - len(row)) for row in ids])
        offsets = torch.arange(width)
        last = torch.tensor([len(row) - 1 for row in ids])
        positions = torch.tensor(starts)[:, None] + torch.minimum(offsets[None], last[:, None])
        # Padding repeats the row's last token at its position: it computes and stores the same values once more.
        padded = torch.where(offsets[None] > last[:, None], padded.gather(1, last[:, None]), padded)
        return self.decoder.forward(padded, positions, cache, last)

    def _sample(self, logits: Tensor, rows: Sequence[_Row | None]) -> tuple[list[int], list[float]]:
        scaled = logits / self.temperature if self.temperature > 0 else logits
        logprobs = F.log_softmax(scaled, -1)
        if self.temperature <= 0:
            chosen = logits.argmax(-1)
        else:
            uniform = torch.tensor([r.draws[r.drawn] if r else 0.5 for r in rows], dtype=torch.float64)
            mass = logprobs.double().exp().cumsum(-1)
            chosen = (mass < (uniform * mass[:, -1])[:, None]).sum(-1).clamp_(max=logits.shape[-1] - 1)
        return chosen.tolist(), logprobs.gather(1, chosen[:, None])[:, 0].tolist()

    def _action(self, row: _Row, start: int, fits: bool) -> Action:
        written = row.tokens.ids[start:]
        if not fits or not written or written[-1] != self.end:
            return Malformed(self.tokenizer.decode(written, skip_special_tokens=False), "length")
        return parse_turn(self.tokenizer.decode(written[:-1], skip_special_tokens=False))


def load_policy(
    folder: Path, signatures: Mapping[str, str], *, temperature: float, version: str, **budgets: int
) -> TokenPolicy:
    """A policy from a Hugging Face folder, without importing transformers.

    Raises:
        FileNotFoundError: the folder holds no weights.
    """
    from safetensors.torch import load_file

    if not (folder / "model.safetensors").exists():
        raise FileNotFoundError(f"no model.safetensors in {folder}: materialize the checkpoint first")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    decoder = LlamaDecoder(load_file(folder / "model.safetensors"), LlamaShape.of(config))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return TokenPolicy(decoder, tokenizer, signatures, version=version, temperature=temperature, **budgets)
