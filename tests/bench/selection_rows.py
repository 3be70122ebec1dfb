"""The rows of `bench-selection` from what its arms left behind: teaching, junk, and the mixture by layer.

Shapes: S seeds, I items.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.assets import DROPPED, LAYERS, layer_spreads
from environments.metrics import Interval
from resources.lake import Lake
from tests.bench.selection_pools import ARMS, JUNK, survivors, tasks_of_arm, with_junk
from tests.bench.table import Row, publish, row

COMMAND = "make bench-selection"
SCORES = (("hidden", "pass@1"), ("hidden", "pass^k"), ("log", "pass@1"))
"""k: the number of wordings of an item."""
OURS, OTHERS = ARMS[0], ARMS[1:]


def write_rows(lake: Lake, place: Path, seeds: Sequence[int], name: str, size: int) -> None:
    """Publish what the arms in `place` found.

    Args:
        lake: of the home whose survivors the pools were picked from.
        place: holds one folder per arm and seed.
        seeds: which to count.
        name: of the results.
        size: of each pool.
    """
    found = pl.concat(
        pl.read_parquet(place / f"{arm}-{seed}" / "items.parquet").with_columns(arm=pl.lit(arm), seed=pl.lit(seed))
        for arm in ARMS
        for seed in seeds
    )
    rows = [*_task_rows(place, seeds, size), *_score_rows(found), *_gain_rows(found), *_depth_rows(found)]
    publish(name, [*rows, *_junk_rows(lake, place, seeds), *_mixture_rows(lake)])


def over_seeds(values_SI: NDArray[np.float64], *, resamples: int = 2000) -> Interval:
    """Mean over seeds and items with a 95% interval from resampling both, each on its own."""
    rng, (seeds, items) = np.random.default_rng(0), values_SI.shape
    drawn = [
        values_SI[rng.integers(0, seeds, seeds)][:, rng.integers(0, items, items)].mean() for _ in range(resamples)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(float(values_SI.mean()), float(low), float(high))


def _values(found: pl.DataFrame, suite: str, score: str, arm: str) -> NDArray[np.float64]:
    """The score of each item by seed; items that some arm or seed has no full set of attempts for are left out."""
    mine = found.filter(pl.col("suite") == suite)
    whole = mine.group_by("item").len().filter(pl.col("len") == pl.col("len").max())
    wide = mine.join(whole, on="item", how="semi").filter(pl.col("arm") == arm).sort("seed", "item")
    return wide[score].to_numpy().astype(np.float64).reshape(wide["seed"].n_unique(), -1)


def _signed(found: Interval) -> str:
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _task_rows(place: Path, seeds: Sequence[int], size: int) -> list[Row]:
    """What the queries of each pool came to."""
    rows = []
    for arm in ARMS:
        made = [_lake(place, arm, s).read("tasks/admitted_tasks").filter(pl.col("split") == "train") for s in seeds]
        own = [t.filter(pl.col("query_id").is_in(_picks(place, arm, s))) for t, s in zip(made, seeds, strict=True)]
        queries, tasks = np.mean([t["query_id"].n_unique() for t in own]), np.mean([len(t) for t in made])
        rows.append(row(f"{arm}: queries of {size:,} that teach", float(queries), "queries", command=COMMAND))
        rows.append(row(f"{arm}: tasks to learn from", float(tasks), "tasks", command=COMMAND))
    return rows


def _lake(place: Path, arm: str, seed: int) -> Lake:
    return Lake(root=str(tasks_of_arm(place, arm, seed) / "lake"))


def _picks(place: Path, arm: str, seed: int) -> list[str]:
    return _lake(place, arm, seed).read("pool/candidate_pool")["query_id"].to_list()


def _score_rows(found: pl.DataFrame) -> list[Row]:
    rows = []
    for suite, score in SCORES:
        for arm in ARMS:
            values = _values(found, suite, score, arm)
            what = f"{suite} ({values.shape[1]} items, {values.shape[0]} seed(s)), greedy {score}: {arm}"
            rows.append(row(what, str(over_seeds(values)), "share of items", command=COMMAND))
    return rows


def _gain_rows(found: pl.DataFrame) -> list[Row]:
    rows = []
    for suite, score in SCORES:
        for other in OTHERS:
            gain = over_seeds(_values(found, suite, score, OURS) - _values(found, suite, score, other))
            what = f"{suite}, greedy {score}: ours over {other}, paired"
            rows.append(
                row(what, _signed(gain), "difference", command=COMMAND, aim="interval above 0", holds=gain.low > 0)
            )
    return rows


def _depth_rows(found: pl.DataFrame) -> list[Row]:
    """Where on the hidden suite the difference lies."""
    hidden = found.filter(pl.col("suite") == "hidden")
    rows = []
    for other in OTHERS:
        parts = []
        for (depth,), mine in sorted(hidden.group_by("depth"), key=lambda part: part[0]):
            gain = over_seeds(_values(mine, "hidden", "pass@1", OURS) - _values(mine, "hidden", "pass@1", other))
            parts.append(f"depth {depth}: {_signed(gain)}")
        what = f"hidden, greedy pass@1 by depth: ours over {other}, paired"
        rows.append(row(what, "; ".join(parts), "difference", command=COMMAND))
    return rows


def _junk_rows(lake: Lake, place: Path, seeds: Sequence[int]) -> list[Row]:
    """Share of junk among the picks of each arm, beside the share in what it picked from."""
    every = with_junk(survivors(lake), lake)
    peer, rows = f"all {len(every):,} survivors", []
    for kind in JUNK:
        base = share_of(every, kind)
        for arm in ARMS:
            found = [share_of(every.filter(pl.col("query_id").is_in(_picks(place, arm, s))), kind) for s in seeds]
            what, share = f"junk, {kind}: {arm}", float(np.mean(found))
            rows.append(row(what, share, "share of picks", command=COMMAND, peer=peer, peer_value=base))
    return rows


def share_of(queries: pl.DataFrame, kind: str) -> float:
    """Share of the queries that are junk of this kind."""
    return float(queries.select(pl.col(kind).mean()).item())


def _mixture_rows(lake: Lake) -> list[Row]:
    """Leaf x difficulty x constraints of the distinct queries and after each layer, both languages."""
    parts = {layer: lake.read(DROPPED, layer) for layer in LAYERS}
    rows = []
    for layer, found in layer_spreads(lake, parts).items():
        levels = ", ".join(f"{level}: {share:.3f}" for level, share in found.difficulty.items())
        text = (
            f"{found.leaves} leaves, entropy {found.leaf_entropy:.2f} bits, smallest {found.smallest_leaf}; "
            f"difficulty {levels}; {found.constraints:.2f} constraints per query; "
            f"{found.cells} cells of leaf, difficulty and constraints, entropy {found.cell_entropy:.2f} bits"
        )
        after = "distinct queries" if layer == "distinct" else f"after the layer {layer}"
        rows.append(row(f"mixture, {after}: {found.queries:,}", text, "", command=COMMAND))
    return rows
