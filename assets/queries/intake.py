"""From what was read to what is stored: scrubbed texts, hashed users, and an id for each row that no file name enters.

Between `readers.py` and the table `queries/raw_queries`. The id is the hash of the row's content as stored, and its
number among equal rows: the same rows in other files, or in another order, have the same ids.

Source: pipeline stage 1 and law 9; why the scrubbed content is hashed: docs/decisions/0020-personal-data.md.
"""

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

import polars as pl

from assets.queries.normalise import ROWS_AT_ONCE, content_ids
from assets.queries.personal import KINDS
from assets.queries.scrub import pseudonyms, scrub

RAW_COLUMNS: Final = ("raw_id", "text", "time", "user", "context", "source_file", "source_row")


class Intake(NamedTuple):
    """Rows fit to be stored."""

    rows: pl.DataFrame
    """raw_id, text, time, user, context, source_file, source_row; sorted by raw_id."""
    scrubbed: Mapping[str, int]
    """How many values of each kind gave way to a mark, in texts and contexts."""


def take_in(rows: pl.DataFrame, *, salt: str) -> Intake:
    """Scrub texts and contexts, hash users, give ids.

    Args:
        rows: text, time, user, context, source_file, source_row, as read.
        salt: keys the hashes of users.
    """
    texts, contexts = scrub(rows["text"]), scrub(rows["context"])
    users = pseudonyms(rows["user"], salt)
    before = pl.when(pl.col("context").str.strip_chars() != "").then("context")  # a blank turn before is none
    clean = rows.with_columns(texts.text.alias("text"), contexts.text.alias("context"), users.alias("user"))
    clean = clean.with_columns(before.alias("context"))
    content = clean.select("text", pl.col("time").dt.epoch("us").cast(pl.String), "user", "context")
    placed = clean.with_columns(content_ids(content)).sort("source_file", "source_row")
    number = pl.int_range(pl.len()).over("id")
    named = placed.with_columns(pl.format("{}-{}", "id", number).alias("raw_id"))
    counts = {kind: texts.counts[kind] + contexts.counts[kind] for kind in KINDS}
    return Intake(named.select(RAW_COLUMNS).sort("raw_id"), counts)


def order_free_digest(ids: pl.Series) -> str:
    """One hash over a set of ids, whatever their order."""
    digest = hashlib.blake2b(digest_size=16)
    ordered = ids.sort()
    for start in range(0, len(ids), ROWS_AT_ONCE):
        digest.update("\n".join(ordered.slice(start, ROWS_AT_ONCE).to_list()).encode() + b"\n")
    return digest.hexdigest()
