"""A taxonomy change at scale: how long diff, plan, apply and a run without a change take, and what a split costs.

    make bench-taxonomy

500 leaves in 10 branches and 300,000 queries whose labels are drawn, with a second leaf on one row in eight; the
annotator answers at once, so what is measured is everything around it. `QUICK=1` uses a tenth of both.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))

from assets.labels.book import LabelBook
from assets.labels.relabel import labels_under
from assets.labels.table import LABEL_SCHEMA, LabelTable, keyed
from assets.taxonomy.diff import diff
from assets.taxonomy.migration import Entry, Migration, Said
from assets.taxonomy.plan import make_plan
from assets.taxonomy.stored import version_of
from resources.lake import Lake
from tests.bench.table import Row, publish, row
from tests.taxonomy.builders import Counting, taxonomy

COMMAND = "make bench-taxonomy"
SECONDS, SHARE = 10.0, 0.06
WITH_SECOND = 1 / 8
T = TypeVar("T")


def tree(leaves: int) -> dict[str, tuple[str, ...]]:
    """Leaves in ten branches, six examples each."""
    return {f"b{i % 10}.n{i % 50}.l{i}": tuple(f"say {i} {j}" for j in range(6)) for i in range(leaves)}


def split(before: dict[str, tuple[str, ...]], leaf: str) -> tuple[dict[str, tuple[str, ...]], Entry]:
    """The tree with one leaf as a node of two."""
    after = dict(before)
    examples = after.pop(leaf)
    into = (f"{leaf}.x", f"{leaf}.y")
    after |= {into[0]: examples[:3], into[1]: examples[3:]}
    return after, Entry(Said.SPLIT, (leaf,), into, confirmed=True)


def edited(before: dict[str, tuple[str, ...]]) -> tuple[dict[str, tuple[str, ...]], Entry]:
    """A split, a rename, a move, an edit, an addition and a removal."""
    names = sorted(before)
    after, entry = split(before, names[0])
    after["b1.renamed"] = after.pop(names[1])
    after[f"b2.{names[2].rpartition('.')[2]}"] = after.pop(names[2])
    after[names[3]] = ("other words",)
    after["b3.n3.added"] = ("new words",)
    del after[names[4]]
    return after, entry


def drawn(before: dict[str, tuple[str, ...]], rows: int) -> pl.DataFrame:
    """Labels, all leaves alike."""
    chance, names = (
        np.random.default_rng(0),
        np.array([*before, *(leaf.id for leaf in taxonomy(before).leaves if leaf.is_other)]),
    )
    first, second, near = chance.integers(0, len(names), (3, rows))
    two = (chance.random(rows) < WITH_SECOND) & (first != second)
    shown = pl.DataFrame(
        {"query_id": [f"{i:020x}" for i in range(rows)], "primary": names[first], "secondary": names[second]}
        | {"runner_up": names[near], "confidence": chance.random(rows).round(3)}
    ).with_columns(secondary=pl.when(pl.Series(two)).then("secondary"))
    rest = {"difficulty": pl.lit(2, pl.Int64), "difficulty_axes": pl.lit('{"tools": 1}'), "constraints": pl.lit("{}")}
    return shown.with_columns(annotator=pl.lit("counting"), **rest).select(*LABEL_SCHEMA)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what came of it."""
    started = time.perf_counter()
    made = work()
    return time.perf_counter() - started, made


def planned(leaves: int, rows: int) -> list[Row]:
    """Diff and plan of six changes."""
    before = tree(leaves)
    after, entry = edited(before)
    labels, size = drawn(before, rows), f"{leaves} leaves, {rows:,} queries"
    took, found = timed(lambda: diff(taxonomy(before), taxonomy(after), [entry]))
    took_plan, plan = timed(lambda: make_plan(found, labels))
    timings = {f"diff of six changes, {size}": took, f"plan of it ({plan.calls:,} calls)": took_plan}
    aim = f"< {SECONDS}"
    return [row(what, s, "s", command=COMMAND, aim=aim, holds=s < SECONDS) for what, s in timings.items()]


def runs(leaves: int, rows: int, folder: Path) -> list[Row]:
    """The first labelling, a run without a change, six changes applied, and back."""
    before = tree(leaves)
    after, entry = edited(before)
    old, new = taxonomy(before), taxonomy(after)
    labels = drawn(before, rows)
    queries = labels.select("query_id", text=pl.concat_str(pl.lit("say "), "query_id"), context=pl.lit(None, pl.String))
    book = LabelBook(Lake(root=str(folder)), "counting")
    said = [Migration(version_of(old), version_of(new), (entry,))]

    def label_rows(wanted: pl.DataFrame) -> LabelTable:
        asked = keyed(wanted).select("query_id", "key", *(["among"] if "among" in wanted.columns else []))
        found = Counting()(asked) if "among" in asked.columns else labels
        return LabelTable(found.join(asked.select("query_id", "key"), on="query_id").lazy(), len(wanted))

    def under(wanted: pl.DataFrame) -> int:
        return labels_under(wanted, queries, book, label_rows, migrations=said, near_below=0.5).calls

    rows_of = []
    for what, wanted, aim in (
        ("first labelling, without the annotator", old, None), ("run without a change", old, SECONDS),
        ("six changes planned and applied", new, None), ("back to the tree before", old, SECONDS),
    ):  # fmt: skip
        took, calls = timed(lambda wanted=wanted: under(wanted.table()))
        named = f"{what} ({calls:,} calls)"
        holds = None if aim is None else took < aim
        rows_of.append(row(named, took, "s", command=COMMAND, aim=f"< {aim}" if aim else "", holds=holds))
    return rows_of


def price(rows: int) -> list[Row]:
    """What a split of one leaf in 30 costs against labelling everything anew."""
    before = tree(30)
    after, entry = split(before, min(before))
    labels = drawn(before, rows)
    labels = labels.filter(~pl.col("primary").str.ends_with("other"))
    plan = make_plan(diff(taxonomy(before), taxonomy(after), [entry]), labels)
    share = plan.calls / len(labels)
    what = f"split of one leaf in 30: {plan.calls:,} calls of {len(labels):,}"
    return [row(what, share, "share of calls", command=COMMAND, aim=f"< {SHARE}", holds=share < SHARE)]


def main() -> None:
    """Run all parts and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    leaves, rows = (50, 30_000) if args.quick else (500, 300_000)
    with tempfile.TemporaryDirectory() as folder:
        found = [*planned(leaves, rows), *runs(leaves, rows, Path(folder)), *price(rows)]
    for one in found:
        print(one["what"], one["ours"], one["unit"])
    publish("taxonomy-quick" if args.quick else "taxonomy", found)


if __name__ == "__main__":
    main()
