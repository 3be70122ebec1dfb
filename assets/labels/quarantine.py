"""Queries without a label: which, why, and what the annotator said instead. With the labels they are the whole pool."""

import polars as pl

from resources.lake import Lake

QUARANTINE = "labels/quarantine"
QUARANTINE_SCHEMA = {"query_id": pl.String, "cause": pl.String, "problem": pl.String, "raw": pl.String}


def no_quarantine() -> pl.DataFrame:
    """The quarantine of an annotator that labels everything."""
    return pl.DataFrame(schema=QUARANTINE_SCHEMA)


def quarantine_in(lake: Lake) -> pl.DataFrame:
    """The quarantine of the labels in the lake; empty for labels from before there was one."""
    return lake.read(QUARANTINE) if lake.exists(QUARANTINE) else no_quarantine()
