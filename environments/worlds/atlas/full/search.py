"""Ranks pages by BM25, with SQLite's own full-text index; Chinese is indexed by signs and pairs of signs.

Source: FTS5's `bm25`, titles weighing three times as much as text.
"""

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache

from environments.worlds.atlas.full.data_model import Page

_TERM = re.compile(r"[a-z0-9]+|[㐀-鿿]+")
_ASKING = "what which when how much many can i my me we you it any please tell"
_PLAIN = "the a an of in on at to for and or is are was be do does from by with there this that about"
_STOP = frozenset(f"{_ASKING} {_PLAIN}".split())
_WEIGHTS = "3.0, 1.0, 2.0"


def terms(text: str) -> list[str]:
    """What `text` is indexed by: Latin words and numbers, and Chinese signs in pairs."""
    found: list[str] = []
    for run in _TERM.findall(text.casefold()):
        if run.isascii():
            found += [] if run in _STOP else [_stem(run)]
        else:
            found += [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]
    return found


def _stem(word: str) -> str:
    """A word without the endings of plural nouns, so that museums finds museum."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


@lru_cache(maxsize=8192)
def _joined(text: str) -> str:
    return " ".join(terms(text))


@lru_cache(maxsize=64)
def _index(pages: Sequence[Page]) -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", check_same_thread=False)
    made.execute('CREATE VIRTUAL TABLE page USING fts5(title, body, more, tokenize = "unicode61 remove_diacritics 0")')
    rows = [(i, *map(_joined, (p.title, p.text, f"{p.keywords} {p.place}"))) for i, p in enumerate(pages)]
    made.executemany("INSERT INTO page (rowid, title, body, more) VALUES (?, ?, ?, ?)", rows)
    return made


def ranked(query: str, pages: Sequence[Page], limit: int) -> list[Page]:
    """The pages that hold any word of `query`, best first; ties in the order given."""
    wanted = list(dict.fromkeys(terms(query)))[:40]
    if not wanted or not pages:
        return []
    match = " OR ".join(f'"{term}"' for term in wanted)
    found = _index(tuple(pages)).execute(
        f"SELECT rowid FROM page WHERE page MATCH ? ORDER BY round(bm25(page, {_WEIGHTS}), 9), rowid LIMIT ?",
        (match, limit),
    )
    return [pages[row] for (row,) in found]
