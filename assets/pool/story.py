"""What became of one query, layer by layer: which rule let it go, and who stands for it now."""

from typing import NamedTuple

import polars as pl

from resources.lake import Lake

LAYERS = ("lexical", "semantic", "geometric")


class Step(NamedTuple):
    """One layer's word on one query."""

    layer: str
    query_id: str
    text: str
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
    texts = dict(lake.read("queries/distinct_queries").select("query_id", "text").iter_rows())
    if query_id not in texts:
        raise KeyError(query_id)
    gone = {(r["layer"], r["query_id"]): r for r in lake.read("pool/dropped").iter_rows(named=True)}
    steps: list[Step] = []
    now = query_id
    for layer in LAYERS:
        if layer == "semantic" and (aside := gone.get(("labels", now))):
            return [*steps, Step("labels", now, texts[now], aside["rule"], None, None)]
        row = gone.get((layer, now))
        if row is None:
            steps.append(Step(layer, now, texts[now], None, None, None))
            continue
        steps.append(Step(layer, now, texts[now], row["rule"], row["survivor"], row["similarity"]))
        now = row["survivor"]
    return steps


def told(lake: Lake, steps: list[Step]) -> str:
    """The story as text for a reader."""
    texts = dict(lake.read("queries/distinct_queries").select("query_id", "text").iter_rows())
    lines = [f"{steps[0].query_id}  {steps[0].text}"]
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
