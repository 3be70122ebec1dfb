"""Labels as they are made: kept by text, context and annotator, part by part, so that a kill costs one part.

A run that was killed goes on where it stopped. Once the book (`book.py`) holds the labels, the parts are cleared away.
"""

import logging
import uuid
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

    def known(self, schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
        """Every label so far, one row per key; a torn part is set aside."""
        parts = [pl.DataFrame(schema=schema)]
        for path in self._parts():
            try:
                parts.append(self.lake.read(TABLE, path.stem, columns=list(schema)))
            except LakeError as error:
                LOG.warning("set aside: %s", error)
                path.rename(path.with_suffix(".torn"))
        return pl.concat(parts).unique("key", keep="first", maintain_order=True)

    def add(self, labels: pl.DataFrame) -> None:
        """Write one more part, whole or not at all.

        Raises:
            LakeError: the disk is full.
        """
        self.lake.write(TABLE, labels, f"{self.annotator}.{uuid.uuid4().hex}")

    def clear(self) -> None:
        """Delete all parts: what they held is kept elsewhere."""
        for path in self._parts():
            path.unlink()

    def _parts(self) -> list[Path]:
        return sorted(self.lake.folder(TABLE).glob(f"{self.annotator}.*.parquet"))
