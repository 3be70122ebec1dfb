"""The terms of a text: words, pairs of words and pieces of words; for Chinese, runs of one to three characters.

Beside the embedding, which sees what a text is about, terms see how it is put: joined they tell intents apart better
than either does. The same terms name a group of queries by what it says and others do not.

Source: tf-idf (Sparck Jones 1972); class-based tf-idf as in BERTopic (Grootendorst 2022).

Shapes: N texts, V terms, G groups.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_RUN: Final = re.compile(r"[㐀-鿿]+|[^\W_㐀-鿿]+(?:['’][^\W_㐀-鿿]+)*")
_HAN: Final = re.compile(r"[㐀-鿿]")
_PIECES: Final = (3, 4, 5)
_HAN_RUN: Final = 3
_SMOOTH: Final = 1e-12


def is_chinese(text: str) -> bool:
    """Whether a text has Chinese characters."""
    return bool(_HAN.search(text))


def words_of(text: str) -> list[str]:
    """The words of a text as people would name them; of Chinese, runs of two and three characters."""
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        found += _runs(run, (2, _HAN_RUN)) if is_chinese(run) else [run]
    return found


def terms_of(text: str) -> list[str]:
    """Every term of a text, with repetitions; kinds are told apart by their first sign."""
    runs = _RUN.findall(unicodedata.normalize("NFKC", text).casefold())
    latin = [run for run in runs if not is_chinese(run)]
    found = [f"w{word}" for word in latin]
    found += [f"p{left} {right}" for left, right in pairwise(latin)]
    for run in runs:
        found += _runs(run, range(1, _HAN_RUN + 1)) if is_chinese(run) else _runs(f" {run} ", _PIECES)
    return found


class Vocabulary(NamedTuple):
    """Terms and what each weighs; texts become sparse unit vectors over them."""

    number: dict[str, int]
    weight_V: NDArray[np.float64]

    def vectors(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Unit rows of term weights, shape (N, V); a text without a known term is a row of zeros."""
        counted_NV = _counts(texts, terms_of, self.number)
        counted_NV.data = (1.0 + np.log(counted_NV.data)) * self.weight_V[counted_NV.indices]
        length_N = np.sqrt(np.asarray(counted_NV.multiply(counted_NV).sum(axis=1)).ravel())
        return sparse.csr_matrix(sparse.diags(1.0 / np.maximum(length_N, _SMOOTH)) @ counted_NV)


def vocabulary(texts: Iterable[str], *, least: int = 1) -> Vocabulary:
    """The terms of these texts, weighed by how few of them have each.

    Args:
        texts: their order changes nothing.
        least: texts that must have a term for it to count.
    """
    having: Counter[str] = Counter()
    total = 0
    for text in texts:
        having.update(set(terms_of(text)))
        total += 1
    kept = sorted(term for term, count in having.items() if count >= least)
    number = {term: i for i, term in enumerate(kept)}
    return Vocabulary(number, np.array([np.log((1 + total) / (1 + having[term])) + 1.0 for term in kept]))


def telling_words(texts: Sequence[str], group_N: Sequence[Hashable], most: int = 5) -> dict[Hashable, list[str]]:
    """What each group says and others do not, most telling first.

    A word weighs its share of the group's words times the logarithm of how much larger that is than its share overall.
    Words that only hold a sentence together do not count; of Chinese runs of which one lies within the other the first
    counts.
    """
    by_group: dict[Hashable, Counter[str]] = {}
    for text, group in zip(texts, group_N, strict=True):
        by_group.setdefault(group, Counter()).update(set(words_of(text)) - _function_words())
    overall = sum(by_group.values(), Counter[str]())
    return {group: _first(_weighed(words, overall), most) for group, words in by_group.items()}


def _weighed(words: Counter[str], overall: Counter[str]) -> list[str]:
    inside, everywhere = words.total(), overall.total()
    weight = {
        word: round(count / inside * float(np.log(count / inside / (overall[word] / everywhere))), 12)
        for word, count in words.items()
    }
    return sorted(weight, key=lambda word: (-weight[word], -len(word), word))


def _first(ranked: list[str], most: int) -> list[str]:
    kept: list[str] = []
    for word in ranked:
        if len(kept) == most:
            break
        if not any(is_chinese(word) and (word in other or other in word) for other in kept):
            kept.append(word)
    return kept


@cache
def _function_words() -> frozenset[str]:
    return frozenset(files("assets.taxonomy").joinpath("function_words.txt").read_text(encoding="utf-8").split())


def _runs(text: str, lengths: Iterable[int]) -> list[str]:
    return [text[i : i + n] for n in lengths for i in range(len(text) - n + 1)]


def _counts(texts: Sequence[str], cut: Callable[[str], list[str]], number: dict[str, int]) -> sparse.csr_matrix:
    starts, columns, counts = [0], [], []
    for text in texts:
        found = Counter(number[term] for term in cut(text) if term in number)
        for column in sorted(found):
            columns.append(column)
            counts.append(found[column])
        starts.append(len(columns))
    shape = (len(texts), len(number))
    return sparse.csr_matrix((np.array(counts, dtype=float), columns, starts), shape=shape)
