"""Requests that mean the same: our layer and SemHash on the same vectors, and one bucket that holds a million rows.

Both get the vectors ready made, in one bucket. SemHash's records are the row numbers, so that only its deduplication is
measured. Recall is against brute force on a sample: of the sampled rows for which there is an earlier row that the
contender kept and that is similar enough, the share that it dropped.
"""

import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.decisions import decide
from assets.pool.vectors import Vectors, rounded
from tests.bench.funnel_parts.contenders import COMMAND, points_of, run_child, taken
from tests.bench.table import Row, row

THRESHOLD = 0.93
SAMPLE = 2000
BUCKETS = 30
ROUNDING = 2e-4
"""More than half precision, in which our layer keeps its vectors, can change a similarity by."""


def ours(vectors_ND: NDArray[np.float32]) -> NDArray[np.int64]:
    """Survivor of each row by our layer."""
    ids, same = [str(row) for row in range(len(vectors_ND))], [""] * len(vectors_ND)
    return decide(ids, Vectors([rounded(vectors_ND)]), same, same, THRESHOLD).survival.survivor_N


def by_semhash(vectors_ND: NDArray[np.float32]) -> NDArray[np.int64]:
    """The same by SemHash's defaults."""
    from semhash import SemHash

    names = [str(row) for row in range(len(vectors_ND))]
    index = SemHash.from_embeddings(vectors_ND, names, model=_NoEncoder())
    survivor_N = np.arange(len(vectors_ND))
    for gone in index.self_deduplicate(threshold=THRESHOLD).filtered:
        survivor_N[int(gone.record)] = int(gone.duplicate_of)
    return survivor_N


class _NoEncoder:
    """SemHash keeps an encoder for rows that come later; there are none."""

    def encode(self, inputs: object, **_: object) -> NDArray[np.float32]:
        """Never called."""
        raise AssertionError(f"the vectors are ready made, asked to encode {inputs!r:.80}")


CONTENDERS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.int64]]] = {"ours": ours, "semhash": by_semhash}


def child(name: str, points: str) -> None:
    """Run one contender and print what it took, its recall and its precision."""
    vectors_ND = np.load(points)
    CONTENDERS[name](vectors_ND[:3000])
    survivor_N, took = taken(lambda: CONTENDERS[name](vectors_ND))
    print(json.dumps(took | quality(vectors_ND, survivor_N)))


def quality(vectors_ND: NDArray[np.float32], survivor_N: NDArray[np.int64]) -> dict[str, float]:
    """Recall on a sample; precision: the share of dropped rows whose survivor was kept and is similar enough."""
    rng, kept_N = np.random.default_rng(0), survivor_N == np.arange(len(survivor_N))
    rows_S = np.sort(rng.choice(len(vectors_ND), min(SAMPLE, len(vectors_ND)), replace=False))
    recall = recall_of(vectors_ND, kept_N, rows_S)
    gone = np.flatnonzero(~kept_N)
    similarity = np.einsum("nd,nd->n", vectors_ND[gone], vectors_ND[survivor_N[gone]])
    right = kept_N[survivor_N[gone]] & (similarity >= THRESHOLD - ROUNDING)
    return {"recall": recall, "precision": float(right.mean()), "dropped": len(gone) / len(vectors_ND)}


def recall_of(vectors_ND: NDArray[np.float32], kept_N: NDArray[np.bool_], rows_S: NDArray[np.int64]) -> float:
    """Of the sampled rows that a kept row before them is similar to, by brute force, the share that were dropped."""
    best_S, kept_K = np.full(len(rows_S), -2.0, np.float32), np.flatnonzero(kept_N)
    for start in range(0, len(kept_K), 16_384):
        some_K = kept_K[start : start + 16_384]
        similar_SK = vectors_ND[rows_S] @ vectors_ND[some_K].T
        similar_SK[some_K[None, :] >= rows_S[:, None]] = -2.0
        best_S = np.maximum(best_S, similar_SK.max(axis=1))
    due_S = best_S >= THRESHOLD + ROUNDING
    return float((~kept_N[rows_S[due_S]]).mean()) if due_S.any() else 1.0


def child_day(points: str, share: str) -> None:
    """Decide all rows but the last `share`, then those, in `BUCKETS` buckets; prints the CPU seconds of both."""
    vectors_ND = np.load(points, mmap_mode="r")
    halves = np.empty(vectors_ND.shape, dtype=np.float16)
    for start in range(0, len(halves), 65_536):
        halves[start : start + 65_536] = rounded(np.asarray(vectors_ND[start : start + 65_536]))
    ids = pl.select(pl.int_range(len(halves)).cast(pl.String).str.zfill(9)).to_series().to_list()
    buckets, facts = [f"b{row % BUCKETS}" for row in range(len(ids))], [""] * len(ids)
    took, known, warm = [], None, None
    cut = round(len(ids) * (1 - float(share)))
    for rows in (3000, 3100, cut, len(ids)):
        started, before = time.process_time(), warm if rows == 3100 else known
        part = Vectors([halves[:rows]])
        found = decide(ids[:rows], part, buckets[:rows], facts[:rows], THRESHOLD, before)
        warm, known = (found.remembered, None) if rows < cut else (None, found.remembered)
        took.append(time.process_time() - started)
    print(json.dumps({"all_s": took[2], "day_s": took[3], "now": found.now}))


def one_day(count: int, folder: Path) -> list[Row]:
    """What one more day costs that brings 1% of the rows; vectors are there, in both cases."""
    took = run_child("semantic_day", str(points_of(count, folder)), "0.01")
    what = f"semantic, 1% new rows on {count:,} in {BUCKETS} buckets: time"
    return [
        row(what, took["day_s"], "cpu-s", command=COMMAND, peer="all rows before", peer_value=took["all_s"],
            aim="< 0.05 x", holds=took["day_s"] < 0.05 * took["all_s"]),
    ]  # fmt: skip


def semantic(sizes: list[int], folder: Path) -> list[Row]:
    """Ours and SemHash."""
    rows: list[Row] = []
    for size in sizes:
        what = f"semantic, {size:,} rows"
        mine = run_child("semantic", "ours", str(points_of(size, folder)))
        if importlib.util.find_spec("semhash") is None:
            rows.append(row(f"{what}: semhash is not installed", "", "", command=COMMAND))
            continue
        peer = run_child("semantic", "semhash", str(points_of(size, folder)))
        speed, theirs = size / mine["cpu_s"], size / peer["cpu_s"]
        name = "semhash"
        rows += [
            row(f"{what}: speed", speed, "rows per cpu-s", command=COMMAND, peer=name, peer_value=theirs,
                aim=">= 10 x", holds=speed >= 10 * theirs),
            row(f"{what}: wall", mine["wall_s"], "s", command=COMMAND, peer=name, peer_value=peer["wall_s"]),
            row(f"{what}: memory beyond the vectors", mine["memory_gb"], "GB", command=COMMAND, peer=name,
                peer_value=peer["memory_gb"]),
            row(f"{what}: dropped", mine["dropped"], "share", command=COMMAND, peer=name, peer_value=peer["dropped"]),
            row(f"{what}: recall against brute force", mine["recall"], "share", command=COMMAND, peer=name,
                peer_value=peer["recall"], aim=">= 0.99", holds=mine["recall"] >= 0.99),
            row(f"{what}: precision", mine["precision"], "share", command=COMMAND, peer=name,
                peer_value=peer["precision"], aim="1.0", holds=mine["precision"] == 1.0),
        ]  # fmt: skip
    return rows


def one_bucket(size: int, folder: Path) -> list[Row]:
    """All rows in one bucket."""
    took = run_child("semantic", "ours", str(points_of(size, folder)))
    what = f"semantic, one bucket of {size:,} rows"
    return [
        row(f"{what}: wall", took["wall_s"], "s", command=COMMAND),
        row(f"{what}: speed", size / took["cpu_s"], "rows per cpu-s", command=COMMAND),
        row(f"{what}: peak memory, vectors included", took["peak_gb"], "GB", command=COMMAND, aim="<= 4",
            holds=took["peak_gb"] <= 4),
        row(f"{what}: recall against brute force", took["recall"], "share", command=COMMAND, aim=">= 0.99",
            holds=took["recall"] >= 0.99),
    ]  # fmt: skip
