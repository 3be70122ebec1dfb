"""What became of one query, layer by layer: which rule let it go, and who stands for it now."""

from typing import NamedTuple

import polars as pl

from assets.pool.survival import LABEL_QUARANTINED
from assets.queries.normalise import fold
from assets.queries.scrub import mask
from resources.lake import Lake

LAYERS = ("lexical", "semantic", "geometric")


class Step(NamedTuple):
    """One layer's word on one query."""

    layer: str
    query_id: str
    rule: str | None
    """Why it went; None where it was kept."""
    survivor: str | None
    similarity: float | None


def find(lake: Lake, wanted: str) -> list[str]:
    """Ids of the query with that id, or of those that say this: scrubbed and folded as every row of the log was.

    Raises:
        FileNotFoundError: no distinct queries were made yet.
    """
    queries = lake.read("queries/distinct_queries", columns=["query_id", "normal"])
    by_id = queries.filter(pl.col("query_id") == wanted)
    said = queries.filter(pl.col("normal") == fold(pl.Series([mask(wanted)]))[0])
    return (by_id if len(by_id) else said)["query_id"].sort().to_list()


def story(lake: Lake, query_id: str) -> list[Step]:
    """The steps of `query_id` and, where it went, of the query that took its place, to the pool or to its end.

    Raises:
        FileNotFoundError: `pool/dropped` was not made yet.
        KeyError: no distinct query has this id.
        ValueError: the pool was made before this query came.
    """
    known = lake.read("queries/distinct_queries", columns=["query_id"])
    if known.filter(pl.col("query_id") == query_id).is_empty():
        raise KeyError(query_id)
    dropped, pool = lake.read("pool/dropped"), lake.read("pool/candidate_pool", columns=["query_id"])
    told_of = pl.concat([dropped.select("query_id"), pool])
    if told_of.filter(pl.col("query_id") == query_id).is_empty():
        raise ValueError(
            f"the pool was made before query {query_id} came: materialize pool/lexical_survivors and all after it"
        )
    steps: list[Step] = []
    now = query_id
    for layer in LAYERS:
        gone = {r["layer"]: r for r in dropped.filter(pl.col("query_id") == now).iter_rows(named=True)}
        if layer == "semantic" and "labels" in gone:
            return [*steps, Step("labels", now, gone["labels"]["rule"], None, None)]
        if layer not in gone:
            steps.append(Step(layer, now, None, None, None))
            continue
        row = gone[layer]
        steps.append(Step(layer, now, row["rule"], row["survivor"], row["similarity"]))
        now = row["survivor"]
    return steps


def told(lake: Lake, steps: list[Step]) -> str:
    """The story as text for a reader."""
    named = [name for step in steps for name in (step.query_id, step.survivor) if name is not None]
    said = lake.read("queries/distinct_queries").filter(pl.col("query_id").is_in(named))
    texts = dict(said.select("query_id", "text").iter_rows())
    support = lake.read("queries/distinct_queries", columns=["query_id", "support"])
    times = support.filter(pl.col("query_id") == steps[0].query_id)["support"].sum()
    lines = [f"{steps[0].query_id}  {texts[steps[0].query_id]}  (said {'once' if times == 1 else f'{times:,} times'})"]
    for step in steps:
        if step.rule is None:
            lines.append(f"  {step.layer:10} kept")
        elif step.survivor is None:
            why = "it could not be labelled" if step.rule == LABEL_QUARANTINED else "no tool is for it"
            lines.append(f"  {step.layer:10} set aside: {step.rule.replace('_', ' ')}, {why}")
        else:
            near = f"similarity {step.similarity:.3f}"
            lines.append(f"  {step.layer:10} {step.rule.replace('_', ' ')} of the kept query ({near}):")
            lines.append(f"{step.survivor}  {texts.get(step.survivor, '(not among the distinct queries of today)')}")
    last = steps[-1]
    if last.layer == "geometric":
        lines.append(
            "in the pool" if steps[0].query_id == (last.survivor or last.query_id) else "in the pool in its place"
        )
    return "\n".join(lines)
