"""Near copies in letters: our layer, datasketch and rensa on the same rows, and what one more day costs.

A peer that is not installed is said to be missing (`pip install rensa`).
"""

import importlib.util
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.bench.funnel_parts.contenders import COMMAND, distinct_rows, run_child, taken
from tests.bench.table import Row, row

THRESHOLD, BANDS, WIDTH = 0.85, 16, 5
SAMPLE = 3000
NOBODY = -1
"""Survivor of a row that a contender drops without saying for whom."""


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


def by_rensa_matrix(texts: pl.Series) -> np.ndarray:
    """The matrices of rensa, which say that some other row shares a bucket: nothing verified, no survivor."""
    import rensa

    sketches = rensa.RMinHash.digest_matrix_from_token_sets([list(grams(text)) for text in texts], BANDS * WIDTH, 1)
    index = rensa.RMinHashLSH(threshold=THRESHOLD, num_perm=BANDS * WIDTH, num_bands=BANDS)
    return np.where(index.query_duplicate_flags_matrix_one_shot(sketches), NOBODY, np.arange(len(texts)))


CONTENDERS: dict[str, Callable[..., Any]] = {
    "ours": ours,
    "datasketch": by_datasketch,
    "rensa": by_rensa,
    "rensa, unverified": partial(by_rensa, verified=False),
    "rensa's matrices, unverified": by_rensa_matrix,
}


def child(name: str, rows: str, out: str) -> None:
    """Run one contender and print what it took."""
    texts = pl.read_parquet(rows)["text"]
    CONTENDERS[name](texts.head(2000))  # imports, and loads what is compiled
    survivor, took = taken(lambda: CONTENDERS[name](texts))
    np.save(out, survivor)
    print(json.dumps(took))


def quality(rows: pl.DataFrame, survivor_N: np.ndarray, verified_N: np.ndarray) -> tuple[float, float]:
    """Recall on planted copies at or above the threshold, and precision of what was dropped, both on samples.

    Where no survivor is named, copies and originals alike are: rightly those that are one or the other in `verified_N`.
    """
    texts, rng = rows["text"].to_list(), np.random.default_rng(0)
    at = {row: i for i, row in enumerate(rows["row"].to_list())}
    planted = [
        (i, at[m]) for i, (m, k) in enumerate(rows.select("made_from", "kind").iter_rows()) if k == "near" and m in at
    ]
    due = []
    for i, source in [planted[j] for j in rng.permutation(len(planted))[:SAMPLE]]:
        if survivor_N[source] in (source, NOBODY) and jaccard(grams(texts[i]), grams(texts[source])) >= THRESHOLD:
            due.append(i)
    gone = np.flatnonzero(survivor_N != np.arange(len(survivor_N)))
    shown = rng.permutation(gone)[:SAMPLE]
    copies = np.flatnonzero(verified_N != np.arange(len(verified_N)))
    partner_N = verified_N.copy()
    partner_N[verified_N[copies]] = copies
    named_N = np.where(survivor_N == NOBODY, partner_N, survivor_N)
    right = [named_N[i] != i and jaccard(grams(texts[i]), grams(texts[named_N[i]])) >= THRESHOLD for i in shown]
    return float(np.mean([survivor_N[i] != i for i in due])), float(np.mean(right))


def lexical(sizes: list[int], folder: Path) -> list[Row]:
    """Near copies in letters, ours and the peers."""
    rows: list[Row] = []
    for size in sizes:
        frame, file = distinct_rows(size), folder / f"{size}.parquet"
        frame.write_parquet(file)
        found: dict[str, dict[str, float]] = {}
        compiled = folder / f"{size}-compiled.npy"
        run_child("lexical", "ours", str(file), str(compiled))  # compiles, once a machine
        for name in CONTENDERS:
            if name != "ours" and importlib.util.find_spec(name.partition(",")[0].removesuffix("'s matrices")) is None:
                continue
            out = folder / f"{size}-{len(found)}.npy"
            found[name] = run_child("lexical", name, str(file), str(out))
            found[name]["recall"], found[name]["precision"] = quality(frame, np.load(out), np.load(compiled))
        mine = found["ours"]
        what = f"lexical, {len(frame):,} distinct rows"
        for name, aim in (("datasketch", 20.0), *((name, 3.0) for name in CONTENDERS if "rensa" in name)):
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


def child_day(rows: str, share: str) -> None:
    """Decide all rows but the last `share`, then those; prints the seconds of both."""
    from assets.pool.increment import LexicalIndex

    frame = pl.read_parquet(rows).with_row_index("at")
    cut = round(len(frame) * (1 - float(share)))
    warm, index = LexicalIndex(THRESHOLD), LexicalIndex(THRESHOLD)
    took = []
    few = (warm, frame[:18_000]), (warm, frame[18_000:20_000])  # near copies are among them, so all is compiled
    for onto, part in (*few, (index, frame[:cut]), (index, frame[cut:])):
        started = time.process_time()
        onto.add(part["at"].cast(pl.String).to_list(), part["at"].cast(pl.Int64), part["text"], None)
        took.append(time.process_time() - started)
    print(json.dumps({"all_s": took[2], "day_s": took[3]}))


def one_day(count: int, folder: Path) -> list[Row]:
    """What one more day costs that brings 1% of the rows."""
    file = folder / f"{count}.parquet"
    if not file.exists():
        distinct_rows(count).write_parquet(file)
    took = run_child("day", str(file), "0.01")
    return [
        row(f"lexical, 1% new rows on {count:,}: time", took["day_s"], "cpu-s", command=COMMAND, peer="all rows before",
            peer_value=took["all_s"], aim="< 0.05 x", holds=took["day_s"] < 0.05 * took["all_s"]),
    ]  # fmt: skip
