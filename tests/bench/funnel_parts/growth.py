"""From raw rows to the survivors of the lexical layer, at growing sizes: folding, exact duplicates, near copies.

Texts only, in one process that reads the log from Parquet: what the lexical stage costs by itself. The whole way, with
every asset and its checks, is `tests/bench/whole.py`.
"""

import json
import time
from pathlib import Path

import polars as pl

from tests.bench.corpus import chunks
from tests.bench.funnel_parts.contenders import COMMAND, run_child, taken
from tests.bench.table import Row, row

AIM_ROWS, AIM_S, AIM_GB = 30_000_000, 150, 6.0


def child(log: str) -> None:
    """Fold, make distinct, drop near copies; prints what it took."""
    _survivors(Path(log) / "part-0000.parquet", most=2000)  # imports, and compiles what is compiled
    found, took = taken(lambda: _survivors(Path(log) / "*.parquet"))
    print(json.dumps(took | found))


def _survivors(log: Path, most: int | None = None) -> dict[str, float]:
    from assets.pool.lexical import lexical_survivors

    exact: dict[str, float] = {}
    survival = lexical_survivors(_distinct(log, most, exact), None, 0.85)
    return exact | {"distinct": len(survival.survivor_N), "kept": int(survival.kept_N.sum())}


def _distinct(log: Path, most: int | None, took: dict[str, float]) -> pl.Series:
    """Folded texts without exact duplicates, and into `took` the seconds that this took."""
    from assets.queries.normalise import fold
    from training.side_by_side import on_every_core

    def folded(path: Path) -> pl.Series:
        """One file's texts."""
        return fold(pl.read_parquet(path, columns=["text"])["text"].slice(0, most))

    started = time.perf_counter()
    distinct = pl.concat(on_every_core(folded, sorted(log.parent.glob(log.name)))).unique(maintain_order=True)
    took["exact_s"] = time.perf_counter() - started
    return distinct


def growth(sizes: list[int], folder: Path) -> list[Row]:
    """Each size in turn."""
    rows: list[Row] = []
    for size in sizes:
        log = folder / f"log-{size}"
        log.mkdir()
        for number, part in enumerate(chunks(size)):
            part.select("text").write_parquet(log / f"part-{number:04}.parquet")
        took = run_child("growth", str(log))
        what = f"lexical stage, {size:,} raw rows"
        aimed = size == AIM_ROWS
        rows += [
            row(f"{what}: distinct", took["distinct"], "rows", command=COMMAND),
            row(f"{what}: kept", took["kept"], "rows", command=COMMAND),
            row(f"{what}: wall", took["wall_s"], "s", command=COMMAND, aim=f"<= {AIM_S} s at {AIM_ROWS:,}",
                holds=took["wall_s"] <= AIM_S if aimed else None),
            row(f"{what}: of that, folding and exact duplicates", took["exact_s"], "s", command=COMMAND),
            row(f"{what}: time", took["cpu_s"], "cpu-s", command=COMMAND),
            row(f"{what}: peak memory, rows included", took["peak_gb"], "GB", command=COMMAND,
                aim=f"<= {AIM_GB:g} GB at {AIM_ROWS:,}", holds=took["peak_gb"] <= AIM_GB if aimed else None),
        ]  # fmt: skip
    return rows
