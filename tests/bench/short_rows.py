"""Short Chinese rows without spaces, a third of them near copies: the input on which other funnels hang.

    make bench-short_rows ARGS="--rows 250000 1000000"

Time, memory and the longest silence between two progress lines of the lexical layer with its stored pairs, facts apart;
each size in a process of its own. `QUICK=1` uses small sizes.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.table import Row, publish, row
from tests.pool.test_scale import ANYTHING, chinese, queries

COMMAND = "make bench-short_rows"
CAP_GB = 4.0
SILENCE_S = 30.0


def child(count: int) -> None:
    """One size; prints what it took."""
    from assets.pool.layers import lexical_layer

    lexical_layer(queries(chinese(1000)), threshold=0.7, policy=ANYTHING, floor=0.5)  # compiles
    rows: pl.DataFrame = queries(chinese(count))
    started, heard = time.perf_counter(), [time.perf_counter()]
    made = lexical_layer(
        rows, threshold=0.7, policy=ANYTHING, floor=0.5, progress=lambda *_: heard.append(time.perf_counter())
    )
    heard.append(time.perf_counter())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    silence = max(after - before for before, after in itertools.pairwise(heard))
    took = {"wall_s": heard[-1] - started, "peak_gb": peak, "silence_s": silence, "dropped": len(made.dropped)}
    print(json.dumps(took))


def main() -> None:
    """Run the sizes and write the rows."""
    if sys.argv[1:2] == ["--child"]:
        child(int(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[250_000, 1_000_000])
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    rows: list[Row] = []
    for count in [10_000] if args.quick else args.rows:
        done = subprocess.run(
            [sys.executable, __file__, "--child", str(count)], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        what = f"lexical, {count:,} short Chinese rows, pairs stored"
        print(count, found, flush=True)
        rows += [
            row(f"{what}: wall", found["wall_s"], "s", command=COMMAND),
            row(f"{what}: peak memory", found["peak_gb"], "GB", command=COMMAND, aim=f"<= {CAP_GB:g}",
                holds=found["peak_gb"] <= CAP_GB),
            row(f"{what}: longest silence", found["silence_s"], "s", command=COMMAND, aim=f"<= {SILENCE_S:g}",
                holds=found["silence_s"] <= SILENCE_S),
        ]  # fmt: skip
    publish("short-rows-quick" if args.quick else "short-rows", rows)


if __name__ == "__main__":
    main()
