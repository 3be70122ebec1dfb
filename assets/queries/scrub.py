"""Personal data out of free text before anything is stored: each value gives way to a typed mark, only counts are kept.

A vectorised look picks the few texts that could hold something (`_WORTH_READING`); only those are read. Why the shapes
are our own and not a library's: docs/decisions/0020-personal-data.md.

Source: pipeline stage 1.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

import polars as pl

from assets.queries.normalise import ROWS_AT_ONCE
from assets.queries.personal import KINDS, find
from training.side_by_side import on_every_core

_WORTH_READING: Final = (
    r"[@＠]|(?:\d\D{0,3}){6}\d|[\[( ]at[\]) ].*[\[( ]dot[\]) ]|[零〇一二三四五六七八九幺]{11}"
    r"|\d[A-Za-z]?,?\s+\S.*(?i:street|avenue|road|boulevard|blvd|terrace|parkway)"
    r"|\d[A-Za-z]?,?\s+\S.*\s(?:Ave|St|Rd|Ln|Lane|Dr|Drive|Court|Ct|Way|Square|Sq|Place|Pl|Highway|Hwy)\b"
    r"|(?:路|街|大道|巷|弄|胡同|村|小区|花园)\s?\d{1,5}\s?(?:号|弄|栋|幢|单元|室)"
)


class Scrubbed(NamedTuple):
    """Texts without personal data, and how often each kind was found."""

    text: pl.Series
    counts: Mapping[str, int]


def scrub(text: pl.Series) -> Scrubbed:
    """Replace every phone, e-mail, card, identity number and address by its mark, for example `<phone>`.

    Scrubbing what is scrubbed changes nothing. Null stays null. Prices, dates, times, years and flight numbers stay.

    Returns:
        The texts in the same order, and how many values of each kind were replaced.
    """
    pieces = [text.slice(start, ROWS_AT_ONCE) for start in range(0, max(len(text), 1), ROWS_AT_ONCE)]
    found = on_every_core(_scrub, pieces)
    counts: Counter[str] = Counter({kind: 0 for kind in KINDS})
    for piece in found:
        counts.update(piece.counts)
    return Scrubbed(pl.concat([piece.text for piece in found]), counts)


def _scrub(text: pl.Series) -> Scrubbed:
    counts: Counter[str] = Counter()
    rows = _worth_reading(text)
    if not len(rows):
        return Scrubbed(text, counts)
    read = [_mask(line, counts) for line in text.gather(rows).to_list()]
    return Scrubbed(text.clone().scatter(rows, pl.Series(read, dtype=pl.String)), counts)


def mask(text: str) -> str:
    """One text with its personal data replaced by marks."""
    return _mask(text, Counter())


def personal_rows(text: pl.Series) -> pl.Series:
    """Row numbers of texts that still hold personal data."""
    starts = range(0, max(len(text), 1), ROWS_AT_ONCE)
    worth = on_every_core(lambda start: _worth_reading(text.slice(start, ROWS_AT_ONCE)) + start, starts)
    rows = pl.concat(worth)
    return rows.filter(pl.Series([bool(find(line)) for line in text.gather(rows).to_list()], dtype=pl.Boolean))


def pseudonyms(users: pl.Series, salt: str) -> pl.Series:
    """Users as keyed hashes: the same user has the same name, and without the salt nobody can try out who it is."""
    known = users.drop_nulls().unique()
    names = [hashlib.blake2b(u.encode(), key=salt.encode()[:64], digest_size=8).hexdigest() for u in known.to_list()]
    return users.replace_strict(known, pl.Series(names, dtype=pl.String), default=None)


def _worth_reading(text: pl.Series) -> pl.Series:
    return text.str.contains(_WORTH_READING).fill_null(False).arg_true()


def _mask(text: str, counts: Counter[str]) -> str:
    spans = find(text)
    counts.update(span.kind for span in spans)
    for span in reversed(spans):
        text = f"{text[: span.start]}<{span.kind}>{text[span.end :]}"
    return text
