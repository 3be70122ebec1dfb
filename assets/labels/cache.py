"""Labels as they are made: kept by text, context and annotator, part by part, so that a kill costs one part.

A run that was killed goes on where it stopped. Once the book (`book.py`) holds the labels, the parts are cleared away.
"""

import logging
import shutil
import uuid
from pathlib import Path
from typing import Final

import polars as pl

from training.durable import replace_durably

LOG: Final = logging.getLogger(__name__)


class LabelCache:
    """A folder of Parquet parts for each version of the annotator; parts are only ever added."""

    def __init__(self, folder: Path, annotator: str) -> None:
        """Open the labels of `annotator` under `folder`, made if absent."""
        self.folder = folder / annotator.replace("/", "_")
        self.folder.mkdir(parents=True, exist_ok=True)

    def known(self, schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
        """Every label so far, one row per key; a torn part is set aside."""
        parts = [pl.DataFrame(schema=schema)]
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                parts.append(pl.read_parquet(path).select(*schema))
            except pl.exceptions.ComputeError as error:
                LOG.warning("%s is torn and set aside: %s", path, error)
                path.rename(path.with_suffix(".torn"))
        return pl.concat(parts).unique("key", keep="first", maintain_order=True)

    def add(self, labels: pl.DataFrame) -> None:
        """Write one more part, whole or not at all."""
        name = uuid.uuid4().hex
        scratch = self.folder / f"{name}.tmp"
        labels.write_parquet(scratch, compression="zstd")
        replace_durably(scratch, self.folder / f"{name}.parquet")

    def clear(self) -> None:
        """Delete all parts: what they held is kept elsewhere."""
        shutil.rmtree(self.folder)
