"""The from-scratch policy: one spelling of an entity everywhere, and an induction circuit from the first step."""

import math

import pytest
import torch

from tests.training.builders import SIGNATURES, some_trajectories, tiny_model, tiny_tokenizer
from training.chat import ASSISTANT_OPEN, END_OF_TURN, RESULT_CLOSE, RESULT_OPEN, SYSTEM_OPEN, USER_OPEN
from training.tiny import wrapped_tokenizer

TOKENIZER = tiny_tokenizer()


def ids(text: str) -> list[int]:
    found: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
    return found


def contains(whole: list[int], part: list[int]) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))


@pytest.mark.parametrize("text", ["héllo 巴黎 \n\t x", "<|im_end|>", '{"a": [1, 2.5]}', "QX49 -4 degrees", ""])
def test_any_text_comes_back(text: str) -> None:
    assert TOKENIZER.decode(ids(text), skip_special_tokens=False) == text


def test_a_city_is_the_same_tokens_in_prose_and_in_json() -> None:
    for t in some_trajectories():
        for step in t.steps:
            for value in step.call.arguments.values():
                if isinstance(value, str) and value in t.instruction and value[0].isupper():
                    assert contains(ids(t.instruction), ids(value)), f"{value} in {t.instruction}"
                    assert contains(ids(f'{{"location": "{value}"}}'), ids(value))


def test_chat_marks_and_signatures_are_one_token_each() -> None:
    for mark in (SYSTEM_OPEN, USER_OPEN, ASSISTANT_OPEN, RESULT_OPEN, RESULT_CLOSE, END_OF_TURN, *SIGNATURES.values()):
        assert len(ids(mark)) == 1, mark


def test_numbers_are_cut_into_one_or_two_digits() -> None:
    assert [len(ids(n)) for n in ("7", "42", "152", "1524")] == [1, 1, 2, 2]


def test_the_wrapped_tokenizer_pads_and_ends_as_the_model_expects() -> None:
    wrapped, model = wrapped_tokenizer(TOKENIZER), tiny_model()
    assert wrapped.pad_token_id == model.config.pad_token_id == 0
    assert wrapped.eos_token_id == model.config.eos_token_id == TOKENIZER.token_to_id(END_OF_TURN)


def test_weights_follow_from_their_seed() -> None:
    one, same, other = (dict(tiny_model(seed).named_parameters()) for seed in (0, 0, 1))
    assert all(torch.equal(one[n], same[n]) for n in one)
    assert not torch.equal(one["model.embed_tokens.weight"], other["model.embed_tokens.weight"])
    assert all(torch.isfinite(w).all() for w in one.values())


@pytest.mark.parametrize("hidden", [64, 128])
def test_a_fresh_model_already_copies_what_followed_a_name_before(hidden: int) -> None:
    model = tiny_model(hidden=hidden, layers=3, heads=4)
    draw = torch.Generator().manual_seed(5)
    hits, vocabulary = 0, TOKENIZER.get_vocab_size()
    for _ in range(20):
        tokens = torch.randint(10, vocabulary, (24,), generator=draw)
        again = torch.cat([tokens, tokens[:12]])
        with torch.no_grad():
            logits = model(again[None]).logits[0, -1]
        rank = int((logits > logits[tokens[12]]).sum())
        hits += rank < vocabulary // 20
    assert hits >= 10, "the next token of a repeated sequence ranks in the top twentieth"


def test_neighbouring_numbers_start_near_each_other() -> None:
    table = tiny_model(hidden=128, layers=2, heads=4).model.embed_tokens.weight.detach()
    rows = torch.stack([table[TOKENIZER.token_to_id(f"{n:02d}")] for n in range(100)])[:, :63]
    rows = rows / rows.norm(dim=1, keepdim=True)
    similar = rows @ rows.T
    near = similar.diagonal(1).mean()
    far = similar.diagonal(50).mean()
    assert float(near) > float(far) + 0.2


def test_the_vocabulary_is_padded_to_a_round_size() -> None:
    assert tiny_model().config.vocab_size == math.ceil(TOKENIZER.get_vocab_size() / 64) * 64
