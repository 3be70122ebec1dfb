"""Reading requests: the same whoever reads them, and once only."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.pool import readings
from assets.pool.readings import Reader
from resources.embedder import Embedder

ROWS = 150


def _asked() -> tuple[pl.Series, pl.Series]:
    texts = [f"a train from Paris to Rome on {day} June for {day % 5 + 1} people 多少钱" for day in range(ROWS)]
    return pl.Series([f"{row:04}" for row in range(ROWS)]), pl.Series(texts)


def test_processes_read_what_one_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Embedder()
    alone = Reader(embedder.embed, embedder.version).read(*_asked())
    monkeypatch.setattr(readings, "PART", 16)
    monkeypatch.setattr(readings, "AT_ONCE", 64)
    monkeypatch.setattr(readings, "WORTH_PROCESSES", ROWS)
    reader = Reader(embedder.embed, embedder.version, tmp_path)
    together = reader.read(*_asked())
    assert together.rows.equals(alone.rows)
    assert (together.vectors.half(np.arange(ROWS)) == alone.vectors.half(np.arange(ROWS))).all()
    assert (together.before, together.now) == (0, ROWS)
    again = reader.read(*_asked())
    assert (again.before, again.now) == (ROWS, 0)
    assert again.rows.equals(alone.rows)
