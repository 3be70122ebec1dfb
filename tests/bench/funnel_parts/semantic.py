"""Requests that mean the same: our layer and SemHash on the same vectors, and one bucket that holds a million rows.

Both get the vectors ready made, in one bucket. SemHash's records are the row numbers, so that only its deduplication is
measured. Recall is against brute force on a sample: of the sampled rows for which there is an earlier row that the
contender kept and that is similar enough, the share that it dropped.
"""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assets.pool.semantic import recall_of, semantic_survivors
from assets.pool.survival import Survival
from tests.bench.funnel_parts.contenders import COMMAND, points_of, run_child, taken
from tests.bench.table import Row, row

THRESHOLD = 0.93
SAMPLE = 2000


def ours(vectors_ND: NDArray[np.float32]) -> NDArray[np.int64]:
    """Survivor of each row by our layer."""
    return semantic_survivors(vectors_ND, ["x"] * len(vectors_ND), [""] * len(vectors_ND), THRESHOLD).survivor_N


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
    recall = recall_of(vectors_ND, Survival(survivor_N, np.ones(len(survivor_N), np.float32)), rows_S, THRESHOLD)
    gone = np.flatnonzero(~kept_N)
    similarity = np.einsum("nd,nd->n", vectors_ND[gone], vectors_ND[survivor_N[gone]])
    right = kept_N[survivor_N[gone]] & (similarity >= THRESHOLD - 1e-5)
    return {"recall": recall, "precision": float(right.mean()), "dropped": len(gone) / len(vectors_ND)}


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
