"""The rows of `bench-loop` from the tables that its seeds left behind."""

import json
from pathlib import Path

import polars as pl

from tests.bench.table import Row, publish, row

COMMAND = "make bench-loop"


def write_rows(folder: Path, seeds: list[int], name: str, conditions: str = "") -> None:
    """Read every seed's tables and publish the rows, what the reader must know first."""
    rows: list[Row] = [row("conditions", conditions, "", command=COMMAND)] if conditions else []
    for seed in seeds:
        lake = folder / f"seed-{seed}" / "lake"
        scores = pl.read_parquet(lake / "benchmarks/results/all.parquet").filter(pl.col("suite") == "hidden")
        gains = pl.read_parquet(lake / "benchmarks/gains/all.parquet").filter(pl.col("suite") == "hidden")
        rows += _score_rows(seed, scores) + _gain_rows(seed, gains, "boundary", "rl", aim=True)
        rows += _gain_rows(seed, gains, "seed", "boundary", aim=False)
        arm = folder / f"seed-{seed}" / "arm_gains.parquet"
        if arm.exists():
            rows += _arm_rows(seed, arm.parent)
            rows += _gain_rows(seed, pl.read_parquet(arm), "more_sft", "rl", aim=False)
            rows += _gain_rows(seed, pl.read_parquet(arm), "boundary", "more_sft", aim=False)
    publish(name, rows)


def _arm_rows(seed: int, folder: Path) -> list[Row]:
    """What the arm cost and reached."""
    cost = pl.read_parquet(folder / "arm_cost.parquet").row(0, named=True)
    scores = pl.read_parquet(folder / "arm_scores.parquet").filter(pl.col("policy") == "more_sft")
    spent = row(
        f"seed {seed}: training of more_sft", cost["arm_cpu_s"], "cpu-s",
        command=COMMAND, peer="RL", peer_value=cost["rl_cpu_s"],
    )  # fmt: skip
    return [spent, *_score_rows(seed, scores)]


def _score_rows(seed: int, scores: pl.DataFrame) -> list[Row]:
    found = []
    for s in scores.iter_rows(named=True):
        name = f"seed {seed}: {s['policy']}"
        if s["greedy"] is not None:
            text = f"{s['greedy']:.3f} [{s['greedy_low']:.3f}, {s['greedy_high']:.3f}]"
            aim = ">= 0.50" if s["policy"] == "seed" else ""
            holds = s["greedy"] >= 0.5 if s["policy"] == "seed" else None
            found.append(row(f"{name}, greedy pass@1", text, "share of items", command=COMMAND, aim=aim, holds=holds))
        at = f"T={s['temperature']:g}" if s["temperature"] is not None else "scripted"
        for column, label in (("pass_1", "pass@1"), ("pass_hat_k", f"pass^{s['k']}")):
            text = f"{s[column]:.3f} [{s[f'{column}_low']:.3f}, {s[f'{column}_high']:.3f}]"
            found.append(row(f"{name}, {label} ({at})", text, "share of items", command=COMMAND))
    return found


def _gain_rows(seed: int, gains: pl.DataFrame, before: str, after: str, *, aim: bool) -> list[Row]:
    found = []
    for g in gains.filter((pl.col("before") == before) & (pl.col("after") == after)).iter_rows(named=True):
        name = f"seed {seed}: {after} over {before}"
        for column, label in (("pass_1", "pass@1"), ("pass_hat_k", "pass^4")):
            text = f"{g[column]:+.3f} [{g[f'{column}_low']:+.3f}, {g[f'{column}_high']:+.3f}]"
            wanted = aim and column == "pass_hat_k"
            holds = g[f"{column}_low"] > 0 if wanted else None
            aimed = "interval above 0" if wanted else ""
            found.append(row(f"{name}, {label}, paired", text, "difference", command=COMMAND, aim=aimed, holds=holds))
        depths = {d: f"{v[0]:+.3f} [{v[1]:+.3f}, {v[2]:+.3f}]" for d, v in json.loads(g["depths"]).items()}
        text = "; ".join(f"depth {d}: {v}" for d, v in depths.items())
        holds = not g["depths_worse"] if aim else None
        aimed = "no depth wholly below 0" if aim else ""
        found.append(
            row(f"{name}, pass@1 by depth, paired", text, "difference", command=COMMAND, aim=aimed, holds=holds)
        )
    return found
