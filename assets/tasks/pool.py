"""The whole task pool from labelled queries: compiled originals, their variants, and refusals beside solvable twins."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from assets.labels.constraints import Constraints
from assets.tasks.compile import Dropped, LabelledQuery, compile_queries
from assets.tasks.variants import refusals, variants
from environments.seeds import stable_hash
from environments.task import Task
from training.trajectories import tasks_frame


class TaskPool(NamedTuple):
    """Every task with where it comes from, and the queries that became none."""

    tasks: list[Task]
    origins: list[str]
    """`query`, `variant` or `refusal`, one per task."""
    dropped: list[Dropped]
    queries: int
    """How many queries went in: originals + dropped."""


def labelled_queries(queries: pl.DataFrame, labels: pl.DataFrame) -> list[LabelledQuery]:
    """Join texts and labels into what compiles.

    Args:
        queries: query_id, text, language.
        labels: query_id, primary, secondary, difficulty, constraints.
    """
    joined = queries.join(labels, on="query_id", how="inner").sort("query_id")
    names = ("query_id", "text", "language", "primary", "secondary", "difficulty")
    return [
        LabelledQuery(**{n: row[n] for n in names}, constraints=Constraints.model_validate_json(row["constraints"]))
        for row in joined.iter_rows(named=True)
    ]


def build_pool(
    queries: Sequence[LabelledQuery],
    *,
    languages: tuple[str, ...],
    held_out_share: float,
    copies: int,
    refusal_share: float,
) -> TaskPool:
    """Compile, vary, and set refusals beside them; every refusal has a solvable twin.

    Args:
        queries: pool and irrelevance set, labelled.
        languages: which the policy can read.
        held_out_share: share of the queries held out whatever they name.
        copies: variants per original of the train split.
        refusal_share: share of the solvable tasks that get a refusal twin.
    """
    compiled = compile_queries(queries, languages=languages, held_out_share=held_out_share)
    solvable = [s for s in compiled.tasks if s.task.goal.reason is None]
    refused = [s.task for s in compiled.tasks if s.task.goal.reason is not None]
    more = [v for s in compiled.tasks if s.task.split == "train" for v in variants(s, copies)]
    solvable_more = [v for v in more if v.task.goal.reason is None]
    twinned = _with_twins(
        [*refused, *(v.task for v in more if v.task.goal.reason)], [s.task for s in [*solvable, *solvable_more]]
    )
    beside = refusals([*solvable, *solvable_more], refusal_share)
    made: dict[str, tuple[Task, str]] = {}
    for task, origin in (
        *((s.task, "query") for s in solvable),
        *((t, "query") for t in twinned),
        *((v.task, "variant") for v in solvable_more),
        *((t, "refusal") for t in beside),
    ):
        made.setdefault(task.task_id, (task, origin))
    ordered = [made[i] for i in sorted(made)]
    return TaskPool([t for t, _ in ordered], [o for _, o in ordered], compiled.dropped, len(queries))


def _with_twins(refused: Sequence[Task], solvable: Sequence[Task]) -> list[Task]:
    """Give each refusal a solvable task of its own split as twin, by hash; one without any is left out."""
    by_split: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(solvable, key=lambda t: t.task_id):
        by_split[task.split].append(task)
    found = []
    for task in refused:
        beside = by_split[task.split]
        if beside:
            twin = beside[stable_hash("twin", task.task_id) % len(beside)]
            found.append(task.model_copy(update={"twin": twin.task_id}))
    return found


def pool_frame(pool: TaskPool) -> pl.DataFrame:
    """The pool as a table."""
    return tasks_frame(pool.tasks).with_columns(origin=pl.Series(pool.origins, dtype=pl.String))


def tasks_of(frame: pl.DataFrame) -> list[Task]:
    """The tasks of a table with a `task` column, in order of id."""
    return [Task.model_validate_json(text) for text in frame.sort("task_id")["task"]]
