"""Batched in-process generation that keeps token ids: the policy behind probing, trajectories, RL and evaluation.

Attempts of a batch advance together over a ragged key-value cache; each draws from uniform numbers of its own, so a
batch redone gives the same tokens, whatever ran before it.
"""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from environments.episode import Attempt, Tokens
from environments.policy import Action, Malformed
from training.chat import END_OF_TURN, TEMPLATE_VERSION, parse_turn, prompt_text, reply_text, result_text
from training.code import code_of
from training.llama import Cache, LlamaDecoder, LlamaShape

_SHRINK = 0.5
"""A working cache is cut to its running rows when no more than this share of them still runs."""


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
    heard: int = 0
    """How many replies of the user the tokens hold."""
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
        """Temperature, token budgets and the code that samples."""
        return f"t={self.temperature:g} turn={self.turn_tokens} all={self.positions} code={code_of(__name__)}"

    def beside(self) -> Self:
        """The same weights for one more batch; each has its own cache."""
        return copy(self)

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
        """Append what came back last, the user's reply or a call's result, where the tokens do not hold it yet."""
        replied = len(attempt.exchanges) > row.heard
        if row.tokens.ids[-1] == self.end and (replied or attempt.steps):
            said = attempt.exchanges[-1].reply if replied else None
            more = self.encode(result_text(attempt.steps[-1].observation) if said is None else reply_text(said))
            row.heard = len(attempt.exchanges)
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
