"""Our forward pass over a ragged cache against transformers' own."""

from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.training.builders import decoder_of
from training.llama import Cache, LlamaDecoder, LlamaShape

SIZES = {
    "tied": {"num_key_value_heads": 4, "tie_word_embeddings": True},
    "grouped and untied": {"num_key_value_heads": 2, "tie_word_embeddings": False},
    "wide heads": {"num_key_value_heads": 1, "head_dim": 16, "tie_word_embeddings": True},
}


def model_of(**changes: Any) -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        max_position_embeddings=128, rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 1e4},
        **changes,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


class Rows:
    """A ragged batch, fed piece by piece as generation does, with the whole rows kept beside it."""

    def __init__(self, model: Any, rows: int) -> None:
        self.model, self.decoder = model, decoder_of(model)
        self.cache = Cache.empty(self.decoder.shape, rows, 64)
        self.seen: list[list[int]] = [[] for _ in range(rows)]
        self.draw = torch.Generator().manual_seed(1)

    def feed(self, lengths: list[int]) -> torch.Tensor:
        """Random new tokens of these lengths; padding repeats a row's last token at its position."""
        new = [torch.randint(0, 97, (n,), generator=self.draw).tolist() for n in lengths]
        width = max(lengths)
        ids = torch.tensor([row + row[-1:] * (width - len(row)) for row in new])
        last = torch.tensor([n - 1 for n in lengths])
        starts = torch.tensor([len(s) for s in self.seen])
        positions = starts[:, None] + torch.minimum(torch.arange(width)[None], last[:, None])
        for row, more in zip(self.seen, new, strict=True):
            row += more
        return self.decoder.forward(ids, positions, self.cache, last)

    def keep(self, index: list[int]) -> None:
        """Go on with these rows only, in this order."""
        self.cache = self.cache.rows(torch.tensor(index))
        self.seen = [list(self.seen[i]) for i in index]

    @torch.no_grad()
    def reference(self) -> torch.Tensor:
        """Logits after each whole row, one by one, by transformers."""
        return torch.stack([self.model(torch.tensor([row])).logits[0, -1] for row in self.seen])


@pytest.mark.parametrize("size", SIZES)
def test_logits_equal_transformers_with_ragged_batches_and_after_shrinking(size: str) -> None:
    rows = Rows(model_of(**SIZES[size]), 5)
    for lengths in ([3, 9, 1, 5, 7], [1, 1, 1, 1, 1], [4, 1, 6, 1, 2]):
        torch.testing.assert_close(rows.feed(lengths), rows.reference(), atol=1e-4, rtol=1e-4)
    rows.keep([4, 0, 2])
    for lengths in ([1, 1, 1], [2, 5, 1], [1, 1, 1]):
        torch.testing.assert_close(rows.feed(lengths), rows.reference(), atol=1e-4, rtol=1e-4)
    rows.keep([1])
    torch.testing.assert_close(rows.feed([8]), rows.reference(), atol=1e-4, rtol=1e-4)


def test_the_decoder_sees_a_step_of_training_at_once() -> None:
    model = model_of(num_key_value_heads=4, tie_word_embeddings=True)
    rows = Rows(model, 2)
    rows.feed([3, 2])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    fresh = Rows(model, 2)
    fresh.decoder = rows.decoder
    torch.testing.assert_close(fresh.feed([3, 2]), fresh.reference(), atol=1e-4, rtol=1e-4)


def test_copied_rows_do_not_share_memory() -> None:
    shape = LlamaShape.of(model_of(num_key_value_heads=4, tie_word_embeddings=True).config.to_dict())
    whole = Cache.empty(shape, 3, 4)
    part = whole.rows(torch.tensor([0, 0, 2]))
    part.keys[0][0] = 1.0
    assert float(whole.keys[0].sum()) == float(part.keys[0][1].sum()) == 0.0


def test_a_shape_reads_old_and_new_names_of_the_rotary_base() -> None:
    base = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "hidden_size": 32,
        "rms_norm_eps": 1e-5,
    }
    assert LlamaShape.of({**base, "rope_theta": 5e5}).rope_theta == 5e5
    assert LlamaShape.of({**base, "rope_parameters": {"rope_theta": 7e5}}).rope_theta == 7e5
    assert LlamaShape.of(base) == LlamaShape(2, 4, 4, 8, 10_000.0, 1e-5, tied=False)


def test_another_architecture_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="reads Llama models, got model_type 'gpt2'"):
        LlamaShape.of({"model_type": "gpt2"})


def test_a_missing_weight_is_named() -> None:
    model = model_of(num_key_value_heads=4, tie_word_embeddings=True)
    weights = dict(model.named_parameters())
    del weights["model.layers.1.mlp.up_proj.weight"]
    with pytest.raises(KeyError, match="up_proj"):
        LlamaDecoder(weights, LlamaShape.of(model.config.to_dict()))
