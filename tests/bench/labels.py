"""How many queries the embedded annotator labels in a second of one core, and what getting ready for it costs.

    python tests/bench/labels.py [--rows 20000]

Distinct queries of two logs: the demo's (with its follow-ups) and `tests/bench/corpus.py`; with LOOPWRIGHT_CORPORA, the
sentences of CLINC150 too. CPU time of this process, the first part of each log labelled beforehand to warm up.
`QUICK=1` takes few rows.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.bench.table import Row, publish, row

if TYPE_CHECKING:
    from assets.labels.annotator import Annotator

COMMAND = "make bench-labels"
PART = 8192
Query = tuple[str, str | None]


def logs(rows: int) -> dict[str, list[Query]]:
    """Up to `rows` distinct queries of each log, with the turn before them where there is one."""
    from assets.queries.grammar import generate_log
    from tests.bench.corpus import chunks

    demo = generate_log(4 * rows, seed=5)
    found: dict[str, list[Query]] = {
        "demo log": list(zip(demo["text"], demo["context"], strict=True)),
        "random words": [(text, None) for part in chunks(3 * rows, seed=3) for text in part["text"]],
    }
    if corpora := os.environ.get("LOOPWRIGHT_CORPORA"):
        parts = json.loads(Path(corpora, "queries/clinc150/data_full.json").read_text(encoding="utf-8"))
        found["CLINC150"] = [(text, None) for listed in parts.values() for text, _ in listed]
    return {name: list(dict.fromkeys(queries))[:rows] for name, queries in found.items()}


def measured(rows: int) -> list[Row]:
    """The cost of the fit, then of each log the rows per second of reading, embedding and all."""
    from assets.labels.annotator import Annotator
    from assets.labels.table import intents_of
    from assets.taxonomy.tree import load_taxonomy
    from resources.embedder import Embedder

    asked, embedder = logs(rows), Embedder()
    annotator = Annotator(intents_of(load_taxonomy().table()), embedder.embed, embedder=embedder.version)
    fit_s = _cpu_s(annotator.fitted)
    found = [row("getting ready: gazetteer, lexicon, model, fit", fit_s, "cpu s", command=COMMAND)]
    for name, queries in asked.items():
        _label(annotator, queries[:PART])
        found += _rates(annotator, name, queries[PART:] or queries)
    return found


def _rates(annotator: "Annotator", name: str, queries: Sequence[Query]) -> list[Row]:
    from assets.labels.constraints import constraints_of, read
    from assets.labels.masking import masked

    masks = [masked(read(text)) for text, _ in queries]
    steps: dict[str, Callable[[], object]] = {
        "reading": lambda: [constraints_of(read(text)) for text, _ in queries],
        "embedding": lambda: annotator.embed(masks),
        "all": lambda: _label(annotator, queries),
    }
    return [
        row(f"{name}, {len(queries):,} queries: {step}", len(queries) / _cpu_s(run), "rows / cpu s", command=COMMAND)
        for step, run in steps.items()
    ]


def _label(annotator: "Annotator", queries: Sequence[Query]) -> None:
    import polars as pl

    from assets.labels.table import label_table

    rows = [(f"{i:09}", *query) for i, query in enumerate(queries)]
    schema = {"query_id": pl.String, "text": pl.String, "context": pl.String}
    label_table(annotator, pl.DataFrame(rows, schema=schema, orient="row"), lambda line: None, rows_at_a_time=PART)


def _cpu_s(run: Callable[[], object]) -> float:
    """CPU seconds of `run`, cycles left alone as they are while labels are made."""
    gc.collect()
    gc.disable()
    begun = time.process_time()
    run()
    took = time.process_time() - begun
    gc.enable()
    return took


def main() -> None:
    """Measure and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000, help="of each log")
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    rows = measured(2_000 if args.quick else args.rows)
    for one in rows:
        print(f"{one['what']}: {one['ours']} {one['unit']}", flush=True)
    publish("labels-quick" if args.quick else "labels", rows)


if __name__ == "__main__":
    main()
