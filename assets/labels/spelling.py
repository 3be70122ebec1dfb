"""Slips of the finger in the words that matter: `wether`, `fligth` and `musuem` are read as the lexicon spells them.

Only words of the lexicon are restored, and only from words that no one knows: not everyday ones, not parts of a city's
name. A place is never guessed. One letter but the first too many, too few or wrong, or two neighbours swapped; of a
word of four letters only a swap, a letter struck twice, a vowel lost or the next key.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from assets.labels.places import city_words, is_everyday
from assets.labels.words import WORDS_KEPT, Words, cut, cut_and_fold, fold, lexicon_entries
from environments.memo import Memo

_LEAST = 3
_NEXT_KEYS = tuple(
    row[i : i + 2] for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm") for i in range(len(row) - 1)
) + tuple(
    above + below
    for upper, lower in (("wertyuiop", "asdfghjkl"), ("sdfghjk", "zxcvbnm"))
    for above, below in zip(upper, lower, strict=True)
)
_LEAST_FOR_A_LETTER = 5


def cut_as_meant(text: str) -> Words:
    """`text` cut into words, the slips in their folded forms undone; what was written stays in `raw`."""
    return cut_and_fold(text, _as_meant)


def _restored(word: str) -> str:
    if len(word) < _LEAST or not word.isascii() or not word.isalpha() or _is_known(word):
        return word
    candidates = sorted({meant for key in _keys(word) for meant in _by_key().get(key, ()) if _is_slip(word, meant)})
    return candidates[0] if len(candidates) == 1 else word


_as_meant: Final[Memo[str, str]] = Memo(lambda raw: _restored(fold(raw)), most=WORDS_KEPT)


def _is_known(word: str) -> bool:
    return word in _spelled() or word in city_words() or is_everyday(word)


def _is_slip(word: str, meant: str) -> bool:
    if len(word) == len(meant) and sorted(word) == sorted(meant):
        return _is_swap(word, meant)
    if word[0] != meant[0]:
        return False  # a finger seldom slips on the first letter, and "funny" is not "sunny"
    if len(meant) < _LEAST_FOR_A_LETTER:
        return _is_doubled(word, meant) or _is_vowel_lost(word, meant) or _is_next_key(word, meant)
    if len(word) == len(meant):
        return sum(a != b for a, b in zip(word, meant, strict=True)) == 1
    return abs(len(word) - len(meant)) == 1


def _is_doubled(word: str, meant: str) -> bool:
    """`besst`, `beest`: a letter struck twice."""
    return any(word[i] == word[i - 1] and word[:i] + word[i + 1 :] == meant for i in range(1, len(word)))


def _is_vowel_lost(word: str, meant: str) -> bool:
    """`bst`."""
    return any(meant[i] in "aeiou" and meant[:i] + meant[i + 1 :] == word for i in range(1, len(meant)))


def _is_next_key(word: str, meant: str) -> bool:
    """`bwst`, `paek`: the key beside the one meant."""
    wrong = [pair for pair in zip(word, meant, strict=False) if pair[0] != pair[1]]
    return len(word) == len(meant) and len(wrong) == 1 and any(set(wrong[0]) <= set(keys) for keys in _NEXT_KEYS)


def _is_swap(word: str, meant: str) -> bool:
    wrong = [i for i, (a, b) in enumerate(zip(word, meant, strict=True)) if a != b]
    return len(wrong) == 2 and wrong[1] == wrong[0] + 1


def _keys(word: str) -> Iterator[str]:
    """The word and the word without each one of its letters: two words one slip apart share one of these."""
    yield word
    yield from (word[:i] + word[i + 1 :] for i in range(len(word)))


@cache
def _by_key() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for meant in _spelled():
        if len(meant) > _LEAST:
            for key in _keys(meant):
                found.setdefault(key, set()).add(meant)
    return {key: frozenset(words) for key, words in found.items()}


@cache
def _spelled() -> frozenset[str]:
    """Every word of every phrase of the lexicon."""
    return frozenset(word for _, _, phrase in lexicon_entries() for word in cut(phrase).folded)
