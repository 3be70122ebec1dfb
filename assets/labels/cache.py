"""Labels as they are made: kept by text, context and annotator, part by part, so that a kill costs one part.

A run that was killed goes on where it stopped. Once the book (`book.py`) holds the labels, the parts are cleared away.
"""

import logging
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from resources.lake import Lake, LakeError

LOG: Final = logging.getLogger(__name__)
TABLE: Final = "labels/annotated"


class LabelCache:
    """The labels of one version of the annotator as parts of a table, which are only ever added."""

    def __init__(self, lake: Lake, annotator: str) -> None:
        """Open the labels of `annotator`."""
        self.lake = lake
        self.annotator = annotator

    def known(self, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
        """Which queries have a label so far: query_id, key; a part that is torn, or has other columns, is set aside."""
        parts = [pl.DataFrame(schema={"query_id": pl.String, "key": pl.String})]
        for path in self._parts():
            try:
                parts.append(self.lake.read(TABLE, path.stem, columns=list(schema)).select("query_id", "key"))
            except (LakeError, pl.exceptions.ColumnNotFoundError) as error:
                LOG.warning("set aside: %s", error)
                path.rename(path.with_suffix(".torn"))
        return pl.concat(parts)

    def labels(self, schema: Mapping[str, type[pl.DataType]]) -> pl.LazyFrame:
        """Every label so far, unread until collected."""
        if parts := self._parts():
            return pl.scan_parquet(parts, hive_partitioning=False).select(list(schema))
        return pl.LazyFrame(schema=schema)

    def add(self, labels: pl.DataFrame) -> None:
        """Write one more part, whole or not at all.

        Raises:
            LakeError: the disk is full.
        """
        self.lake.write(TABLE, labels, f"{self.annotator}.{time.time_ns():020}.{uuid.uuid4().hex}")

    def clear(self) -> None:
        """Delete all parts: what they held is kept elsewhere."""
        for path in self._parts():
            path.unlink()

    def _parts(self) -> list[Path]:
        return sorted(self.lake.folder(TABLE).glob(f"{self.annotator}.*.parquet"))
