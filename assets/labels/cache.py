"""Labels that were paid for once: kept by text, context and annotator, part by part, so that a kill costs one part.

A new day labels its new texts only, a run that was killed goes on where it stopped, and going back to an earlier
taxonomy finds the labels of then.
"""

import uuid
from pathlib import Path

import polars as pl

from training.durable import replace_durably


class LabelCache:
    """A folder of Parquet parts for each version of the annotator; parts are only ever added."""

    def __init__(self, folder: Path, annotator: str) -> None:
        """Open the labels of `annotator` under `folder`, made if absent."""
        self.folder = folder / annotator.replace("/", "_")
        self.folder.mkdir(parents=True, exist_ok=True)
        for torn in self.folder.glob("*.tmp"):
            torn.unlink()

    def known(self, schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
        """Every label so far, one row per key; a part that cannot be read counts as not there and is removed."""
        parts = [pl.DataFrame(schema=schema)]
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                parts.append(pl.read_parquet(path).select(*schema))
            except (pl.exceptions.PolarsError, OSError):
                path.unlink()
        return pl.concat(parts).unique("key", keep="first", maintain_order=True)

    def add(self, labels: pl.DataFrame) -> None:
        """Write one more part, whole or not at all."""
        name = uuid.uuid4().hex
        scratch = self.folder / f"{name}.tmp"
        labels.write_parquet(scratch, compression="zstd")
        replace_durably(scratch, self.folder / f"{name}.parquet")
