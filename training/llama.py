"""The forward pass of a Llama over a ragged key-value cache, for generation inside this process.

Reads the weights of any Llama-architecture model in place: a policy in training needs no copy and no sync.

Shapes: B rows of the batch, t new tokens of a row, H heads, T cache positions, D channels of a head, V vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


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
