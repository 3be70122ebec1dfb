"""The funnel against its peers on the same rows: near copies, paraphrases, core sets.

    python tests/bench/funnel.py [--only PART ...] [--sizes 200000 1000000]

Each contender runs in a process of its own; see `funnel_parts`. `QUICK=1` uses small sizes and writes a table of its
own. With `--only` the rows of other parts stay as they were measured.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.funnel_parts import geometric, growth, lexical, semantic
from tests.bench.table import Row, publish

CHILDREN: dict[str, Callable[..., None]] = {
    "lexical": lexical.child,
    "day": lexical.child_day,
    "semantic": semantic.child,
    "semantic_day": semantic.child_day,
    "geometric": geometric.child,
    "scale": geometric.child_scale,
    "growth": growth.child,
}


def parts(sizes: list[int], folder: Path, *, quick: bool) -> dict[str, Callable[[], list[Row]]]:
    """What can be run, by name, in the order of the funnel."""
    return {
        "lexical": lambda: lexical.lexical([20_000] if quick else sizes, folder),
        "day": lambda: lexical.one_day(20_000 if quick else max(sizes), folder),
        "growth": lambda: growth.growth([50_000] if quick else [1_000_000, 5_000_000, 30_000_000], folder),
        "semantic": lambda: semantic.semantic([5_000] if quick else [50_000, 200_000], folder),
        "bucket": lambda: semantic.one_bucket(40_000 if quick else 1_000_000, folder),
        "semantic_day": lambda: semantic.one_day(20_000 if quick else max(sizes), folder),
        "geometric": lambda: geometric.geometric(*(5_000, 500) if quick else (20_000, 2_000), folder),
        "scale": lambda: geometric.scale(20_000 if quick else 2_000_000, folder),
    }


def main() -> None:
    """Run what is asked for and write the rows."""
    if sys.argv[1:2] == ["--child"]:
        CHILDREN[sys.argv[2]](*sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(parts([0], Path(), quick=True)))
    parser.add_argument("--sizes", type=int, nargs="+", default=[200_000, 1_000_000], help="of the lexical part")
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asked = parts(args.sizes, Path(scratch), quick=args.quick)
        rows = [row for name, run in asked.items() if name in (args.only or asked) for row in run()]
    publish("funnel-quick" if args.quick else "funnel", rows, beside_others=bool(args.only))


if __name__ == "__main__":
    main()
