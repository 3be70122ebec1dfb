"""The line on a log nobody generated: CLINC150 and SNIPS as raw queries, from the log to a policy and its score.

    LOOPWRIGHT_CORPORA=... python tests/bench/real.py [--home FOLDER]

Prints, for a reader, forty of the real queries that became tasks and the rules that stood against the others. Half of
the queries are held out by hash; variants of the other half (the user's wording with other cities and days) are what
the policy learns from. `QUICK=1` stops after the tasks.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))

COMMAND = "make bench-real"
IN_SCOPE = frozenset(
    [
        "weather",
        "distance",
        "directions",
        "book_flight",
        "travel_suggestion",
        "restaurant_suggestion",
        "restaurant_reviews",
        "book_hotel",
        "flight_status",
        "traffic",
        "international_visa",
        "travel_alert",
        "travel_notification",
        "timezone",
        "carry_on",
        "plug_type",
        "vaccines",
        "exchange_rate",
        "international_fees",
        "lost_luggage",
        "car_rental",
        "uber",
        "gas",
        "translate",
        "how_busy",
        "meal_suggestion",
        "accept_reservations",
        "restaurant_reservation",
        "confirm_reservation",
        "cancel_reservation",
    ]
)
"""CLINC intents of its travel, auto-and-commute and dining domains, and weather: what a travel assistant is asked."""
SETTINGS: dict[str, dict[str, Any]] = {
    "tasks/compiled_tasks": {"copies": 60, "held_out_share": 0.5, "irrelevant": 400},
}


def write_log(corpora: Path, path: Path) -> None:
    """One JSONL of every CLINC and SNIPS query; PlayMusic keeps its Latin-1 bytes."""
    with path.open("wb") as out:
        parts = json.loads((corpora / "queries/clinc150/data_full.json").read_text(encoding="utf-8"))
        for rows in parts.values():
            for text, _ in rows:
                out.write(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
        for file in sorted((corpora / "queries/snips").glob("*.json")):
            encoding = "latin-1" if file.stem == "PlayMusic" else "utf-8"
            for rows in json.loads(file.read_text(encoding=encoding)).values():
                for row in rows:
                    text = "".join(part["text"] for part in row["data"])
                    out.write(json.dumps({"text": text}, ensure_ascii=False).encode(encoding) + b"\n")


def gold_intents(corpora: Path) -> dict[str, str]:
    """CLINC's intent of each of its texts."""
    parts = json.loads((corpora / "queries/clinc150/data_full.json").read_text(encoding="utf-8"))
    return {text: intent for rows in parts.values() for text, intent in rows}


def dropped_pairs(lake: Any, corpora: Path) -> dict[str, tuple[int, float]]:
    """Per layer: dropped rows with a known intent on both sides, and the share of them that differ; prints some."""
    gold = gold_intents(corpora)
    texts = dict(lake.read("queries/distinct_queries").select("query_id", "text").iter_rows())
    found = {}
    for layer in ("lexical", "semantic"):
        gone = lake.read("pool/dropped_by_layer", layer).sort("query_id")
        pairs = [
            (texts[q], texts[s], sim) for q, s, sim in gone.select("query_id", "survivor", "similarity").iter_rows()
        ]
        known = [(gold[a], gold[b], a, b) for a, b, _ in pairs if a in gold and b in gold]
        differ = [k for k in known if k[0] != k[1]]
        found[layer] = (len(known), len(differ) / max(1, len(known)))
        step = max(1, len(pairs) // 15)
        for gone_text, kept_text, sim in pairs[::step][:15]:
            print(f"  {layer} {sim:.3f}: {gone_text!r} for {kept_text!r}")
        for one, other, a, b in differ[:5]:
            print(f"  {layer}, intents differ: {a!r} ({one}) for {b!r} ({other})")
    return found


def irrelevance(lake: Any, corpora: Path) -> dict[str, float]:
    """Precision and recall of the irrelevance set against CLINC's intents; SNIPS rows have none and are left out."""
    wanted = {text: intent not in IN_SCOPE for text, intent in gold_intents(corpora).items()}
    queries = lake.read("queries/distinct_queries").select("query_id", "text")
    labelled = lake.read("labels/query_labels").join(queries, on="query_id").select("text", "difficulty")
    known = [(wanted[t], d <= 0) for t, d in labelled.iter_rows() if t in wanted]
    hit = sum(truth and said for truth, said in known)
    said, truths = sum(s for _, s in known), sum(t for t, _ in known)
    return {"rows": len(known), "precision": hit / max(1, said), "recall": hit / max(1, truths)}


def run(home: Path, log: Path, until: str | None) -> Any:
    """Materialize the factory on the log; returns its lake."""
    from assets import keys
    from dagster_project import profiles
    from dagster_project.definitions import defs
    from dagster_project.leaves import materialize_leaves
    from resources.endpoints import ChatEndpoint
    from resources.lake import Lake
    from resources.registry import Registry
    from resources.trainer import Trainer

    lake = Lake(root=str(home / "lake"))
    trainer = Trainer(**profiles.active().trainer.model_dump())
    registry = Registry(url=f"sqlite:///{home}/registry.db")
    own = {"lake": lake, "registry": registry, "trainer": trainer, "teacher": ChatEndpoint()}
    resources = {**(defs.resources or {}), **own}
    settings = {**SETTINGS, "queries/raw_queries": {"logs": str(log), "column": "text"}}
    for key in keys.PIPELINE:
        table = keys.table_of(key)
        config = {"ops": {table.replace("/", "__"): {"config": settings[table]}}} if table in settings else {}
        started = time.monotonic()
        wanted = [a for a in defs.assets or [] if key in a.keys]  # type: ignore[union-attr]
        materialize_leaves(wanted, resources=resources, run_config=config)
        print(f"{table}: {time.monotonic() - started:.0f} s", flush=True)
        if table == until:
            break
    return lake


def show_tasks(lake: Any) -> dict[str, int]:
    """Print forty real queries that compiled, and why the others did not; returns counts."""
    tasks = lake.read("tasks/admitted_tasks")
    real = tasks.filter((pl.col("origin") == "query") & (pl.col("family") != "out_of_scope"))
    for row in real.sort("task_id").head(40).iter_rows(named=True):
        print(f"  {row['split']:6} {row['family']:14} {row['instruction']}")
    rules = dict(lake.read("tasks/not_compiled")["rule"].value_counts().sort("count", descending=True).iter_rows())
    print("not compiled:", rules)
    return {"compiled": len(real), "held_out": int((real["split"] == "hidden").sum()), "tasks": len(tasks), **rules}


def main() -> None:
    """Run the line and publish the rows."""
    from tests.bench.table import publish, row

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, default=None)
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    if not os.environ.get("LOOPWRIGHT_CORPORA"):
        raise SystemExit("set LOOPWRIGHT_CORPORA to the folder that holds queries/clinc150 and queries/snips")
    corpora = Path(os.environ["LOOPWRIGHT_CORPORA"])
    home = (args.home or Path(tempfile.mkdtemp(prefix="loopwright-real-"))).absolute()
    home.mkdir(parents=True, exist_ok=True)
    write_log(corpora, home / "log.jsonl")
    lake = run(home, home / "log.jsonl", "tasks/admitted_tasks" if args.quick else "benchmarks/results")
    found, caught = show_tasks(lake), irrelevance(lake, corpora)
    rows = [
        row("raw rows", float(len(lake.read("queries/raw_queries"))), "rows", command=COMMAND),
        row("quarantined rows", float(len(lake.read("queries/quarantine"))), "rows", command=COMMAND),
        row("distinct queries", float(len(lake.read("queries/distinct_queries"))), "rows", command=COMMAND),
        row("candidate pool", float(len(lake.read("pool/candidate_pool"))), "rows", command=COMMAND),
        *(
            row(f"irrelevance {k} (CLINC)", float(v), "rows" if k == "rows" else "share", command=COMMAND)
            for k, v in caught.items()
        ),
        *(
            made
            for layer, (n, share) in dropped_pairs(lake, corpora).items()
            for made in (
                row(f"{layer}: dropped pairs with another gold intent", share, "share", command=COMMAND),
                row(f"{layer}: dropped pairs whose gold intents are known", n, "pairs", command=COMMAND),
            )
        ),
        *(row(f"real queries: {k}", float(v), "queries", command=COMMAND) for k, v in found.items()),
    ]
    if not args.quick:
        scores = lake.read("benchmarks/results").filter(pl.col("suite") == "log")
        for s in scores.iter_rows(named=True):
            text = f"{s['pass_1']:.3f} [{s['pass_1_low']:.3f}, {s['pass_1_high']:.3f}], {s['items']} items"
            rows.append(row(f"{s['policy']} on held-out real queries, pass@1", text, "share of items", command=COMMAND))
    publish("real", rows, beside_others=args.quick)


if __name__ == "__main__":
    main()
