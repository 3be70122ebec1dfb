"""Core sets: our batches against greedy by the book, and at the size of a pool, with the certificate."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assets.pool.coverage import certify
from assets.pool.geometric import central_picks, core_set
from tests.bench.funnel_parts.contenders import COMMAND, points_of, run_child, taken
from tests.bench.table import Row, row

BUCKETS = 30


def by_the_book(points_ND: NDArray[np.float32], size: int) -> float:
    """Radius of k-center: one pick, one pass over all distances."""
    pick = int((points_ND @ points_ND.mean(axis=0)).argmax())
    distance_N = np.full(len(points_ND), np.inf, dtype=np.float32)
    for _ in range(size):
        np.minimum(distance_N, 2.0 - 2.0 * (points_ND @ points_ND[pick]), out=distance_N)
        pick = int(distance_N.argmax())
    return float(np.sqrt(max(0.0, float(distance_N.max()))))


def ours(points_ND: NDArray[np.float32], size: int) -> float:
    """The same by our exact batches, with the nearest pick of every row."""
    return core_set(points_ND, ["x"] * len(points_ND), size=size).radius


GREEDY: dict[str, Callable[[NDArray[np.float32], int], float]] = {"exact greedy": by_the_book, "ours": ours}


def child(name: str, points: str, size: str) -> None:
    """Run one contender and print what it took and its radius."""
    points_ND = np.load(points)
    GREEDY[name](points_ND[:3000], 50)
    radius, took = taken(lambda: GREEDY[name](points_ND, int(size)))
    print(json.dumps(took | {"radius": radius}))


def geometric(count: int, size: int, folder: Path) -> list[Row]:
    """One bucket, ours and by the book."""
    file = str(points_of(count, folder))
    mine, exact = (run_child("geometric", name, file, str(size)) for name in ("ours", "exact greedy"))
    what = f"geometric, {count:,} -> {size:,}"
    return [
        row(f"{what}: time", mine["cpu_s"], "cpu-s", command=COMMAND, peer="exact greedy", peer_value=exact["cpu_s"]),
        row(f"{what}: wall", mine["wall_s"], "s", command=COMMAND, peer="exact greedy", peer_value=exact["wall_s"]),
        row(f"{what}: radius", mine["radius"], "distance", command=COMMAND, peer="exact greedy",
            peer_value=exact["radius"], aim="<= 1.01 x", holds=mine["radius"] <= 1.01 * exact["radius"]),
    ]  # fmt: skip


def buckets_of(count: int, share: float) -> list[str]:
    """One of `BUCKETS` names for each row: `share` of the rows have the first, the others the rest in turn."""
    large = np.random.default_rng(0).random(count) < share
    names = [f"bucket {number:02d}" for number in range(BUCKETS)]
    return [names[0] if is_large else names[1 + row % (BUCKETS - 1)] for row, is_large in enumerate(large)]


def child_scale(share: str, points: str, size: str) -> None:
    """Pick, move to the middle and certify; print what it took and the radius beside that of chance."""
    points_ND = np.load(points)
    buckets = buckets_of(len(points_ND), float(share))
    _certified(points_ND[:3000], buckets[:3000], 60)
    (radius, by_chance), took = taken(lambda: _certified(points_ND, buckets, int(size)))
    print(json.dumps(took | {"radius": radius, "by_chance": by_chance}))


def _certified(points_ND: NDArray[np.float32], buckets: list[str], size: int) -> tuple[float, float]:
    greedy = core_set(points_ND, buckets, size=size)
    certificate = certify(points_ND, buckets, buckets, greedy, central_picks(points_ND, greedy, buckets))
    return certificate.greedy_radius, certificate.random_radius


def scale(count: int, folder: Path) -> list[Row]:
    """A tenth of the rows, in even buckets and with 60% of the rows in one."""
    rows: list[Row] = []
    for share, name, minutes in ((1 / BUCKETS, f"{BUCKETS} buckets", 10), (0.6, "60% in one bucket", 40)):
        took = run_child("scale", str(share), str(points_of(count, folder)), str(count // 10))
        what = f"geometric, {count:,} -> {count // 10:,}, {name}"
        rows += [
            row(f"{what}: wall with the certificate", took["wall_s"], "s", command=COMMAND, aim=f"<= {60 * minutes}",
                holds=took["wall_s"] <= 60 * minutes),
            row(f"{what}: time", took["cpu_s"], "cpu-s", command=COMMAND),
            row(f"{what}: peak memory, points included", took["peak_gb"], "GB", command=COMMAND),
            row(f"{what}: radius", took["radius"], "distance", command=COMMAND, peer="random choice",
                peer_value=took["by_chance"]),
        ]  # fmt: skip
    return rows
