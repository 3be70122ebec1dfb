"""What was found in a log of which too little compiles into tasks: what is there, why it stops, what to do."""

from typing import Final

import polars as pl

from assets.benchmarks.funnel import NOT_COMPILED
from dagster_project.commands.summary import columns, funnel_text
from resources.lake import Lake

ENOUGH_TASKS: Final = 60
"""Admitted training tasks below which there is nothing to learn from; ours."""
SAMPLES: Final = 3
LEAVES: Final = 15
CHARACTERS: Final = 76
MEANINGS: Final = {
    "language": "the policy in training reads only some languages (setting `languages` of tasks/compiled_tasks)",
    "no_family": "nothing that this world's tools can answer is asked: its families are weather, routes, flights, "
    "trains, places and bookings",
    "leaf_disagrees": "the label and the words name different intents; look at labels/query_labels",
    "unresolved": "a place or day that the world does not know",
    "unexplained_words": "words that no constraint and no known wording explains: the task could ask for more than "
    "is checked",
    "no_clear_answer": "the world gives no single answer (a tie, no connection, a day out of reach)",
    "asks_for_tools": "labelled as needing no tool, yet it names what tools serve",
    "no_twin": "a refusal without a solvable task of its split to stand beside",
    "same_task": "it makes the same task as another query",
}


def training_tasks(lake: Lake) -> int:
    """Admitted tasks that may be trained on."""
    return int((lake.read("tasks/admitted_tasks")["split"] == "train").sum())


def too_few_tasks(lake: Lake) -> str | None:
    """Why training cannot start, or None where there is enough."""
    found = training_tasks(lake)
    if found >= ENOUGH_TASKS:
        return None
    return f"{found} training tasks of this world came out of the log; training starts from {ENOUGH_TASKS}"


def findings(lake: Lake, why: str) -> str:
    """The pool by leaf with samples, difficulty, and the reasons why queries became no task."""
    parts = [f"STOPPED AFTER THE POOL: {why}.", funnel_text(lake), _leaves(lake), _difficulty(lake), _reasons(lake)]
    return "\n\n".join([*parts, _what_to_do(lake)])


def _leaves(lake: Lake) -> str:
    pool = lake.read("pool/candidate_pool").join(
        lake.read("queries/distinct_queries").select("query_id", "text"), on="query_id"
    )
    lines = ["WHAT IS IN THE POOL, by intent (queries, then the most frequent)"]
    leaves = sorted(pool.group_by("primary"), key=lambda found: (-len(found[1]), str(found[0][0])))
    for (leaf,), queries in leaves[:LEAVES]:
        lines.append(f"  {leaf}: {len(queries):,}")
        top = queries.sort("support", "query_id", descending=[True, False])["text"].head(SAMPLES)
        lines += [f"      {_short(said)}" for said in top]
    rest = [f"  and {len(leaves) - LEAVES} rarer intents: see the report, or pool/candidate_pool on its page"]
    return "\n".join(lines + (rest if len(leaves) > LEAVES else []))


def _difficulty(lake: Lake) -> str:
    counts = lake.read("labels/query_labels")["difficulty"].value_counts().sort("difficulty")
    meaning = {-1: "cannot be done", 0: "needs no tool"}
    rows = [(f"{level:>2} {meaning.get(level, '')}".rstrip(), f"{count:,}") for level, count in counts.iter_rows()]
    return "\n".join(["DIFFICULTY of all labelled queries", columns(rows)])


def _reasons(lake: Lake) -> str:
    dropped = lake.read(NOT_COMPILED).join(
        lake.read("queries/distinct_queries").select("query_id", "text"), on="query_id", how="left"
    )
    lines = ["WHY QUERIES BECAME NO TASK"]
    for rule, count in dropped["rule"].value_counts().sort("count", "rule", descending=[True, False]).iter_rows():
        lines.append(f"  {rule}: {count:,}; {MEANINGS.get(rule, 'see tasks/not_compiled')}")
        for row in dropped.filter(pl.col("rule") == rule).sort("query_id").head(SAMPLES).iter_rows(named=True):
            detail = f"  ({row['detail']})" if row["detail"] else ""
            lines.append(f"      {_short(row['text'] or '')}{detail}")
    return "\n".join(lines)


def _what_to_do(lake: Lake) -> str:
    return "\n".join(
        [
            "WHAT TO DO",
            "  The pool is yours: deduplicated, labelled, with a coverage certificate; it lies in",
            f"  {lake.path('pool/candidate_pool')}",
            f"  - what was found, as a page: {lake.path('benchmarks/report').with_name('report.html')}",
            "  - wrong column? `--column` names it; context and user columns are settings of queries/raw_queries",
            "  - another kind of request? edit the tree in assets/taxonomy/tree, and build a world beside",
            "    environments/worlds/atlas whose tools serve it: the stages after the pool ask only for its tasks",
            "  - right kind, little of it? give a longer log: the more distinct queries, the more tasks",
            "  - to see the line to its end: loopwright demo, without --logs",
        ]
    )


def _short(said: str) -> str:
    flat = " ".join(said.split())
    return flat if len(flat) <= CHARACTERS else flat[: CHARACTERS - 1] + "…"
