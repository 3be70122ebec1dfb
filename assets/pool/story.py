"""What became of one query, layer by layer: which rule let it go, and who stands for it now."""

from typing import NamedTuple

import polars as pl

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
    """Ids of the query with that id, or of those whose text it is.

    Raises:
        FileNotFoundError: no distinct queries were made yet.
    """
    queries = lake.read("queries/distinct_queries")
    by_id = queries.filter(pl.col("query_id") == wanted)
    said = queries.filter((pl.col("text") == wanted) | (pl.col("normal") == wanted))
    return (by_id if len(by_id) else said)["query_id"].sort().to_list()


def story(lake: Lake, query_id: str) -> list[Step]:
    """The steps of `query_id` and, where it went, of the query that took its place, to the pool or to its end.

    Raises:
        FileNotFoundError: `pool/dropped` was not made yet.
        KeyError: no distinct query has this id.
    """
    if lake.read("queries/distinct_queries").filter(pl.col("query_id") == query_id).is_empty():
        raise KeyError(query_id)
    dropped = lake.read("pool/dropped")
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
    lines = [f"{steps[0].query_id}  {texts[steps[0].query_id]}"]
    for step in steps:
        if step.rule is None:
            lines.append(f"  {step.layer:10} kept")
        elif step.survivor is None:
            lines.append(f"  {step.layer:10} set aside: {step.rule.replace('_', ' ')}, no tool is for it")
        else:
            near = f"similarity {step.similarity:.3f}"
            lines.append(f"  {step.layer:10} {step.rule.replace('_', ' ')} of the kept query ({near}):")
            lines.append(f"{step.survivor}  {texts[step.survivor]}")
    last = steps[-1]
    if last.layer == "geometric":
        lines.append(
            "in the pool" if steps[0].query_id == (last.survivor or last.query_id) else "in the pool in its place"
        )
    return "\n".join(lines)
