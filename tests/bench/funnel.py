"""The funnel against its peers: near copies (datasketch, rensa), and core sets (exact greedy), on the same rows.

    python tests/bench/funnel.py [--sizes 200000 1000000]

Each contender runs in a process of its own, so that its CPU seconds and peak memory are its own; imports and compiling
are not counted, and memory is what it takes beyond its start with the rows loaded. `QUICK=1` uses small sizes. A peer
that is not installed is said to be missing (`pip install rensa`).
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.corpus import chunks
from tests.bench.table import Row, publish, row

COMMAND = "make bench-funnel"
THRESHOLD, BANDS, WIDTH = 0.85, 16, 5
SAMPLE = 3000


def grams(text: str) -> set[str]:
    """The character n-grams of `text`, cut as our layer cuts them, the quickest way that Python has."""
    wide = 0 if text.isascii() else sum("\u3040" <= sign <= "\u9fff" or "\uac00" <= sign <= "\ud7af" for sign in text)
    size = min(2 if 3 * wide >= len(text) else 3, len(text))
    return {text[i : i + size] for i in range(len(text) - size + 1)}


def jaccard(left: set[str], right: set[str]) -> float:
    """Exact Jaccard similarity."""
    return len(left & right) / len(left | right)


def ours(texts: pl.Series) -> np.ndarray:
    """Survivor of each row by our layer."""
    from assets.pool.lexical import lexical_survivors

    return lexical_survivors(texts, None, THRESHOLD, numbers=False).survivor_N


def by_index(
    texts: pl.Series, sketch_of: Callable[[set[str]], Any], index: Any, *, verified: bool = True
) -> np.ndarray:
    """The same rule on a peer's index, candidates verified by exact Jaccard similarity, or taken on trust."""
    sets = [grams(text) for text in texts]
    survivor = np.arange(len(sets))
    for number, one in enumerate(sets):
        sketch = sketch_of(one)
        near = [(jaccard(one, sets[k]) if verified else 1.0, -k) for k in index.query(sketch)]
        best = max(near, default=(0.0, 0))
        if best[0] >= THRESHOLD:
            survivor[number] = -best[1]
        else:
            index.insert(number, sketch)
    return survivor


def by_datasketch(texts: pl.Series) -> np.ndarray:
    """datasketch, with our cut of the bands."""
    from datasketch import MinHash, MinHashLSH

    def sketch_of(one: set[str]) -> Any:
        """One signature."""
        sketch = MinHash(num_perm=BANDS * WIDTH)
        sketch.update_batch([g.encode() for g in one])
        return sketch

    return by_index(texts, sketch_of, MinHashLSH(num_perm=BANDS * WIDTH, params=(BANDS, WIDTH)))


def by_rensa(texts: pl.Series, *, verified: bool = True) -> np.ndarray:
    """The objects of rensa, with the exact verification that it lacks, or without."""
    import rensa

    def sketch_of(one: set[str]) -> Any:
        """One signature."""
        sketch = rensa.RMinHash(num_perm=BANDS * WIDTH, seed=1)
        sketch.update(list(one))
        return sketch

    index = rensa.RMinHashLSH(threshold=THRESHOLD, num_perm=BANDS * WIDTH, num_bands=BANDS)
    return by_index(texts, sketch_of, index, verified=verified)


def greedy_exactly(points_ND: np.ndarray, size: int) -> float:
    """Radius of k-center by the book: one pick, one pass over all distances."""
    first = int((points_ND @ points_ND.mean(axis=0)).argmax())
    distance_N = np.full(len(points_ND), np.inf, dtype=np.float32)
    pick = first
    for _ in range(size):
        np.minimum(distance_N, 2.0 - 2.0 * (points_ND @ points_ND[pick]), out=distance_N)
        pick = int(distance_N.argmax())
    return float(np.sqrt(max(0.0, float(distance_N.max()))))


def greedy_by_horizons(points_ND: np.ndarray, size: int) -> float:
    """The same by our exact-horizon batches."""
    from assets.pool.geometric import core_set

    return float(core_set(points_ND, ["x"] * len(points_ND), size=size).radius)


CONTENDERS: dict[str, Callable[..., Any]] = {
    "ours": ours,
    "datasketch": by_datasketch,
    "rensa": by_rensa,
    "rensa, unverified": partial(by_rensa, verified=False),
}
GREEDY: dict[str, Callable[..., float]] = {"exact greedy": greedy_exactly, "ours": greedy_by_horizons}


def child(name: str, rows: Path, out: Path) -> None:
    """Run one contender and print what it took."""
    texts = pl.read_parquet(rows)["text"]
    CONTENDERS[name](texts.head(2000))  # imports, and compiles what is compiled
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    survivor = CONTENDERS[name](texts)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    np.save(out, survivor)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = (after.ru_maxrss - before.ru_maxrss) / 1e6
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "memory_gb": memory, "peak_gb": after.ru_maxrss / 1e6}))


def child_greedy(name: str, points: Path, size: int) -> None:
    """Run one core-set contender and print what it took."""
    points_ND = np.load(points)
    GREEDY[name](points_ND[:3000], 50)
    cpu, started = time.process_time(), time.perf_counter()
    radius = GREEDY[name](points_ND, size)
    print(json.dumps({"radius": radius, "wall_s": time.perf_counter() - started, "cpu_s": time.process_time() - cpu}))


def run_child(*arguments: str) -> dict[str, float]:
    """One contender in a process of its own."""
    command = [sys.executable, __file__, "--child", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{arguments[0]} failed:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def distinct_rows(count: int) -> pl.DataFrame:
    """`count` rows that differ, in order, with what each was made from."""
    parts: list[pl.DataFrame] = []
    for part in chunks(round(count / (1 - 0.3) * 1.02)):
        parts.append(part)
    return pl.concat(parts).unique("text", keep="first", maintain_order=True).head(count)


def quality(rows: pl.DataFrame, survivor_N: np.ndarray) -> tuple[float, float]:
    """Recall on planted copies at or above the threshold, and precision of what was dropped, both on samples."""
    texts, rng = rows["text"].to_list(), np.random.default_rng(0)
    at = {row: i for i, row in enumerate(rows["row"].to_list())}
    planted = [
        (i, at[m]) for i, (m, k) in enumerate(rows.select("made_from", "kind").iter_rows()) if k == "near" and m in at
    ]
    due = []
    for i, source in [planted[j] for j in rng.permutation(len(planted))[:SAMPLE]]:
        if survivor_N[source] == source and jaccard(grams(texts[i]), grams(texts[source])) >= THRESHOLD:
            due.append(i)
    gone = np.flatnonzero(survivor_N != np.arange(len(survivor_N)))
    shown = rng.permutation(gone)[:SAMPLE]
    right = [jaccard(grams(texts[i]), grams(texts[survivor_N[i]])) >= THRESHOLD for i in shown]
    return float(np.mean([survivor_N[i] != i for i in due])), float(np.mean(right))


def lexical(sizes: list[int], folder: Path) -> list[Row]:
    """Near copies in letters, ours and the peers."""
    rows: list[Row] = []
    for size in sizes:
        frame, file = distinct_rows(size), folder / f"{size}.parquet"
        frame.write_parquet(file)
        found: dict[str, dict[str, float]] = {}
        for name in CONTENDERS:
            if name != "ours" and importlib.util.find_spec(name.partition(",")[0]) is None:
                continue
            out = folder / f"{size}-{len(found)}.npy"
            found[name] = run_child(name, str(file), str(out))
            found[name]["recall"], found[name]["precision"] = quality(frame, np.load(out))
            print(size, name, found[name], flush=True)
        mine = found["ours"]
        what = f"lexical, {len(frame):,} distinct rows"
        for name, aim in (("datasketch", 20.0), ("rensa", 3.0), ("rensa, unverified", 3.0)):
            if name not in found:
                rows.append(row(f"{what}: {name} is not installed", "", "", command=COMMAND))
                continue
            peer = found[name]
            speed, theirs = len(frame) / mine["cpu_s"], len(frame) / peer["cpu_s"]
            rows += [
                row(f"{what}: speed", speed, "rows per cpu-s", command=COMMAND, peer=name, peer_value=theirs,
                    aim=f">= {aim:g} x", holds=speed >= aim * theirs),
                row(f"{what}: wall", mine["wall_s"], "s", command=COMMAND, peer=name, peer_value=peer["wall_s"]),
                row(f"{what}: memory beyond the rows", mine["memory_gb"], "GB", command=COMMAND, peer=name,
                    peer_value=peer["memory_gb"], aim="<= 0.1 x", holds=mine["memory_gb"] <= 0.1 * peer["memory_gb"]),
                row(f"{what}: recall of planted copies (J >= .85)", mine["recall"], "share", command=COMMAND, peer=name,
                    peer_value=peer["recall"], aim=">= 0.99", holds=mine["recall"] >= 0.99),
                row(f"{what}: precision", mine["precision"], "share", command=COMMAND, peer=name,
                    peer_value=peer["precision"], aim="1.0", holds=mine["precision"] == 1.0),
            ]  # fmt: skip
    return rows


def child_day(rows: Path, share: float) -> None:
    """Decide all rows but the last `share`, then those; prints the seconds of both."""
    from assets.pool.increment import LexicalIndex

    frame = pl.read_parquet(rows).with_row_index("at")
    cut = round(len(frame) * (1 - share))
    warm, index = LexicalIndex(THRESHOLD), LexicalIndex(THRESHOLD)
    took = []
    for onto, part in ((warm, frame[:1000]), (warm, frame[1000:1100]), (index, frame[:cut]), (index, frame[cut:])):
        started = time.process_time()
        onto.add(part["at"].cast(pl.String).to_list(), part["at"].cast(pl.Int64), part["text"], None)
        took.append(time.process_time() - started)
    print(json.dumps({"all_s": took[2], "day_s": took[3]}))


def one_day(count: int, folder: Path) -> list[Row]:
    """What one more day costs that brings 1% of the rows."""
    file = folder / f"{count}.parquet"
    if not file.exists():
        distinct_rows(count).write_parquet(file)
    took = run_child("day", str(file), "0.01", "day")
    return [
        row(f"lexical, 1% new rows on {count:,}: time", took["day_s"], "cpu-s", command=COMMAND, peer="all rows before",
            peer_value=took["all_s"], aim="< 0.05 x", holds=took["day_s"] < 0.05 * took["all_s"]),
    ]  # fmt: skip


def geometric(count: int, size: int, folder: Path) -> list[Row]:
    """Core sets: batches with an exact horizon against greedy by the book."""
    from resources.embedder import Embedder

    points, file = Embedder().embed(distinct_rows(count)["text"].to_list()), folder / "points.npy"
    np.save(file, points)
    found = {name: run_child(name, str(file), str(size), "greedy") for name in GREEDY}
    mine, exact = found["ours"], found["exact greedy"]
    what = f"geometric, {count:,} -> {size:,}"
    return [
        row(f"{what}: time", mine["cpu_s"], "cpu-s", command=COMMAND, peer="exact greedy", peer_value=exact["cpu_s"]),
        row(f"{what}: radius", mine["radius"], "distance", command=COMMAND, peer="exact greedy",
            peer_value=exact["radius"], aim="<= 1.01 x", holds=mine["radius"] <= 1.01 * exact["radius"]),
    ]  # fmt: skip


def main() -> None:
    """Run what is asked for and write the rows."""
    if sys.argv[1:2] == ["--child"]:
        name, file, last, *kind = sys.argv[2:]
        if kind == ["day"]:
            child_day(Path(file), float(last))
        elif kind == ["greedy"]:
            child_greedy(name, Path(file), int(last))
        else:
            child(name, Path(file), Path(last))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[200_000, 1_000_000])
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = lexical([20_000] if args.quick else args.sizes, folder)
        rows += one_day(20_000 if args.quick else max(args.sizes), folder)
        rows += geometric(5_000, 500, folder) if args.quick else geometric(20_000, 2_000, folder)
    publish("funnel-quick" if args.quick else "funnel", rows)


if __name__ == "__main__":
    main()
