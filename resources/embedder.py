"""Text to unit vectors: the one embedding every stage shares (labels, the semantic and geometric layers).

WordLlama's 256 static token vectors, averaged and normalised. The weights lie in its wheel, so nothing is fetched.
A text's vector depends on that text alone, never on what else is in the batch or in which order: tokens are pooled
row by row instead of in a padded matrix, so that adding a row changes no other row's bits.

Shapes: N texts, D dimensions, T tokens of one chunk.
"""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version as installed_version
from itertools import chain
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, PositiveInt

DIMENSIONS = 256


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
    empty = next((i for i, text in enumerate(texts) if not text.strip()), None)
    if empty is not None:
        raise ValueError(f"text {first_row + empty} is empty and has no vector: drop empty texts before embedding")
    model = _wordllama()
    encoded = model.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ids = [e.ids for e in encoded]
    tokens_T = np.fromiter(chain.from_iterable(ids), dtype=np.int64)
    starts_N = np.cumsum([0, *map(len, ids[:-1])])
    sums_ND: NDArray[np.float32] = np.add.reduceat(model.embedding[tokens_T], starts_N, axis=0)
    sums_ND /= np.linalg.norm(sums_ND, axis=1, keepdims=True)
    return sums_ND


@cache
def _wordllama() -> Any:
    import wordllama

    home = str(Path(wordllama.__file__).parent)
    model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)
    model.tokenizer.no_padding()
    return model
