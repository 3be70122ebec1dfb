"""One form for what is the same request: the folded text, its id, its language, and the distinct queries of a log.

Stands between the raw log and the funnel. Two rows are one query when their folded texts and folded contexts are equal:
"and tomorrow?" after Beijing is not the same query as after Paris. Everything here is vectorised and free of row order.

Source: pipeline stage 1 (NFKC, case, width, white space and punctuation folding; support; first and last seen).
"""

import hashlib
from collections.abc import Iterator
from typing import Final, NamedTuple

import polars as pl

from training.side_by_side import core_count, on_every_core

ID_BYTES: Final = 10
"""80 bits: among 30 million queries two share an id with a chance below 1e-9."""
ROWS_AT_ONCE: Final = 500_000
QUERY_COLUMNS: Final = ("query_id", "text", "normal", "context", "language", "support", "first_seen", "last_seen")

_ODD: Final = r"[^a-z0-9 \u4E00-\u9FFF]|  |^ | $|^$|[\u4E00-\u9FFF] [\u4E00-\u9FFF]"
"""What a text must contain to be changed by folding, or by more than lower case: most queries of a log do not. The
ideographs named here have no other width or case."""
_STEPS: Final = (
    (r"[\u00AD\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\uFE00-\uFE0F\uFEFF]", ""),  # invisible
    ("[‘’‚‛′ʼ`´]", "'"),
    ("[‐‑‒–—―−]", "-"),
    (r"""["“”„‟″«»‹›()\[\]{}!?;¡¿…。、・·•「」『』《》〈〉【】〔〕〖〗〝〞|~\p{Cc}]""", " "),
    (r"\.{2,}", " "),
    (r"[\s&&[^ ]]", " "),
    (r"([^\d ])[,:]+", "$1 "),
    (r"[,:]+([^\d ])", " $1"),
    (r"(^| )[.,:']+", "$1 "),
    (r"[.,:'\-]+( |$)", " $1"),
    (r"(^| )-+([^\d]|$)", "$1 $2"),
    (r" {2,}", " "),
    (r"(\p{Han}) (\p{Han})", "$1$2"),
    (r"(\p{Han}) (\p{Han})", "$1$2"),  # again: a match cannot share its last character with the next
)


class Distinct(NamedTuple):
    """The queries of a log, and which raw row is which query."""

    keyed: pl.DataFrame
    """raw_id, text, time, context, query_id: the raw rows."""
    part_N: pl.Series
    """Number of the part that a raw row's query is in."""
    parts: int

    def pieces(self) -> Iterator[pl.DataFrame]:
        """The queries, sorted by query_id, a part at a time, at least one.

        Columns: query_id, text, normal, context, language, support, first_seen, last_seen.
        """
        side_by_side = 2 * core_count()
        for first in range(0, self.parts, side_by_side):
            numbers = range(first, min(first + side_by_side, self.parts))
            yield from on_every_core(lambda number: _distinct(self.keyed.filter(self.part_N == number)), numbers)

    @property
    def queries(self) -> pl.DataFrame:
        """All of them."""
        return pl.concat(list(self.pieces()))

    @property
    def occurrences(self) -> pl.DataFrame:
        """raw_id, query_id: one row per raw row, sorted by raw_id."""
        rows = self.keyed.select("raw_id", "query_id")
        return rows if rows["raw_id"].is_sorted() else rows.sort("raw_id")


def fold(text: pl.Series) -> pl.Series:
    """The normal form of each text: width, case, white space and sentence punctuation no longer count.

    Signs that carry meaning stay: `3.5`, `10:30`, `2026-06-12`, `-5`, `c#`, `50%`, `<phone>`. White space between two
    Chinese characters goes. A text of punctuation only keeps it, so that no normal form is empty. Null stays null.
    """
    odd = _is_odd(text)
    if not len(odd):
        return text
    cased = text.gather(odd)
    low = cased.str.to_lowercase()
    still = _is_odd(low)
    low = low.scatter(still, _fold_odd(cased.gather(still))) if len(still) else low
    return text.clone().scatter(odd, low)  # it writes into the series that it is asked of


def _is_odd(text: pl.Series) -> pl.Series:
    return text.str.contains(_ODD).fill_null(False).arg_true()


def _fold_odd(text: pl.Series) -> pl.Series:
    plain = pl.col("text").str.normalize("NFKC").str.to_lowercase().str.normalize("NFKC")
    words = plain
    for pattern, put in _STEPS:
        words = words.str.replace_all(pattern, put)
    frame = (
        text.alias("text")
        .to_frame()
        .select(plain.str.strip_chars().alias("plain"), words.str.strip_chars(" ").alias("words"))
    )
    return frame.select(pl.when(pl.col("words") == "").then("plain").otherwise("words").alias("normal"))["normal"]


_FOREIGN_WORDS: Final = (
    "le les des une est dans pour avec quel quelle der die das und ist nicht wie ein eine zum nach el los las por "
    "para qué cómo dónde il che della sono uma não você het een voor"
)
_ENGLISH_WORDS: Final = (
    "the is are a an to of in on for and what which how when where who me my i you can do does please it from at with"
)


def language(normal: pl.Series) -> pl.Series:
    """`zh`, `en` or `other` for each folded text.

    A rough, fast rule, good enough to report shares: Chinese where a fifth of the letters are Han and none are kana or
    Hangul; English where the letters are Latin and function words of other European languages do not outnumber the
    English ones.
    """
    plain = pl.when(pl.col("text").str.contains("[a-z]")).then(pl.lit("en")).otherwise(pl.lit("other"))
    found = normal.alias("text").to_frame().select(plain.alias("language"))["language"]
    wide = normal.str.contains(r"[^\x00-\x7F]").fill_null(False).arg_true()
    found = found.scatter(wide, _by_script(normal.gather(wide))) if len(wide) else found
    doubtful = (
        (" " + normal + " ").str.contains_any([f" {w} " for w in _FOREIGN_WORDS.split()]).fill_null(False).arg_true()
    )
    foreign = doubtful.filter(_is_foreign(normal.gather(doubtful)) & (found.gather(doubtful) == "en"))
    return found.scatter(foreign, "other") if len(foreign) else found


def _by_script(normal: pl.Series) -> pl.Series:
    text = pl.col("text")
    letters, han = text.str.count_matches(r"\p{L}"), text.str.count_matches(r"\p{Han}")
    latin = text.str.count_matches(r"\p{Latin}")
    chinese = (han > 0) & (han * 5 >= letters) & ~text.str.contains(r"[\p{Hiragana}\p{Katakana}\p{Hangul}]")
    english = (latin > 0) & (latin * 5 >= letters * 4)
    named = pl.when(chinese).then(pl.lit("zh")).when(english).then(pl.lit("en")).otherwise(pl.lit("other"))
    return normal.alias("text").to_frame().select(named.alias("language"))["language"]


def _is_foreign(normal: pl.Series) -> pl.Series:
    words = pl.col("text").str.split(" ")
    foreign, english = (
        words.list.eval(pl.element().is_in(known.split())).list.sum() for known in (_FOREIGN_WORDS, _ENGLISH_WORDS)
    )
    told = (foreign > english) & (foreign > 1)
    return normal.alias("text").to_frame().select(told.alias("foreign"))["foreign"]


def content_ids(parts: pl.DataFrame) -> pl.Series:
    """One id per row from all its columns: a hash that is the same in every process and on every machine.

    Args:
        parts: string columns, their order counts; null differs from the empty string.

    Returns:
        Hex strings of 20 characters, named `id`.
    """
    marked = [pl.concat_str(pl.lit("="), pl.col(name)).fill_null("-") for name in parts.columns]
    joined = parts.lazy().select(pl.concat_str(marked, separator="\x1f").alias("id"))
    pieces = [
        pl.Series("id", map(_digest, joined.slice(start, ROWS_AT_ONCE).collect()["id"].to_list()), pl.String)
        for start in range(0, max(len(parts), 1), ROWS_AT_ONCE)
    ]
    return pl.concat(pieces)


def _digest(line: str) -> str:
    return hashlib.blake2b(line.encode(), digest_size=ID_BYTES).hexdigest()


def distinct_queries(raw: pl.DataFrame, *, rows_at_a_time: int = ROWS_AT_ONCE) -> Distinct:
    """Group raw rows into queries: equal folded text and equal folded context.

    Text and context shown are those of the row seen first (earliest time, then smallest raw_id; rows without a time
    come last), so the order of the rows, of files and of days does not matter.

    Args:
        raw: columns raw_id, text, time, context as in `queries/raw_queries`.
        rows_at_a_time: about as many rows are grouped together, so that a large log needs little memory beside itself.
    """
    ids = on_every_core(_query_ids, raw.select("text", "context").iter_slices(rows_at_a_time))
    keyed = raw.select("raw_id", "text", "time", "context").with_columns(
        pl.concat([pl.Series(dtype=pl.String), *ids]).alias("query_id")
    )
    parts = 1 + len(raw) // rows_at_a_time
    part = keyed["query_id"].str.slice(0, 4).str.to_integer(base=16) * parts // 16**4
    return Distinct(keyed, part, parts)


def _query_ids(rows: pl.DataFrame) -> pl.Series:
    return content_ids(pl.DataFrame([fold(rows["text"]).alias("normal"), fold(rows["context"]).alias("context")]))


def _distinct(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per query id, sorted."""
    grouped = (
        rows.sort("time", "raw_id", nulls_last=True)
        .group_by("query_id")
        .agg(
            pl.first("text", "context"),
            pl.len().cast(pl.Int64).alias("support"),
            pl.col("time").min().alias("first_seen"),
            pl.col("time").max().alias("last_seen"),
        )
        .sort("query_id")
    )
    normal = fold(grouped["text"])
    return grouped.with_columns(normal.alias("normal"), language(normal).alias("language")).select(QUERY_COLUMNS)
