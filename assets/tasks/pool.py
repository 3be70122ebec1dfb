"""The whole task pool from labelled queries: compiled originals, the long tail, variants, and refusals beside twins.

The candidate pool covers the embedding space, not the task families: what is dense there (a flight without an origin
lies close to every flight) comes out thin. So families below a floor are topped up from the queries that the geometric
layer left out, and variants fill each family up to one size: the policy meets every kind of task about equally often.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import polars as pl

from assets.labels.constraints import Constraints
from assets.tasks.compile import Dropped, LabelledQuery, compile_queries, compile_query, shape_of
from assets.tasks.variants import Slotted, refusals, variants
from environments.seeds import stable_hash
from environments.task import Task
from environments.verifiers.composed import versions_of_judging
from training.trajectories import tasks_frame


class TaskPool(NamedTuple):
    """Every task with where it comes from, and the queries that became none."""

    tasks: list[Task]
    origins: list[str]
    """`query`, `long_tail`, `variant` or `refusal`, one per task."""
    dropped: list[Dropped]
    queries: int
    """How many queries went in: originals + dropped."""


def labelled_queries(queries: pl.DataFrame, labels: pl.DataFrame) -> list[LabelledQuery]:
    """Join texts and labels into what compiles.

    Args:
        queries: query_id, text, language, context.
        labels: query_id, primary, secondary, difficulty, constraints.
    """
    joined = queries.join(labels, on="query_id", how="inner").sort("query_id")
    names = ("query_id", "text", "language", "primary", "secondary", "difficulty", "context")
    return [
        LabelledQuery(**{n: row[n] for n in names}, constraints=Constraints.from_json(row["constraints"]))
        for row in joined.iter_rows(named=True)
    ]


class Sizes(NamedTuple):
    """How the pool is filled; the numbers are ours."""

    floor: int = 700
    """Originals of a family in the training split, topped up from the reserve."""
    per_family: int = 1400
    """Training tasks of a family that variants fill up to."""
    copies: int = 40
    """Most variants of one original."""
    refusal_share: float = 0.05
    """Share of the solvable tasks that get a refusal twin."""


def build_pool(
    queries: Sequence[LabelledQuery],
    reserve: Iterable[LabelledQuery],
    *,
    languages: tuple[str, ...],
    held_out_share: float,
    sizes: Sizes,
) -> TaskPool:
    """Compile, top up, vary, and set refusals beside them; every refusal has a solvable twin.

    Args:
        queries: candidate pool and irrelevance set, labelled.
        reserve: labelled queries that the geometric layer left out.
        languages: which the policy can read.
        held_out_share: share of the queries held out whatever they name.
        sizes: floors and fills.
    """
    compiled = compile_queries(queries, languages=languages, held_out_share=held_out_share)
    tail = long_tail(compiled.tasks, reserve, sizes.floor, languages=languages, held_out_share=held_out_share)
    originals = [*compiled.tasks, *tail]
    more = fill_up([s for s in originals if s.task.split == "train"], sizes.per_family, sizes.copies)
    more += [v for s in originals if s.task.goal.reason == "not_found" for v in variants(s, 1)]
    solvable = [s for s in (*originals, *more) if s.task.goal.reason is None]
    refused = [s.task for s in (*originals, *more) if s.task.goal.reason is not None]
    twinned = _with_twins(refused, [s.task for s in solvable])
    beside = refusals(solvable, sizes.refusal_share)
    tails, variant_ids = {s.task.task_id for s in tail}, {s.task.task_id for s in more}
    tasks = {t.task_id: t for t in (*beside, *twinned, *(s.task for s in solvable))}
    drawn = {t.task_id for t in beside}
    ordered = [tasks[i] for i in sorted(tasks)]
    origins = [_origin(t.task_id, drawn, variant_ids, tails) for t in ordered]
    lost = [d for s in compiled.tasks if (d := _lost(s.task, tasks)) is not None]
    return TaskPool(ordered, origins, [*compiled.dropped, *lost], len(queries))


def _lost(task: Task, kept: Mapping[str, Task]) -> Dropped | None:
    """Why a query that compiled is no task of the pool, if it is none."""
    found = kept.get(task.task_id)
    if found is None:
        return Dropped(task.query_id or "", "no_twin", f"no solvable task in the {task.split} split to stand beside")
    same = found.query_id == task.query_id
    return None if same else Dropped(task.query_id or "", "same_task", found.query_id or "")


def _origin(task_id: str, drawn: set[str], variant_ids: set[str], tails: set[str]) -> str:
    if task_id in tails:
        return "long_tail"
    if task_id in variant_ids:
        return "variant"
    return "refusal" if task_id in drawn else "query"


def long_tail(
    compiled: Sequence[Slotted],
    reserve: Iterable[LabelledQuery],
    floor: int,
    *,
    languages: tuple[str, ...],
    held_out_share: float,
) -> list[Slotted]:
    """Training tasks from the reserve for families with fewer than `floor` originals, in an order by hash."""
    counts = Counter(s.task.family for s in compiled if s.task.split == "train")
    found = []
    for query in sorted(reserve, key=lambda q: (stable_hash("long tail", q.query_id), q.query_id)):
        shape = shape_of(query.constraints, query.primary, query.secondary)
        if shape is None or counts[shape.family] >= floor:
            continue
        made = compile_query(query, languages=languages, held_out_share=held_out_share)
        if isinstance(made, Slotted) and made.task.split == "train":
            counts[made.task.family] += 1
            found.append(made)
    return found


def fill_up(originals: Sequence[Slotted], per_family: int, copies: int) -> list[Slotted]:
    """Variants that bring each family towards `per_family` tasks, about the same number for each original."""
    by_family: dict[str, list[Slotted]] = defaultdict(list)
    for original in originals:
        by_family[original.task.family].append(original)
    made = []
    for mine in by_family.values():
        wanted = max(0, per_family - len(mine))
        each = min(copies, -(-wanted // len(mine)))
        order = sorted(mine, key=lambda s: (stable_hash("fill", s.task.task_id), s.task.task_id))
        made += list(islice((v for s in order for v in variants(s, each)), wanted))
    return made


def _with_twins(refused: Sequence[Task], solvable: Sequence[Task]) -> list[Task]:
    """Give each refusal a solvable task as twin, by hash: one in its own words, else one of its split; else it goes."""
    by_split: dict[str, list[Task]] = defaultdict(list)
    by_query: dict[str | None, list[Task]] = defaultdict(list)
    for task in sorted(solvable, key=lambda t: t.task_id):
        by_split[task.split].append(task)
        by_query[task.query_id].append(task)
    found = []
    for task in refused:
        beside = by_query[task.query_id] or by_split[task.split]
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


def with_judging(frame: pl.DataFrame, tasks: Sequence[Task]) -> pl.DataFrame:
    """The table of `tasks` with a column `judged_by`: judge and rubrics of a task that names a rubric, else null.

    So another judge or rubric is another version of the tasks that it grades, and what was made from them turns stale.
    """
    judging = versions_of_judging(tasks)
    asking = {task.task_id: f"{judging['judge']} {judging['rubric']}" for task in tasks if task.rubric is not None}
    judged = pl.Series("judged_by", [asking.get(i) for i in frame["task_id"]], dtype=pl.String)
    return frame.with_columns(judged)
