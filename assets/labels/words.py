"""A request as words, and the phrases of `lexicon.yaml` found among them.

The lowest layer of the rule extractor: one walk over the words through a trie of phrases, longest match first, so that
the cost of a request does not grow with the size of the lexicon or of the gazetteer. A Chinese character is a word.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeVar

import yaml

from assets.labels import regions
from environments.memo import Memo

_LATIN = "A-Za-zÀ-ÖØ-öø-ɏʻ-ʼḀ-ỿ"
_WORD = re.compile(rf"([{_LATIN}]+(?:['’][{_LATIN}]+)*|\d+(?:[.,:/-]\d+)*|[㐀-鿿])")
_PLAIN = re.compile(r"((?:[A-Za-z]++|[0-9]++)(?: (?:[A-Za-z]++|[0-9]++))*+)([?.!]?)")
"""Words with one space between them, as most requests are written: cut at a third of the cost."""
_CHINESE = re.compile(r"[㐀-鿿]")
_DIGIT = re.compile(r"\d")
WORDS_KEPT: Final = 200_000
_JOINTS = frozenset({"", " ", "-", "–", "  ", ". "})


class Words(NamedTuple):
    """A text cut into words; `gaps[i]` is what stands before word i, and one more gap closes the text."""

    folded: list[str]
    raw: list[str]
    gaps: list[str]
    numbers: list[int]
    """Which of the words are numbers."""

    def text(self, start: int, stop: int) -> str:
        """The original text of words `start` to `stop` (exclusive)."""
        pieces = [self.raw[start]]
        for i in range(start + 1, stop):
            pieces += (self.gaps[i], self.raw[i])
        return "".join(pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """What a phrase of the lexicon says: at most one name under each head, and any number of signals.

    Each is made once, by `phrases`, and equal to itself alone: a cheap key.
    """

    heads: Mapping[str, str]
    signals: frozenset[str]


class Hit(NamedTuple):
    """Words `start` to `stop` (exclusive) form a phrase of the lexicon."""

    start: int
    stop: int
    meaning: Meaning

    def value(self, head: str) -> str | None:
        """The name that the phrase has under `head`, or None."""
        return self.meaning.heads.get(head)


class Hits(NamedTuple):
    """The phrases of a request in their order, and those under each head of the lexicon."""

    listed: Sequence[Hit]
    by_head: Mapping[str, Sequence[Hit]]

    @classmethod
    def of(cls, listed: Sequence[Hit]) -> "Hits":
        """`listed`, each phrase under every head that it has a name under."""
        by_head: dict[str, list[Hit]] = {}
        for hit in listed:
            for head in hit.meaning.heads:
                by_head.setdefault(head, []).append(hit)
        return cls(listed, by_head)

    def under(self, head: str) -> Sequence[Hit]:
        """The phrases that have a name under `head`."""
        return self.by_head.get(head, ())


Leaf = TypeVar("Leaf")


@dataclass(slots=True)
class Node(Generic[Leaf]):
    """One word deep in a trie of phrases."""

    next: dict[str, "Node[Leaf]"] = field(default_factory=dict)
    ends: list[Leaf] = field(default_factory=list)

    def add(self, phrase: list[str], leaf: Leaf) -> None:
        """Let `phrase` end in `leaf`."""
        node = self
        for word in phrase:
            node = node.next.setdefault(word, Node())
        if leaf not in node.ends:
            node.ends.append(leaf)

    def longest(self, words: Words, start: int) -> tuple[int, Sequence[Leaf]]:
        """The longest phrase that begins with word `start`, at whose node this is: its end (exclusive) and leaves.

        `(start + 1, ())` where the words form no phrase.
        """
        stop = i = start + 1
        node, ends = self, self.ends
        while node.next and i < len(words.folded) and words.gaps[i] in _JOINTS:
            if (after := node.next.get(words.folded[i])) is None:
                break
            node = after
            i += 1
            if node.ends:
                stop, ends = i, node.ends
        return stop, ends


def cut(text: str) -> Words:
    """Cut `text` into words, numbers and single Chinese characters."""
    return cut_and_fold(text, _folded)


def cut_and_fold(text: str, forms: Memo[str, str]) -> Words:
    """Cut `text`, and look up for each word the form under which it is compared."""
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        raw = plain[1].split(" ")
        gaps = ["", *[" "] * (len(raw) - 1), plain[2]]
    else:
        pieces = _WORD.split(text)
        raw, gaps = pieces[1::2], pieces[0::2]
    numbers = [i for i, word in enumerate(raw) if word[0].isdigit()] if _DIGIT.search(text) else []
    return Words([*map(forms.__getitem__, raw)], raw, gaps, numbers)


def fold(word: str) -> str:
    """The form under which words are compared: lower case, no accents, no possessive s."""
    plain = word.casefold().replace("’", "'")
    if not plain.isascii() and not _CHINESE.match(plain):
        plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    return plain.removesuffix("'s")


_folded: Final = Memo(fold, most=WORDS_KEPT)


def is_chinese(word: str) -> bool:
    """Whether `word` is written in Chinese characters."""
    return _CHINESE.match(word) is not None


def has_chinese(words: Words) -> bool:
    """Whether any of the words is."""
    return _CHINESE.search("".join(words.raw)) is not None


@cache
def lexicon() -> dict[str, Any]:
    """`lexicon.yaml` as read."""
    return read_yaml("lexicon.yaml")


def read_yaml(name: str) -> dict[str, Any]:
    """A YAML file that lies beside this module."""
    content: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return content


@cache
def phrases() -> Node[Meaning]:
    """The trie over every phrase of the lexicon."""
    listed: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for head, name, phrase in chain(lexicon_entries(), regions.entries()):
        listed.setdefault(tuple(cut(phrase).folded), []).append((head, name))
    root: Node[Meaning] = Node()
    for words, said in listed.items():
        heads = {head: name for head, name in reversed(said) if head != "signals"}
        root.add(list(words), Meaning(heads, frozenset(name for head, name in said if head == "signals")))
    return root


@cache
def lexicon_words() -> frozenset[str]:
    """Every word with which a phrase of the lexicon begins."""
    return frozenset(cut(phrase).folded[0] for _, _, phrase in lexicon_entries())


def lexicon_entries() -> Iterator[tuple[str, str, str]]:
    """Every phrase of the lexicon: head, name, phrase."""
    for head, content in lexicon().items():
        if isinstance(content, list):
            yield from ((head, head, phrase) for phrase in content)
        elif head == "numbers":
            yield from ((head, str(value), phrase) for phrase, value in content.items())
        elif head != "relations":
            yield from ((head, name, phrase) for name, listed in content.items() for phrase in listed)
