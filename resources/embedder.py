"""Text to unit vectors: the one embedding every stage shares (labels, the semantic and geometric layers).

WordLlama's 256 static token vectors, averaged and normalised. The weights lie in its wheel, so nothing is fetched.
A text's vector depends on that text alone, never on what else is in the batch or in which order: tokens are pooled
row by row instead of in a padded matrix, so that adding a row changes no other row's bits.

Shapes: N texts, D dimensions, T tokens of one chunk.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version as installed_version
from itertools import chain
from pathlib import Path
from typing import Any, Final

import dagster as dg
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, PositiveInt

from environments.memo import Memo

DIMENSIONS = 256

_SPACE = "▁"
"""How the tokenizer writes a space, and the beginning of a text."""
_PIECE = re.compile(f"{_SPACE}*[㐀-鿿]|{_SPACE}*[^{_SPACE}㐀-鿿]+|{_SPACE}+")
"""A Chinese character, or other signs up to the next space; the spaces before it are part of it."""


class Embedder(dg.ConfigurableResource):
    """Turns texts into unit vectors, offline and repeatably."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    chunk: PositiveInt = 256
    """Texts tokenised and pooled at a time: small enough for the cache, does not change the result."""

    @property
    def version(self) -> str:
        """Names the model and its release: part of every key that depends on a vector."""
        return f"wordllama-{installed_version('wordllama')}-{DIMENSIONS}d"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of `texts`, float32, shape (N, 256), in the order given.

        Args:
            texts: N texts, none of them empty.

        Raises:
            ValueError: a text has no tokens; the message names its position.
        """
        vectors_ND = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(texts), self.chunk):
            part = list(texts[start : start + self.chunk])
            vectors_ND[start : start + len(part)] = _pooled(part, first_row=start)
        return vectors_ND

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels to other processes by its settings: what Dagster keeps beside them cannot be pickled."""
        return _with_chunk, (self.chunk,)


def _with_chunk(chunk: int) -> Embedder:
    return Embedder(chunk=chunk)


def _pooled(texts: list[str], *, first_row: int) -> NDArray[np.float32]:
    from resources.pooling import sums_of

    empty = next((i for i, text in enumerate(texts) if not text.strip()), None)
    if empty is not None:
        raise ValueError(f"text {first_row + empty} is empty and has no vector: drop empty texts before embedding")
    ids = [tokens_of(text) for text in texts]
    tokens_T = np.fromiter(chain.from_iterable(ids), dtype=np.int64)
    stops_N = np.cumsum(np.fromiter(map(len, ids), dtype=np.int64, count=len(ids)))
    sums_ND: NDArray[np.float32] = sums_of(tokens_T, stops_N, _wordllama().embedding)
    sums_ND /= np.linalg.norm(sums_ND, axis=1, keepdims=True)
    return sums_ND


def tokens_of(text: str) -> list[int]:
    """The tokens of a text: those that the model's tokenizer gives, looked up piece by piece.

    No token of the vocabulary reaches over the edge of a piece, and most pieces were seen before.
    """
    if "<" in text:  # may spell a token of the tokenizer's own, such as <s>
        tokens: list[int] = _wordllama().tokenizer.encode(text, add_special_tokens=False).ids
        return tokens
    return list(chain.from_iterable(map(_tokens_of.__getitem__, _PIECE.findall(_SPACE + text.replace(" ", _SPACE)))))


def _tokens_of_piece(piece: str) -> tuple[int, ...]:
    return tuple(token.id for token in _pieces_model().tokenize(piece))


_tokens_of: Final = Memo(_tokens_of_piece, most=200_000)


@cache
def _pieces_model() -> Any:
    return _wordllama().tokenizer.model


@cache
def _wordllama() -> Any:
    import wordllama

    home = str(Path(wordllama.__file__).parent)
    model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)
    model.tokenizer.no_padding()
    return model
