"""The whole way from a raw log to a pool: each stage's time, peak memory and disk, and how they grow with the log.

    python tests/bench/whole.py [--sizes 1000000 5000000] [--pool 200000]

Every stage is its asset with its checks, materialized in a process of its own, as a run in Dagster would be. The raw
log is Parquet of `tests/bench/corpus.py`. Beside the embedded annotator stands what a language model would cost for the
same labels, from a token count and the price given. `QUICK=1` runs one small size. With `--folder` a run that was
stopped goes on after the last stage that it finished.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.table import Row, publish, row
from training.durable import write_durably

COMMAND = "make bench-whole"
STAGES = (
    "taxonomy/intent_taxonomy", "queries/raw_queries", "queries/distinct_queries", "pool/lexical_survivors",
    "labels/query_labels", "labels/irrelevance_set", "pool/semantic_survivors", "pool/candidate_pool", "pool/dropped",
)  # fmt: skip
AIM_ROWS, AIM_S, AIM_GB = 30_000_000, 90 * 60, 16.0
SIGNS_PER_TOKEN = 4.0
"""Of English and of the JSON around it; a rule of thumb."""
ANSWER_TOKENS = 60


def materialize(home: Path, table: str, settings: dict[str, Any]) -> None:
    """One asset with its checks, in this process."""
    import dagster as dg

    from dagster_project.definitions import defs
    from dagster_project.leaves import materialize_leaves
    from resources.endpoints import ChatEndpoint
    from resources.lake import Lake

    key = dg.AssetKey(table.split("/"))
    assets: list[Any] = [a for a in defs.assets or [] if key in a.keys]  # type: ignore[union-attr]
    checks: list[Any] = [c for c in defs.asset_checks or [] if key in {spec.asset_key for spec in c.check_specs}]
    config = {"ops": {table.replace("/", "__"): {"config": settings}}} if settings else {}
    resources = {"lake": Lake(root=str(home / "lake")), "teacher": ChatEndpoint()}
    done = materialize_leaves([*assets, *checks], resources=resources, run_config=config)
    failed = [e.check_name for e in done.get_asset_check_evaluations() if not e.passed]
    if failed:
        raise SystemExit(f"{table}: checks failed: {failed}")


def run_stage(home: Path, table: str, settings: dict[str, Any]) -> dict[str, float]:
    """One stage in a process of its own; seconds, and gigabytes at the peak of it or of a worker."""
    started = time.perf_counter()
    log = home / f"{table.replace('/', '-')}.log"
    arguments = [sys.executable, __file__, "--stage", table, "--home", str(home), "--settings", json.dumps(settings)]
    actions = [(os.POSIX_SPAWN_OPEN, n, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) for n in (1, 2)]
    child = os.posix_spawn(sys.executable, arguments, dict(os.environ), file_actions=actions)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        raise SystemExit(f"{table} failed:\n{log.read_text(encoding='utf-8')[-3000:]}")
    return {
        "wall_s": time.perf_counter() - started,
        "cpu_s": used.ru_utime + used.ru_stime,
        "memory_gb": used.ru_maxrss / 1e6,
    }


def rows_of(home: Path, table: str) -> int:
    """Rows of a table, from its file's own count."""
    import polars as pl

    return int(pl.scan_parquet(home / "lake" / table / "all.parquet").select(pl.len()).collect().item())


def disk_gb(folder: Path) -> float:
    """Size of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9


def write_log(folder: Path, rows: int) -> None:
    """The raw log as Parquet files, a piece at a time; one that is there whole stays."""
    from tests.bench.corpus import chunks

    if folder.exists():
        return
    scratch = folder.with_name("unfinished")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for number, part in enumerate(chunks(rows)):
        part.select("text").write_parquet(scratch / f"part-{number:04}.parquet")
    scratch.rename(folder)


def timed(home: Path, table: str, settings: dict[str, Any]) -> dict[str, float]:
    """What a stage took and its rows: noted when it was run before, or run now."""
    notes = home / "stages.json"
    known = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
    if table not in known:
        took = run_stage(home, table, settings)
        known[table] = {**took, "rows": rows_of(home, table)}
        write_durably(notes, json.dumps(known, indent=1))
    found: dict[str, float] = known[table]
    return found


def whole(size: int, pool: int, folder: Path, price: tuple[float, float]) -> list[Row]:
    """One size: every stage in turn."""
    home = folder / str(size)
    write_log(home / "log", size)
    settings: dict[str, dict[str, Any]] = {
        "queries/raw_queries": {"logs": str(home / "log" / "*.parquet")},
        "pool/lexical_survivors": {"threshold": 0.85, "keep_names": False, "floor": 0.0},
        "pool/semantic_survivors": {"floor": 0.0},
        "pool/candidate_pool": {"size": pool},
    }
    what, rows, total, peak = f"{size:,} raw rows", [], 0.0, 0.0
    for table in STAGES:
        took = timed(home, table, settings.get(table, {}))
        total, peak = total + took["wall_s"], max(peak, took["memory_gb"])
        count = int(took["rows"])
        print(f"{what}: {table} {count:,} rows, {took}", flush=True)
        name = f"{what}: {table}"
        rows += [
            row(f"{name}, rows", count, "rows", command=COMMAND),
            row(f"{name}, time", took["wall_s"], "s", command=COMMAND),
            row(f"{name}, peak memory", took["memory_gb"], "GB", command=COMMAND),
        ]
    at_aim = size == AIM_ROWS
    rows += [
        row(f"{what}: whole way, time", total, "s", command=COMMAND, aim=f"< {AIM_S} s at {AIM_ROWS:,}",
            holds=total < AIM_S if at_aim else None),
        row(f"{what}: whole way, peak memory", peak, "GB", command=COMMAND, aim=f"< {AIM_GB:g} GB at {AIM_ROWS:,}",
            holds=peak < AIM_GB if at_aim else None),
        row(f"{what}: whole way, disk of the lake", disk_gb(home / "lake"), "GB", command=COMMAND),
        llm_bill(home, what, price),
    ]  # fmt: skip
    return rows


def llm_bill(home: Path, what: str, price: tuple[float, float]) -> Row:
    """What a language model would cost: one call per lexical survivor, every leaf's definition in the prompt."""
    import polars as pl

    tree = pl.read_parquet(home / "lake/taxonomy/intent_taxonomy/all.parquet", columns=["leaf", "definition"])
    prompt = sum(len(leaf) + len(definition) for leaf, definition in tree.iter_rows()) / SIGNS_PER_TOKEN
    texts = pl.scan_parquet(home / "lake/queries/distinct_queries/all.parquet").select(pl.col("text").str.len_chars())
    question = float(texts.mean().collect().item()) / SIGNS_PER_TOKEN
    calls = rows_of(home, "pool/lexical_survivors")
    money = calls * ((prompt + question) * price[0] + ANSWER_TOKENS * price[1]) / 1e6
    tokens = (
        f"{prompt + question:.0f} tokens in and {ANSWER_TOKENS} out a call, {price[0]:g} and {price[1]:g} a million"
    )
    return row(f"{what}: the same labels by a language model, one call a lexical survivor ({tokens})", money, "money",
               command=COMMAND)  # fmt: skip


def main() -> None:
    """Run the sizes and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000_000, 5_000_000])
    parser.add_argument("--pool", type=int, default=200_000)
    parser.add_argument("--price", type=float, nargs=2, default=(0.15, 0.60), help="of a million tokens, in and out")
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    parser.add_argument("--folder", type=Path, help="where the state lies, kept; default: a scratch folder, removed")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--settings", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.stage:
        materialize(args.home, args.stage, args.settings)
        return
    scratch = args.folder or Path(tempfile.mkdtemp())
    rows: list[Row] = []
    try:
        for size in [50_000] if args.quick else args.sizes:
            rows += whole(size, min(args.pool, size // 25), scratch, (args.price[0], args.price[1]))
            publish("whole-quick" if args.quick else "whole", rows, beside_others=True)
    finally:
        if args.folder is None:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
